"""URLs as values: parsing, the canonical spelling, site keys and fingerprints.

ada parses and joins URLs by the WHATWG standard. This module adds the canonical spelling, under
which two URLs are the same resource for the crawl, and `Url`, a URL on its way through it.
"""

import re
import struct
from collections.abc import Iterable
from dataclasses import dataclass, field
from difflib import get_close_matches
from enum import Enum, auto
from functools import lru_cache
from hashlib import blake2b
from typing import NamedTuple
from urllib.parse import unquote

import ada_url

#: Begin the fragment that names a view of a page which scripts make; other fragments are dropped.
VIEWS = ("/", "!")
#: Characters of the name of a view.
_LONGEST_VIEW = 500
#: Longer URLs are refused as ``badURL``: common servers take request lines of 8 kB at most
#: (RFC 9110, section 4.1, recommends 8,000 octets), and the URLs of traps grow without end.
MAX_LENGTH = 8000

#: Ports of other protocols: the "bad ports" of the Fetch standard, and services that a request
#: line could command.
BAD_PORTS = frozenset(
    {1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95}
    | {101, 102, 103, 104, 109, 110, 111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161}
    | {179, 389, 427, 465, 512, 513, 514, 515, 526, 530, 531, 532, 540, 548, 554, 556, 563}
    | {587, 601, 636, 993, 995, 1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061, 6000}
    | {6379, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 10080, 11211}
)

_DEFAULT_PORTS = {"http": 80, "https": 443}

# An escape after a stray "%" or "%x" is left alone: decoding the "%32" of "%%32e" would make a
# new escape, and the spelling would not be stable.
_ESCAPE = re.compile(r"(?<!%)(?<!%[0-9A-Fa-f])%([0-9A-Fa-f]{2})")
# References that become a part of a URL unchanged: no host, no dot segment, no escapes and
# nothing to escape. Segments that begin with a dot would qualify, too, but are rare.
_SEGMENTS = r"(?:[\w~,;=&+!$*()@:-][\w~.,;=&+!$*()@:-]*+/?)*+(?:\?[\w~.,;=&+!$*()@:/?-]++)?"
_PATH = re.compile("/" + _SEGMENTS, re.ASCII).fullmatch
# The first segment holds no colon, which would end a scheme.
_RELATIVE = re.compile(
    r"[\w~,;=&+!$*()@-][\w~.,;=&+!$*()@-]*+(?:/|(?=\?)|\Z)" + _SEGMENTS, re.ASCII
).fullmatch
_WEB = re.compile("https?:", re.IGNORECASE).match
#: The host, with its port, of a text without a scheme; the first group is no IPv6 address.
_HOST = re.compile(
    r"(?:\[[0-9a-f:.]+\]|([^\s/?#\\@:\[\]]+))(?::(\d{1,5}))?(?=[/?#\\]|\Z)", re.IGNORECASE
).match
#: A scheme, or something similar, and the rest.
_MISTYPED = re.compile(r"([a-z]{2,8})(?:[:;]/*|//+)(.+)", re.IGNORECASE | re.DOTALL).match
#: Extensions of files that people crawl by mistake, as they meant -i or -c. None is a top-level
#: domain.
_FILE = re.compile(
    "bz2|cfg|conf|csv|db|gz|htm|ini|jsonl?|list|log|lst|pdf|php|sqlite|toml|tsv|txt|urls"
    "|x?html|xml|xz|ya?ml"
).fullmatch
#: Any scheme except http and https.
_OTHER_SCHEME = re.compile(r"(?!https?:)[a-z][a-z0-9+.-]*:", re.ASCII | re.IGNORECASE).match
#: Longer origins (characters) are left to `resolve`, which keeps the cache small.
_LONGEST_ORIGIN = 300
#: Ways up from a folder that `Base` prepares; longer ones are rare.
_UP = tuple("../" * levels for levels in range(8))
#: Escapes that the canonical spelling changes; and some that it does not.
_OWN_ESCAPE = re.compile("%(?:[a-f].|.[a-f]|2[DE]|3[0-9]|[4-7][0-9A-F])").search
_UNRESERVED = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")


