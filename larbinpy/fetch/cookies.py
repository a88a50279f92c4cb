"""The cookie jars of a crawl: one for all requests, and one for each site with a login.

A `Jar` is libcurl's own, shared by handles, and bounded. `SavedCookies` is a part of the state: a
cookies.txt that is written anew if cookies changed.

Files are in Netscape's format, which curl, wget and extensions of browsers write and read. A line
is a cookie: seven fields, separated by tabs. The fifth is the Unix time of its end, 0 if it ends
with the session.
"""

import re
from codecs import BOM_UTF8
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TypedDict
from zlib import crc32

import pycurl

from larbinpy.fetch.transfer import Taker, Transfer
from larbinpy.storage.files import write_atomic
from larbinpy.storage.state import NumberedFile, SavedPart
from larbinpy.url import Url, split

#: Begins the line of a cookie that scripts may not read, which looks like a comment.
HTTP_ONLY = b"#HttpOnly_"
#: wget reads no file without it.
HEADER = b"# Netscape HTTP Cookie File\n"
_FIELDS = 7
#: The latest end that a number of any program can hold exactly.
_LATEST = 1 << 53


def cookie_lines(path: str) -> list[bytes]:
    """The lines of a file that are cookies, as libcurl understands them.

    It drops those that have expired, or whose value has a tab.
    """
    with open(path, "rb") as file:
        lines = (line.removeprefix(BOM_UTF8).strip(b"\r\n") for line in file)
        return [_plain(ln) for ln in lines if ln.startswith(HTTP_ONLY) or ln[:1] not in (b"#", b"")]


def _plain(line: bytes) -> bytes:
    """A line with the host and the end as libcurl writes them.

    Some exports have an IPv6 address in brackets, an end with a fraction, or -1 for a session.
    """
    mark = HTTP_ONLY if line.startswith(HTTP_ONLY) else b""
    fields = line.removeprefix(mark).split(b"\t")
    if len(fields) < _FIELDS - 1:
        return line
    fields[0] = fields[0].strip(b"[]")
    if not fields[4].isdigit() or len(fields[4]) > len(str(_LATEST)):
        fields[4] = b"%d" % _end(fields[4])
    return mark + b"\t".join(fields)


def _end(text: bytes) -> int:
    try:
        return round(min(max(float(text), 0), _LATEST))
    except ValueError:
        return 0


def has_tab(line: bytes) -> bool:
    """Whether the value of a cookie has a tab: no request carries it."""
    return line.count(b"\t") >= _FIELDS


def write(path: str, lines: Iterable[bytes]) -> None:
    """Replace a file, which only its owner may read, by one with these cookies."""
    write_atomic(path, [HEADER, *(line + b"\n" for line in lines)], mode=0o600)


#: Estimated bytes of a cookie besides its header line and its URL, of which it has host and path.
_EACH = 200
_SET_COOKIE = b"set-cookie:"
#: A Max-Age that does not even begin as a number. Of others, libcurl takes the number.
_BAD_AGE = re.compile(rb"\s*max-age\s*=\s*(?!\"?-?[0-9])\S", re.IGNORECASE).match
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

    def noting(self, transfer: Transfer, *, raw: bool = False) -> Taker:
        """The taker of header lines of `transfer`, which counts the cookies in them as well.

        `raw`: libcurl does not read them.
        """
        return transfer.header

    def cookies_for(self, url: Url) -> str:
        """What the Cookie header of a request for `url` says; empty for none."""
        return ""

    def tend(self) -> None:
        """Empty the jar if it is full. Must not be called from a callback of libcurl."""

    def lines(self) -> list[bytes]:
        """All cookies that have not expired, as lines of a cookies.txt."""
        return []

    def set_by_sites(self) -> list[bytes]:
        """As `lines`, without the cookies of the given file, whoever has set them since."""
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
        # Hashes of host, path and name of all cookies, each with that of its value: one that is
        # sent again replaces the old one.
        self._known: dict[int, int] = {}
        # Cookies that libcurl drops although browsers keep them.
        self._mended: list[bytes] = []
        self._fill()

    def hand(self, curl: pycurl.Curl) -> None:
        curl.setopt(pycurl.SHARE, self._share)

    def noting(self, transfer: Transfer, *, raw: bool = False) -> Taker:
        take, url = transfer.header, transfer.request.url

        def noted(line: bytes) -> int | None:
            if line[: len(_SET_COOKIE)].lower() == _SET_COOKIE and len(line) <= _LONGEST:
                self.version += 1
                pair = line[len(_SET_COOKIE) :].partition(b";")[0]
                name, value = (each.strip() for each in pair.partition(b"=")[::2])
                cookie = hash((url.host, _path_of(line, url), name))
                size = len(line) + len(url.href) + _EACH
                transfer.new_cookies |= self._count(cookie, size, hash(value))
                self._mended += [_of_host(line, url)] if raw else _mended(line, url)
            return take(line)

        return noted

    def cookies_for(self, url: Url) -> str:
        # Longer paths come first (RFC 6265, 5.4).
        fitting = sorted((line for line in self.lines() if _fits(line, url)), key=_path_length)
        pairs = (line.split(b"\t")[5:7] for line in reversed(fitting))
        return "; ".join(b"=".join(pair).decode("latin-1") for pair in pairs)

    def _count(self, cookie: int, size: int, value: int = 0) -> bool:
        """Count a cookie; whether it is new, or its value is."""
        before = self._known.get(cookie)
        if before is None:
            self._size += size
        self._known[cookie] = value
        return before != value

    def _fill(self) -> None:
        self._put(self._given)

    def _put(self, lines: Sequence[bytes]) -> None:
        for line in lines:
            self._curl.setopt(pycurl.COOKIELIST, line)

    def lines(self) -> list[bytes]:
        listed: list[bytes] = self._curl.getinfo_raw(pycurl.INFO_COOKIELIST)
        return listed

    def set_by_sites(self) -> list[bytes]:
        given = set(map(_identity, self._given))
        return [line for line in self.lines() if _identity(line) not in given]

    def add(self, lines: Sequence[bytes], *, over_given: bool) -> None:
        self._put(lines)
        if not over_given:
            self._fill()
        given = {_identity(line) for line in self._given}
        for line in lines:
            identity = _identity(line)
            if identity not in given:
                self._count(hash(identity), len(line) + _EACH)
        self.version += 1

    def tend(self) -> None:
        if self._mended:
            self._put(self._mended)
            self._mended.clear()
        if self._size > self._most:
            self.empty()

    def empty(self) -> None:
        """Remove all cookies, except those of the given file. As `tend`, not from a callback."""
        self._curl.setopt(pycurl.COOKIELIST, "ALL")
        self._fill()
        self._known.clear()
        self._size = 0
        self.version += 1

    def close(self) -> None:
        self._curl.close()
        self._share.close()


