"""The small languages within pages: what attributes, headers and scripts say about links.

- `srcset`: image candidates, by HTML's "parse a srcset attribute", in time linear in its length.
- `meta_refresh`: HTML's "shared declarative refresh steps", for `<meta>` and the Refresh header.
- `from_meta`, `from_header`: robots directives of single pages. There is no standard. The sources
  are Google's "Robots meta tag" page, which other search engines follow, and RFC 9309 for product
  tokens. Directives for all agents and those for this agent are all obeyed.
- `add_source` and the like: addresses that a script loads later. No standard names the attributes.
  The names here are those that lazysizes, vanilla-lazyload, lozad, Lazy Load, Slick, Slider
  Revolution, Splide, Flickity, Echo.js and Unveil read, and those that WP Rocket, Jetpack,
  Cloudflare, PageSpeed and shops write for scripts of their own. Pages give some of them other
  values, too: switches, colours, templates and JSON, which are no addresses.
- `read_meta`, `read_json`: images that a page names for other programs, by Open Graph, Twitter
  Cards, tiles and the JSON-LD of schema.org. Browsers do not load them, so they count only if the
  page's own site has them.
- `imports`, `specifiers`: the modules that scripts and maps of modules name.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from html import unescape
from itertools import chain
from types import MappingProxyType

from larbinpy.loop.clock import Steps, replaced
from larbinpy.parse.css import css_urls
from larbinpy.parse.link import Collector, Kind

#: Separators, then a URL: everything up to white space.
_CANDIDATE = re.compile(r"[ \t\n\f\r,]*+([^ \t\n\f\r]++)")
#: Descriptors end at a comma outside parentheses; parentheses do not nest.
_DESCRIPTORS = re.compile(r"(?:[^,(]++|\([^)]*+\)?)*+")
_INTEGER = re.compile(r"[0-9]+")
_FLOAT = re.compile(r"-?(?:[0-9]+(?:\.[0-9]+)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
#: The units of descriptors that may be combined; "h" is reserved, and valid only with "w".
_TOGETHER = frozenset(map(frozenset, ("", "x", "w", "wh")))
_BLANKS = re.compile(r"[ \t\n\f\r]+")


def srcset(value: str) -> list[str]:
    """Return the URLs of the candidates in `value`, in order, without malformed candidates."""
    return [value[start:end] for start, end in _spans(value)]


def replace_srcset(value: str, replace: Callable[[str], str | None]) -> Steps[str]:
    """Return `value` with the URLs that `srcset` finds replaced by `replace`, in steps.

    `replace` returns None to leave a URL unchanged.
    """

    def new(start: int, end: int) -> str | None:
        found = replace(value[start:end])
        # A comma at either end would be a separator.
        return None if found is None else found.strip(",")

    return replaced(value, _spans(value), new)


def _spans(value: str) -> Iterator[tuple[int, int]]:
    """Yield the spans of the candidates' URLs."""
    position = 0
    while (candidate := _CANDIDATE.match(value, position)) is not None:
        (start, end), position = candidate.span(1), candidate.end()
        if value[end - 1] == ",":
            end = start + len(candidate[1].rstrip(","))
            fits = True
        else:
            descriptors = _DESCRIPTORS.match(value, position)
            assert descriptors is not None  # it matches the empty string
            position = descriptors.end()
            fits = _fits(descriptors[0])
        if fits:
            yield start, end


def _fits(descriptors: str) -> bool:
    """Whether the descriptors of one candidate are a valid combination."""
    seen: set[str] = set()
    for descriptor in _BLANKS.split(descriptors):
        if not descriptor:
            continue
        number, unit = descriptor[:-1], descriptor[-1]
        if unit in seen or not _valid(number, unit):
            return False
        seen.add(unit)
    return seen in _TOGETHER


def _valid(number: str, unit: str) -> bool:
    if unit == "x":
        return bool(_FLOAT.fullmatch(number)) and float(number) >= 0
    return unit in "wh" and bool(_INTEGER.fullmatch(number)) and bool(number.strip("0"))


