"""Several nodes of one crawl on this machine, as one command (crawl --nodes).

supervisor    starts the nodes, starts those again that die, and ends all together
child         a process that is watched, with its messages
restarts      when a process that died is started again
progress      the reports of all nodes, as one snapshot
redis_server  the Redis of the crawl, if no other one is given
ending        what all nodes together have done: one exit status, one report
"""
