"""The process that fills a database from the spool of a crawl.

The crawl runs ``python -m larbinpy.database.indexer``.

    messages   the lines between the crawl and the indexer
    window     the pages that are under way, and when a batch of them is written
    readers    the processes that read pages; reader: such a process; frames: its answers
    indexing   spool -> readers -> database
    draining   does the same for the spool of a crawl that has ended

The crawl says how far its last checkpoint covers the spool, and the database never has more than
that. Its position in the spool is written in the same transaction as the pages, so after any kill
the indexer goes on with the next page.
"""
