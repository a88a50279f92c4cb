"""Addresses that a script loads later: the attributes of lazy loaders.

No standard names them. The names here are those that lazysizes, vanilla-lazyload, lozad, Lazy Load,
Slick, Slider Revolution, Splide, Flickity, Echo.js and Unveil read, and those that WP Rocket,
Jetpack, Cloudflare, PageSpeed and shops write for scripts of their own. Pages give some of them
other values, too: switches, colours, templates and JSON, which are no addresses.
"""

import re

from larbinpy.parse.css import css_urls
from larbinpy.parse.link import Collector, Kind
from larbinpy.parse.srcset import srcset

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
BACKGROUNDS = ("data-bg", "data-background", "data-background-image")
#: Name backgrounds as `srcset` does (the bgset plugin of lazysizes); on any element.
BACKGROUND_SETS = ("data-bgset",)
#: Names an image on elements without `src`, too, whose loader makes a background of it.
ANYWHERE = SOURCES[0]
POSTER = "data-poster"

NAMES = frozenset({*SOURCES, *SETS, *BACKGROUNDS, *BACKGROUND_SETS, POSTER})

#: Characters of templates and JSON; none of them stands in a URL.
_PATTERN = re.compile(r'[{<"]')
_PATH = re.compile(r"/|\.[A-Za-z]")
_IMAGE = re.compile(
    r"\.(?:avif|bmp|gif|jpe?g|png|svg|webp)(?![A-Za-z0-9])", re.ASCII | re.IGNORECASE
)


def is_address(value: str) -> bool:
    """Whether the value of an attribute of a lazy loader is an address, and nothing else."""
    return _PATH.search(value) is not None and _PATTERN.search(value) is None


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
