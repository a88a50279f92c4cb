"""What the command does in a turn: which nodes it starts and ends, when, and how long it waits."""

import signal
from collections.abc import Callable, Sequence
from math import inf
from types import SimpleNamespace
from typing import Any

import pytest

from larbinpy.cli.nodes import supervisor
from larbinpy.cli.nodes.node import NodeEnd
from larbinpy.cli.nodes.supervisor import ReportWatch, Supervisor
from larbinpy.errors import USAGE, UserError
from larbinpy.fleet.board import Board, NodeReport
from larbinpy.fleet.redis.overview import PATIENCE, SeenCrawl
from larbinpy.fleet.vault import Away, FleetState
from larbinpy.loop.signals import Signals

NEW, RUNNING, PAUSED = FleetState.NEW, FleetState.RUNNING, FleetState.PAUSED
FINISHED, STOPPED = FleetState.FINISHED, FleetState.STOPPED
TERM, KILL = signal.SIGTERM, signal.SIGKILL
#: The time of all turns here.
NOW = 100.0


class Node:
    """A node that notes what it is told; `due` when it is to be started."""

    def __init__(self, done: list[Any], name: str, due: float = inf, status: int = 0) -> None:
        self.name = name
        self.due = due
        self.over = False
        self.starts = 0
        self._done = done
        self._status = status

    def start(self, now: float, *, seeds: bool) -> None:
        self.due = inf
        self._done.append((self.name, "starts with seeds" if seeds else "starts", now))

    def step(self, now: float, *, stops: bool) -> None:
        if stops:
            self._done.append((self.name, "no restart"))

    def signal(self, number: int) -> None:
        self._done.append((self.name, number))

    def give_up(self) -> None:
        self._done.append((self.name, "given up"))

    def end(self) -> NodeEnd:
        return NodeEnd(self.name, self._status, 1, {})


class Turns:
    """A command in the middle of its run, whose parts note in `done` what it has them do."""

    def __init__(self) -> None:
        self.done: list[Any] = []
        self.waits: list[float] = []
        self.found: list[Callable[[Any], None]] = []
        self.now = NOW
        plan: Any = SimpleNamespace(folder=None, names=["1", "2"])
        terminal: Any = SimpleNamespace(
            say=lambda line: self.done.append(line),
            update=lambda snapshot: self.done.append(("shown", snapshot["state"])),
        )
        made: Any = Supervisor(plan, terminal, lambda: self.now, lambda: 0.0)
        self.command = made
        self.first, self.second = nodes = Node(self.done, "1"), Node(self.done, "2")
        made._nodes = list(nodes)
        made._poller = SimpleNamespace(wait=self.waits.append)
        made._client = SimpleNamespace(
            step=lambda now: None,
            resume=lambda: self.done.append("resumed"),
            deadline=inf,
            trouble="",
        )
        made._watch = SimpleNamespace(
            step=lambda now: None,
            begin=lambda now: self.done.append(("reports from", now)),
            deadline=inf,
            board=None,
        )
        made._overview = SimpleNamespace(find=self.found.append)
        made._look_at = NOW + 50
        made._began = NOW - 8.0

    def crawl(self, state: FleetState | None) -> None:
        self.command._found = None if state is None else SeenCrawl("id", state, {})

    def report(self, queued: int = 4) -> None:
        """There are reports of the nodes."""
        status = {"session": "1.0", "queued": queued}
        self.command._watch.board = Board(RUNNING, {"1.0": 1}, {"1": NodeReport(1.0, status)}, 0, 0)


@pytest.fixture
def turns() -> Turns:
    return Turns()


def of_signals(**counts: int) -> Signals:
    made = Signals()
    for name, count in counts.items():
        for _ in range(count):
            made._note(getattr(signal, name), None)
    return made


