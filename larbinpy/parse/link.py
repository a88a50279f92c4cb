"""Links: their kinds, their flat form for the compiled module, and the collectors that gather them.

A page's links are each listed once, with the strongest of their kinds. A `CheckCollector` also
tells a link check where they are in the page, which parts the page has (``#name``), references
that are no URLs (``http://[bad``, ``htp://typo.example/``), and refused URLs. A reference with
another scheme than http and https may be a link for some program, so it counts only if its scheme
looks like a misspelt http or https.
"""

import re
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from enum import Enum
from functools import lru_cache
from itertools import accumulate, chain, pairwise
from typing import Any, overload
from urllib.parse import unquote

from larbinpy.native import native
from larbinpy.url import (
    BAD_PORTS,
    MAX_LENGTH,
    Base,
    as_sent,
    canonical,
    has_own_spelling,
    host_of,
    masked,
    parse,
    split,
)

#: Most references of a page that are named, and most characters of each.
MOST = 20
_LONGEST = 200

_SCHEME = re.compile(r"([a-z][a-z0-9+.-]*):", re.ASCII | re.IGNORECASE).match
_WEB = ("http", "https")
#: Schemes in use that are as near to http and https as misspellings are.
_IN_USE = frozenset({"tftp", "httpu", "httpx"})
#: Similarity of "htp", "ttp", "hhtp" and "htpp" to "http" is at least 0.75, that of "ftp" 0.57.
_NEAR = 0.7


def is_malformed(reference: str, base: str) -> bool:
    """Whether a reference in a page with the base URL `base` is no URL."""
    text = reference.strip(" \t\n\f\r")
    scheme = _SCHEME(text)
    if scheme and scheme[1].lower() not in _WEB:
        return _is_misspelt(scheme[1].lower())
    return parse(text, base) is None


def why_refused(reference: str, base: str) -> str:
    """Why a reference cannot be crawled, although it is a URL of the Web; empty if it is not one.

    The reason is a name for counts: "ports" or "length".
    """
    href = parse(reference, base)
    if href is None or not href.startswith(("http://", "https://")):
        return ""
    return "ports" if split(canonical(href)).port in BAD_PORTS else "length"


def _is_misspelt(scheme: str) -> bool:
    if scheme in _IN_USE or len(scheme) > len("https") + 2:
        return False
    return any(SequenceMatcher(None, scheme, each).ratio() >= _NEAR for each in _WEB)


def spelled(reference: str) -> str:
    """A reference as it is named: one word, without a login, not too long."""
    word = "".join("%20" if c.isspace() else c for c in reference.strip())
    return masked(word)[:_LONGEST]


#: Most distinct references taken from one page. The longest honest lists are sitemaps, which the
#: protocol limits to 50,000; a page with more is an attack.
MAX_LINKS = 50_000

#: Most characters of URLs taken from one page: with a long <base>, a reference of two bytes becomes
#: a URL of 8 kB.
_MAX_CHARACTERS = 16 << 20

#: Longer references are not resolved: white space and dot segments may shrink one below
#: `MAX_LENGTH`, but an honest one never by so much. Most are data: URLs.
_MAX_REFERENCE = 4 * MAX_LENGTH

#: Relations of a <link> that are not followed: they name a host and no resource, or an address
#: for programs, which send it what it needs; to a plain GET it answers with 400, 401 or 405.
_NO_RESOURCES = frozenset(
    {"preconnect", "dns-prefetch", "pingback", "webmention", "http://webmention.org/", "trackback"}
    | {"micropub", "microsub", "authorization_endpoint", "token_endpoint", "indieauth-metadata"}
    | {"redirect_uri", "ticket_endpoint", "https://api.w.org/", "hub", "salmon", "inbox"}
    | {"http://www.w3.org/ns/ldp#inbox", "edituri", "service", "monetization", "profile"}
    | {"openid.server", "openid.delegate", "openid2.provider", "openid2.local_id"}
)
_IMAGE_RELATIONS = frozenset(
    {"icon", "apple-touch-icon", "apple-touch-icon-precomposed", "apple-touch-startup-image"}
    | {"mask-icon", "fluid-icon", "image_src"}
)
_SHEET = "stylesheet"
_REQUISITE_RELATIONS = frozenset({"manifest", "modulepreload", "enclosure"})
_LOADED_AHEAD = frozenset({"preload", "prefetch"})
#: Characters of `rel` or `as` that are read; no honest value is longer.
_LONGEST_RELATION = 256
_UNENDORSED = frozenset({"nofollow", "ugc", "sponsored"})


