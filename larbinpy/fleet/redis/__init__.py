"""The vault on a real Redis, alone or as a Cluster, in the crawler's own poll loop.

wire      the address of a crawl; commands and INFO as text
link      a connection to one server
slots     which master has which slot (no socket)
servers   one Redis or the masters of a Cluster: routing, redirects, faults
scripts   the Lua that Redis executes as one step each
settling  waits for replicas
vault     the verbs
"""
