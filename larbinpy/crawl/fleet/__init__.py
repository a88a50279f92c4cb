"""A crawl as a node of a fleet, and the commands that look at a whole fleet.

The deciders are in `larbinpy.fleet`, and what is spoken to Redis in `larbinpy.fleet.redis`. Nothing
here is imported by a crawl that is alone.

membership  finds or makes the crawl in Redis, and takes its settings; then it is a listener, a
            feeder and a fetcher of the crawl; requests wait for turns
frontier    takes the URLs of its own shards, and passes on the others; seeds as letters
names       addresses that one node has found are not asked for by others
orders      given to all nodes, executed by each, and their answers
steering    the side that operators and other nodes see and change: reports, commands, limitPage
remote      a fleet from outside, for commands; its console
"""