class Kind(Enum):
    """How a page uses a link."""

    #: A link to follow.
    PAGE = "page"
    #: An image that a page shows.
    IMAGE = "image"
    #: A style sheet: it is one even if it has no type.
    SHEET = "sheet"
    #: Another resource that a page needs to be shown: script, font, media, manifest.
    REQUISITE = "requisite"
    #: A link to follow that the page shows, too: a frame, or an image that is linked as well.
    SHOWN = "shown"


@dataclass(slots=True)
class Link:
    """One URL that a page refers to."""

    #: Canonical, as `larbinpy.url.resolve` spells it.
    url: str
    kind: Kind
    #: Every occurrence of the link with this kind has rel=nofollow, ugc or sponsored.
    nofollow: bool = False


#: The kinds by their numbers in `PackedLinks`, and the bit of a link with nofollow. If a URL has
#: several kinds in a page, the first of them counts; PAGE and another one are SHOWN.
KINDS = (Kind.PAGE, Kind.IMAGE, Kind.SHEET, Kind.REQUISITE, Kind.SHOWN)
NOFOLLOW = 8


def packed_flags(kind: Kind, nofollow: bool) -> int:
    """Return the flags of a link in `PackedLinks`."""
    return KINDS.index(kind) | (NOFOLLOW if nofollow else 0)


class PackedLinks(Sequence[Link]):
    """Links in three flat buffers; each `Link` is made when it is asked for.

    `text` holds all URLs, one behind the other; `ends` has an unsigned 32-bit number for each URL,
    the place where it ends; `flags` has a byte for each, its kind (an index of `KINDS`) and
    `NOFOLLOW`.
    """

    __slots__ = ("ends", "flags", "text")

    def __init__(self, text: bytes, ends: bytes, flags: bytes) -> None:
        self.text = text
        self.ends = memoryview(ends).cast("I")
        self.flags = flags

    @classmethod
    def pack(cls, links: Sequence[Link]) -> "PackedLinks":
        """The same `links`, whose URLs are canonical and so ASCII."""
        urls = [link.url for link in links]
        ends = array("I", accumulate(map(len, urls)))
        flags = bytes([packed_flags(link.kind, link.nofollow) for link in links])
        return cls("".join(urls).encode("ascii"), ends.tobytes(), flags)

    def __repr__(self) -> str:
        return f"<PackedLinks {len(self)}>"

    def __len__(self) -> int:
        return len(self.flags)

    @overload
    def __getitem__(self, index: int) -> Link: ...

    @overload
    def __getitem__(self, index: slice) -> list[Link]: ...

    def __getitem__(self, index: int | slice) -> Link | list[Link]:
        if isinstance(index, slice):
            return list(map(self._link, range(len(self))[index]))
        return self._link(index if index >= 0 else range(len(self))[index])

    def _link(self, place: int) -> Link:
        start = self.ends[place - 1] if place else 0
        flags = self.flags[place]
        url = self.text[start : self.ends[place]].decode("ascii")
        return Link(url, KINDS[flags & ~NOFOLLOW], bool(flags & NOFOLLOW))

    def __iter__(self) -> Iterator[Link]:
        for url, flags in zip(self.urls(), self.flags, strict=True):
            yield Link(url, KINDS[flags & ~NOFOLLOW], bool(flags & NOFOLLOW))

    def select(self, wanted: bytes) -> Sequence[Link]:
        """The links whose flags are among `wanted`."""
        others = self.flags.translate(None, wanted)
        if not others:
            return self
        if len(others) == len(self.flags):
            return []
        if native is None:
            return [link for link, flags in zip(self, self.flags, strict=True) if flags in wanted]
        return PackedLinks(*native.select_links(self.text, self.ends, self.flags, wanted))

    def urls(self) -> list[str]:
        """The URL of each link."""
        text = self.text.decode("ascii")
        return [text[start:end] for start, end in pairwise(chain((0,), self.ends))]