@pytest.mark.parametrize(
    ("which", "state", "starts", "over", "outcome"),
    [
        # The first gives its seeds until the crawl has them, and when it takes part for the first
        # time.
        ("first", None, 0, [], "starts with seeds"),
        ("first", None, 3, [], "starts with seeds"),
        ("first", NEW, 1, [], "starts with seeds"),
        ("first", RUNNING, 0, [], "starts with seeds"),
        ("first", RUNNING, 1, [], "starts"),
        ("first", PAUSED, 2, ["second"], "starts"),
        # The others wait for the crawl, unless nobody is left who makes it.
        ("second", None, 0, [], "waits"),
        ("second", None, 0, ["first"], "starts"),
        ("second", NEW, 0, [], "starts"),
        ("second", RUNNING, 1, [], "starts"),
        # One that died is not needed once another has come to the end of the crawl.
        ("first", FINISHED, 1, ["second"], "given up"),
        ("second", STOPPED, 1, ["first"], "given up"),
        ("second", FINISHED, 1, [], "starts"),
    ],
)
def test_a_node_that_is_due_is_started_if_it_helps(
    turns: Turns, which: str, state: FleetState | None, starts: int, over: list[str], outcome: str
) -> None:
    turns.crawl(state)
    node = getattr(turns, which)
    node.due, node.starts = NOW, starts
    for name in over:
        getattr(turns, name).over = True
    turns.command._turn()
    told = [each[1] for each in turns.done if each[0] == node.name and each[1] != "no restart"]
    assert told == ([] if outcome == "waits" else [outcome])
    assert node.due == (inf if outcome.startswith("starts") else NOW + 0.05 * (outcome == "waits"))


@pytest.mark.parametrize(("look_at", "then"), [(NOW + 50, NOW + 0.05), (NOW + 0.01, NOW + 0.01)])
def test_a_node_that_waits_for_the_crawl_looks_for_it_soon(
    turns: Turns, look_at: float, then: float
) -> None:
    turns.second.due, turns.command._look_at = NOW, look_at
    turns.command._turn()
    assert turns.command._look_at == then


def test_no_node_is_started_before_it_is_due_nor_after_a_stop(turns: Turns) -> None:
    turns.crawl(RUNNING)
    turns.first.due = turns.second.due = NOW + 0.001
    turns.command._turn()
    assert turns.done == []
    turns.now = NOW + 0.001
    turns.command._signals = of_signals(SIGTERM=1)
    turns.command._turn()
    assert not [each for each in turns.done if "starts" in str(each[1])]
    assert turns.done.count(("1", "given up")) == 2
    assert ("2", "no restart") in turns.done


def test_nodes_end_in_order_at_the_first_signal_and_at_once_after_the_second(turns: Turns) -> None:
    command = turns.command
    command._signals = of_signals(SIGINT=1)
    for _ in range(2):
        command._answer_signals(NOW)
    ends: list[Any] = [("1", TERM), ("1", "given up"), ("2", TERM), ("2", "given up")]
    assert (turns.done, command._kill_at) == (ends, inf)
    # A third one changes nothing.
    command._signals = of_signals(SIGINT=2, SIGTERM=1)
    for now in (NOW, NOW + 4.9):
        command._answer_signals(now)
    assert (turns.done, command._kill_at) == (2 * ends, NOW + 5.0)
    for now in (NOW + 5.0, NOW + 6.0):
        command._answer_signals(now)
    assert turns.done[8:] == [("1", KILL), ("2", KILL)]


def test_two_signals_at_once_are_a_second_one(turns: Turns) -> None:
    turns.command._signals = of_signals(SIGTERM=2)
    turns.command._answer_signals(NOW)
    assert turns.command._kill_at == NOW + 5.0


@pytest.mark.parametrize("has_reports", [False, True])
def test_nodes_get_the_other_signals_once(turns: Turns, *, has_reports: bool) -> None:
    if has_reports:
        turns.report()
    turns.command._signals = of_signals(SIGUSR1=2, SIGHUP=2)
    for _ in range(2):
        turns.command._answer_signals(NOW)
    lines = [each for each in turns.done if isinstance(each, str)]
    assert [line[:15] for line in lines] == ["0:00:08 running"] * has_reports
    told = [each for each in turns.done if not isinstance(each, str)]
    assert told == [(name, number) for number in (signal.SIGUSR1, signal.SIGHUP) for name in "12"]


