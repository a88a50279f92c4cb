"""The cookie jar of a crawl: libcurl's own, one for all handles, and bounded."""

import pycurl

from larbinpy.fetch.transfer import Taker
from larbinpy.url import Url

#: What a cookie takes beside its line and its URL, whose path and host are a part of it.
_EACH = 200
_SET_COOKIE = b"set-cookie:"
#: libcurl takes no longer ones.
_LONGEST = 5000


class Jar:
    """Cookies of all transfers, `most` bytes of them.

    A full jar is emptied: only libcurl knows which cookies are old, and sites send new ones to
    clients that have none.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._share = pycurl.CurlShare()
        self._share.setopt(pycurl.SH_SHARE, pycurl.LOCK_DATA_COOKIE)
        # Is in no transfer, ever: for what is done to the jar itself.
        self._curl = pycurl.Curl()
        self.hand(self._curl)
        #: Of those that are in it.
        self._size = 0
        # By their host and name, as giving one anew replaces it.
        self._known: set[int] = set()

    def __repr__(self) -> str:
        return f"<Jar {self._size} bytes>"

    def hand(self, curl: pycurl.Curl) -> None:
        """Have `curl` use it."""
        curl.setopt(pycurl.SHARE, self._share)

    def noting(self, take: Taker, url: Url) -> Taker:
        """`take`, which gets the header lines of a reply from `url`, with a look at them."""

        def noted(line: bytes) -> int | None:
            if line[: len(_SET_COOKIE)].lower() == _SET_COOKIE and len(line) <= _LONGEST:
                name = line[len(_SET_COOKIE) :].partition(b"=")[0].strip()
                self._count(hash((url.host, name)), len(line) + len(url.href) + _EACH)
            return take(line)

        return noted

    def _count(self, cookie: int, size: int) -> None:
        if cookie not in self._known:
            self._known.add(cookie)
            self._size += size

    def trim(self) -> None:
        """Empty it if it is full; not from within a callback of libcurl."""
        if self._size > self._most:
            self._curl.setopt(pycurl.COOKIELIST, "ALL")
            self._known.clear()
            self._size = 0

    def close(self) -> None:
        """Requires that no handle uses it any more."""
        self._curl.close()
        self._share.close()