def with_kinds(kinds: Iterable[Kind]) -> bytes:
    """The argument of `PackedLinks.select` for all links of `kinds`."""
    return bytes([packed_flags(kind, nofollow) for kind in kinds for nofollow in (False, True)])


#: The same for all links without nofollow, for all links to pages, and for all that a page shows.
_ENDORSED = bytes(range(len(KINDS)))
_TO_PAGES = with_kinds([Kind.PAGE])
_NEEDED = with_kinds(KINDS[1:])
_UNFOLLOWED = bytes([packed_flags(Kind.PAGE, True)])


def urls(links: Sequence[Link]) -> list[str]:
    """Return the URL of each of `links`."""
    return links.urls() if isinstance(links, PackedLinks) else [link.url for link in links]


def buffers(links: Sequence[Link]) -> tuple[bytes, memoryview, bytes]:
    """Return text, ends and flags of `links`, as `PackedLinks` has them."""
    packed = links if isinstance(links, PackedLinks) else PackedLinks.pack(links)
    return packed.text, packed.ends, packed.flags


def followed(links: Sequence[Link], *, nofollow: bool, needed: bool) -> Sequence[Link]:
    """Those of `links` that may be followed.

    They are those without nofollow; with `nofollow`, which is that of the page, none. With
    `needed`, those that the page needs to be displayed may be followed in any case.
    """
    flags = (b"" if nofollow else _ENDORSED) + (_NEEDED if needed else b"")
    if not flags:
        return []
    packed = links if isinstance(links, PackedLinks) else PackedLinks.pack(links)
    return packed.select(flags)


def unfollowed(links: Sequence[Link], *, nofollow: bool) -> Sequence[Link]:
    """Those of `links` to pages that may not be followed; `nofollow` is that of the page."""
    packed = links if isinstance(links, PackedLinks) else PackedLinks.pack(links)
    return packed.select(_TO_PAGES if nofollow else _UNFOLLOWED)


def number_to_pages(links: Sequence[Link]) -> int:
    """How many of `links` lead to pages."""
    if isinstance(links, PackedLinks):
        return len(links) - len(links.flags.translate(None, _TO_PAGES))
    return sum(link.kind is Kind.PAGE for link in links)


#: Where a page has a link: the line of the page, from 1, 0 if it is not known; and what a reader
#: sees of the link, empty if that is no text.
Place = tuple[int, str]
_NO_PLACE = (0, "")


@dataclass(slots=True)
class Checked:
    """What a link check wants to know of a page beside its links."""

    #: References that are no URLs, see `is_malformed`.
    malformed: dict[str, None] = field(default_factory=dict)
    #: URLs of the Web that the crawl refuses, by `why_refused`; counted with these.
    refused: Counter[str] = field(default_factory=Counter)
    #: Where each URL, and each part of one, first occurs: by URL, then by part, which may be empty.
    places: dict[str, dict[str, Place]] = field(default_factory=dict)
    #: The parts that links name, by URL.
    linked: dict[str, list[str]] = field(default_factory=dict)
    #: The names of the page's parts; None if it is no HTML, or if it is `filled`.
    parts: set[str] | None = None
    #: Whether a script seems to make the content of the page.
    filled: bool = False


@dataclass(slots=True)
class Parsed:
    """The content of a page that the crawl needs."""

    #: Each URL once, in the order of first appearance.
    links: Sequence[Link] = field(default_factory=list)
    #: WHATWG name of the page's encoding; None if no text was read.
    charset: str | None = None
    #: Robots directives for this agent, in the HTTP header or in the page.
    noindex: bool = False
    nofollow: bool = False
    #: An index of sitemaps: all links lead to sitemaps.
    is_index: bool = False
    #: Why a sitemap or feed was not read to its end; empty if it was.
    cut: str = ""
    #: For a link check, if it was asked for.
    checked: Checked | None = None
    #: As the page spells those links that are not canonical there.
    spellings: Mapping[str, str] = field(default_factory=dict)


_PAGE = Kind.PAGE
#: Kinds of links to follow.
_PAGES = (Kind.PAGE, Kind.SHOWN)
#: Stands for references that cannot be crawled. Its kind is PAGE, so that `add` does not change it.
_NOWHERE = Link("", _PAGE)


