"""docs/scrapy.md: its plug gets what the spider beside it would, also over stops."""

import json
import re
from pathlib import Path

import pytest

from larbinpy import ConfigError, Crawl, Plug, Start
from larbinpy.config import Config
from larbinpy.page import Page
from tests.support.checkout import ROOT
from tests.support.keywords import effect_of
from tests.support.smallweb import Answer, Web
from tests.support.smallworld import Worlds

pytest_plugins = ["tests.support.smallcrawls"]

[CODE] = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "scrapy.md").read_text(), re.DOTALL)
NUMBERS = range(6)


@pytest.fixture
def shop(web: Web, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Web:
    """A catalogue of two pages; one product has moved. Its plug is in the working directory."""
    for page, numbers, more in (
        ("", NUMBERS[:3], "<a class=next href=/2>next"),
        ("2", NUMBERS[3:], ""),
    ):
        links = "".join(f"<a class=product href=/p{n}>{n}</a><a href=/other>o</a>" for n in numbers)
        web.put(f"a.test/{page}", Answer(f"{links}{more}".encode()))
    for n in NUMBERS:
        web.put(f"a.test/p{n}", Answer(f"<h1>Thing {n}</h1><b class=price>{n} EUR</b>".encode()))
    web.put("a.test/moved", web.places["a.test/p1"][0])
    web.put("a.test/p1", Answer(status=301, headers=("Location: /moved",)))
    (tmp_path / "products.py").write_text(CODE)
    monkeypatch.chdir(tmp_path)
    return web


@effect_of("plug")
@effect_of("items")
def test_the_plug_of_the_page(shop: Web, crawl: Worlds, tmp_path: Path) -> None:
    path = tmp_path / "products.jsonl"
    settings = ("depthInSite 0", "plug products:Products", f"items {path}")
    first = crawl("limitPage 4", *settings, output=None)
    world = crawl(*settings, folder=first.folder, start=Start.RESUME, output=None)
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    assert sorted((row["name"], row["price"]) for row in rows) == [
        (f"Thing {n}", f"{n} EUR") for n in NUMBERS
    ]
    assert world.fates.keys() == {
        f"a.test/{n}" for n in ("", 2, "moved", *(f"p{n}" for n in NUMBERS))
    }


def test_what_a_page_says_is_read_when_asked_for() -> None:
    class Reader(Plug):
        def loaded(self, page: Page) -> None:
            said.append(
                (page.title, page.text, [each.text for each in page.select("b")], page.label)
            )

    said: list[tuple[str, str, list[str], str]] = []
    crawl = Crawl(Config(), output=Reader())
    from larbinpy.page import Outcome
    from larbinpy.url import Url

    body = b"<title>T</title><body><p>Some words of a text <b>here</b>."
    page = Page(Url("http://a.test/", 0, label="x"), Outcome.SUCCESS, 200, body=body)
    page.headers = [("content-type", "text/html")]
    crawl._own_output.loaded(page)  # type: ignore[union-attr]
    [(title, text, bold, label)] = said
    assert (title, bold, label) == ("T", ["here"], "x")
    assert "Some words of a text here." in text


def test_a_plug_that_lacks_methods_is_refused_at_once() -> None:
    class Half:
        def loaded(self, page: Page) -> None:
            pass

    with pytest.raises(ConfigError, match="the plug Half has no method failed, stats, close"):
        Crawl(Config(), output=Half())  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"plug": "no.module:Plug"}, "plug no.module:Plug: ModuleNotFoundError"),
        ({"plug": "json:Nothing"}, "plug json:Nothing: AttributeError"),
        ({"plug": "json"}, "'json' is not MODULE:CLASS"),
        ({"items": "a.jsonl"}, "only a plug makes items"),
        ({"items": "a.txt"}, "ends neither with .jsonl nor with .csv"),
    ],
)
def test_what_is_no_plug(settings: dict[str, str], reason: str) -> None:
    with pytest.raises(ConfigError, match=reason):
        Crawl(Config(**settings))  # type: ignore[arg-type]


def test_a_label_is_the_name_of_a_method() -> None:
    class Adding(Plug):
        pass

    crawl = Crawl(Config(), output=Adding())
    assert (
        crawl.add("http://a.test/", label="no name") == "the label 'no name' is no name of a method"
    )
