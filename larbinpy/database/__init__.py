"""The content database: pages, their texts, and a full-text index.

    prepared   a page as the writer takes it: all that costs time is done
    preparing  makes it of a page and its content
    base       the interface of a database: Writer and Finder
    sqlite/    one file (the default)
    mysql/     MariaDB or MySQL
    indexer/   the process that fills a database from the spool of a crawl

A crawl only appends pages to its spool (`storage.spool`); the indexer, a process of its own, reads
them and takes no page that a checkpoint of the crawl does not cover.
"""
