"""The frontier DECIDES what is fetched next.

    scope       may we want it?          seen        did we meet it before?
    store       the queues on disk, made of disk_queue and wait_queue
    sequencer   who may leave them (isGet)
    named_site  one site's life          sites       all of them: address, robots.txt, retries
    ip_site     one address's rotation, and the schedule of all
    politeness  how the delay adapts     state       what --resume needs
    types       which media types are taken
    frontier    the whole, as the engine sees it; view, as people do

Everything here but the queues and `state` is free of I/O, and nothing reads a clock.
"""
