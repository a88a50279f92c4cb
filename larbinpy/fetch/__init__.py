"""Pages over HTTP: the pool of transfers, and the rules of robots.txt.

`fetcher` owns the handles and the sockets, `transfer` collects one reply, `options` says
how a request is made, `errors` what a failure means, `throttle` how fast bytes may come.
"""
