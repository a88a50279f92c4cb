"""The demo web as values: hosts, their resources, and the links a crawler must find there.

A page is described by its links, and its markup is generated from them: the server's replies
and the expected result of a crawl come from the same description and cannot differ. Targets
are in canonical spelling (``/path`` on the same host, ``//host/path`` elsewhere); a different
spelling in the page is the link's ``spelled``.
"""

import gzip
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from enum import Enum
from hashlib import blake2b
from html import escape
from typing import NamedTuple

HTML = "text/html"


class LinkKind(Enum):
    """The kind of a link, as far as a crawler is concerned."""

    PAGE = "page"
    IMAGE = "image"
    REQUISITE = "requisite"
    SITEMAP = "sitemap"
    #: Looks like a link, and must not be followed.
    NEVER = "never"


class Location(NamedTuple):
    """Host, then path and query in canonical spelling."""

    host: str
    path: str


@dataclass(frozen=True, slots=True)
class Link:
    """A link of a page: a name in `MARKUP`, the canonical target, the text written."""

    how: str
    target: str
    spelled: str | None = None


#: The markup of each sort of link. A crawler must not follow those of kind NEVER.
MARKUP: dict[str, tuple[LinkKind, str]] = {
    "a": (LinkKind.PAGE, '<li><a href="{url}">{text}</a></li>'),
    "area": (LinkKind.PAGE, '<map name="m"><area shape="default" alt="" href="{url}"></map>'),
    "iframe": (LinkKind.PAGE, '<iframe src="{url}"></iframe>'),
    "form": (LinkKind.PAGE, '<form action="{url}"><input name="q"><button>Go</button></form>'),
    "next": (LinkKind.PAGE, '<link rel="next" href="{url}">'),
    "feed": (LinkKind.PAGE, '<link rel="alternate" type="application/rss+xml" href="{url}">'),
    "refresh": (LinkKind.PAGE, '<meta http-equiv="refresh" content="5; url={url}">'),
    "entry": (LinkKind.PAGE, ""),
    "img": (LinkKind.IMAGE, '<img alt="" src="{url}">'),
    "srcset": (LinkKind.IMAGE, '<img alt="" srcset="{url} 2x">'),
    "source": (LinkKind.IMAGE, '<picture><source srcset="{url} 640w"></picture>'),
    "icon": (LinkKind.IMAGE, '<link rel="icon" href="{url}">'),
    "style": (LinkKind.REQUISITE, '<link rel="stylesheet" href="{url}">'),
    "script": (LinkKind.REQUISITE, '<script src="{url}"></script>'),
    "audio": (LinkKind.REQUISITE, '<audio controls src="{url}"></audio>'),
    "manifest": (LinkKind.REQUISITE, '<link rel="manifest" href="{url}">'),
    "inline-style": (LinkKind.REQUISITE, "<p style=\"background: url('{url}')\">Painted.</p>"),
    "style-element": (LinkKind.REQUISITE, "<style>h1 {{ background: url({url}) }}</style>"),
    "part": (LinkKind.REQUISITE, ""),
    "map": (LinkKind.SITEMAP, ""),
    "nofollow": (LinkKind.NEVER, '<li><a rel="nofollow" href="{url}">{text}</a></li>'),
    "post": (LinkKind.NEVER, '<form method="post" action="{url}"><button>Buy</button></form>'),
    "comment": (LinkKind.NEVER, '<!-- <a href="{url}">{text}</a> -->'),
    "string": (LinkKind.NEVER, "<script>var s = '<a href=\"{url}\">';</script>"),
    "text": (LinkKind.NEVER, "<p>&lt;a href={url}&gt;</p>"),
    "data": (LinkKind.NEVER, '<p data-href="{url}">Data.</p>'),
    "shown": (LinkKind.NEVER, '<li><a href="{url}">{text}</a></li>'),
}
_IN_HEAD = {"next", "feed", "refresh", "icon", "style", "manifest", "style-element"}


