"""The frontier DECIDES what is fetched next.

    scope       may we want it?          seen        did we meet it before?
    store       the queues on disk       sequencer   who may leave them (isGet)
    named_site  one site's life          sites       all of them: address, robots.txt, retries
    ip_site     one address's rotation, and the schedule of all
    politeness  how the delay adapts     state       what --resume needs
    frontier    the whole, as the engine sees it

Everything here but `store` and `state` is free of I/O, and nothing reads a clock.
"""