#: The time (a lone "." counts as 0), then the end, or a separator with its blanks.
_TIME = re.compile(
    r"[ \t\n\f\r]*+(?:[0-9]++|(?=\.))[0-9.]*+"
    r"(?:\Z|(?=[ \t\n\f\r;,])[ \t\n\f\r]*+[;,]?[ \t\n\f\r]*+)"
)
_URL = re.compile(r"url[ \t\n\f\r]*+=[ \t\n\f\r]*+", re.ASCII | re.IGNORECASE)
_SEPARATORS = " \t\n\f\r;,"
_DROPPED = str.maketrans("", "", "\t\n\r")
_TRIMMED = "".join(map(chr, range(0x21)))


def meta_refresh(content: str) -> str | None:
    """Return the URL of a refresh, not yet resolved; None if `content` is no refresh.

    The empty string means the document itself, as it does when it is resolved. Blanks and line
    breaks that the URL parser would drop are dropped. The delay is ignored.
    """
    found = split_refresh(content)
    return found and found[1]


def split_refresh(content: str) -> tuple[str, str] | None:
    """Return the delay of a refresh as it is written, and its URL as `meta_refresh` does."""
    time = _TIME.match(content)
    if time is None:
        return None
    rest = content[time.end() :]
    prefix = _URL.match(rest)
    if prefix is not None:
        rest = rest[prefix.end() :]
    if rest.startswith(("'", '"')):
        rest = rest[1:].partition(rest[0])[0]
    return time[0].strip(_SEPARATORS), rest.translate(_DROPPED).strip(_TRIMMED)


#: Directives that contain a colon, which otherwise follows the name of an agent.
_WITH_VALUE = frozenset(
    {"unavailable_after", "max-snippet", "max-image-preview", "max-video-preview"}
)


#: Linear: neither part can match at many places of one text.
_TITLE = re.compile(rb"<title[^<>]*>", re.I)
_TITLE_END = re.compile(rb"</title", re.I)
_LONGEST_TITLE = 1000
#: Bytes of a page in which its title is looked for.
_HEAD = 1 << 16


def title_in(head: bytes) -> bytes:
    """The first title in the beginning of a page, as it is there; empty if there is none."""
    begin = _TITLE.search(head)
    end = begin and _TITLE_END.search(head, begin.end(), begin.end() + _LONGEST_TITLE)
    return head[begin.end() : end.start()] if begin and end else b""


def title_of(body: bytes, charset: str | None) -> str:
    """The title of an HTML page in one line, as far as its beginning has one."""
    try:
        text = title_in(body[:_HEAD]).decode(charset or "utf-8", "replace")
    except LookupError:
        return ""
    words = " ".join(unescape(text).split())
    return "".join(char for char in words if char.isprintable())


def from_meta(name: str, content: str, out: Collector) -> None:
    """Obey a `<meta>` whose name is "robots" or that of this agent."""
    name = name.strip().lower()
    if name == "robots" or (name and name == out.agent):
        for directive in content.replace(",", " ").split():
            _obey(directive, out)


def from_header(value: str, out: Collector) -> None:
    """Obey one X-Robots-Tag line; "agent: directives" holds for that agent only."""
    concerned = True
    for part in value.split(","):
        name, colon, rest = part.partition(":")
        name = name.strip().lower()
        if colon and name not in _WITH_VALUE:
            concerned = name in ("*", out.agent)
            name = rest.strip()
        if concerned:
            _obey(name, out)


def _obey(directive: str, out: Collector) -> None:
    directive = directive.lower()
    if directive in ("noindex", "none"):
        out.noindex = True
    if directive in ("nofollow", "none"):
        out.nofollow = True


#: Stand in for `src`.
SOURCES = (
    *("data-src", "data-lazy-src", "data-original", "data-lazy", "data-lazyload", "data-echo"),
    *("data-src-retina", "data-cfsrc", "data-pagespeed-lazy-src", "data-splide-lazy"),
    *("data-flickity-lazyload", "data-flickity-lazyload-src"),
)
#: Stand in for `srcset`.
SETS = (
    *("data-srcset", "data-lazy-srcset", "data-original-srcset", "data-splide-lazy-srcset"),
    "data-flickity-lazyload-srcset",
)
#: Name a background, as an address or as url() of CSS; on any element.
BACKGROUNDS = (
    *("data-bg", "data-bg-image", "data-bg-src", "data-lazy-bg", "data-background"),
    *("data-background-image", "data-lazy-background"),
)
#: Name backgrounds as `srcset` does (the bgset plugin of lazysizes); on any element.
BACKGROUND_SETS = ("data-bgset",)
#: Names an image on elements without `src`, too, whose loader makes a background of it.
ANYWHERE = SOURCES[0]
POSTER = "data-poster"

