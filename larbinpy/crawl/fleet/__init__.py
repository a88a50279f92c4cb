"""A crawl as a node of a fleet, and the commands that look at a whole fleet.

The deciders are in `larbinpy.fleet`, and what is spoken to Redis in `larbinpy.fleet.redis`. Nothing
here is imported by a crawl that is alone.

joining     the participation of a node: finds or makes the crawl in Redis, takes its settings
entry       the checks before that
membership  the member: a listener, a feeder and a fetcher of the crawl
frontier    takes the URLs of its own shards, and passes on the others
site_state  what was counted of sites and their waits go with their shard
turns       requests wait for their turns at an address
names       addresses that one node has found are not asked for by others
area        the area around the seeds, the same on all nodes
seeding     seeds as letters
reports     what nodes tell each other about themselves
orders      what operators and other nodes ask a node to do
page_limit  the share of a node in limitPage
steering    these together: the side that operators see and change
searching   its content databases, asked as one
control     commands of its console, for the whole fleet
gathering   answers of all nodes as one
remote      a fleet from outside, for commands
console     the console of a whole fleet
text        what commands print
"""