@dataclass(frozen=True, slots=True)
class Resource:
    """The server's reply for one path, and the expected outcome."""

    status: int = 200
    type: str = HTML
    body: bytes = b""
    headers: tuple[tuple[str, str], ...] = ()
    #: The links a crawler must find, Location and Link headers included.
    links: tuple[tuple[LinkKind, Location], ...] = ()
    #: Outcome name, if the status alone does not determine it.
    outcome: str = ""
    #: Seconds over which the body is sent.
    drip: float = 0.0
    #: Retry-After (s) of one 503 before the real reply.
    busy: int | None = None
    chunked: bool = False
    gzip: bool = False
    #: False if the page asks not to be kept (meta robots noindex).
    indexed: bool = True

    @property
    def fate(self) -> str:
        """The expected outcome name."""
        if self.outcome:
            return self.outcome
        return {2: "success", 3: "err30X", 4: "err40X"}.get(self.status // 100, "err50X")


MISSING = Resource(404, body=b"<!DOCTYPE html><title>Not found</title><p>No such page.</p>\n")


@dataclass(slots=True)
class Host:
    """One host name. `fate` is set if no request can reach it (noDNS, noConnection)."""

    name: str
    port: int
    addresses: tuple[str, ...] = ()
    #: The name this one is a CNAME of.
    alias_of: str | None = None
    fate: str = ""
    #: Paths of the sitemaps that robots.txt names.
    sitemaps: tuple[str, ...] = ()
    resources: dict[str, Resource] = field(default_factory=dict)
    #: Generates the resources that are not listed: the endless part of a trap.
    endless: Callable[["Host", str], Resource | None] | None = None
    #: Prefixes of the paths in the endless part.
    endless_prefixes: tuple[str, ...] = ()

    def find(self, path: str) -> Resource:
        found = self.resources.get(path)
        if found is None and self.endless is not None:
            found = self.endless(self, path)
        return found or MISSING

    def location(self, target: str) -> Location:
        """The location of a link's target on a page of this host."""
        if not target.startswith("//"):
            return Location(self.name, target)
        host, slash, path = target[2:].partition("/")
        return Location(host, slash + path)

    def spell(self, link: Link) -> str:
        """The link as the page writes it."""
        if link.spelled is not None:
            return link.spelled.replace("{port}", str(self.port))
        if not link.target.startswith("//"):
            return link.target
        host, path = self.location(link.target)
        return f"http://{host}:{self.port}{path}"

    def found(self, links: tuple[Link, ...]) -> tuple[tuple[LinkKind, Location], ...]:
        kinds = ((MARKUP[link.how][0], self.location(link.target)) for link in links)
        return tuple((kind, location) for kind, location in kinds if kind is not LinkKind.NEVER)

    def put(self, path: str, resource: Resource) -> None:
        """Add `resource`; raises ValueError if the path has one already."""
        if path in self.resources:
            raise ValueError(f"two resources at {self.name}{path}")
        self.resources[path] = resource

    def file(self, path: str, body: str | bytes, type_: str, *links: Link) -> None:
        """Add a file; ``{port}`` in a text body is replaced by the web port."""
        data = body.replace("{port}", str(self.port)).encode() if isinstance(body, str) else body
        self.put(path, Resource(type=type_, body=data, links=self.found(links)))

    def page(self, path: str, *links: Link, traits: Resource | None = None, **how: str) -> None:
        """Add an HTML page with `links`; `traits` has the rest, `how` is passed to `html`."""
        traits = traits or Resource()
        body = html(self, how.pop("title", path), links, **how)
        found = self.found(links) + traits.links
        self.put(path, replace(traits, body=body, links=found))

    def redirect(self, path: str, status: int, target: str, spelled: str | None = None) -> None:
        """Add a redirect; its only link is its Location."""
        link = Link("entry", target, spelled)
        location = (("Location", self.spell(link)),)
        self.put(path, Resource(status, headers=location, links=self.found((link,))))


def html(
    host: Host,
    title: str,
    links: tuple[Link, ...],
    *,
    text: str = "",
    head: str = "",
    codec: str = "utf-8",
    label: str = "utf-8",
) -> bytes:
    """The bytes of a page in `codec`; `label` is the charset in its meta element, or ""."""
    parts: dict[bool, list[str]] = {True: [], False: []}
    for link in links:
        url = escape(host.spell(link))
        markup = MARKUP[link.how][1].format(url=url, text=escape(link.target))
        parts[link.how in _IN_HEAD].append(markup)
    charset = f'<meta charset="{label}">\n' if label else ""
    lines = [
        f"<!DOCTYPE html>\n<html>\n<head>\n{charset}<title>{escape(title)}</title>",
        *filter(None, [head]),
        *parts[True],
        f"</head>\n<body>\n<h1>{escape(title)}</h1>",
        *([f"<p>{text}</p>"] if text else []),
        *parts[False],
        "</body>\n</html>\n",
    ]
    return "\n".join(lines).encode(codec)


@dataclass(slots=True)
class Web:
    """All hosts of the demo web, for one web port; the port determines everything."""

    port: int
    hosts: dict[str, Host] = field(default_factory=dict)
    seeds: tuple[Location, ...] = ()

    def host(self, name: str, robots: str | Resource | None = "", *, address: str = "") -> Host:
        """Add a host with an address of its own; `robots` is the text of its robots.txt."""
        number = len(self.hosts) + 1
        host = Host(name, self.port, (address or f"127.0.1.{number}",))
        self.hosts[name] = host
        if isinstance(robots, Resource):
            host.put("/robots.txt", robots)
        elif robots is not None:
            host.file("/robots.txt", robots or "User-agent: *\nDisallow:\n", "text/plain")
        return host

    def url(self, location: Location) -> str:
        """The canonical URL of `location`."""
        return f"http://{location.host}:{self.port}{location.path}"

    def find(self, location: Location) -> Resource:
        """The resource at `location`; a 404 for an unknown host or path."""
        host = self.hosts.get(location.host)
        return host.find(location.path) if host else MISSING

    def endless(self, location: Location) -> bool:
        """Whether `location` is in the part of a trap that has no end."""
        return location.path.startswith(self.hosts[location.host].endless_prefixes or ("\0",))

    def locations(self) -> Iterator[Location]:
        """Every listed resource except robots.txt."""
        for host in self.hosts.values():
            for path in host.resources:
                if not path.endswith("/robots.txt"):
                    yield Location(host.name, path)

    def listening(self) -> list[str]:
        """The distinct addresses that the web server listens on."""
        hosts = (host for host in self.hosts.values() if not host.fate)
        return list(dict.fromkeys(address for host in hosts for address in host.addresses))

    def silent(self) -> list[str]:
        """The addresses that must refuse connections."""
        return [a for host in self.hosts.values() if host.fate for a in host.addresses]


def share(*key: object) -> float:
    """A number in [0, 1) that depends only on `key`: randomness without state."""
    digest = blake2b(repr(key).encode(), digest_size=6).digest()
    return int.from_bytes(digest, "big") / 2**48


def squeeze(body: bytes) -> bytes:
    """gzip without a timestamp, so that the bytes are the same in each run."""
    return gzip.compress(body, mtime=0)