#: Attributes of SVG that are values of CSS (presentation attributes), which may have a url().
PAINTS = (
    *("fill", "stroke", "filter", "mask", "clip-path", "cursor", "marker"),
    *("marker-start", "marker-mid", "marker-end"),
)

#: By which pages of rustdoc find the script of their search, on one element: since 1.59, and before
#: that and since 1.67.
SEARCH = ("data-resource-suffix", "data-search-js")

NAMES = frozenset({*SOURCES, *SETS, *BACKGROUNDS, *BACKGROUND_SETS, POSTER, *SEARCH})
#: Elements that may name further sizes of their image, in attributes of any name that begins so.
SIZED = ("img", "source")
SIZE = "data-"

#: Characters of templates and JSON; none of them stands in a URL.
_PATTERN = re.compile(r'[{<"]')
_PATH = re.compile(r"/|\.[A-Za-z]")
#: A reference that is not relative to something that only a script knows.
_CERTAIN = re.compile(r"[ \t\n\f\r]*(?:https?://|/|\.\.?/)", re.IGNORECASE)
_IMAGE = re.compile(
    r"\.(?:avif|bmp|gif|jpe?g|png|svg|webp)(?![A-Za-z0-9])", re.ASCII | re.IGNORECASE
)


def is_address(value: str) -> bool:
    """Whether the value of an attribute of a lazy loader is an address, and nothing else."""
    return _PATH.search(value) is not None and _PATTERN.search(value) is None


def is_image(value: str) -> bool:
    """Whether the value of an attribute of any name is certainly the address of an image."""
    return (
        _CERTAIN.match(value) is not None and _IMAGE.search(value) is not None and is_address(value)
    )


def add_search(get: Callable[[str], str | None], out: Collector) -> None:
    """Add the files without which the search of pages by rustdoc finds nothing."""
    suffix, search = map(get, SEARCH)
    if suffix is None and search is None:
        return
    root, folder = get("data-root-path") or "", get("data-static-root-path") or ""
    out.add(folder + search if search else f"{root}search{suffix}.js", Kind.REQUISITE)
    # The latest versions have an index of many files, which only their script can name.
    if get("data-stringdex-js") is None:
        index = get("data-search-index-js") or f"{root}search-index{suffix or ''}.js"
        out.add(index, Kind.REQUISITE)


def add_source(value: str | None, kind: Kind, out: Collector) -> None:
    """Add what stands in for a `src`."""
    if value is not None and is_address(value):
        out.add(value, kind)


def add_image(value: str | None, out: Collector) -> None:
    """Add a value that may be anything, if it ends as the name of an image does."""
    if value is not None and _IMAGE.search(value):
        add_source(value, Kind.IMAGE, out)


def add_set(value: str | None, out: Collector) -> None:
    """Add what stands in for a `srcset`."""
    if value is not None and is_address(value):
        for url in srcset(value):
            out.add(url, Kind.IMAGE)


def add_background(value: str | None, out: Collector) -> None:
    """Add the images of a background."""
    if value is None:
        return
    if "(" not in value:
        add_source(value, Kind.IMAGE, out)
    else:
        for url in css_urls(value):
            out.add(url, Kind.IMAGE)


#: Names of a <meta> whose content is the address of an image. native/links.c has them as well.
IMAGES = frozenset(
    {"og:image", "og:image:url", "og:image:secure_url", "twitter:image", "twitter:image:src"}
    | {"image", "thumbnail", "thumbnailurl", "msapplication-tileimage"}
    | {f"msapplication-square{size}logo" for size in ("70x70", "150x150", "310x310")}
    | {"msapplication-wide310x150logo"}
)
#: Name of a <meta> that names a file with the addresses of tiles, or "none".
_CONFIG = "msapplication-config"