class Collector:
    """Gathers the links of one page.

    Each distinct reference is resolved once, because resolving takes longer than finding. Of a URL
    that occurs with several kinds, `KINDS` says which one counts.
    """

    __slots__ = (
        "_base",
        "_by_reference",
        "_by_url",
        "_packed",
        "_page",
        "_room",
        "agent",
        "cut",
        "encode",
        "full",
        "is_index",
        "modules",
        "nofollow",
        "noindex",
        "spellings",
    )

    #: What is found for a link check; None for other crawls.
    checked: Checked | None = None

    def __init__(self, base: str | Base, agent: str = "") -> None:
        self._base = Base(base) if isinstance(base, str) else base
        self._page = self._base.url
        #: Product token of the crawler, in lower case, for directives addressed to it.
        self.agent = agent
        #: Applied to references that are not ASCII; None if the page's encoding is UTF-8.
        self.encode: Callable[[str], str] | None = None
        #: Whether a bound is reached; then `add` ignores further references.
        self.full = False
        #: Why a sitemap or feed is not read to its end; empty if it is.
        self.cut = ""
        self.noindex = False
        self.nofollow = False
        #: Whether it is an index of sitemaps.
        self.is_index = False
        #: The page's map of modules, by the name that scripts use.
        self.modules: dict[str, str] = {}
        self._by_reference: dict[str, Link] = {}
        self._by_url: dict[str, Link] = {}
        self._packed: PackedLinks | None = None
        self._room = _MAX_CHARACTERS
        #: As the page spells those of its links that are not canonical there.
        self.spellings: dict[str, str] = {}

    @property
    def base(self) -> str:
        """The absolute URL that references are resolved against."""
        return self._base.url

    @property
    def host(self) -> str:
        """The host of the page, whatever its base is, without port and without "www."."""
        return host_of(self._page).removeprefix("www.")

    @property
    def links(self) -> list[Link]:
        """The links so far."""
        return list(self._by_url.values())

    @property
    def count(self) -> int:
        """The number of URLs so far."""
        return len(self._by_url)

    def rebase(self, base: str) -> None:
        """Resolve references that are added from now on against `base`."""
        if base != self.base:
            self._base = Base(base)
            self._by_reference.clear()

    def add(self, reference: str, kind: Kind, nofollow: bool = False) -> None:
        """Add a reference as it stands in the page, unless it cannot be crawled."""
        if "#" in reference:
            reference = reference.partition("#")[0]
        if not reference and kind is not _PAGE:
            return  # "#part" is a part of this document, and "" no resource
        link = self._by_reference.get(reference)
        if link is None:
            link = self._enter(reference, kind, nofollow)
        if kind is link.kind:
            link.nofollow = link.nofollow and nofollow
        elif link is not _NOWHERE:
            _merge(link, kind, nofollow)

    def _enter(self, reference: str, kind: Kind, nofollow: bool) -> Link:
        if self.full:
            self.stop(f"only its first {self.count:,} URLs")
            return _NOWHERE
        url = self.resolve(reference)
        if url is None:
            link = _NOWHERE
            self._note_uncrawled(reference)
        elif url in self._by_url:
            link = self._by_url[url]
        else:
            link = self._by_url[url] = Link(url, kind, nofollow)
            self._room -= len(url)
        self._by_reference[reference] = link
        most = max(len(self._by_reference), len(self._by_url))
        self.full = self._room <= 0 or most >= MAX_LINKS
        return link

    def stop(self, why: str) -> None:
        """Note why not all is read; the first reason counts."""
        self.cut = self.cut or why

    def _note_uncrawled(self, reference: str) -> None:
        """Note a reference that cannot be crawled, if that is of interest."""

    def replace(self, links: PackedLinks) -> None:
        """Take `links` in place of those that were added."""
        self._packed = links

    def resolve(self, reference: str) -> str | None:
        """Resolve a reference without fragment; None unless it can be crawled."""
        if self.encode is not None and not reference.isascii():
            reference = self.encode(reference)
        if len(reference) > _MAX_REFERENCE:
            return None
        url = self._base.resolve(reference)
        if url is not None and (has_own_spelling(reference) or not self._base.is_plain):
            spelling = as_sent(reference, self._base.url)
            if spelling != url:
                self.spellings.setdefault(url, spelling)
        return url

    def parsed(self, charset: str | None) -> Parsed:
        found = self._packed or self.links
        directives = self.noindex, self.nofollow
        return Parsed(
            found, charset, *directives, self.is_index, self.cut, self.checked, self.spellings
        )


