from typing import Any

import pytest

from larbinpy.config import Config
from larbinpy.crawl.requests import Types
from larbinpy.page import Outcome

PAGES = ["text/html", "application/xhtml+xml", "application/xml", "text/xml", ""]
FEEDS = [
    *("application/rss+xml", "application/atom+xml", "application/rdf+xml"),
    "application/feed+json",
]
OTHERS = ["image/png", "audio/mpeg", "application/pdf", "text/css", "text/plain", "audio"]


def types_of(*specific: str, **wanted: Any) -> Types:
    """Types of which the `specific` prefixes are asked for; `wanted` are fields of a `Config`."""
    sought: Any = tuple((prefix, ".x") for prefix in specific)
    return Types(Config(specific_search=True, specific_set=sought, **wanted))


def refused(types: Any, *media_types: str, url: str = "http://a.test/x") -> Any:
    return [m for m in media_types if types.refuse(url, m) is Outcome.BAD_TYPE]


@pytest.mark.parametrize("any_type", [False, True])
@pytest.mark.parametrize("get_image", [False, True])
def test_pages_and_feeds_are_always_taken(any_type: bool, get_image: bool) -> None:
    types = types_of(any_type=any_type, get_image=get_image)
    assert refused(types, *PAGES, *FEEDS, "unknown/unknown", "application/unknown") == []


def test_others_are_taken_where_asked_for() -> None:
    def others(*specific: str, **wanted: Any) -> Any:
        return refused(types_of(*specific, **wanted), *OTHERS)

    assert others() == OTHERS
    assert others(any_type=True) == []
    assert others(get_image=True) == OTHERS[1:]
    assert others("Audio/") == ["image/png", *OTHERS[2:]]
    assert others("application/pdf") == [*OTHERS[:2], *OTHERS[3:]]


@pytest.fixture
def plain() -> Any:
    """Nothing but pages."""
    return types_of()


def test_a_json_feed_by_name(plain: Any) -> None:
    kind = "application/json"
    assert plain.refuse("http://a.test/blog/feed.json?page=2", kind) is None
    for name in ("data.json", "feed", "feed.json/x"):
        assert plain.refuse(f"http://a.test/{name}", kind) is Outcome.BAD_TYPE


SITEMAPS = ["application/gzip", "application/x-gzip", "application/octet-stream", "text/plain"]


@pytest.mark.parametrize("media_type", SITEMAPS)
@pytest.mark.parametrize(
    "name", ["sitemap.xml.gz", "sitemap.txt", "Sitemap-7.gz", "all.xml.gz", "a/my_sitemap?page=2"]
)
def test_sitemaps_by_name(plain: Any, media_type: Any, name: str) -> None:
    assert plain.refuse(f"http://a.test/{name}", media_type) is None


@pytest.mark.parametrize("media_type", SITEMAPS)
@pytest.mark.parametrize(
    "name", ["archive.gz", "robots.txt", "sitemap/", "sitemaps/a.gz", "a.gz?x=/sitemap.xml.gz"]
)
def test_other_names_of_those_types_are_not_sitemaps(
    plain: Any, media_type: Any, name: str
) -> None:
    assert plain.refuse(f"http://a.test/{name}", media_type) is Outcome.BAD_TYPE


@pytest.mark.parametrize("media_type", ["image/png", "application/pdf", "text/css"])
def test_a_name_alone_is_no_sitemap(plain: Any, media_type: Any) -> None:
    assert plain.refuse("http://a.test/sitemap.xml.gz", media_type) is Outcome.BAD_TYPE


def test_only_the_configured_types_are_specific() -> None:
    types = types_of("audio/", "video/mp4", any_type=True, get_image=True)
    assert types.specific("audio/ogg") and types.specific("video/mp4")
    assert not types.specific("image/png") and not types.specific("")
    assert not types_of(any_type=True, get_image=True).specific("audio/ogg")
