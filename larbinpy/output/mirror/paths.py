r"""The names of URLs in a mirror; this module uses no disk.

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

Relative links from one file of a mirror to another.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from hashlib import blake2b
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
#: Endings by which a browser knows a type; the first is added to a name that has none of them.
#: Browsers know images, media, fonts and PDF by their first bytes.
_ENDINGS: dict[str, tuple[str, ...]] = {
    "text/html": (".html", ".htm"),
    "application/xhtml+xml": (".xhtml", ".xht", ".xhtm"),
    "text/css": (".css",),
    "image/svg+xml": (".svg",),
    "text/javascript": _SCRIPT,
    "application/javascript": _SCRIPT,
    "application/x-javascript": _SCRIPT,
}

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

    def spelled(name: str) -> str:
        match spelling:
            case Spelling.UNICODE:
                return _in_unicode(name, lower_case=lower_case)
            case Spelling.WINDOWS:
                return _for_windows(name)
            case Spelling.ASCII:
                return name

    scheme, _, rest = url.partition("://")
    authority, _, target = rest.partition("/")
    path, mark, query = target.partition("?")
    *segments, last = path.split("/")
    if spelling is Spelling.WINDOWS:
        authority = authority.replace("+", "#2B").replace(":", "+")
    site = spelled(_encode_host(authority))
    parts = [spelled(_encode(segment)) for segment in segments]
    name = spelled(_encode(last or INDEX) + (mark and "?" + _escape(query)))
    kind = "file" if last else "folder"
    folders = [_fit(part) for part in parts]
    kept = _depth_kept(_fit(site), folders, _fit(name))
    own_name = f"{name}#{kind}"
    return Place(
        scheme=scheme,
        site=_fit(site),
        own_site=_fit(f"{site}#{scheme}"),
        folders=tuple(folders[:kept]),
        pages=tuple(_fit(f"{part}#file") for part in parts[:kept]),
        name=_fold(parts[kept:], name),
        own_name=_fold(parts[kept:], own_name),
        kind=kind,
        index=(last or INDEX) == INDEX,
    )


def browsable(
    url: str, media_type: str, spelling: Spelling = Spelling.ASCII, *, lower_case: bool = False
) -> list[str]:
    """Return paths whose ending shows a browser the type of the file, the plainest first.

    Browsers and web servers go by the end of a name, so an ending for `media_type` is added if
    it is missing. Other URLs may want the first path, too; no other URL has the last. With
    `lower_case` no two paths differ in case alone.
    """
    place = locate(url, spelling, lower_case=lower_case)
    endings = _ENDINGS.get(media_type, ("",))
    ending = "" if place.name.lower().endswith(endings) else endings[0]
    marked = _shorten(place.name, url, MAX_NAME - len(ending))
    names = (_fit(place.name, ending), _fit(place.own_name, ending or endings[0]), marked + ending)
    paths = ["/".join((place.site, *place.folders, name)) for name in names]
    return [path.lower() for path in paths] if lower_case else paths


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


def _fold(deep: list[str], name: str) -> str:
    """Return `name` with the parts between it and the deepest folder that is kept."""
    return _shorten(name, "/".join((*deep, name))) if deep else _fit(name)


def _shorten(shown: str, whole: str, room: int = MAX_NAME) -> str:
    digest = blake2b(whole.encode(), digest_size=16).hexdigest()
    start = shown.encode()[: room - _HASHED].decode(errors="ignore")
    return f"{start}#h{digest}"


def _size(name: str) -> int:
    """The bytes of `name` on the disk."""
    return len(name) if name.isascii() else len(name.encode())


def _depth_kept(site: str, folders: list[str], name: str) -> int:
    """Return how many of `folders` become folders; not all if the path is too long or deep.

    Whether a folder is kept depends only on the path up to it, so two URLs that share a
    folder agree on its name.
    """
    length = _size(site) + sum(1 + _size(folder) for folder in folders) + 1 + _size(name)
    if length <= MAX_PATH and len(folders) <= MAX_DEPTH:
        return len(folders)
    room = MAX_PATH - _size(site) - 1 - MAX_NAME
    for count, folder in enumerate(folders[:MAX_DEPTH]):
        room -= 1 + _size(folder)
        if room < 0:
            return count
    return MAX_DEPTH


#: Files of URLs that are remembered. Pages of a site link to the same few thousand others.
_REMEMBERED = 50_000


class Relative:
    """Makes relative references to the files of URLs; `path_of` gives the file of a URL."""

    def __init__(self, path_of: Callable[[str], str | None]) -> None:
        self._path_of = lru_cache(_REMEMBERED)(path_of)

    def to(self, path: str) -> Callable[[str], str | None]:
        """Return a function from a URL to its reference in the file `path`; None if no file."""
        here = tuple(path.split("/")[:-1])

        def lead(url: str) -> str | None:
            target = self._path_of(url)
            return None if target is None else reference(here, target)

        return lead


def reference(here: tuple[str, ...], target: str) -> str:
    """Return the reference to the file `target` in a page of the folder `here`.

    Escapes all but letters, digits and "-._~/": a name may hold "?", which ends a path, look
    like a scheme, or need escapes of its own in a style sheet.
    """
    parts = target.split("/")
    shared = 0
    while shared < min(len(here), len(parts) - 1) and here[shared] == parts[shared]:
        shared += 1
    return "../" * (len(here) - shared) + quote("/".join(parts[shared:]))