def _merge(link: Link, kind: Kind, nofollow: bool) -> None:
    """Note that `link` occurs with another `kind`, too."""
    was_page, is_page = link.kind in _PAGES, kind in _PAGES
    if was_page or is_page:
        if is_page:
            link.nofollow = nofollow and (link.nofollow or not was_page)
        link.kind = Kind.SHOWN
    elif KINDS.index(kind) < KINDS.index(link.kind):
        link.kind, link.nofollow = kind, nofollow


def unendorsed(rel: str) -> bool:
    """Whether a `rel` asks crawlers not to take the link as a recommendation."""
    return _is_unendorsed(rel[:_LONGEST_RELATION])


@lru_cache(1 << 10)
def _is_unendorsed(rel: str) -> bool:
    return not _UNENDORSED.isdisjoint(rel.lower().split())


def relation_kind(rel: str, destination: str) -> Kind | None:
    """Return the kind of a `<link>` or Link header by its `rel` and `as`; None: do not follow.

    Unknown relations are hyperlinks, as they are in HTML.
    """
    return _relation_kind(rel[:_LONGEST_RELATION], destination[:_LONGEST_RELATION])


# Real pages use few spellings, so a small cache suffices.
@lru_cache(1 << 10)
def _relation_kind(rel: str, destination: str) -> Kind | None:
    relations = frozenset(rel.lower().split())
    if relations and relations <= _NO_RESOURCES:
        return None
    if _SHEET in relations:
        return Kind.SHEET
    if not relations.isdisjoint(_REQUISITE_RELATIONS):
        return Kind.REQUISITE
    if not relations.isdisjoint(_IMAGE_RELATIONS):
        return Kind.IMAGE
    if relations.isdisjoint(_LOADED_AHEAD):
        return Kind.PAGE
    return _loaded_kind(destination.strip().lower(), "prefetch" in relations)


def _loaded_kind(destination: str, prefetched: bool) -> Kind:
    if destination == "image":
        return Kind.IMAGE
    if destination == "style":
        return Kind.SHEET
    if destination == "document" or (prefetched and not destination):
        return Kind.PAGE
    return Kind.REQUISITE


#: Placeholders of templates, which a program fills in: {{ url }}, {% url %}, <% url %>, ${url},
#: {id}.
_PLACEHOLDER = re.compile(
    r"\{\{|%7b%7b|\{%|<%|\$\{|\{[\w.*+?-]+\}", re.ASCII | re.IGNORECASE
).search
_BLANK = " \f\0"
_REMOVED = dict.fromkeys(map(ord, "\t\n\r"))
#: Most characters of "top" with escapes.
_LONGEST_TOP = 9
#: A name and its value, for the program that shows the page.
_PARAMETER = re.compile(r"[a-z][\w.-]*=", re.ASCII | re.IGNORECASE).match
#: Begins what browsers look for in the text of a page (scroll-to-text fragments).
_TEXT_FRAGMENT = ":~:"
#: Most characters of the text of a link, and of those that are looked at.
_LONGEST_TEXT, _MOST_READ = 80, 1000
#: Most links of a page whose places are noted; longer lists are indexes.
_MOST_PLACES = 1000


def part_named(part: str) -> str:
    """The part of a page that a reference leads to, by what it has after "#"; empty for all of it.

    Scripts read "#/..." and "#!..." as names of their own pages, and players, viewers of documents
    and tables "#t=30" and the like.
    """
    if part[0] in "/!" or _PARAMETER(part):
        return ""
    if " " in part or _TEXT_FRAGMENT in part or not part.isprintable():
        part = part.translate(_REMOVED).partition(_TEXT_FRAGMENT)[0].strip(_BLANK)
    return part if len(part) > _LONGEST_TOP or unquote(part).lower() != "top" else ""