def parse(text: str, base: str | None = None) -> str | None:
    """Parse `text` against `base` by the WHATWG URL standard.

    Returns the serialised URL (``href``), or None if the standard says failure. Parses any
    scheme, also those that cannot be crawled.
    """
    try:
        return ada_url.normalize_url(text) if base is None else ada_url.join_url(base, text)
    except (ValueError, UnicodeError):
        return None


def canonical(url: str) -> str:
    """Return the spelling under which `url` is the same resource. Idempotent.

    On top of the WHATWG spelling: no fragment, no user name or password (they never
    leave the program), escapes in upper case, escaped unreserved characters decoded
    (RFC 3986, 6.2.2.2) and an empty query dropped. Text that does not parse, and URLs
    of other schemes than http and https, come back as they are.
    """
    href = parse(url)
    if href is None:
        return url
    return _spell(href) or href


def resolve(text: str, base: str | None = None) -> str | None:
    """Parse `text` against `base` and spell it canonically; None unless it can be crawled.

    A URL can be crawled when it is http or https, no longer than `MAX_LENGTH` and not
    on a port of `BAD_PORTS`.
    """
    href = parse(text, base)
    if href is None or len(href) > MAX_LENGTH:
        return None
    spelled = _spell(href)
    if spelled is None or len(spelled) > MAX_LENGTH or split(spelled).port in BAD_PORTS:
        return None
    return spelled


def with_view(text: str) -> str | None:
    """Resolve an absolute URL, and keep the fragment that names a view (``#/a``, ``#!a``)."""
    web, _, part = text.strip().partition("#")
    href = resolve(web)
    if href is None or not part.startswith(VIEWS):
        return href
    return parse(f"{href}#{part}") if len(part) <= _LONGEST_VIEW else None


def as_sent(text: str, base: str) -> str:
    """Parse `text` against `base` as browsers ask for it: spelled as it is, without a fragment.

    A login never leaves the program. Empty unless `resolve` takes it.
    """
    href = parse(text, base) if resolve(text, base) else None
    return _bare(href) or "" if href else ""


def bare(href: str) -> str:
    """A URL of the crawl without the name of a view, as it is sent."""
    return href.partition("#")[0]


def has_own_spelling(reference: str) -> bool:
    """Whether `as_sent` may spell a reference without fragment otherwise than `resolve`."""
    return reference[-1:] == "?" or ("%" in reference and _OWN_ESCAPE(reference) is not None)


def typed(text: str, *, views: bool = False) -> str | None:
    """Resolve a URL as people type it: ``docs.test/a`` and ``localhost:8080`` are http.

    Not for links of pages, where a reference without a scheme is relative. A name without a dot
    and a port, or with the extension of a file, is not taken for a host. A URL whose login no
    request can carry is None as well. `views` keeps the fragment that names a view.
    """
    text = text.strip()
    if has_control(unquote(login_of(text))):
        return None
    if not _WEB(text):
        if not _begins_with_host(text):
            return None
        text = f"http://{text}"
    return with_view(text) if views else resolve(text)


def typed_spelling(text: str) -> str:
    """A URL that `typed` takes as browsers ask for it; empty if that is the canonical spelling."""
    text = text.strip().partition("#")[0]
    if not has_own_spelling(text):
        return ""
    web = text if _WEB(text) else f"http://{text}"
    spelling = as_sent(web, web)
    return "" if spelling == resolve(web) else spelling


#: Stands for what is not shown.
MASK = "***"
#: Part of the names of headers whose values are neither shown nor kept.
SECRET_HEADER = re.compile(
    "auth|cookie|token|key|secret|session|passw|passphrase|passcode|pwd|credential|signature|jwt"
    r"|\b(?:pass|pin|otp|sid)\b",
    re.IGNORECASE,
)
_USERINFO = re.compile(r"(?<=//)[^/?#\s]*(?=@)")


def masked(text: str) -> str:
    """`text` without the user names and passwords of the URLs in it."""
    return _USERINFO.sub(MASK, text)


_SCHEME = re.compile(r"(?:[a-z][a-z0-9+.-]*:)?//|https?:", re.ASCII | re.IGNORECASE)


