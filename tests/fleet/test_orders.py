"""What operators change through a node: executed once, and not lost while Redis is away."""

from collections.abc import Mapping
from itertools import count
from types import SimpleNamespace
from typing import Any

import pytest

from larbinpy import __version__
from larbinpy.config import Config
from larbinpy.console.ports.commands import CommandSteps
from larbinpy.crawl.control import Control
from larbinpy.crawl.fleet.orders import Orders
from larbinpy.crawl.fleet.steering import FleetControl, Reports, Steering, Work
from larbinpy.crawl.mode import Mode
from larbinpy.fleet.board import Board as SeenBoard
from larbinpy.fleet.board import NodeReport
from larbinpy.fleet.vault import Away, FleetState, Then
from tests.support.contexts import make_context


class Board:
    """Notes what it is told, and answers when the test says so."""

    area = None

    def __init__(self) -> None:
        self.client = SimpleNamespace(trouble="")
        self.told: list[tuple[Any, ...]] = []
        self.thens: list[Then[Any]] = []

    def answer(self, order: str, answer: Mapping[str, Any], then: Then[None]) -> None:
        self._tell(then, order, answer["node"], answer["did"])

    def change(self, key: str, value: str, limit: int, then: Then[str]) -> None:
        self._tell(then, key, value, limit)

    def declare(self, old: FleetState, new: FleetState, then: Then[FleetState]) -> None:
        self._tell(then, old, new)

    def _tell(self, then: Then[Any], *what: Any) -> None:
        self.told.append(what)
        self.thens.append(then)

    def reply(self, answer: Any) -> None:
        self.thens.pop(0)(answer)


class Executed:
    """The orders of a node, which executes each in one step."""

    def __init__(self) -> None:
        self.board = Board()
        self.texts: list[str] = []
        self.orders = Orders(self.board, "a")  # type: ignore[arg-type]
        self.orders.execute = self._execute
        self.orders.begin()

    def _execute(self, text: str) -> CommandSteps:
        self.texts.append(text)
        yield {"did": text}

    def get(self, *ids: str) -> None:
        for order in ids:
            self.board.on_order(order, f"text of {order}")  # type: ignore[attr-defined]
        for _ in range(3):
            self.orders.step()


def test_orders_that_come_again_are_not_executed_again() -> None:
    """After a lost answer the stream is read from where it was."""
    node = Executed()
    node.get("7-0", "7-1")
    node.get("7-0", "7-1", "10-0")
    node.get("10-0", "9-5")
    assert node.texts == ["text of 7-0", "text of 7-1", "text of 10-0"]


def test_the_answer_to_an_order_is_given_until_redis_has_it() -> None:
    node = Executed()
    node.get("7-0")
    assert node.board.told == [("7-0", "a", "text of 7-0")]
    node.board.reply(Away())
    node.orders.step()
    assert node.board.told == [("7-0", "a", "text of 7-0")] * 2
    node.board.reply(None)
    node.orders.step()
    assert len(node.board.told) == 2


def steering_of(board: Board) -> Steering:
    node: Any = None
    return Steering(board, node, node, Config(), Mode(), lambda: 0.0)  # type: ignore[arg-type]


def control_of(board: Board, *, draining: bool = False, limit: int = 0) -> FleetControl:
    unused: Any = None
    disk: Any = SimpleNamespace(saving=unused, log=unused)
    settings: Any = SimpleNamespace(config=Config(limit_page=limit), set=lambda key, value: None)
    logins: Any = SimpleNamespace(learn=lambda url: None)
    mode = Mode(draining=draining)
    control = FleetControl(make_context(), settings, mode, unused, logins, disk, unused, unused)
    control.steering = steering_of(board)
    return control


def test_a_node_reports_every_two_seconds_and_at_once_when_it_joins() -> None:
    read: list[Then[Any]] = []
    board: Any = SimpleNamespace(
        read=lambda then, name, report: read.append(then), client=SimpleNamespace(trouble="")
    )
    node: Any = SimpleNamespace(session="", served=0, lag=0.0)
    counts = {"totals": dict.fromkeys(("success", "pages", "bytes_received", "links"), 0)}
    totals: Any = SimpleNamespace(counts=lambda: counts | {"outcomes": {}, "known": {"sites": 0}})
    stats: Any = SimpleNamespace(rates=lambda: {"success": 0.0, "bytes": 0.0})
    work = Work(totals, stats, str, int, int, int, int)
    reports = Reports(board, node, Config())
    times = []
    for tenth in range(100):
        node.session = "" if tenth < 5 else "a.1" if tenth < 52 else "a.2"
        reports.step(work, tenth / 10)
        if read:
            times.append(tenth / 10)
            read.pop()(Away())
    assert times == [0.5, 2.5, 4.5, 5.2, 7.2, 9.2]


def test_what_a_node_reports() -> None:
    reports: list[dict[str, Any]] = []
    board: Any = SimpleNamespace(
        read=lambda then, name, report: reports.append(report),
        client=SimpleNamespace(trouble="Redis is slow"),
    )
    node: Any = SimpleNamespace(session="a.1", served=7, lag=0.256)
    totals: Any = SimpleNamespace(
        counts=lambda: {
            "totals": {"success": 10, "pages": 12, "bytes_received": 3000, "links": 40},
            "outcomes": {"success": 10, "err40X": 2, "timeout": 0},
            "known": {"sites": 3},
        }
    )
    stats: Any = SimpleNamespace(rates=lambda: {"success": 1.234, "bytes": 56.7})
    work = Work(totals, stats, lambda: "running", lambda: 5, lambda: 60, lambda: 2, lambda: 9)
    config = Config(http_port=8081, http_host="192.0.2.1", input_port=1976)
    told = Reports(board, node, config)
    told.step(work, 100.0)
    [report] = reports
    assert report == {
        "session": "a.1",
        "version": __version__,
        "joined_s": 0.0,
        "state": "running",
        "pages": 10,
        "pages_s": 1.23,
        "replies": 12,
        "bytes": 3000,
        "bytes_s": 57,
        "links": 40,
        "outcomes": {"success": 10, "err40X": 2},
        "sites": 3,
        "queued": 5,
        "seen": 60,
        "busy": 2,
        "shards": 7,
        "lag_s": 0.26,
        "trouble": "Redis is slow",
        "http": "192.0.2.1:8081",
        "database": "",
        "input": "127.0.0.1:1976",
    }