#: Members of JSON-LD whose values are images, and members of an image that are its addresses.
_HOLDERS = frozenset({"image", "logo", "photo", "thumbnail", "thumbnailUrl", "primaryImageOfPage"})
_ADDRESSES = frozenset({"url", "contentUrl", "thumbnailUrl"})
_IMAGE_TYPE = "ImageObject"
#: Longer texts (characters) are not read: some shops list all their goods.
_LONGEST = 256 * 1024

#: An absolute URL with the authority, as lenient as the URL standard.
_ABSOLUTE = re.compile(r"[\x00-\x20]*+(?:https?:)?[/\\]{2}([^/\\?#]*)", re.ASCII | re.IGNORECASE)
_PORT = re.compile(r":[0-9]*\Z", re.ASCII)


def is_of_site(reference: str, host: str) -> bool:
    """Whether `reference` is relative, or leads to `host`, without port and "www." (both)."""
    found = _ABSOLUTE.match(reference)
    return found is None or _PORT.sub("", found[1].lower()).removeprefix("www.") == host


def read_meta(names: tuple[str | None, ...], content: str, out: Collector) -> None:
    """Add the file that a <meta> with one of `names` (of any of its attributes) names."""
    for name in names:
        key = "" if name is None else name.lower()
        if key in IMAGES:
            _add(content, Kind.IMAGE, out)
        elif key == _CONFIG and content.strip().lower() != "none":
            _add(content, Kind.REQUISITE, out)


def _add(reference: str, kind: Kind, out: Collector) -> None:
    if is_address(reference) and is_of_site(reference, out.host):
        out.add(reference, kind)


def read_script(script_type: str | None, text: str, out: Collector) -> None:
    """Add what the text of a <script> names: images of JSON-LD, modules, workers."""
    kind = "" if script_type is None else script_type.strip().lower()
    if _WORKER in text and (kind in ("", "module") or kind.endswith("javascript")):
        for reference in workers(text):
            out.add(reference, Kind.REQUISITE)
    if kind == "application/ld+json":
        read_json(text, out)
    elif kind == "module":
        for reference in imports(text, out.modules):
            out.add(reference, Kind.REQUISITE)
    elif kind == "importmap":
        _read_map(text, out)


_WORDS = re.compile("import|export")
#: An import or an export up to the first quote, and its specifier if it is one of another module.
_IMPORTING = re.compile(
    r"(?<![\w$.\"'`/])(?P<word>import|export)\b(?P<clause>[^\"'`;()]{0,8000}+)"
    r"(?:\"(?P<double>[^\"\\\n]{1,2000})\"|'(?P<single>[^'\\\n]{1,2000})')?"
)
_FROM = re.compile(r"(?:[\s}*]|\A)from\s*\Z")
#: A module, a worker or another file that a script loads when it needs it. A name in capitals
#: behind an import is that of a type in a comment.
_LATER = re.compile(
    r"(?<![\w$.])(?:import\s*+|(?P<new>new\s++URL))\(\s*+(?P<quote>[\"'`])(?P<name>[^\"'`\\\n$]{1,2000})"
    r"(?P=quote)\s*+(?(new),\s*+import\.meta\.url\b|[,)](?!\.[A-Z]))"
)
#: Specifiers that are references; others are names for a map of modules.
_REFERENCE = ("/", "./", "../", "http://", "https://")


def imports(script: str, modules: Mapping[str, str] = MappingProxyType({})) -> Iterator[str]:
    """The references of other files in a module: those of its static imports, then others.

    `modules` is the page's map of modules.
    """
    for specifier in chain(specifiers(script), _loaded_later(script)):
        reference = specifier if specifier.startswith(_REFERENCE) else _mapped(specifier, modules)
        if reference:
            yield reference


_WORKER = "Worker("
_STARTING = re.compile(r"\bnew\s++(?:Shared)?Worker\(\s*+([\"'`])([^\"'`\\\n$]{1,2000})\1\s*+[,)]")
_PARTS = re.compile(r"\bimportScripts\(([^()]{1,8000}+)\)")
_QUOTED = re.compile(r"([\"'])([^\"'\\\n]{1,2000})\1")


