"""Pages that are due on their way to the frontier."""

from collections.abc import Callable
from typing import Any, cast

import pytest

from larbinpy.config import Config, ConfigError
from larbinpy.crawl.mode import Mode
from larbinpy.crawl.revisiting import Revisiting, check, make_revisiting
from larbinpy.database.revisit.round import DueAsk, DuePage
from larbinpy.frontier.frontier import Frontier
from larbinpy.output.database import VisitingOutput
from larbinpy.url import Url
from tests.support.contexts import make_context


class FakeFrontier:
    def __init__(self) -> None:
        self.queued: list[Url] = []

    def revisit(self, url: Url) -> None:
        self.queued.append(url)


class FakeOutput:
    works = True

    def __init__(self) -> None:
        self.asked: list[DueAsk] = []
        self.ended_: list[str] = []

    def ask(self, ask: DueAsk, take: Callable[[list[DuePage]], None]) -> None:
        self.asked.append(ask)
        self.answer = take

    def ended(self, href: str) -> None:
        self.ended_.append(href)


class Desk:
    def __init__(self, **settings: Any) -> None:
        self.now = 5000.0
        settings = {"output_mode": ("database",), "revisit": "round", **settings}
        self.frontier, self.output, self.mode = FakeFrontier(), FakeOutput(), Mode(limit_page=0)
        context = make_context(Config(**settings), wall=lambda: self.now)
        self.revisiting: Revisiting = make_revisiting(
            context, cast(Frontier, self.frontier), self.mode
        )
        self.revisiting._output = cast(VisitingOutput, self.output)

    def answer(self, *pages: tuple[str, str | None]) -> None:
        self.revisiting.step(0.0)
        self.output.answer(
            [
                DuePage(url, 3, via, f"1970-01-01T00:00:{number:02}Z", number)
                for number, (url, via) in enumerate(pages)
            ]
        )


def test_due_pages_are_queued() -> None:
    desk = Desk()
    desk.answer(("http://a.test/1", "http://a.test/"), ("http://a.test/2", None))
    assert [(url.href, url.depth, url.via) for url in desk.frontier.queued] == [
        ("http://a.test/1", 3, "http://a.test/"),
        ("http://a.test/2", 3, None),
    ]
    assert desk.revisiting.may_go_on()


def test_a_page_whose_visit_is_written_after_the_answer_is_not_given_again() -> None:
    """The answer and the news of the visit may come together, before the next turn."""
    desk, url = Desk(), "http://a.test/1"
    desk.answer((url, None))
    desk.revisiting.visits.recorded(url, 0)
    desk.now += 40.0
    desk.answer((url, None), ("http://a.test/2", None))
    desk.revisiting.visits.taken(1)
    assert [each.href for each in desk.frontier.queued] == [url, "http://a.test/2"]
    # All that a checkpoint between two turns saves is in a queue.
    assert list(desk.revisiting.cut(0.0, ended=False)["visits"]["open"]) == ["http://a.test/2"]


def test_no_text_of_a_foreign_database_reaches_the_queues() -> None:
    desk = Desk()
    desk.answer(("http://a.test/ 1", None), ("http://a.test/2", "http://a.test/\n x"))
    assert [(url.href, url.via) for url in desk.frontier.queued] == [("http://a.test/2", None)]
    assert desk.output.ended_ == ["http://a.test/ 1"]


def test_a_round_is_over_when_nothing_is_due() -> None:
    desk = Desk()
    desk.answer()
    assert not desk.revisiting.may_go_on()


def test_following_goes_on() -> None:
    desk = Desk(revisit="on")
    desk.answer()
    assert desk.revisiting.may_go_on()


def test_it_does_not_wait_for_a_database_that_is_lost() -> None:
    desk = Desk()
    desk.output.works = False
    assert not desk.revisiting.may_go_on()


def test_nothing_is_asked_while_the_crawl_ends() -> None:
    desk = Desk()
    desk.mode.draining = True
    desk.revisiting.step(0.0)
    assert desk.output.asked == []


def test_a_round_is_saved() -> None:
    desk = Desk(revisit_budget=10)
    desk.answer(("http://a.test/1", None))
    later = Desk(revisit_budget=10)
    later.revisiting.load(desk.revisiting.cut(0.0, ended=False), 0.0)
    assert later.revisiting.visits.is_open("http://a.test/1")
    later.answer(("http://a.test/1", None), ("http://a.test/2", None))
    assert [url.href for url in later.frontier.queued] == ["http://a.test/2"]


@pytest.mark.parametrize(
    "settings",
    [
        {"output_mode": ("mirror",)},
        {"page_no_duplicate": True},
        {"check_links": True},
        {"join": "redis://127.0.0.1/x"},
    ],
)
def test_settings_that_do_not_go_together(settings: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match="revisit"):
        check(Config(**{"output_mode": ("database",), **settings}))