def _mended(line: bytes, url: Url) -> list[bytes]:
    """A Set-Cookie with a Max-Age that is no number, without that; none for other lines.

    Browsers ignore such a Max-Age (RFC 6265, 5.2.2), libcurl deletes the cookie.
    """
    is_bad = b"max-age" in line.lower() and any(map(_BAD_AGE, line.strip().split(b";")))
    return [_of_host(line, url)] if is_bad else []


def _of_host(line: bytes, url: Url) -> bytes:
    """The Set-Cookie of a reply to `url` as libcurl takes it from here.

    It is kept for its own host alone, as libcurl does not check the Domain of such a line.
    """
    parts = (part for part in line.strip().split(b";") if not _BAD_AGE(part))
    kept = [part for part in parts if not part.strip().lower().startswith(b"domain")]
    return b"; ".join([*kept, b"Path=%s" % _path_of(line, url), b"Domain=%s" % url.host.encode()])


def _path_of(line: bytes, url: Url) -> bytes:
    """The path of the cookie of a Set-Cookie line of a reply to `url` (RFC 6265, 5.1.4)."""
    for part in line.strip().split(b";")[:0:-1]:
        name, _, path = part.strip().partition(b"=")
        if name.lower() == b"path" and path.startswith(b"/"):
            return path
    return (split(url.href).path.partition("?")[0].rpartition("/")[0] or "/").encode()


def _fits(line: bytes, url: Url) -> bool:
    """Whether the cookie of a line of cookies.txt goes to `url` (RFC 6265, 5.1 and 5.4)."""
    domain, _, path, secure = line.removeprefix(HTTP_ONLY).decode("latin-1").split("\t")[:4]
    name, (scheme, host, _, at) = domain.lstrip("."), split(url.href)
    if host != name and not (has_domain(line) and host.endswith(f".{name}")):
        return False
    if secure == "TRUE" and scheme != "https":
        return False
    at = at.partition("?")[0]
    return at == path or at.startswith(path if path.endswith("/") else f"{path}/")


def _path_length(line: bytes) -> int:
    return len(line.split(b"\t")[2])


def _identity(line: bytes) -> tuple[str, bytes, bytes]:
    """Host, path and name of a cookie, of which there is one in a jar."""
    fields = line.removeprefix(HTTP_ONLY).split(b"\t")
    return fields[0].lstrip(b".").decode("latin-1"), fields[2], fields[5]


def has_domain(line: bytes) -> bool:
    """Whether a cookie is for the hosts below its own as well."""
    return line.removeprefix(HTTP_ONLY).split(b"\t")[1] == b"TRUE"


#: Jars of other origins with which a login begins; each may redirect to new ones.
_MOST_OTHERS = 20


def login_jar(site: str, origin: str) -> str:
    """The name of the jar of the requests to `origin` in a login to `site`."""
    return site if origin == site else f"{site} {origin}"


