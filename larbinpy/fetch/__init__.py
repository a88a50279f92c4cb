"""Pages over HTTP: the pool of transfers, and the rules of robots.txt.

fetcher     the handles and their sockets
settings    the settings of all requests, and a request
options     libcurl's options for a request
transfer    collects one reply
codings     unpacks the bodies that libcurl cannot
errors      libcurl's errors as outcomes
brake       holds transfers back (bondWidth); throttle is its token bucket
cookies     a cookie jar, jars all of them; saved_cookies saves that of the crawl
robots      the rules of a robots.txt; path_rules matches its patterns
"""
