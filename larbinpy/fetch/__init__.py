"""Pages over HTTP: the pool of transfers, and the rules of robots.txt.

`fetcher` owns the handles and the sockets, `transfer` collects one reply, `options` says
how a request is made, `errors` what a failure means, `throttle` how fast bytes may come.
"""

from larbinpy.fetch.fetcher import CONNECTIONS_PER_HANDLE, Fetcher
from larbinpy.fetch.settings import FetchSettings, Request

__all__ = ["CONNECTIONS_PER_HANDLE", "FetchSettings", "Fetcher", "Request"]
