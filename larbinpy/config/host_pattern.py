"""Patterns of hosts: which hosts and ports a site block, an exception or a rule is for.

    NAME        the host NAME and its subdomains
    *.NAME      its subdomains alone
    w*.NAME     a glob on the whole host: "*" matches any characters, dots too, "?" matches one
    *           every host

Each may end with ``:PORT``; without one it is for all ports.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from fnmatch import translate
from functools import partial
from typing import Generic, TypeVar

from larbinpy.url import host_of, resolve

T = TypeVar("T")

_WILD = frozenset("*?")
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

    def show(self) -> str:
        """The text that `parse` reads as this pattern."""
        host = "*." + self.name if self.below else self.name or "*"
        return host if self.port is None else f"{host}:{self.port}"

    def match(self, host: str, port: int) -> bool:
        """Whether the pattern matches a host, in the spelling of canonical URLs, and its port."""
        if self.port is not None and self.port != port:
            return False
        if self.glob is not None:
            return self.glob.match(host) is not None
        if not self.name:
            return True
        if host.endswith(self.name):
            return not self.below if len(host) == len(self.name) else host[~len(self.name)] == "."
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
            named = partial(self._by_name.setdefault, pattern.name)
            rows_there = named([]) if pattern.glob is None else self._globs
            rows_there.append((rank, pattern, value))
            self._count += 1

    def __len__(self) -> int:
        return self._count

    def __repr__(self) -> str:
        return f"<HostPatterns {self._count}>"

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