def test_a_node_waits_for_an_answer_before_it_reports_again() -> None:
    read: list[Then[Any]] = []
    board: Any = SimpleNamespace(
        name="news", read=lambda then, *_: read.append(then), client=SimpleNamespace(trouble="")
    )
    node: Any = SimpleNamespace(
        session="a.1", served=7, lag=0.0, members=1, state=FleetState.RUNNING
    )
    counts = {"totals": dict.fromkeys(("success", "pages", "bytes_received", "links"), 0)}
    totals: Any = SimpleNamespace(counts=lambda: counts | {"outcomes": {}, "known": {"sites": 0}})
    stats: Any = SimpleNamespace(rates=lambda: {"success": 0.0, "bytes": 0.0})
    work = Work(totals, stats, str, int, int, int, int)
    reports = Reports(board, node, Config(shards=64))
    for second in range(10):
        reports.step(work, float(second))
    assert (len(read), reports.alive, reports.describe(50)["nodes"]) == (1, {}, [])
    assert reports.describe(50)["left"] == 0

    status = {"session": "a.1", "shards": 7}
    others = {"b": NodeReport(1.0, {"session": "b.1", "shards": 30}), "c": NodeReport(900.0, {})}
    seen = SeenBoard(
        FleetState.RUNNING, {"a.1": 1, "b.1": 1}, {"a": NodeReport(0.5, status)} | others, 50, 20
    )
    read.pop()(seen)
    assert reports.alive == {"a": "a.1", "b": "b.1"}
    shown = reports.describe(50)
    assert [(each["name"], each["alive"], each["age_s"]) for each in shown["nodes"]] == [
        ("a", True, 0.5), ("b", True, 1.0), ("c", False, 900.0),
    ]  # fmt: skip
    assert (shown["left"], shown["shards_served"], shown["shards_of_all"]) == (20, 37, 64)
    reports.step(work, 10.0)
    assert len(read) == 1


def test_seeds_do_not_pile_up_while_redis_is_away() -> None:
    board = Board()
    control = control_of(board)
    seeds = (f"http://a.test/{number}" for number in count())
    while not control.steering.seeding.is_full:
        assert control.add(next(seeds)) is None
    assert control.add(next(seeds)) is None, "Redis takes them"
    board.client.trouble = "Redis is away"
    assert control.add(next(seeds)) == "Redis takes no seeds now; try again later"
    assert control_of(board, draining=True).add(next(seeds)) == (
        "this node is ending; ask another one"
    )


@pytest.mark.parametrize("keyword", ["limitPage", "limitpage", "LIMITPAGE"])
def test_a_new_limit_reaches_the_share_of_a_node(keyword: str) -> None:
    control = control_of(Board(), limit=50)
    assert control.steering.holds == ""
    assert list(control.execute(f"set {keyword} 50")) == [{"ok": True}]
    # Nobody knows yet what is left of it.
    assert control.steering.holds == "this node waits for its share of limitPage"


@pytest.mark.parametrize(
    ("order", "answer"),
    [
        ("set waitDuration 9", {"ok": True}),
        ("set header a b", {"ok": True}),
        ("set waitDuration", {"ok": False, "error": "unknown order 'set'"}),
        ("search b,c q=x", {"ok": True}),
        ("dance", {"ok": False, "error": "unknown order 'dance'"}),
    ],
)
def test_what_a_node_does_with_an_order(order: str, answer: dict[str, Any]) -> None:
    assert list(control_of(Board()).execute(order)) == [answer]


@pytest.mark.parametrize(
    ("names", "answer"),
    [("a,b", {"ok": True}), ("b,me", {"found": "q=x"}), ("me", {"found": "q=x"})],
)
def test_a_search_is_for_the_nodes_that_it_names(
    monkeypatch: pytest.MonkeyPatch, names: str, answer: dict[str, Any]
) -> None:
    monkeypatch.setattr(
        "larbinpy.crawl.fleet.steering.searched",
        lambda finder, query, clock: iter([{"found": query}]),
    )
    control = control_of(Board())
    control._settings.config = Config(node="me")
    assert list(control.execute(f"search {names} q=x")) == [answer]


def test_a_node_saves_at_an_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Control, "save", lambda self: iter([{"ok": True, "saved": 7}]))
    assert list(control_of(Board()).execute("save")) == [{"ok": True, "saved": 7}]


def test_settings_and_states_are_given_until_redis_has_them() -> None:
    board = Board()
    steering = steering_of(board)
    assert steering.pass_on()
    steering.change("limitPage", "50", 50)
    steering.declare("pause")
    given = [("limitPage", "50", 50), (FleetState.RUNNING, FleetState.PAUSED)]
    assert board.told == given and not steering.pass_on()
    for _ in given:
        board.reply(Away())
    # Not at once: Redis may be away for long.
    assert board.told == given
    assert not steering.pass_on()
    assert board.told == given * 2
    board.reply("1-0")
    assert not steering.pass_on()
    board.reply(FleetState.PAUSED)
    assert steering.pass_on()
    assert board.told == given * 2