@pytest.mark.parametrize(
    ("status", "over", "stops", "ends"),
    [
        (USAGE, True, 0, True),
        # It runs, or ended as it should; or all are ending.
        (USAGE, False, 0, False),
        (1, True, 0, False),
        (0, True, 0, False),
        (USAGE, True, 1, False),
    ],
)
def test_a_node_that_cannot_go_on_ends_all(
    turns: Turns, status: int, *, over: bool, stops: int, ends: bool
) -> None:
    turns.command._nodes.append(third := Node(turns.done, "3", status=status))
    third.over, turns.command._stops = over, stops
    for _ in range(2):
        turns.command._stop_if_one_cannot(NOW)
    assert [each for each in turns.done if each[1] == TERM] == (
        [("1", TERM), ("2", TERM), ("3", TERM)] if ends else []
    )


@pytest.mark.parametrize("after", [0.25, 7.0, -3.0])
@pytest.mark.parametrize(
    ("part", "name"),
    [
        ("_nodes.0", "due"),
        ("_nodes.1", "due"),
        ("", "_redis_due"),
        ("", "_look_at"),
        ("", "_kill_at"),
        ("_client", "deadline"),
        ("_watch", "deadline"),
    ],
)
def test_a_turn_waits_until_the_first_thing_is_due(
    turns: Turns, monkeypatch: pytest.MonkeyPatch, part: str, name: str, after: float
) -> None:
    command = turns.command
    for verb in ("_answer_signals", "_look", "_start"):
        monkeypatch.setattr(command, verb, lambda *arguments: None)
    kind, _, index = part.partition(".")
    holder = getattr(command, kind) if kind else command
    setattr(holder[int(index)] if index else holder, name, NOW + after)
    command._turn()
    assert turns.waits == [max(0.0, after)]


def test_the_crawl_is_looked_at_each_second(turns: Turns) -> None:
    command = turns.command
    command._look_at = NOW
    command._look(NOW - 0.1)
    assert turns.done == []
    command._look(NOW)
    assert (turns.done, command._look_at) == (["resumed"], NOW + 1.0)
    turns.report()
    command._stops = 1
    command._look(NOW + 0.9)
    command._look(NOW + 1.0)
    assert turns.done == ["resumed", "resumed", ("shown", "stopping")]
    assert len(turns.found) == 2


def test_a_look_without_an_answer_changes_nothing(turns: Turns) -> None:
    command = turns.command
    crawl = SeenCrawl("id", RUNNING, {})
    for answer in (Away(), None, crawl, Away(), crawl):
        command._looked(answer)
    # Its reports are read as soon as it is there.
    assert (turns.done, command._found) == ([("reports from", NOW)], crawl)
    command._looked(None)
    assert command._found is None


def test_what_redis_refuses_is_said_by_the_nodes(turns: Turns) -> None:
    def step(now: float) -> None:
        raise UserError("Redis asks for a password")

    turns.command._client.step = step
    stepped: list[float] = []
    turns.command._watch.step = stepped.append
    turns.command._look(NOW)
    assert stepped == [NOW]


def test_redis_is_started_again_after_a_wait_that_grows(turns: Turns) -> None:
    command = turns.command
    redis = command._redis = SimpleNamespace(status=None, reason="it was killed by SIGKILL")

    def start() -> None:
        turns.done.append("redis starts")
        redis.status = None

    redis.start = start
    command._keep_redis(NOW)
    now, waits = NOW, []
    for _ in range(4):
        redis.status = -9
        command._keep_redis(now)
        waits.append(command._redis_due - now)
        command._keep_redis(now + waits[-1] / 2)
        assert turns.done.pop() == (
            "larbinpy: Redis died: it was killed by SIGKILL; the nodes wait until it runs again, "
            f"in {waits[-1]:.0f} s"
        )
        now = command._redis_due
        command._keep_redis(now)
        assert (turns.done.pop(), command._redis_due, turns.done) == ("redis starts", inf, [])
    assert waits == [1.0, 2.0, 4.0, 8.0]
    redis.status = -9
    for _ in range(2):
        command._keep_redis(now)
    # Its nodes end; a stop later is a second one.
    assert turns.done == [(name, what) for name in "12" for what in (TERM, "given up")]
    assert command._failure == (
        "Redis died 5 times in a row; the last time it was killed by SIGKILL"
    )
    assert command._redis_due == inf


