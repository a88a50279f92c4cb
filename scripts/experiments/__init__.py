"""What the resolver is measured with; nothing of it is needed to run larbinpy.

    bench         the promised bounds, side by side with other resolvers: scripts/bench-resolver
    rates         names/s of whole programs; peers: two of those programs
    deadnames     what names without an answer cost the others
    cachecost     bytes and microseconds of the name cache
    latency       with and without cache and asynchrony; apart: a network of its own for it
    memory        compact cache, dict, Bloom filter
    ttl           what a minimum TTL saves and what it costs
    names         lists of names; nameservers and slowserver: who answers for them
    runs          programs, each on its core; report and plots: what comes out

All traffic stays on loopback.
"""
