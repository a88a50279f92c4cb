r"""Patterns of hosts and of whole URLs, and registered domains.

A `HostPattern` says which hosts a site block, an exception or a rule is for:

    NAME        the host NAME and its subdomains
    *.NAME      its subdomains alone
    w*.NAME     a glob on the whole host: "*" matches any characters, dots too, "?" matches one
    *           every host

Each may end with ``:PORT``; without one it is for all ports. Globs on whole URLs have other signs:

    *           any characters but "/"
    **          any characters
    ?           one character but "/"
    \x          the character x: "\?" is the beginning of a query

The Public Suffix List comes with the package publicsuffixlist and is loaded when it is first used:
30 ms.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from fnmatch import translate
from functools import cache, lru_cache, partial
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from typing import Any, Generic, NamedTuple, TypeVar
from urllib.parse import quote

from larbinpy.url import host_of, resolve

T = TypeVar("T")

_WILD = frozenset("*?")
_BRACKETS = str.maketrans("", "", "[]")
#: Characters of a glob, besides the wildcards; those of hosts in canonical URLs.
_GLOB = re.compile(r"[a-z0-9._*?-]+", re.ASCII)
_PORT = re.compile(r"\d{1,5}", re.ASCII)


@dataclass(frozen=True, slots=True)
class HostPattern:
    """One pattern. Made by `parse`; equal patterns match the same hosts."""

    #: The host in the spelling of canonical URLs: a name, or a glob if `glob` is set.
    name: str
    #: None for all ports.
    port: int | None = None
    #: Whether the host called `name` itself does not match, only its subdomains.
    below: bool = False
    #: The compiled glob; None for a name.
    glob: re.Pattern[str] | None = field(default=None, compare=False, repr=False)
    #: The addresses that match, for a network; then `name` is its spelling.
    network: IPv4Network | IPv6Network | None = None

    @classmethod
    def parse(cls, text: str) -> "HostPattern":
        """The pattern that `text` spells. Raises ValueError with a reason."""
        host, port = _split_port(text)
        below = host.startswith("*.") and not _WILD & set(host[2:])
        if host != "*" and not below and _WILD & set(host):
            glob = _canonical_glob(host, text)
            return cls(glob, port, glob=re.compile(translate(glob)))
        name = "" if host == "*" else host_name(host[2:] if below else host)
        if name is None or host[:1] in ".!":
            examples = "docs.test, *.docs.test or w*.test:8080"
            raise ValueError(f"{text[:80]!r} is not a host pattern such as {examples}")
        return cls(name, port, below)

    @classmethod
    def of_no_proxy(cls, text: str) -> "HostPattern":
        """As `parse`; also what `no_proxy` of other programs holds.

        These are domains such as `.corp.example`, names that end with a dot, bare IPv6 addresses,
        networks, in which only hosts that are addresses can be, and paths of sockets, at which no
        host is.
        """
        if text.startswith("/"):
            return cls(text)
        if "/" in text:
            try:
                network = ip_network(text.translate(_BRACKETS), strict=False)
            except ValueError:
                raise ValueError(f"{text[:80]!r} is not a network such as 10.0.0.0/8") from None
            return cls(str(network), network=network)
        if text.count(":") > 1 and "[" not in text:
            text = f"[{text}]"
        return cls.parse(text.removeprefix(".").removesuffix("."))

    def show(self) -> str:
        """The text that `parse`, or `of_no_proxy`, reads as this pattern."""
        host = "*." + self.name if self.below else self.name or "*"
        return host if self.port is None else f"{host}:{self.port}"

    def match(self, host: str, port: int) -> bool:
        """Whether the pattern matches a host, in the spelling of canonical URLs, and its port."""
        if self.port is not None and self.port != port:
            return False
        if self.glob is not None:
            return self.glob.match(host) is not None
        if self.network is not None:
            return _has_address(self.network, host)
        if not self.name:
            return True
        if host.endswith(self.name):
            return not self.below if len(host) == len(self.name) else host[~len(self.name)] == "."
        return False


def _has_address(network: IPv4Network | IPv6Network, host: str) -> bool:
    try:
        return ip_address(host.translate(_BRACKETS)) in network
    except ValueError:
        return False


class HostPatterns(Generic[T]):
    """Values by pattern, in an order; a lookup takes no longer with thousands of names.

    Names are found by the suffixes of the host, in a dict. Globs are tried one by one.
    """

    def __init__(self, rows: Iterable[tuple[HostPattern, T]]) -> None:
        self._by_name: dict[str, list[tuple[int, HostPattern, T]]] = {}
        self._globs: list[tuple[int, HostPattern, T]] = []
        self._count = 0
        for rank, (pattern, value) in enumerate(rows):
            is_name = pattern.glob is None and pattern.network is None
            named = partial(self._by_name.setdefault, pattern.name)
            rows_there = named([]) if is_name else self._globs
            rows_there.append((rank, pattern, value))
            self._count += 1

    def __len__(self) -> int:
        return self._count

    def matching(self, host: str, port: int) -> list[T]:
        """The values of the patterns that match, in their order."""
        found = [row for row in self._globs if row[1].match(host, port)]
        name = host
        while True:
            there = self._by_name.get(name, ())
            found += [row for row in there if row[1].match(host, port)]
            if not name:
                break
            name = name.partition(".")[2]
        found.sort(key=_rank)
        return [value for _, _, value in found]

    def first(self, host: str, port: int) -> T | None:
        """The value of the first pattern that matches; None if none does."""
        found = self.matching(host, port)
        return found[0] if found else None


def _rank(row: tuple[int, HostPattern, object]) -> int:
    return row[0]


def host_name(name: str) -> str | None:
    """`name` in the spelling of canonical URLs; None if it is not a host alone."""
    if set(name) & set("/\\@?#%") or ":" in name.rpartition("]")[2]:
        return None
    url = resolve(f"http://{name}/")
    return url and host_of(url)


def _split_port(text: str) -> tuple[str, int | None]:
    """Host and port of a pattern; the colons of an IPv6 address are in brackets."""
    host, colon, port = text.rpartition(":")
    if not colon or text.endswith("]"):
        return text, None
    if not _PORT.fullmatch(port) or not 1 <= int(port) <= 65535:
        raise ValueError(f"{text[:80]!r} does not end with a port between 1 and 65535")
    return host, int(port)


def _canonical_glob(glob: str, text: str) -> str:
    """`glob` in lower case, labels without a wildcard in punycode."""
    labels = [
        label if label.isascii() or _WILD & set(label) else host_name(label) or label
        for label in glob.lower().split(".")
    ]
    name = ".".join(labels)
    if not _GLOB.fullmatch(name):
        raise ValueError(
            f"{text[:80]!r} is not a glob on a host: besides * and ? it may have letters, digits, "
            "dots and hyphens"
        )
    return name


_PIECE = re.compile(r"(?P<all>\*\*+)|(?P<some>\*)|(?P<one>\?)|\\(?P<quoted>.)|(?P<plain>[^\\])")
#: Wildcards as regular expressions of RE2.
_WILDCARDS = {"all": ".*", "some": "[^/]*", "one": "[^/]"}
_ESCAPE = re.compile(r"%[0-9A-Fa-f]{2}")
#: A literal scheme, then the host and perhaps a port.
_ORIGIN = re.compile(r"([a-z*?]*://)([^/]*)", re.IGNORECASE)
_DEFAULT_PORT = re.compile(r"http://[^/]*:80(/|$)|https://[^/]*:443(/|$)")
#: One character for each step of the automaton below.
_ANY = "htps:/a"
_PATH_STATE = 10


class Piece(NamedTuple):
    """A wildcard ("all", "some" or "one"), or a character."""

    wildcard: str
    character: str


def pieces(glob: str) -> list[Piece]:
    """The parts of a glob. Raises ValueError if it ends with a backslash."""
    found = [
        Piece("", match[0][-1]) if match.lastgroup in ("quoted", "plain") else
        Piece(match.lastgroup or "", "")
        for match in _PIECE.finditer(glob)
    ]  # fmt: skip
    if glob.endswith("\\") and (len(glob) - len(glob.rstrip("\\"))) % 2:
        raise ValueError(f"{glob[:80]!r} ends with a backslash, and no character follows")
    return found


def regex(glob: str) -> str:
    """The regular expression (RE2) of a glob; it is to match the whole URL."""
    return "".join(
        _WILDCARDS[piece.wildcard] if piece.wildcard else re.escape(piece.character)
        for piece in pieces(glob)
    )


def literals(glob: str) -> list[str]:
    """The text between the wildcards of a glob, so that each gap is a wildcard."""
    texts = [""]
    for piece in pieces(glob):
        if piece.wildcard:
            texts.append("")
        else:
            texts[-1] += piece.character
    return texts


def canonical(glob: str) -> str:
    """`glob` in the spelling of canonical URLs.

    Scheme and host are lower case, other names in punycode, characters outside ASCII escaped.
    Raises ValueError with a reason and a suggestion if it can match no URL.
    """
    origin = _ORIGIN.match(glob)
    head, path = "", glob
    if origin is not None:
        head, path = origin[1].lower() + _host(origin[2]), glob[origin.end() :]
    path = _ESCAPE.sub(
        lambda match: match[0].upper(), quote(path, safe="".join(map(chr, range(128))))
    )
    glob = head + path
    if _DEFAULT_PORT.match(glob):
        raise ValueError(f"{glob[:80]!r}: URLs do not show the default port; leave it out")
    if "#" in glob:
        raise ValueError(
            f"{glob[:80]!r}: URLs are compared without their fragment; end it before #"
        )
    if not matches_some_url(glob):
        nearest = next(filter(matches_some_url, _repaired(glob)), None)
        hint = f"; perhaps {nearest}" if nearest else ""
        raise ValueError(
            f"{glob[:80]!r} matches no URL, because it is compared with whole URLs{hint}"
        )
    return glob


def _host(host: str) -> str:
    """The part of a glob that is host and port, each label that is no glob in punycode."""
    labels = host.lower().split(".")
    return ".".join(label if label.isascii() else host_name(label) or label for label in labels)


def _repaired(glob: str) -> Iterator[str]:
    """Globs that were perhaps meant, the likeliest first."""
    if glob.startswith(("http://", "https://")):
        yield glob.rstrip("/") + "/**"
    elif glob.startswith("*"):
        yield "*" + glob
    elif "." in glob.partition("/")[0].rstrip("."):
        yield f"*://{glob}"
        yield f"*://{glob}/**"
    if "://" not in glob:
        yield f"**{glob}" if glob.startswith(("/", ".", "*")) else f"**{glob}**"


def matches_some_url(glob: str) -> bool:
    """Whether there is a canonical URL that the glob matches."""
    states = {0}
    for piece in pieces(glob):
        if not piece.wildcard:
            states = _after(states, piece.character)
        elif piece.wildcard == "one":
            states = _after(states, _ANY.replace("/", ""))
        else:
            through = _ANY if piece.wildcard == "all" else _ANY.replace("/", "")
            reached = states
            while not (reached := _after(reached, through)) <= states:
                states |= reached
    return _PATH_STATE in states


def _after(states: set[int], characters: Sequence[str]) -> set[int]:
    return {after for state in states for each in characters for after in _step(state, each)}


def _step(state: int, character: str) -> Iterator[int]:
    """A step of the automaton of canonical URLs; from the last state on it accepts."""
    if state < 4:  # "http"
        if character == "http"[state]:
            yield state + 1
    elif state < 6:  # "s" or not, ":"
        if character == "s" and state == 4:
            yield 5
        elif character == ":":
            yield 6
    elif state < 8:  # "//"
        if character == "/":
            yield state + 1
    elif state < _PATH_STATE:  # a host of at least one character
        if character == "/":
            if state == 9:
                yield _PATH_STATE
        elif character.isascii() and character not in "#?\\@" and character.isprintable():
            yield 9
    elif character.isascii() and character.isprintable() and character != " ":
        yield _PATH_STATE


#: Hosts whose domain is remembered; finding one takes 2 us.
_MOST = 1 << 14


@cache
def _list() -> Any:
    from publicsuffixlist import PublicSuffixList

    return PublicSuffixList()


@lru_cache(_MOST)
def registered_domain(host: str) -> str:
    """The registered domain of a host as URLs spell it; an address or a suffix is its own.

    `www.example.co.uk` -> `example.co.uk`; `user.github.io` is one, as everybody may register
    there.
    """
    if host.endswith("]") or host.rpartition(".")[2].isdigit():
        return host
    return _list().privatesuffix(host) or host


def is_suffix(name: str) -> bool:
    """Whether domains are registered under `name`, so that it is none itself."""
    return bool(_list().is_public(name))


#: Parameters for tracking or sessions, whatever the site: pages are the same without them. Names
#: that mean something else on some sites are not in the list (sid, ref, CFID).
DROPPED = (
    *("utm_*", "mtm_*", "fbclid", "gclid", "gclsrc", "dclid", "gbraid", "wbraid", "msclkid"),
    *("yclid", "ysclid", "twclid", "ttclid", "igshid", "srsltid", "li_fat_id", "mc_cid", "mc_eid"),
    *("mkt_tok", "_ga", "_gl", "_hsenc", "_hsmi", "__hstc", "__hssc", "__hsfp", "oly_anon_id"),
    *("oly_enc_id", "vero_id", "wickedid", "s_kwcid"),
    *("PHPSESSID", "jsessionid", "ASPSESSIONID*", "osCsid", "zenid"),
)