def workers(script: str) -> list[str]:
    """The references of the workers that a script starts, which are relative to its page."""
    return [found[2] for found in _STARTING.finditer(script)]


def parts_of_worker(script: str) -> list[str]:
    """The references of the scripts that a worker loads."""
    return [part[2] for found in _PARTS.finditer(script) for part in _QUOTED.finditer(found[1])]


def specifiers(script: str) -> Iterator[str]:
    """What a module's static imports name, in order: what it cannot run without."""
    end = 0
    # The search for the bare words takes a quarter of the time in a script of megabytes.
    for word in _WORDS.finditer(script):
        found = _IMPORTING.match(script, word.start()) if word.start() >= end else None
        if found is None:
            continue
        end = found.end()
        specifier = found["double"] or found["single"]
        is_bare = found["word"] == "import" and not found["clause"].strip()
        if specifier and (is_bare or _FROM.search(found["clause"]) is not None):
            yield specifier


def _loaded_later(script: str) -> Iterator[str]:
    if not any(sign in script for sign in ("import(", "import (", "import.meta")):
        return
    for found in _LATER.finditer(script):
        # Without an ending it is the name of a module, or of a type.
        name = found["name"]
        if "." in name.rpartition("/")[2]:
            # Without a map: it is a reference, whatever it begins with.
            is_bare = found["new"] and ":" not in name and name[0] not in "./"
            yield f"./{name}" if is_bare else name


def _mapped(specifier: str, modules: Mapping[str, str]) -> str:
    """What the map of modules has for a specifier: for all of it, or for its longest folder."""
    if specifier in modules:
        return modules[specifier]
    folders = [name for name in modules if name.endswith("/") and specifier.startswith(name)]
    folder = max(folders, key=len, default="")
    return folder and modules[folder] + specifier.removeprefix(folder)


#: How `script.js` of Javadoc loads its search, from the folder that it lies in.
_JAVADOC = re.compile(r"createElem\(doc, tag, '([\w-]{1,60}\.js)'\)")


def javadoc_indexes(script: str) -> list[str]:
    """The files that the search of pages by Javadoc needs; without them it finds nothing."""
    return _JAVADOC.findall(script)


def _read_map(text: str, out: Collector) -> None:
    """Add the modules in a map of modules (HTML, "import maps")."""
    maps = _loaded(text)
    scopes = maps.get("scopes") if isinstance(maps, dict) else None
    names = [maps.get("imports")] if isinstance(maps, dict) else []
    names += scopes.values() if isinstance(scopes, dict) else []
    for each in names:
        modules = each.items() if isinstance(each, dict) else ()
        for name, reference in modules:
            if isinstance(reference, str):
                out.modules.setdefault(name, reference)
                # One that ends so is a folder of modules.
                if not reference.endswith("/"):
                    out.add(reference, Kind.REQUISITE)


def read_json(text: str, out: Collector) -> None:
    """Add the images of JSON-LD."""
    for url in _images(_loaded(text)):
        _add(url, Kind.IMAGE, out)


def _loaded(text: str) -> object:
    """The JSON in `text`; None if it is none, or too long."""
    if len(text) > _LONGEST:
        return None
    try:
        # Control characters in strings are frequent.
        document: object = json.loads(text, strict=False)
    except (ValueError, RecursionError):
        return None
    return document


def _images(document: object) -> Iterator[str]:
    """Yield the addresses of images in JSON-LD, in order."""
    # Pairs of a value and whether its place is one for images.
    stack = [(document, False)]
    while stack:
        value, is_image = stack.pop()
        if isinstance(value, str):
            if is_image:
                yield value
        elif isinstance(value, list):
            stack += [(item, is_image) for item in reversed(value)]
        elif isinstance(value, dict):
            stack += reversed(list(_members(value, is_image)))


def _members(value: dict[str, object], is_image: bool) -> Iterator[tuple[object, bool]]:
    named = value.get("@type")
    is_image = is_image or named == _IMAGE_TYPE or named == [_IMAGE_TYPE]
    for name, member in value.items():
        yield member, name in _HOLDERS or (is_image and name in _ADDRESSES)
