"""The vault on a real Redis, alone or as a Cluster, in the crawler's own poll loop.

From the bottom up:

wire          the address of a crawl; commands and INFO as text
connection    one connection to a server, until it ends: requests out, replies in their order
link          a server: connects, logs in, and connects again
slots, runs, requirements
              values without a socket: which master has which slot, which server was started anew,
              which one can hold a crawl
topology      the masters: one Redis, or those of a Cluster, through failovers
client        sends a request to the right master, follows redirects, tries again
keys, scripts the keys of a crawl, and the Lua that Redis executes as one step
settling      waits until replicas have what was written
turns         turns at addresses, whatever the clock of Redis does
vault         the verbs of a node; `board` and `names` have those of operators and of the resolver
overview, forgetting, asking, places
              a crawl from outside: looked at, removed, waited for; and where Redis is
"""
