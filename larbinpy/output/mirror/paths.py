r"""The names of URLs in a mirror, and relative links between them; this module uses no disk.

The name of a file is the spelling of its URL, with its percent escapes. So different URLs have
different files, the path shows the URL, and all names are printable ASCII, which no file
system normalises. ``http://h:8080/a/b?q`` is ``h:8080/a/b?q``, and ``/a/`` is
``a/index.html``.

Fragments are never sent, so no crawled URL holds ``#``. In a name it marks all that is not the
URL's own spelling:

    ``#XX``      a byte that a name cannot hold, or not in that place: ``/`` and ``\\`` of a
                 query, a leading ``.``, ``~`` or ``-`` of a host, the names ``.`` and ``..``
    ``#empty``   the empty part of ``/a//b``
    ``#h`` + 32 hex digits   a part too long for a file name, or parts too deep, shortened;
                 the digits are BLAKE2b of all of it
    ``#file``, ``#folder``, ``#http``, ``#https``   the URL's *own* name
    ``#.orig``   no URL, but the original of a page whose links were rewritten

The text after ``#`` starts with a lower-case letter, except in ``#XX``, whose digits are upper
case, so the marks cannot be confused.

Two other spellings are for those who ask for them (`Spelling`); they keep different URLs apart,
too. UNICODE shows percent-encoded UTF-8 as its characters. WINDOWS marks what Windows refuses in
names: ``"*:<>?|``, a final dot, and names of devices; ``h:8080`` becomes ``h+8080``.

The *plain* name of a URL may clash: with a folder (``/a`` and ``/a/b``), with the index of a
folder (``/a/`` and ``/a/index.html``), or with the other scheme of the host. No other URL has
its *own* name, and no plain name equals it. `mirror` chooses between the two, as it knows the
disk.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache, partial
from hashlib import blake2b
from typing import NamedTuple
from unicodedata import is_normalized
from urllib.parse import quote

from larbinpy.url import fingerprint

#: The longest file name of Linux file systems (NAME_MAX), in bytes.
MAX_NAME = 255
#: Bytes of a relative path. PATH_MAX is 4096; the rest is for the folder it is relative to.
MAX_PATH = 3000
#: Most folders below the host's. Each takes a block on disk, and a URL could need 4000.
MAX_DEPTH = 100

INDEX = "index.html"
#: The catalog of a mirror that browses offline; its originals are below `_ORIGINALS`.
CATALOG = ".larbinpy-catalog"
_ORIGINALS = ".larbinpy-originals"

_SCRIPT = (".js", ".mjs")
_XML = (".xml", ".xhtml", ".xht", ".svg", ".xsl", ".xslt", ".rss", ".atom", ".rdf", ".kml", ".gpx")
#: Endings by which a browser knows a type; the first is added to a name that has none of them.
_ENDINGS: dict[str, tuple[str, ...]] = {
    "text/html": (".html", ".htm"),
    "application/xhtml+xml": (".xhtml", ".xht", ".xhtm"),
    "application/xml": _XML,
    "text/xml": _XML,
    "text/css": (".css",),
    "image/svg+xml": (".svg",),
    "text/javascript": _SCRIPT,
    "application/javascript": _SCRIPT,
    "application/x-javascript": _SCRIPT,
}
#: Endings that are added to names without any. Browsers know images, media, fonts and PDF by their
#: first bytes, but other programs do not.
_USUAL: dict[str, tuple[str, ...]] = {
    "application/pdf": (".pdf",),
    "application/json": (".json", ".map", ".webmanifest"),
    "application/ld+json": (".json", ".jsonld"),
    "application/manifest+json": (".webmanifest", ".json"),
    "application/rss+xml": (".xml", ".rss"),
    "application/atom+xml": (".xml", ".atom"),
    "application/rdf+xml": (".rdf", ".xml"),
    "application/xslt+xml": (".xsl", ".xslt"),
    "text/xsl": (".xsl", ".xslt"),
    "text/csv": (".csv",),
    "text/calendar": (".ics",),
    "text/vcard": (".vcf",),
    "text/vtt": (".vtt",),
    "text/markdown": (".md",),
    "application/zip": (".zip",),
    "application/gzip": (".gz", ".tgz", ".svgz"),
    "application/x-gzip": (".gz", ".tgz", ".svgz"),
    "application/x-tar": (".tar",),
    "application/x-bzip2": (".bz2", ".tbz"),
    "application/x-xz": (".xz", ".txz"),
    "application/x-7z-compressed": (".7z",),
    "application/vnd.rar": (".rar",),
    "application/epub+zip": (".epub",),
    "application/java-archive": (".jar",),
    "application/x-bittorrent": (".torrent",),
    "application/x-iso9660-image": (".iso",),
    "application/x-mobipocket-ebook": (".mobi", ".prc"),
    "application/x-shockwave-flash": (".swf",),
    "application/rtf": (".rtf",),
    "application/postscript": (".ps", ".eps"),
    "application/wasm": (".wasm",),
    "application/msword": (".doc",),
    "application/vnd.ms-excel": (".xls",),
    "application/vnd.ms-powerpoint": (".ppt",),
    "application/vnd.oasis.opendocument.text": (".odt",),
    "application/vnd.oasis.opendocument.spreadsheet": (".ods",),
    "application/vnd.oasis.opendocument.presentation": (".odp",),
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document": (".docx",),
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": (".xlsx",),
    "application/vnd.openxmlformats-officedocument.presentationml.presentation": (".pptx",),
    "image/png": (".png",),
    "image/jpeg": (".jpg", ".jpeg", ".jpe"),
    "image/gif": (".gif",),
    "image/webp": (".webp",),
    "image/avif": (".avif",),
    "image/bmp": (".bmp",),
    "image/tiff": (".tif", ".tiff"),
    "image/x-icon": (".ico", ".cur"),
    "image/vnd.microsoft.icon": (".ico",),
    "image/heic": (".heic",),
    "image/jxl": (".jxl",),
    "audio/mpeg": (".mp3",),
    "audio/mp4": (".m4a", ".mp4"),
    "audio/aac": (".aac",),
    "audio/flac": (".flac",),
    "audio/x-flac": (".flac",),
    "audio/wav": (".wav",),
    "audio/x-wav": (".wav",),
    "audio/ogg": (".ogg", ".oga", ".opus"),
    "application/ogg": (".ogg", ".ogv", ".oga", ".opus"),
    "video/mp4": (".mp4", ".m4v"),
    "video/webm": (".webm",),
    "video/ogg": (".ogv", ".ogg"),
    "video/mpeg": (".mpg", ".mpeg"),
    "video/quicktime": (".mov", ".qt"),
    "video/x-msvideo": (".avi",),
    "application/vnd.apple.mpegurl": (".m3u8",),
    "font/woff": (".woff",),
    "font/woff2": (".woff2",),
    "font/ttf": (".ttf",),
    "font/otf": (".otf",),
}
#: A text has no ending where its URL has none (LICENSE, README).
_TEXT = "text/plain"
_KNOWN = {ending for endings in _USUAL.values() for ending in endings}
_KNOWN |= {ending for endings in _ENDINGS.values() for ending in endings}
#: Endings of pages, and of programs that make pages or anything else.
_PAGES = re.compile(
    r"\.(?:[xs]?html?|xht|php\d?|phtml|aspx?|ashx|jspx?|do|cgi|cfm|action)\Z", re.IGNORECASE
)
_LAST_ENDING = re.compile(r"\.[A-Za-z0-9]{1,8}\Z")
_HAS_ENDING = re.compile(r"\.(?=[0-9]*[A-Za-z])[A-Za-z0-9]{1,8}\Z")

# Printable ASCII without "#", "/" and "\".
_UNSAFE = re.compile(r'[^!"$-.0-\[\]-~]')
# On disk a host must not look like a hidden file, an option or a home folder, nor like one of
# the numbered folders of save mode, which may share the output folder.
_ODD_HOST = re.compile(r"[.~-]|d[0-9]{5,}\Z")
_HASHED = 2 + 32

# Bytes above ASCII, in the one spelling that is shown as characters, so that this can be undone.
_ENCODED = re.compile(r"(?:%[89A-F][0-9A-F])+")
_NOT_ON_WINDOWS = re.compile(r'["*:<>?|]|\.\Z')
# Windows takes these for devices, whatever follows a dot.
_DEVICE = re.compile(r"(?:con|prn|aux|nul|conin\$|conout\$|com[0-9]|lpt[0-9])(?=\.|\Z)", re.I)


class Spelling(Enum):
    """How names are spelled: the values of fileNames."""

    ASCII = "ascii"
    UNICODE = "unicode"
    WINDOWS = "windows"


@dataclass(slots=True, frozen=True)
class Place:
    """The place of a URL: ``site / folders... / name``, all plain names."""

    scheme: str
    #: ``host[:port]``, and the folder to use if the other scheme has that one.
    site: str
    own_site: str
    folders: tuple[str, ...]
    #: For each of `folders`, the own name of the page with the same plain name.
    pages: tuple[str, ...]
    name: str
    own_name: str
    #: "folder" for a URL that ends with a slash, else "file".
    kind: str
    #: Whether `name` is an index, which ``/a/`` and ``/a/index.html`` may both want.
    index: bool

    @property
    def plain(self) -> str:
        """The plain path, relative to the mirror; URLs may share it (see the module)."""
        return "/".join((self.site, *self.folders, self.name))


def locate(url: str, spelling: Spelling = Spelling.ASCII, *, lower_case: bool = False) -> Place:
    """Return the place of a canonical http or https URL. Never fails on such a URL.

    With `lower_case`, characters above ASCII are in lower case.
    """
    scheme, _, rest = url.partition("://")
    authority, _, target = rest.partition("/")
    path, mark, query = target.partition("?")
    above, _, last = path.rpartition("/")
    segments = above if len(above) < len(path) - len(last) else None
    over = _above(scheme, authority, segments, spelling, lower_case)
    name = _spelled(
        _encode(last or INDEX) + (mark and "?" + _escape(query)), spelling, lower_case=lower_case
    )
    kind = "file" if last else "folder"
    kept = len(over.folders)
    if over.length + _size(_fit(name)) > MAX_PATH or kept > MAX_DEPTH:
        kept = _depth_kept(over.site, over.folders)
    own_name = f"{name}#{kind}"
    return Place(
        scheme=scheme,
        site=over.site,
        own_site=over.own_site,
        folders=over.folders[:kept],
        pages=over.pages[:kept],
        name=_fold(over.parts[kept:], name),
        own_name=_fold(over.parts[kept:], own_name),
        kind=kind,
        index=(last or INDEX) == INDEX,
    )


class _Above(NamedTuple):
    """What the URLs of a folder have in common; `length` is that of their paths without names."""

    site: str
    own_site: str
    parts: tuple[str, ...]
    folders: tuple[str, ...]
    pages: tuple[str, ...]
    length: int


# Pages of a folder often come one after the other. The longest URLs would fill 8 MB.
@lru_cache(1 << 8)
def _above(
    scheme: str, authority: str, path: str | None, spelling: Spelling, lower_case: bool
) -> _Above:
    """`path` is that of the folder; None if it is that of the site."""
    spelled = partial(_spelled, spelling=spelling, lower_case=lower_case)
    if spelling is Spelling.WINDOWS:
        authority = authority.replace("+", "#2B").replace(":", "+")
    site = spelled(_encode_host(authority))
    segments = () if path is None else path.split("/")
    parts = tuple(spelled(_encode(segment)) for segment in segments)
    folders = tuple(map(_fit, parts))
    pages = tuple(_fit(f"{part}#file") for part in parts)
    length = sum(1 + _size(each) for each in (_fit(site), *folders))
    return _Above(_fit(site), _fit(f"{site}#{scheme}"), parts, folders, pages, length)


def browsable(
    url: str,
    media_type: str,
    spelling: Spelling = Spelling.ASCII,
    *,
    lower_case: bool = False,
    download: str = "",
) -> list[str]:
    """Return paths whose ending shows the type of the file, the plainest first.

    Browsers, web servers and people go by the end of a name, so an ending for `media_type` is
    added if it is missing. A `download` has that name instead. Other URLs may want the first path,
    too; no other URL has the last. With `lower_case` no two paths differ in case alone.
    """
    place = locate(url, spelling, lower_case=lower_case)
    name, own_name = place.name, place.own_name
    # A page of the site may need a name such as index.html.
    if download and not _PAGES.search(download):
        name = own_name = _fit(_spelled(_encode(download), spelling, lower_case=lower_case))
    elif media_type != "text/html" and place.kind == "folder" and name.startswith(INDEX):
        name = INDEX.partition(".")[0] + name[len(INDEX) :]
    ending = _ending(name, media_type)
    last = ending or (_LAST_ENDING.search(name) or [""])[0]
    marked = _shorten(name.removesuffix(last), url, MAX_NAME - len(last)) + last
    own = (
        own_name
        if own_name == name
        else _fit(own_name, ending or _ENDINGS.get(media_type, ("",))[0])
    )
    names = dict.fromkeys((_fit(name, ending), own, marked))
    paths = ["/".join((place.site, *place.folders, each)) for each in names]
    return [path.lower() for path in paths] if lower_case else paths


def opens(path: str, media_type: str) -> bool:
    """Whether the end of a name does not speak against `media_type`."""
    known = path.lower()
    if media_type in _ENDINGS:
        return known.endswith(_ENDINGS[media_type])
    ending = known[known.rfind(".") :]
    own = _USUAL.get(media_type, ())
    return ending in own or (ending not in _KNOWN and _PAGES.search(known) is None)


def _ending(name: str, media_type: str) -> str:
    """What is added to `name`."""
    endings = _ENDINGS.get(media_type)
    if endings is not None:
        return "" if name.lower().endswith(endings) else endings[0]
    own = _USUAL.get(media_type, ())
    if name.lower().endswith(own) or (_HAS_ENDING.search(name) and not _PAGES.search(name)):
        return ""
    if media_type == _TEXT:
        is_bare = name != INDEX.partition(".")[0] and not _PAGES.search(name)
        return "" if is_bare else ".txt"
    return (own or (".bin" if _PAGES.search(name) else "",))[0]


def _spelled(name: str, spelling: Spelling, *, lower_case: bool) -> str:
    match spelling:
        case Spelling.UNICODE:
            return _in_unicode(name, lower_case=lower_case)
        case Spelling.WINDOWS:
            return _for_windows(name)
        case Spelling.ASCII:
            return name


def beside(path: str, ending: str) -> str:
    """Return the path of a companion of the file `path`; `ending` begins with "#"."""
    folders, slash, name = path.rpartition("/")
    return folders + slash + _fit(name, ending)


def original_beside(path: str) -> str:
    """Return the path of the original that keepOriginals keeps beside the page `path`."""
    return beside(path, "#.orig")


def original_of(url: str) -> str:
    """Return the path of the original, compressed, of the page `url` with rewritten links."""
    name = f"{fingerprint(url):016x}"
    return f"{_ORIGINALS}/{name[:2]}/{name[2:]}"


def _in_unicode(name: str, *, lower_case: bool) -> str:
    """Return `name` with percent-encoded UTF-8 as characters, if it is the same after NFC.

    Some file systems normalise names; the names of two URLs must differ there, too.
    """
    shown = _ENCODED.sub(_show, name)
    if lower_case:
        shown = shown.lower()
    return shown if is_normalized("NFC", shown) else name


def _show(match: re.Match[str]) -> str:
    """Return the encoded characters; if one could mislead or is invalid, leave all encoded."""
    try:
        text = bytes.fromhex(match[0].replace("%", "")).decode()
    except ValueError:
        return match[0]
    return text if text.isprintable() else match[0]


def _for_windows(name: str) -> str:
    name = _NOT_ON_WINDOWS.sub(_mark_bytes, name)
    return f"#{ord(name[0]):02X}{name[1:]}" if _DEVICE.match(name) else name


def _escape(text: str) -> str:
    return _UNSAFE.sub(_mark_bytes, text)


def _mark_bytes(match: re.Match[str]) -> str:
    return "".join(f"#{byte:02X}" for byte in match[0].encode("utf-8", "surrogatepass"))


def _encode(segment: str) -> str:
    """Return one segment of a path as a file name of any length."""
    if segment in {"", ".", ".."}:
        return "#2E" + segment[1:] if segment else "#empty"
    return _escape(segment)


def _encode_host(authority: str) -> str:
    if _ODD_HOST.match(authority):
        return f"#{ord(authority[0]):02X}" + _escape(authority[1:])
    return _encode(authority)


def _fit(name: str, ending: str = "") -> str:
    if _size(name) + len(ending) <= MAX_NAME:
        return name + ending
    return _shorten(name, name, MAX_NAME - len(ending)) + ending


def _fold(deep: Sequence[str], name: str) -> str:
    """Return `name` with the parts between it and the deepest folder that is kept."""
    return _shorten(name, "/".join((*deep, name))) if deep else _fit(name)


def _shorten(shown: str, whole: str, room: int = MAX_NAME) -> str:
    digest = blake2b(whole.encode(), digest_size=16).hexdigest()
    start = shown.encode()[: room - _HASHED].decode(errors="ignore")
    return f"{start}#h{digest}"


def _size(name: str) -> int:
    """The bytes of `name` on the disk."""
    return len(name) if name.isascii() else len(name.encode())


def _depth_kept(site: str, folders: Sequence[str]) -> int:
    """Return how many of `folders` become folders if the path is too long or deep.

    Whether a folder is kept depends only on the path up to it, so two URLs that share a
    folder agree on its name.
    """
    room = MAX_PATH - _size(site) - 1 - MAX_NAME
    for count, folder in enumerate(folders[:MAX_DEPTH]):
        room -= 1 + _size(folder)
        if room < 0:
            return count
    return MAX_DEPTH


#: Files of URLs that are remembered. Pages of a site link to the same few thousand others.
_REMEMBERED = 50_000


class Relative:
    """Makes relative references to the files of URLs.

    `place_of` gives the file of a URL, and the part of it that the URL leads to (a fragment).
    """

    def __init__(self, place_of: Callable[[str], tuple[str, str] | None]) -> None:
        def spelled(url: str) -> tuple[list[str], str] | None:
            place = place_of(url)
            return place and (quote(place[0]).split("/"), place[1] and f"#{place[1]}")

        self._spelled_of = lru_cache(_REMEMBERED)(spelled)

    def to(self, path: str) -> Callable[[str], str | None]:
        """Return a function from a URL to its reference in the file `path`; None if no file."""
        here = quote(path).split("/")[:-1]

        def lead(url: str) -> str | None:
            place = self._spelled_of(url)
            return place and _between(here, place[0]) + place[1]

        return lead


def reference(here: tuple[str, ...], target: str) -> str:
    """Return the reference to the file `target` in a page of the folder `here`.

    Escapes all but letters, digits and "-._~/": a name may hold "?", which ends a path, look
    like a scheme, or need escapes of its own in a style sheet.
    """
    return _between([quote(folder) for folder in here], quote(target).split("/"))


def _between(here: list[str], target: list[str]) -> str:
    """The way from a folder to a file, by their names as references spell them."""
    shared, most = 0, min(len(here), len(target) - 1)
    while shared < most and here[shared] == target[shared]:
        shared += 1
    return "../" * (len(here) - shared) + "/".join(target[shared:])
