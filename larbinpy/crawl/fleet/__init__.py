"""A crawl as a node of a fleet, and the commands that look at a whole fleet.

The deciders are in `larbinpy.fleet`, and what is spoken to Redis in `larbinpy.fleet.redis`. Nothing
here is imported by a crawl that is alone.

joining     finds or makes the crawl in Redis, and takes its settings
membership  the node as a listener, a feeder and a fetcher of the crawl
frontier    takes the URLs of its own shards, and passes on the others
turns       requests wait for their turns at an address
area        the area around the seeds, the same on all nodes
seeding     seeds as letters
steering    what a node tells, and the orders that it follows
control     commands of its console, for the whole fleet
gathering   answers of all nodes as one
remote      a fleet from outside, for commands
console     the console of a whole fleet
text        what commands print
"""
