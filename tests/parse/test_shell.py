"""Pages that scripts fill: a browser would see more."""

import pytest

from larbinpy.page import Outcome, Page
from larbinpy.parse import asks_its_site, is_filled_by_script
from larbinpy.url import Url

SHELL = b"""<!doctype html><title>The shop</title><script>words = "many, before it runs"</script>
<body><noscript>You need to enable JavaScript to run this app. Please do that now, and then load the
page again, so that you can see what we have for you today and tomorrow.</noscript>
<div id=root>Loading</div><script src=/main.js></script>"""


@pytest.mark.parametrize(
    ("body", "found"),
    [
        (SHELL, True),
        (SHELL.replace(b"Loading", b"word " * 50), False),
        (SHELL.replace(b"Loading", b"<img src=/a.png>"), False),
        (SHELL.replace(b"Loading", b"<h1>Welcome</h1>"), False),
        (b"<meta http-equiv=Refresh content='0;URL=/a'>" + SHELL, False),
        (b"<noscript><meta http-equiv=refresh content='0;url=/a'></noscript>" + SHELL, True),
        (b"<meta http-equiv=refresh content=60>" + SHELL, True),
        (SHELL + b" " * (1 << 18), False),
        (b"<p>A short page.", False),
    ],
)
def test_pages_that_scripts_fill(body: bytes, found: bool) -> None:
    page = Page(Url("http://a.test/", 1), Outcome.SUCCESS, 200, body=body)
    assert is_filled_by_script(page, []) is found


@pytest.mark.parametrize(
    ("script", "found"),
    [
        ("fetch('/api/x').then(show)", True),
        ('$.getJSON( "/api", show)', True),
        ("axios.get(`/api/${x}`)", True),
        ("xhr.open('GET', '/q')", True),
        ("$.ajax({type: t, url: '/q'})", True),
        ("new EventSource('/s')", True),
        ("fetch('//cdn.test/x')", False),
        ("fetch(url)", False),
        ("prefetch('/x')", False),
        ("var fetch = '/x'", False),
    ],
)
def test_scripts_that_ask_their_site(script: str, found: bool) -> None:
    page = Page(Url("http://a.test/", 1), Outcome.SUCCESS, 200)
    for page.body, kind, is_script in (
        (script.encode(), "text/javascript", True),
        (f"<p><script>{script}</script>".encode(), "text/html", True),
        (f"<p>{script}".encode(), "text/html", False),
    ):
        page.headers = [("content-type", kind)]
        assert asks_its_site(page) is (found and is_script)
