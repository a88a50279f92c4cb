"""Names that cannot exist are asked for where a site has its names."""

import pytest

from larbinpy.frontier.soft404.probes import (
    Shape,
    commonest_shape,
    is_above,
    is_home,
    is_start,
    shape_of,
)

SITE = "http://a.test"


@pytest.mark.parametrize(
    ("path", "named"),
    [
        ("/a", "/X"),
        ("/a.html", "/X.html"),
        ("/b/c/d.php", "/b/c/X.php"),
        ("/b/c/", "/b/X/"),
        ("/v1.2.3/", "/X/"),
        ("/a.longword", "/X"),
        ("/?q=a", "/?q=X"),
        ("/w.php?t=1&p=2", "/w.php?t=1&p=X"),
        ("/w.php?a", "/X.php"),
    ],
)
def test_the_place_of_a_name(path: str, named: str) -> None:
    assert shape_of(f"{SITE}{path}").named("X") == f"{SITE}{named}"


def test_the_place_of_most_urls() -> None:
    urls = ["/", "/a", "/b/1.html", "/b/2.html", "/b/3", "/", "/"]
    assert commonest_shape(f"{SITE}{url}" for url in urls) == Shape(f"{SITE}/b/", ".html")
    assert commonest_shape([f"{SITE}/"]) is None
    assert commonest_shape([]) is None


def test_pages_that_start_a_site_or_a_folder() -> None:
    starts = ["/", "/index.html", "/a/Default.aspx", "/home", "/main.php"]
    others = ["/a/", "/?page=2", "/index.php?t=1", "/homes", "/reindex.html"]
    assert [is_start(f"{SITE}{path}") for path in starts] == [True] * 5
    assert [is_start(f"{SITE}{path}") for path in others] == [False] * 5
    assert is_home(f"{SITE}/") and not is_home(f"{SITE}/index.html")


def test_pages_above_a_name() -> None:
    probe = f"{SITE}/a/b.php?t=larbinpy-1"
    above = ["/", "/a", "/a/", "/a/b.php"]
    others = ["/a/b", "/a/b.php?t=1", "/b", "/a/c", "/a/b.php?t"]
    assert all(is_above(f"{SITE}{path}", probe) for path in above)
    assert not any(is_above(f"{SITE}{path}", probe) for path in others)
