"""Images that a page names for other programs: Open Graph, Twitter Cards, tiles, JSON-LD.

Browsers do not load them, so they count only if the page's own site has them: those of other sites
are no part of the page. JSON-LD is that of schema.org, as search engines ask for it.
"""

import json
import re
from collections.abc import Iterator

from larbinpy.parse.lazy import is_address
from larbinpy.parse.link import Collector, Kind

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


def is_json(script_type: str | None) -> bool:
    """Whether a <script> of this type holds JSON-LD."""
    return script_type is not None and script_type.strip().lower() == "application/ld+json"


def read_json(text: str, out: Collector) -> None:
    """Add the images of JSON-LD."""
    if len(text) > _LONGEST:
        return
    try:
        # Control characters in strings are frequent.
        document = json.loads(text, strict=False)
    except (ValueError, RecursionError):
        return
    for url in _images(document):
        _add(url, Kind.IMAGE, out)


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
