"""Experiments. larbinpy itself does not need this package.

    bench         promised bounds, measured beside other resolvers: scripts/bench-resolver
    rates         names/s of whole programs; peers: two of those programs
    deadnames     the delay that names without an answer cause for others
    cachecost     bytes and microseconds of the name cache
    scale         a hundred million URLs through seen and store
    soak          a long crawl of an endless web; endless: that web
    fleet         2 to 100 nodes on one Redis: the real deciders over a model of it
    fleetlog      what the log of a web server says of a fleet; fleetredis: a Redis that fails
    scaling       nodes beside crawls that share nothing; fixedserver: their web
    revisits      copies that stay fresh with seven schedules; changerates: how pages change,
                  freshness: the simulation, schedules: the schedules
    search*       times and ranks of searches: pages made or crawled, their scores
    contents      main text beside the text that people marked; nearcopies: copies of it
    names         lists of names; nameservers, slowserver and dnsreplies: name servers
    nginx         nginx as a process
    runs          programs on chosen cores; report and plots: tables and pictures
    *_main        the commands; options: those that all commands have

All traffic stays on loopback. Experiments that are closed are in the history of the repository
(`git log --diff-filter=D --name-only -- scripts/experiments`); their figures are in docs/.
"""
