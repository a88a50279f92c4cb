"""The frontier: it decides which URL is fetched next, and when.

    frontier        the frontier as the engine uses it   view    its read-only side, for others
    saved           the values of it that are saved

    admission       which seeds and links become URLs    scope   which are wanted: domain, ...
    rules           the ordered rules (accept, reject)   url_patterns   many patterns at once
    seed_area       the hosts and folders of the seeds, for stay and lockSite
    folding         links without dropped parameters     traps   guards against spider traps
    recent_links    seen URLs that many pages link to, for a faster check
    sequencer       which URLs leave the store, and when (isGet)

    named_site      one site: its queues and its states
    lifecycle       leads each site to an address and a robots.txt, and handles failures
    name_requests   the sites that wait for an address
    site_rules      the rules of robots.txt in force     robots_cache   robots.txt, compressed
    registry        which sites are in memory            evicted        what is kept of others
    site_settings   what site blocks decide, and the limits of a site
    opening         the hours of sites
    busiest         the sites that the status page shows

    ip_site         one address: when its next request may be sent, and for which of its sites
    ip_registry     which addresses have something to do
    ip_sites        the schedule of all addresses, and the requests in flight
    politeness      how the delay between two requests adapts
    wait_shortener  shortens waits when waitDuration becomes shorter
    live_rules      rules added and dropped on the console
    rule_sweep      takes queued URLs out that changed rules reject

    sizes           how much is kept in memory and done in one turn

The store and the sets of seen URLs (`storage/`) read and write files in the middle of a
decision. Nothing else here does; nothing has a socket or reads a clock.
"""
