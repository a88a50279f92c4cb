"""Reading of pages, in the crawl itself or in worker processes (`readers`).

Reading a page is more than half of its cost and needs only the page. On a machine with idle cores,
`ReaderPool` does it in processes of their own, which leaves the loop to everything else; results
are returned in the order in which pages were given. `InlineReader` reads in the loop.

    pool        both readers
    messages    a page and the result of reading it, as bytes
    child       the worker process
"""
