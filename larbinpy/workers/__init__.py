"""Who reads the pages: the crawl itself, or processes beside it (`readers`).

Reading a page is more than half of what it costs, and needs nothing but the page. So where
there are cores to spare, `Readers` has it done in processes of its own, which leaves the loop
to all else; what was read comes back in the order in which pages were given. `Here` is the
plain case.

    messages    a page and what was read of it, as bytes
    child       what such a process does
"""
