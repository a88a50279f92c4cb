"""The content database: pages, their texts, and a full-text index.

A crawl only appends pages to its spool (`storage.spool`); the indexer, a process of its own, reads
them and takes no page that a checkpoint of the crawl does not cover. The modules in the order of a
page's way, then of a search:

    base          the interface of a database: Writer and Finder, and the values of their answers
    opening       opens the database that the keyword `database` names; its care
    prepared      a page as a Writer takes it: all that costs time is done
    preparation   makes it from a page and its content
    tokens        the tokens of a page, by the columns of the index
    fields        these columns and their weights
    indexer/      the process that fills a database from the spool of a crawl
    sources/      pages of archives, mirrors and folders, for the same indexer
    writing/      the rules of writing, for each kind of database
    conditions    conditions on the words of a page
    filters       conditions on the other columns: site:, lang:, type:, since:
    ranking       finds the pages of a query, best first, in bounded time
    hits          the pages that were found, as they are shown
    merging       the answers of several databases as one
    exchange      answers between processes
    several       databases of several nodes as one
    records       single pages and their changes
    sqlite/       one file (the default)
    mysql/        MariaDB or MySQL
"""
