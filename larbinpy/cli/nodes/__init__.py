"""Several nodes of one crawl on this machine, as one command (crawl --nodes).

supervisor    starts the nodes, starts those again that die, shows their progress, ends all together
node          a process that is watched, with its messages; when it is started again; how all end
redis_server  the Redis of the crawl, if no other one is given
"""