def masked_typed(text: str) -> str:
    """`text` as it was typed, for messages: if it is no URL, without all that may be a login."""
    text = text.strip()
    if "@" not in text or typed(text) is not None:
        return masked(text)
    scheme = _SCHEME.match(text)
    return (scheme[0] if scheme else "") + MASK + text[text.rindex("@") :]


_LOGIN_IN_LINE = re.compile(
    r"""(?<=//|:/)(?!\[USER|(?:USER)?:PASSWORD@)(?:  # Usages show where it would be.
            [^/?#\s]*(?=@)
            # One with characters that it may not have, or cut by a space: no port follows.
            |[^/?#\s:@[]*:(?=\d*[^\W\d])[^\s'"]*
        )
        |(?<=['"])[^\s'"/:@]*:[^\s'"]*(?=@)  # Quoted, without //.
    """,
    re.VERBOSE,
)


def masked_line(line: str) -> str:
    """A message without the logins of addresses in it, also of those that are none."""
    return _LOGIN_IN_LINE.sub(MASK, line)


def login_of(text: str) -> str:
    """The ``USER:PASSWORD`` in a URL that people type, still escaped; empty if it has none."""
    text = text.strip()
    if "@" not in text or not _WEB(text):
        return ""
    try:
        url = ada_url.URL(text)
    except (ValueError, UnicodeError):
        return ""
    return f"{url.username}:{url.password}" if url.username or url.password else ""


_CONTROL = re.compile("[\x00-\x1f\x7f\ud800-\udfff]")


def has_control(login: str) -> bool:
    """Whether a user name or password, unescaped, has a character that no request can carry."""
    return _CONTROL.search(login) is not None


def _begins_with_host(text: str) -> bool:
    found = _HOST(text)
    if found is None:
        return False
    name, port = found.groups()
    if name is None:
        return True
    name = name.lower()
    labels = name.split(".")
    if labels[-1].isdecimal():
        # The standard accepts 12345 and 1.2 as IPv4 addresses; people do not write them.
        return len(labels) == 4
    has_dot = len(labels) > 1 and all(labels[:2])
    return (has_dot and not _FILE(labels[-1])) or port is not None or name == "localhost"


def fault(text: str) -> str:
    """Return the reason why `typed` refuses `text`, for messages; empty if it does not."""
    text = text.strip()
    if typed(text) is not None:
        return ""
    web = f"http://{text}" if _begins_with_host(text) and not _WEB(text) else text
    return f"not a URL that can be crawled ({_reason(web)})"


def _reason(text: str) -> str:
    if has_control(unquote(login_of(text))):
        return "its user name or password has a control character"
    href = parse(text)
    spelled = None if href is None else _spell(href)
    if spelled is not None:
        port = split(spelled).port
        bad = f"port {port} is that of another service"
        return bad if port in BAD_PORTS else f"it is longer than {MAX_LENGTH} characters"
    mistyped = _MISTYPED(text)
    if mistyped and (close := get_close_matches(mistyped[1].lower(), _DEFAULT_PORTS)):
        meant = f"{close[0]}://{mistyped[2]}"
        if resolve(meant) is not None:
            return f"did you mean {masked(meant)[:80]}?"
    if not _WEB(text) and "://" not in text and resolve(f"http://{text}") is not None:
        return "http:// is missing if it is a host"
    return "http or https"


