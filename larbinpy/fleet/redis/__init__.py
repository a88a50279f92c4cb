"""The vault on a real Redis, alone or as a Cluster, in the crawler's own poll loop.

From the bottom up:

wire          the address of a crawl; commands and INFO as text
link          a server: connects, logs in, and connects again; requests out, replies in order
scripts       the keys of a crawl, their slots, and the Lua that Redis executes as one step
client        the masters: one Redis, or those of a Cluster, through failovers; requests to the
              right one, redirects, and what is tried again
vault         the verbs of a node; `board` has those of operators and of the resolver
overview      a crawl from outside: looked at, waited for; and where Redis is
"""
