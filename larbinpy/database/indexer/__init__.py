"""The process that fills a database from the spool of a crawl.

The crawl runs ``python -m larbinpy.database.indexer``.

    messages   the lines between the crawl and the indexer
    options    how pages are read
    indexer    takes pages from the spool to the database
    window     the pages that are under way, and when a batch of them is written
    readers    the processes that read pages; reader: such a process; frames: its answers
    loop       messages, indexer and readers together
    offline    the same without a crawl: for the spool that one has left, and for other pages

The crawl says how far its last checkpoint covers the spool, and the database never has more than
that. Its position in the spool is written in the same transaction as the pages, so after any kill
the indexer goes on with the next page.
"""
