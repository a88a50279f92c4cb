"""Links from one file of a mirror to another."""

from urllib.parse import unquote, urljoin

import pytest
from hypothesis import given
from hypothesis import strategies as st

from larbinpy.output.mirror.paths import Relative, reference


@pytest.mark.parametrize(
    ("here", "target", "link"),
    [
        ("h/index.html", "h/a.html", "a.html"),
        ("h/index.html", "h/index.html", "index.html"),
        ("h/a/b.html", "h/c.html", "../c.html"),
        ("h/a.html", "h/a/b.html", "a/b.html"),
        ("h/a", "g:81/x", "../g%3A81/x"),
        ("h/a", "h/b:c", "b%3Ac"),
        ("h/a", "h/%20?q#file", "%2520%3Fq%23file"),
    ],
)
def test_the_shortest_way(here: str, target: str, link: str) -> None:
    assert Relative(lambda url: (target, "")).to(here)("http://x/") == link
    assert Relative(lambda url: (target, "part")).to(here)("http://x/") == f"{link}#part"


def test_a_url_without_a_file_has_no_reference() -> None:
    assert Relative(lambda url: None).to("h/a")("http://x/") is None


names = st.text("a%?#: '\"&;~", min_size=1, max_size=5).filter(lambda name: name.strip())
paths = st.lists(names, min_size=2, max_size=4).map("/".join)


@given(paths, paths)
def test_a_browser_finds_the_file(here: str, target: str) -> None:
    base = "file:///m/" + "/".join("x" for _ in here.split("/"))
    # Names of folders matter only if both files share them.
    link = reference(tuple(here.split("/")[:-1]), target)
    whole = urljoin("file:///m/" + _escaped(here), link)
    assert base and unquote(whole) == "file:///m/" + target


def _escaped(path: str) -> str:
    return "".join(char if char == "/" else f"%{ord(char):02X}" for char in path)
