"""The frontier DECIDES what is fetched next.

    frontier        the whole, as the engine uses it     view    what others may read of it
    saved           the parts of it that a saved state holds

    admission       which seeds and links become URLs    scope   the rules: domain, depth, ...
    recent_links    the most linked URLs, which need no lookup among the seen ones
    media_types     which media types are fetched
    sequencer       which URLs leave the store, and when (isGet)

    named_site      one site: its queues and its states
    lifecycle       how sites come to an address and to robots.txt, and back after failures
    name_requests   the sites that wait for an address
    site_rules      the rules of robots.txt in force     robots_cache   robots.txt, compressed
    registry        which sites are in memory            evicted        what remains of others
    busiest         the sites worth showing

    ip_site         one address: when it may be asked, and which of its sites is next
    ip_registry     which addresses have something to do
    ip_sites        the schedule of all addresses, and the requests in flight
    politeness      how the delay between two requests adapts
    wait_shortener  a shorter waitDuration takes effect

    sizes           how much is kept in memory and done in one turn

The store and the sets of seen URLs (`storage/`) read and write files in the middle of a
decision. Nothing else here does; nothing has a socket or reads a clock.
"""