class Jars:
    """The jar of the crawl, and jars of their own by name.

    A jar of its own takes no part in the bound of the common one, which a crawl of many sites
    fills and empties; and no request that does not name it gets its cookies.
    """

    def __init__(self, common: NoJar, make: Callable[[], Jar]) -> None:
        self.common = common
        self._make = make
        self._own: dict[str, Jar] = {}
        # The handles that use a jar of its own, with its name.
        self._users: dict[pycurl.Curl, str] = {}

    def __iter__(self) -> Iterator[NoJar]:
        return iter((self.common, *self._own.values()))

    def own(self, name: str) -> Jar:
        """The jar called `name`, which is made when it is first used."""
        if name not in self._own:
            self._own[name] = self._make()
        return self._own[name]

    def find(self, name: str) -> NoJar:
        """The jar called `name`; the common one if that is empty."""
        return self.own(name) if name else self.common

    def hand(self, curl: pycurl.Curl, name: str) -> None:
        """Make `curl`, which used the common jar or has used others since, use `name`.

        A reset of the handle does not change its jar.
        """
        if self._users.get(curl, "") == name:
            return
        curl.unsetopt(pycurl.SHARE)
        self.find(name).hand(curl)
        if name:
            self._users[curl] = name
        else:
            del self._users[curl]

    def discard(self, name: str) -> None:
        """Close the jar called `name`, which no transfer uses."""
        for curl in [curl for curl, used in self._users.items() if used == name]:
            self.hand(curl, "")
        self._own.pop(name).close()

    def forget(self, curl: pycurl.Curl) -> None:
        """Note that `curl` is about to be closed."""
        self._users.pop(curl, None)

    def of_login(self, site: str) -> "LoginJars":
        """The jars of a login to `site`."""
        return LoginJars(self, site)

    def tend(self) -> None:
        """Empty the jars that are full. Must not be called from a callback of libcurl."""
        for jar in self:
            jar.tend()

    def close(self) -> None:
        """Close the jars, which no handle may use any more."""
        for jar in self:
            jar.close()


class LoginJars:
    """The jars of a login: one for its site, and one for each other origin that it leads to.

    There is a jar for each, as libcurl gives a cookie to all schemes and ports of its host. What
    the site sets stays in its own. What another origin sets for a Domain goes to all, of which each
    takes what is for its host: by that a single sign-on tells the site who has come.
    """

    def __init__(self, jars: Jars, site: str) -> None:
        self._jars = jars
        self._site = site
        #: The names of the jars of other origins.
        self._others: set[str] = set()
        # The cookies of the origin that is asked.
        self._before: set[bytes] = set()

    def begin(self, *, anew: bool) -> None:
        """A login begins; `anew`: without any cookie."""
        if anew:
            self._jars.own(self._site).empty()
        if anew or len(self._others) > _MOST_OTHERS:
            for name in self._others:
                self._jars.discard(name)
            self._others.clear()

    def asks(self, origin: str) -> None:
        """A request to `origin` is about to be made."""
        name = login_jar(self._site, origin)
        jar = self._jars.own(name)
        if name != self._site and name not in self._others:
            found = [line for other in self._others for line in self._jars.own(other).lines()]
            jar.add([line for line in found if has_domain(line)], over_given=True)
            self._others.add(name)
        self._before = set(jar.lines())

    def replied(self, origin: str) -> None:
        """The reply of `origin` has come."""
        name = login_jar(self._site, origin)
        if name == self._site:
            return
        new = [line for line in self._jars.own(name).lines() if line not in self._before]
        common = [line for line in new if has_domain(line)]
        for other in {self._site, *self._others} - {name}:
            self._jars.own(other).add(common, over_given=True)


class Mark(TypedDict):
    """The number of the file, 0 for none, and a checksum of the cookies in cookieFile."""

    number: int
    given: int


class SavedCookies(SavedPart):
    """Saves `jar` as ``cookies.000001.txt`` in `folder`, which only its owner may read.

    Listing a full jar takes libcurl 0.1 s.
    """

    def __init__(self, folder: Path, jar: NoJar) -> None:
        self._file = NumberedFile(folder, "cookies", "txt")
        self._jar = jar
        #: The version of the jar that the file holds; None if it is not certain to hold it.
        self._version: int | None = 0

    def cut(self) -> Mark:
        version = self._jar.version
        if version != self._version:
            self._version = None
            lines = self._jar.lines()
            text = [HEADER, *(line + b"\n" for line in lines)] if lines else []
            self._file.write(b"".join(text))
            self._version = version
        return Mark(number=self._file.number, given=self._jar.given)

    def sync(self) -> None:
        if not self._file.is_flushed:
            version, self._version = self._version, None
            self._file.flush()
            self._version = version

    def load(self, mark: Mark) -> None:
        """Add the saved cookies to the jar; those of a cookieFile that has changed come first."""
        if mark["number"]:
            data = self._file.read(mark["number"])
            lines = [line for line in data.removeprefix(HEADER).split(b"\n") if line]
            self._jar.add(lines, over_given=mark["given"] == self._jar.given)
            # The file may hold cookies that have expired: the first checkpoint leaves them out.
            self._version = None

    def tidy(self, mark: Mark) -> None:
        self._file.discard(mark["number"])

    def clear(self) -> None:
        self._file.discard(0)
