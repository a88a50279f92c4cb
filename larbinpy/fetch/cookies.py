"""The cookie jar of a crawl: libcurl's own, shared by all handles, and bounded."""

from collections.abc import Sequence
from zlib import crc32

import pycurl

from larbinpy.fetch.cookies_txt import HTTP_ONLY, cookie_lines
from larbinpy.fetch.transfer import Taker
from larbinpy.url import Url

#: Estimated bytes of a cookie besides its header line and its URL, of which it has host and path.
_EACH = 200
_SET_COOKIE = b"set-cookie:"
#: libcurl ignores longer ones.
_LONGEST = 5000


class NoJar:
    """A cookie jar that keeps nothing."""

    #: Differs from its earlier values if cookies may have changed.
    version = 0
    #: A checksum of the cookies of the given file; 0 if there are none.
    given = 0

    def hand(self, curl: pycurl.Curl) -> None:
        """Make `curl` use the jar."""

    def noting(self, take: Taker, url: Url) -> Taker:
        """Wrap `take`, which gets the header lines of a reply from `url`, to count cookies."""
        return take

    def trim(self) -> None:
        """Empty the jar if it is full. Must not be called from a callback of libcurl."""

    def lines(self) -> list[bytes]:
        """All cookies that have not expired, as lines of a cookies.txt."""
        return []

    def add(self, lines: Sequence[bytes], *, over_given: bool) -> None:
        """Add cookies; `over_given`: they replace the same ones of the given file."""

    def close(self) -> None:
        """Close the jar, which no handle may use any more."""


class Jar(NoJar):
    """Cookies of all transfers, `most` bytes of them.

    A full jar is emptied: only libcurl knows which cookies are old, and sites send new ones to
    clients that have none. The cookies of the file `given` do not count, and stay.
    """

    def __init__(self, most: int, given: str | None = None) -> None:
        self._most = most
        self._given = cookie_lines(given) if given else []
        self.given = crc32(b"\n".join(self._given))
        self._share = pycurl.CurlShare()
        self._share.setopt(pycurl.SH_SHARE, pycurl.LOCK_DATA_COOKIE)
        # This handle makes no transfer; it gives access to the jar.
        self._curl = pycurl.Curl()
        self.hand(self._curl)
        #: Bytes of the cookies in the jar.
        self._size = 0
        # Hashes of host and name of all cookies: one that is sent again replaces the old one.
        self._known: set[int] = set()
        self._fill()

    def __repr__(self) -> str:
        return f"<Jar {self._size} bytes>"

    def hand(self, curl: pycurl.Curl) -> None:
        curl.setopt(pycurl.SHARE, self._share)

    def noting(self, take: Taker, url: Url) -> Taker:
        def noted(line: bytes) -> int | None:
            if line[: len(_SET_COOKIE)].lower() == _SET_COOKIE and len(line) <= _LONGEST:
                name = line[len(_SET_COOKIE) :].partition(b"=")[0].strip()
                self._count(hash((url.host, name)), len(line) + len(url.href) + _EACH)
                self.version += 1
            return take(line)

        return noted

    def _count(self, cookie: int, size: int) -> None:
        if cookie not in self._known:
            self._known.add(cookie)
            self._size += size

    def _fill(self) -> None:
        self._put(self._given)

    def _put(self, lines: Sequence[bytes]) -> None:
        for line in lines:
            self._curl.setopt(pycurl.COOKIELIST, line)

    def lines(self) -> list[bytes]:
        listed: list[bytes] = self._curl.getinfo_raw(pycurl.INFO_COOKIELIST)
        return listed

    def add(self, lines: Sequence[bytes], *, over_given: bool) -> None:
        self._put(lines)
        if not over_given:
            self._fill()
        given = {_identity(line) for line in self._given}
        for line in lines:
            host, _, name = identity = _identity(line)
            if identity not in given:
                self._count(hash((host, name)), len(line) + _EACH)
        self.version += 1

    def trim(self) -> None:
        if self._size > self._most:
            self.empty()

    def empty(self) -> None:
        """Remove all cookies, except those of the given file. As `trim`, not from a callback."""
        self._curl.setopt(pycurl.COOKIELIST, "ALL")
        self._fill()
        self._known.clear()
        self._size = 0
        self.version += 1

    def close(self) -> None:
        self._curl.close()
        self._share.close()


def _identity(line: bytes) -> tuple[str, bytes, bytes]:
    """Host, path and name of a cookie, of which there is one in a jar."""
    fields = line.removeprefix(HTTP_ONLY).split(b"\t")
    return fields[0].lstrip(b".").decode("latin-1"), fields[2], fields[5]


def has_domain(line: bytes) -> bool:
    """Whether a cookie is for the hosts below its own as well."""
    return line.removeprefix(HTTP_ONLY).split(b"\t")[1] == b"TRUE"
