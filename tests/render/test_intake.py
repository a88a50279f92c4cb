"""The way of a page to the browser and back, with values."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from larbinpy.config import Config
from larbinpy.crawl.intake import Intake, Judge
from larbinpy.crawl.link_check import CheckIntake
from larbinpy.crawl.rendering import CheckRenderIntake, RenderIntake, rendering
from larbinpy.crawl.requests import SiteConfigs
from larbinpy.dns.lookup import Answer
from larbinpy.output.links import NO_LINK_NOTES
from larbinpy.output.plug import NullOutput
from larbinpy.page import Fate, Page, Rendering, of_status
from larbinpy.render.turns import RenderingIPSites
from tests.support.contexts import make_context
from tests.support.frontiers import make_frontier, queued

SHELL = b"<!doctype html><title>x</title><div id=app></div><script src=/app.js></script>"
HTML = [("content-type", "text/html")]


class Way:
    """An intake with a browser that takes pages, and gives back what the test says."""

    def __init__(self, folder: Path, **settings: Any) -> None:
        config = Config(render=("http://a.test/**",), ignore_robots=True, **settings)
        self.frontier = make_frontier(
            folder, connexions=99, ignore_robots=True, addresses=RenderingIPSites
        )
        self.in_browser: list[Page] = []
        self.kept: list[tuple[str, bytes]] = []
        self.fates: list[Fate] = []
        plug = NullOutput()
        plug.loaded = lambda page: self.kept.append((page.url.href, page.body))  # type: ignore[method-assign]
        fates: Any = SimpleNamespace(write=self.fates.append)
        self.intake = RenderIntake(
            make_context(config, pages_a_turn=32),
            SiteConfigs(config),
            self.frontier,
            Judge(self.frontier),
            plug,
            NO_LINK_NOTES,
            [fates],
            lambda names, now: None,
        )
        browser: Any = SimpleNamespace(put=self.in_browser.append, away=7)
        self.intake.renderer = browser

    def land(self, path: str = "/", body: bytes = SHELL, **more: Any) -> Page:
        """A page of a.test arrives."""
        assert self.frontier.seed(f"http://a.test{path}") is None
        self.frontier.sequence(0.0)
        while name := self.frontier.next_name():
            self.frontier.resolved(Answer(name[0], ("192.0.2.1",), None), 0.0)
        due = self.frontier.take(0.0)
        assert due is not None
        page = Page(due[0], of_status(200), status=200, headers=HTML, body=body, **more)
        self.intake.land([page])
        self.intake.step()
        return page

    def back(self, page: Page, body: bytes = SHELL, **more: Any) -> None:
        page.rendering = Rendering(page.body, 10, **more)
        page.body = body
        self.intake.back(page)
        self.intake.step()

    @property
    def left_out(self) -> dict[str, int]:
        return dict(self.frontier.scope.left_out)


def test_a_page_is_owed_until_it_is_back_and_read_as_it_is_then(tmp_path: Path) -> None:
    way = Way(tmp_path)
    page = way.land()
    assert way.in_browser == [page]
    assert (way.kept, way.fates) == ([], [])
    turns = way.frontier.ip_sites
    assert isinstance(turns, RenderingIPSites)
    assert list(turns.in_browser()) == [page.url]
    assert way.intake.away == 7
    way.back(page, b"<p>words<a href=/made>x</a>")
    assert way.kept == [("http://a.test/", b"<p>words<a href=/made>x</a>")]
    assert [fate.url for fate in way.fates] == ["http://a.test/"]
    assert way.in_browser == [page]
    assert list(turns.in_browser()) == []
    assert [url.href for url in queued(way.frontier)] == ["http://a.test/made"]


def test_where_a_page_led_by_itself_is_a_link(tmp_path: Path) -> None:
    way = Way(tmp_path)
    leads = ("http://a.test/next#part", "http://a.test/#/view", "mailto:x", "http://a.test/next")
    way.back(way.land(), leads=leads)
    found = sorted(url.href for url in queued(way.frontier))
    assert found == ["http://a.test/#/view", "http://a.test/next"]


@pytest.mark.parametrize(
    ("what", "counted"),
    [
        ({}, {}),
        ({"why": "its process crashed"}, {"rendering": 1, "scripts": 1}),
        ({"refused": {"renderPost": 3, "POST": 1}}, {"renderPost": 1}),
        ({"refused": {"POST": 1}}, {}),
    ],
)
def test_what_is_left_out_is_counted(
    tmp_path: Path, what: dict[str, Any], counted: dict[str, int]
) -> None:
    way = Way(tmp_path)
    way.back(way.land(), **what)
    assert way.left_out == counted


def test_a_link_check_has_an_intake_of_its_own() -> None:
    assert rendering(Intake) is RenderIntake
    assert rendering(CheckIntake) is CheckRenderIntake