def test_a_redis_that_ran_for_a_minute_may_die_as_often_as_a_new_one(turns: Turns) -> None:
    command = turns.command
    command._redis = SimpleNamespace(status=1, reason="", start=lambda: None)
    now = NOW
    for _ in range(10):
        command._keep_redis(now)
        assert command._redis_due == now + 1.0
        command._keep_redis(now + 1.0)
        now += 61.0
    assert not command._failure


def test_a_redis_of_others_is_not_started(turns: Turns) -> None:
    turns.command._keep_redis(NOW)
    assert (turns.done, turns.command._redis_due) == ([], inf)


@pytest.mark.parametrize(
    ("stops", "patience", "ends_at"), [(0, PATIENCE, 2), (1, PATIENCE, 2), (2, 5.0, 3)]
)
def test_what_is_left_is_asked_for_until_another_signal(
    turns: Turns, monkeypatch: pytest.MonkeyPatch, stops: int, patience: float, ends_at: int
) -> None:
    command = turns.command
    command._signals = of_signals(SIGTERM=stops)
    made: list[Any] = []

    class Asker:
        def __init__(self, *arguments: Any) -> None:
            made.extend(arguments)

        def ask(self, verb: Any) -> Sequence[Any]:
            return [SimpleNamespace(owing=3, inbox=2), SimpleNamespace(owing=0, inbox=5)]

    monkeypatch.setattr(supervisor, "Asker", Asker)
    monkeypatch.setattr(supervisor, "RedisBoard", lambda client: SimpleNamespace(find=1, look=2))
    assert command._queued() == 0  # there is no crawl
    assert made == []
    turns.crawl(FINISHED)
    assert command._queued() == 10
    *_, is_stopped, waited = made
    assert waited == patience
    for number in range(4):
        command._signals = of_signals(SIGINT=number)
        assert is_stopped() == (number >= ends_at)


@pytest.mark.parametrize("why", [UserError("Redis is away"), KeyboardInterrupt()])
def test_without_an_answer_what_is_left_is_that_of_the_last_reports(
    turns: Turns, monkeypatch: pytest.MonkeyPatch, why: BaseException
) -> None:
    def ask(verb: Any) -> Any:
        raise why

    monkeypatch.setattr(supervisor, "Asker", lambda *arguments: SimpleNamespace(ask=ask))
    monkeypatch.setattr(supervisor, "RedisBoard", lambda client: SimpleNamespace(find=1, look=2))
    turns.crawl(RUNNING)
    assert turns.command._queued() == 0
    turns.report(queued=7)
    assert turns.command._queued() == 7


def test_reports_are_read_each_second_once_the_crawl_is_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[str] = []
    then: list[Callable[[Any], None]] = []

    def verb(name: str) -> Callable[[Any], None]:
        def ask(answer: Callable[[Any], None]) -> None:
            asked.append(name)
            then.append(answer)

        return ask

    board = SimpleNamespace(find=verb("find"), read=verb("read"))
    monkeypatch.setattr(supervisor, "RedisBoard", lambda client: board)
    client: Any = SimpleNamespace(resume=lambda: asked.append("resume"))
    watch = ReportWatch(client)
    watch.step(NOW)
    assert (asked, watch.deadline) == ([], inf)
    read, there = Board(RUNNING, {}, {}, 0, 0), SimpleNamespace()
    steps: list[tuple[Any, str]] = [
        (Away(), "find"),
        (there, "find"),
        (read, "read"),
        # It may be another Redis that answers next.
        (Away(), "read"),
        (there, "find"),
        (read, "read"),
    ]
    now = NOW
    watch.begin(now)
    for answer, question in steps:
        assert watch.deadline == now
        watch.step(now - 0.001)
        watch.step(now)
        # It is not asked twice at a time.
        watch.step(now + 1.0)
        assert watch.deadline == inf
        assert asked == ["resume", question]
        asked.clear()
        then.pop()(answer)
        assert (watch.board is read) == (question == "read" or now > NOW + 2)
        now += 1.0
