"""The cookie jar of a crawl: libcurl's own, one for all handles, and bounded."""

from collections.abc import Callable

import pycurl

Taker = Callable[[bytes], int | None]

#: What is in the jar at most (bytes). libcurl takes up to 50 cookies of 4 kB from a reply and
#: keeps most of them for good, so a long crawl would have more and more of them.
MOST = 32_000_000
#: What a cookie takes beside its line and its URL, whose path and host are a part of it.
_EACH = 200
_SET_COOKIE = b"set-cookie:"


class Jar:
    """Cookies of all transfers.

    When it is full it is emptied: which of them are old only libcurl knows, and sites give
    new ones to who has none.
    """

    def __init__(self) -> None:
        self._share = pycurl.CurlShare()
        self._share.setopt(pycurl.SH_SHARE, pycurl.LOCK_DATA_COOKIE)
        #: Of all that were given since it was empty, those that replaced others too.
        self._size = 0

    def __repr__(self) -> str:
        return f"<Jar {self._size} bytes>"

    def hand(self, curl: pycurl.Curl) -> None:
        """Have `curl` use it."""
        curl.setopt(pycurl.SHARE, self._share)

    def noting(self, take: Taker, href: str) -> Taker:
        """`take`, which gets the header lines of a reply from `href`, with a look at them."""

        def noted(line: bytes) -> int | None:
            if line[: len(_SET_COOKIE)].lower() == _SET_COOKIE:
                self._size += len(line) + len(href) + _EACH
            return take(line)

        return noted

    def trim(self, curl: pycurl.Curl) -> None:
        """Empty it if it is full, by a handle that uses it and is in no transfer."""
        if self._size > MOST:
            self._size = 0
            curl.setopt(pycurl.COOKIELIST, "ALL")

    def close(self) -> None:
        """Requires that no handle uses it any more."""
        self._share.close()
