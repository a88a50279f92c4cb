"""The frontier DECIDES what is fetched next.

    scope       may we want it?          seen        did we meet it before?
                familiar, what is named most, need not be asked there
    store       what is owed: queues, whose lines are in blocks, in files that only grow
    sequencer   who may leave them (isGet)
    named_site  one site's life          sites       all of them: address, robots.txt, retries
    ip_site     one address's rotation, and the schedule of all
    politeness  how the delay adapts     state       what --resume needs
    residents   which sites are in memory; let_go, what is known of the others; rulebook,
                their robots.txt; budget, how much of it all; watch, whom to show
    types       which media types are taken
    frontier    the whole, as the engine sees it; view, as people do; facts, of one URL

Only `blocks`, `block`, `seen` and `state` touch files; the first three also in the middle of a
decision, as queues and what is seen are on disk. Nothing has a socket or reads a clock.
"""
