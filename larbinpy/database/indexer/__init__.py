"""The process that fills a database from the spool of a crawl.

The crawl runs ``python -m larbinpy.database.indexer.process``.

    indexer    takes pages from the spool to the database; the lines between it and the crawl
    reader     a process that reads pages, its options and answers
    process    the readers; messages, indexer and readers together, beside a crawl and without one

The crawl says how far its last checkpoint covers the spool, and the database never has more than
that. Its position in the spool is written in the same transaction as the pages, so after any kill
the indexer goes on with the next page.
"""
