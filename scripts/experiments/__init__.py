"""Experiments. larbinpy itself does not need this package.

    bench         promised bounds, measured beside other resolvers: scripts/bench-resolver
    rates         names/s of whole programs; peers: two of those programs
    deadnames     the delay that names without an answer cause for others
    cachecost     bytes and microseconds of the name cache
    latency       resolving with and without cache and asynchrony; apart: a separate network
    memory        compact cache, dict, Bloom filter
    ttl           effects of a minimum TTL
    study         20 sites with Larbin's settings and with larbinpy's; larbin: a model of Larbin's
                  sequencer; simulated: the same crawls without a network
    loss          outcomes of URLs if packets get lost; lossy: a network that loses them
    scale         a hundred million URLs through seen and store
    engines       queues and seen in larbinpy's files, SQLite and LMDB; databases: the latter two
    fleet         2 to 100 nodes on one Redis: the real deciders over a model of it
    fleetlog      what the log of a web server says of a fleet; fleetredis: a Redis that fails
    soak, growth  long crawls of an endless web, and crawls of more and more sites;
                  endless: that web
    transfers     one loop against a thread for each transfer; transferring: both of them as
                  processes; latepages: their web server
    vaultcost     CPU time of a page and bytes of a URL, with the crawl's truth in Redis
    rules         a thousand rules (accept, reject) and a million URLs
    mirrors       mirrors by larbinpy, wget2 and HTTrack
    crawls        crawls as processes; sitesweb and siteserver: their web
    names         lists of names; nameservers, slowserver and dnsreplies: name servers
    nginx         nginx as a process
    runs          programs on chosen cores; report and plots: tables and pictures
    *_main        the commands; options: those that all commands have

All traffic stays on loopback or in separate network namespaces.
"""