#: Names that the scripts of code hosts make: of lines, comments and changes.
_MADE = re.compile(
    r"L\d|(?:issuecomment|discussioncomment|pullrequestreview|commitcomment|event|note)[-_]\d"
    r"|discussion_r\d|diff-[0-9a-f]{32}"
).match
#: Most other names: they are longer than "top", and nothing is to be removed from them.
_PLAIN = re.compile(
    r"(?!L\d|issue|discussion|pull|commit|event|note|diff)[\w.-]{10,}", re.ASCII
).fullmatch
_TO_PARTS = ("a", "area")
#: Attributes by which a script takes over what a click does.
_HANDLED = frozenset({"onclick", "role", "data-toggle", "data-bs-toggle", "data-slide"})


class CheckCollector(Collector):
    """Gathers the links of a page for a link check, with what that wants to know beside them."""

    __slots__ = ("_linked", "_noted", "_own", "_places", "checked", "element")

    def __init__(self, base: str | Base, agent: str = "") -> None:
        super().__init__(base, agent)
        self.checked: Checked = Checked()
        self._places = self.checked.places
        self._noted = 0
        self._linked = False
        self._own: Set[str] = frozenset()
        #: The element whose references are added: a turbohtml.Element, or what is like one.
        self.element: Any = None

    def add(self, reference: str, kind: Kind, nofollow: bool = False) -> None:
        address, mark, part = reference.partition("#")
        # Half of the links of some pages lead to their own headings.
        if mark and not address and part in self._own and self._is_linked():
            return
        if ("{" in reference or "%" in reference) and _PLACEHOLDER(reference):
            self.checked.refused["templates"] += reference not in self._by_reference
            self._by_reference[reference] = _NOWHERE
            return
        link = self._by_reference.get(address)
        if link is None or link.kind is not kind or link.nofollow:
            super().add(address, kind, nofollow)
            link = self._by_reference.get(address)
        if link is None or not (link.url and (address or kind is _PAGE)):
            return
        if part:
            part = self._part(link.url, part)
        here = self._places.get(link.url)
        if here is None:
            here = self._places[link.url] = {}
        elif part in here:
            return
        self._note_place(here, link.url, part)

    def _is_linked(self) -> bool:
        """Whether the page links to itself already, so that its own parts say nothing new."""
        if not self._linked:
            link = self._by_reference.get("")
            self._linked = link is not None and link.url == self._page
        return self._linked

    def _part(self, url: str, part: str) -> str:
        """The part of `url` that is looked for; empty for none."""
        if part in self._own and url == self._page:
            return ""
        element = self.element
        if element is None or element.tag not in _TO_PARTS:
            return ""
        if not _HANDLED.isdisjoint(element.attrs):
            return ""
        if _PLAIN(part):
            return part
        return "" if _MADE(part) and host_of(url) != host_of(self._page) else part_named(part)

    def _note_place(self, here: dict[str, Place], url: str, part: str) -> None:
        if self._noted >= MAX_LINKS:
            return
        self._noted += 1
        if part:
            self.checked.linked.setdefault(url, []).append(part)
        is_placed = self._noted <= _MOST_PLACES and self.element is not None
        here[part] = _place_of(self.element) if is_placed else _NO_PLACE

    def parsed(self, charset: str | None) -> Parsed:
        # Once, as all that take them would do it.
        self.replace(PackedLinks.pack(self.links))
        return super().parsed(charset)

    def hold(self, parts: set[str] | None) -> None:
        """Take the names of the page's own parts; None if a script fills the page."""
        self.checked.parts, self.checked.filled = parts, parts is None
        self._own = parts or frozenset()

    def _note_uncrawled(self, reference: str) -> None:
        checked = self.checked
        refused = why_refused(reference, self.base)
        if refused:
            checked.refused[refused] += 1
        elif len(checked.malformed) < MOST and is_malformed(reference, self.base):
            checked.malformed[spelled(reference)] = None


def _place_of(element: Any) -> Place:
    text = element.text if element.tag == "a" else ""
    if len(text) > _LONGEST_TEXT:
        text = text[:_MOST_READ]
    words = text.split()
    if not words:
        get = element.attr
        words = (get("alt") or get("title") or get("aria-label") or "")[:_MOST_READ].split()
    return element.source_line or 0, " ".join(words)[:_LONGEST_TEXT]