class Base:
    """A URL that many references are resolved against.

    Most references are plain: neither the URL standard nor the canonical spelling changes them.
    They are appended to the base's origin or to one of its folders, in a third of the time that
    the function `resolve` takes. That function resolves all others.
    """

    __slots__ = ("_folders", "_origin", "url")

    def __init__(self, url: str) -> None:
        """`url` is absolute and spelled as `parse` or `resolve` does."""
        self.url = url
        #: Empty if no reference may be appended to it.
        self._origin = ""
        #: The folder of `url` under "", the one above it under "../", and so on; made when needed.
        self._folders: dict[str, str] | None = None
        if _spell(url) == url and len(url) <= MAX_LENGTH:
            origin = url[: url.index("/", 8)]
            if is_plain_origin(origin):
                self._origin = origin

    def _above(self) -> dict[str, str]:
        folders: dict[str, str] = {}
        folder, root = self.url.partition("?")[0], f"{self._origin}/"
        for up in _UP if self._origin else ():
            # The standard drops steps above the root.
            if folder != root:
                folder = folder[: folder.rindex("/", 0, -1 if up else None) + 1]
            folders[up] = folder
        return folders

    @property
    def is_plain(self) -> bool:
        """Whether plain references may be appended to it."""
        return bool(self._origin)

    def resolve(self, reference: str) -> str | None:
        """Resolve `reference`, which must have no fragment, as the function `resolve` does."""
        url = None
        if reference[:4] == "http":
            end = reference.find("/", 8, _LONGEST_ORIGIN)
            if end > 0 and _PATH(reference, end) and is_plain_origin(reference[:end]):
                url = reference
        elif reference[:1] == "/":
            if self._origin and _PATH(reference):
                url = self._origin + reference
        else:
            head, up, rest = reference.rpartition("../")
            if self._folders is None:
                self._folders = self._above()
            folder = self._folders.get(head + up)
            if folder is not None and _RELATIVE(rest):
                url = folder + rest
        if url is None or len(url) > MAX_LENGTH:
            return self._resolve_other(reference)
        return url

    def _resolve_other(self, reference: str) -> str | None:
        """Resolve one of the few references that are not plain."""
        if not reference and self._origin:
            return self.url
        if self._folders and reference in self._folders:
            return self._folders[reference]
        return None if _OTHER_SCHEME(reference) else resolve(reference, self.url)


@lru_cache(1 << 14)
def is_plain_origin(origin: str) -> bool:
    """Whether `origin` is a canonical ``http[s]://host[:port]`` that can be crawled."""
    return resolve(f"{origin}/") == f"{origin}/"


def _bare(href: str) -> str | None:
    """Return a WHATWG `href` without fragment and login; None if it is not http or https."""
    if not href.startswith(("http://", "https://")):
        return None
    href = href.partition("#")[0]
    if "@" not in href:
        return href
    scheme, _, rest = href.partition("://")
    authority, slash, path = rest.partition("/")
    return f"{scheme}://{authority.rpartition('@')[2]}{slash}{path}"


def _spell(href: str) -> str | None:
    """Return the canonical spelling of a WHATWG `href`; None if it is not http or https."""
    bare = _bare(href)
    if bare is None:
        return None
    if "%" in bare:
        origin = bare.index("/", 8)
        bare = bare[:origin] + _ESCAPE.sub(_decode_unreserved, bare[origin:])
    return bare[:-1] if bare.find("?") == len(bare) - 1 else bare


def _decode_unreserved(match: re.Match[str]) -> str:
    char = chr(int(match[1], 16))
    return char if char in _UNRESERVED else match[0].upper()


def fingerprint(url: str) -> int:
    """Return the 64-bit fingerprint of a canonical URL."""
    return hash64(url.encode())


def fingerprints(urls: Iterable[str]) -> list[int]:
    """Return the `fingerprint` of each of `urls`; 20 % faster than one by one."""
    digests = [blake2b(url.encode(), digest_size=8).digest() for url in urls]
    return list(struct.unpack(f"<{len(digests)}Q", b"".join(digests)))


def hash64(data: bytes) -> int:
    """Return a 64-bit hash of `data`.

    BLAKE2b, not a faster hash: a page may hold any URLs, and its author must not be able to
    construct one that collides with the URL of another site.
    """
    return int.from_bytes(blake2b(data, digest_size=8).digest(), "little")


class Parts(NamedTuple):
    """The parts of a canonical URL."""

    scheme: str
    #: Lower case, punycode; an IPv6 address keeps its brackets.
    host: str
    port: int
    #: Path and query, as in a request line.
    path: str


def split(url: str) -> Parts:
    """Split a canonical URL into its parts; no parser is needed for that spelling."""
    scheme, _, rest = url.partition("://")
    authority, _, path = rest.partition("/")
    host, colon, port = authority.rpartition(":")
    if not colon or authority.endswith("]"):
        return Parts(scheme, authority, _DEFAULT_PORTS[scheme], "/" + path)
    return Parts(scheme, host, int(port), "/" + path)


