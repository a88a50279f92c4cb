"""The content database: pages, their texts, and a full-text index.

A crawl only appends pages to its spool (`storage.spool`); the indexer, a process of its own, reads
them and takes no page that a checkpoint of the crawl does not cover. The modules in the order of a
page's way, then of a search:

    base          the interface of a database: Writer and Finder, the values of their answers, the
                  conditions of a query
    opening       opens the database that the keyword `database` names; its care
    preparation   pages as a Writer takes them: all that costs time is done
    indexer/      the process that fills a database from the spool of a crawl
    sources/      pages of archives, mirrors and folders, for the same indexer
    writing/      the rules of writing, for each kind of database
    records       single pages and their changes; the filters site:, lang:, type:, since:
    ranking       finds the pages of a query, best first, in bounded time, and shows them
    several       databases of several nodes as one
    sqlite/       one file (the default)
    mysql/        MariaDB or MySQL
"""
