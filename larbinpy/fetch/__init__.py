"""Pages over HTTP: the pool of transfers, and the rules of robots.txt.

fetcher     the handles and their sockets
options     a request, its settings and libcurl's options for it; libcurl's errors as outcomes
transfer    collects one reply; unpacks bodies, and reads replies, that libcurl cannot
brake       holds transfers back (bondWidth)
cookies     the cookie jars, and how they are saved
robots      the rules of a robots.txt
"""