def site_of(url: str) -> str:
    """Return the site key of a canonical URL: ``scheme://host[:port]``."""
    return url[: url.index("/", 8)]


def port_of(site: str) -> int:
    """Return the port of a site key."""
    port = site.rpartition(":")[2]
    return int(port) if port.isdecimal() else 443 if site.startswith("https:") else 80


def host_of(url: str) -> str:
    """Return the host of a canonical URL, without its port."""
    authority = url[url.index("//") + 2 : url.index("/", 8)]
    if authority.endswith("]"):
        return authority
    return authority.partition(":")[0] if authority[0] != "[" else authority.rpartition(":")[0]


@dataclass(frozen=True)
class Ask:
    """A request of a login, or of a page in a browser. Redirects are not followed by themselves."""

    href: str
    #: The body of a POST; None for a GET.
    body: bytes | None = field(default=None, repr=False)
    #: Further header lines, "Name: value".
    headers: tuple[str, ...] = field(default=(), repr=False)
    #: Seconds to wait before the request, besides the site's own delay.
    wait: float = 0.0
    #: A line for the user alone, who has to do something meanwhile; it is shown once.
    notice: str = field(default="", repr=False)


class Aim(Enum):
    """What is expected at a URL."""

    PAGE = auto()
    #: A sitemap that robots.txt or an index of sitemaps names.
    SITEMAP = auto()
    #: A sitemap that nothing names. If there is none, the URL leaves no trace.
    GUESS = auto()
    #: The rules of a site.
    ROBOTS = auto()
    #: The answer of a site to a name that does not exist.
    PROBE = auto()
    #: The reply to a request of a login.
    LOGIN = auto()
    #: What a page asks for that a browser has.
    PART = auto()


@dataclass(frozen=True, slots=True)
class Purpose:
    """What a URL is fetched for: `PAGE`, `SITEMAP`, `GUESS`, or as a preliminary request."""

    aim: Aim
    #: The key of the site that needs a preliminary request before its URLs may be fetched, or that
    #: of the page that has a part. None for a URL of the crawl.
    owner: str | None = None
    #: The request of a login or of a part; None for others.
    ask: Ask | None = field(default=None, repr=False)


PAGE, SITEMAP, GUESS = Purpose(Aim.PAGE), Purpose(Aim.SITEMAP), Purpose(Aim.GUESS)


@dataclass(slots=True)
class Url:
    """A URL on its way through the crawl.

    It is in one queue at a time. `depth` counts down as Larbin's does: the number of links that
    may still be followed from here. `attempt` counts the tries so far.
    """

    href: str
    depth: int
    #: The page it was found on; None for a seed.
    via: str | None = None
    attempt: int = 0
    #: Redirects in a row, and steps from page requisite to page requisite, on the way here.
    hops: int = 0
    priority: bool = False
    #: Given by the operator, or reached by redirects from such a URL.
    seed: bool = False
    #: Needed to show a page (requisites).
    requisite: bool = False
    #: Linked as a style sheet.
    sheet: bool = False
    #: A redirect led here.
    redirect: bool = False
    purpose: Purpose = PAGE
    #: As its server spells it, if that is not `href`: the same resource, asked for in this way.
    spelling: str = ""
    #: What the plug of a program calls it (`Crawl.add`); also of what it redirects to.
    label: str = ""
    #: Position in the store; 0 before it left the store.
    place: int = field(default=0, compare=False)
    #: Place in the journal of a fleet; 0 alone.
    origin: int = field(default=0, compare=False)

    @property
    def robots_for(self) -> str | None:
        """Site key whose robots.txt this is, else None."""
        return self.purpose.owner if self.purpose.aim is Aim.ROBOTS else None

    @property
    def is_named(self) -> bool:
        """Whether something names it: it is no guess, and no preliminary request."""
        return self.purpose is PAGE or self.purpose is SITEMAP

    @property
    def is_sitemap(self) -> bool:
        """Whether it is that of a sitemap, if there is one."""
        return self.purpose is SITEMAP or self.purpose is GUESS

    @property
    def site(self) -> str:
        return site_of(self.href)

    @property
    def host(self) -> str:
        return host_of(self.href)
