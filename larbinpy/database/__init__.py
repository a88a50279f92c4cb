"""The content database: pages, their texts, and a full-text index.

A crawl only appends pages to its spool (`storage.spool`); the indexer, a process of its own, reads
them and takes no page that a checkpoint of the crawl does not cover. The modules in the order of a
page's way, then of a search:

    content/      what a page says: title, text, language, dates, links
    revisit/      how often a page changes, and when it is worth another visit
    base          where a database is, its rows and the values of its answers; the conditions of a
                  query, and its filters site:, lang:, type:, since:
    preparation   pages as a Writer takes them: all that costs time is done
    indexer/      the process that fills a database from the spool of a crawl
    sources       pages of archives, mirrors and folders, for the same indexer
    writer        the Writer: pages and their position in the spool, deferred work
    writing/      the rules of writing
    finder        the DatabaseFinder: searches, single pages and their changes; several
                  databases as one
    search/       words of pages and of queries, snippets
    ranking       finds the pages of a query, best first, in bounded time, and shows them
    maintenance   rebuild, verify, optimize
    salvage       what can be read of a damaged file
    dialect       what the kinds of database do differently, for Writer, Finder and maintenance
    sqlite/       one file (the default)
    mysql/        MariaDB or MySQL
"""
