"""What the parts are measured with; nothing of it is needed to run larbinpy.

    bench         the promised bounds, side by side with other resolvers: scripts/bench-resolver
    rates         names/s of whole programs; peers: two of those programs
    deadnames     what names without an answer cost the others
    cachecost     bytes and microseconds of the name cache
    latency       with and without cache and asynchrony; apart: a network of its own for it
    memory        compact cache, dict, Bloom filter
    ttl           what a minimum TTL saves and what it costs
    study         20 sites with the original's settings and with ours; larbin: the original's
                  sequencer as a model; simulated: the same without a network
    loss          how URLs end where packets get lost; lossy: a network that loses them
    scale         a hundred million URLs through seen and store
    soak          a long crawl of a web without end; endless: that web
    transfers     one loop against a thread for each transfer; transferring: both of them, in
                  processes of their own; latepages: who answers them
    crawls        crawls in processes of their own; sitesweb and siteserver: what they crawl
    names         lists of names; nameservers and slowserver: who answers for them
    runs          programs, each on its core; report and plots: what comes out

All traffic stays on loopback or in network namespaces of their own.
"""
