"""An order waits for the answers of the sessions that got it, and no longer than they live."""

from typing import Any

import pytest

from larbinpy.crawl.fleet.orders import Gathering
from larbinpy.fleet.board import (
    SILENT,
    Answers,
    Board,
    NodeReport,
    all_did,
    explained,
    is_settled,
)
from larbinpy.fleet.vault import FleetState, Then

PATIENCE = 600.0


class FakeBoard:
    """The board of some nodes, by their sessions, and the answers that they have given."""

    def __init__(self, **sessions: str) -> None:
        self.sessions = sessions
        self.ages = dict.fromkeys(sessions, 0.0)
        self.given: list[str] = []

    def order(self, then: Then[str]) -> None:
        then("1-0")

    def answers(self, order: str, then: Then[list[dict[str, Any]]]) -> None:
        then([{"node": name, "ok": True} for name in self.given])

    def now(self) -> Board:
        reports = {
            name: NodeReport(self.ages[name], {"session": session})
            for name, session in self.sessions.items()
        }
        return Board(FleetState.RUNNING, dict.fromkeys(self.sessions.values(), 1), reports, 0, 0)

    def read(self, then: Then[Board]) -> None:
        then(self.now())


def ended(board: FakeBoard, gathering: Gathering, *, after: float = 0.0) -> float:
    """The time at which it ends, of those in steps of 50 ms."""
    now = after
    while not gathering.is_over:
        gathering.step(now)
        now += 0.05
    return now


def gathering_of(board: FakeBoard) -> Gathering:
    return Gathering(board, board.order, board.now().alive, PATIENCE)  # type: ignore[arg-type]


def test_it_ends_when_all_have_answered() -> None:
    board = FakeBoard(a="a.1", b="b.1")
    gathering = gathering_of(board)
    gathering.step(0.0)
    board.given = ["a"]
    gathering.step(0.1)
    assert not gathering.is_over
    board.given = ["a", "b"]
    assert ended(board, gathering, after=0.2) < 1
    assert gathering.silent == []


def test_without_nodes_it_is_over_once_the_order_is_given() -> None:
    board = FakeBoard()
    assert ended(board, gathering_of(board)) < 1


def test_a_dead_node_is_not_waited_for() -> None:
    board = FakeBoard(a="a.1", b="b.1")
    gathering = gathering_of(board)
    board.given, board.ages["b"] = ["a"], SILENT
    assert ended(board, gathering) < 2
    assert (list(gathering.answers), gathering.silent) == (["a"], ["b"])


def test_a_node_that_joined_anew_has_not_got_the_order() -> None:
    board = FakeBoard(a="a.1", b="b.1")
    gathering = gathering_of(board)
    board.given, board.sessions["b"] = ["a"], "b.2"
    assert ended(board, gathering) < 2
    assert gathering.silent == ["b"]


def test_a_node_that_answered_and_left_is_heard() -> None:
    board = FakeBoard(a="a.1")
    gathering = gathering_of(board)
    gathering.step(0.0)
    gathering.step(0.1)
    board.given = ["a"]
    del board.sessions["a"]
    ended(board, gathering, after=0.2)
    assert gathering.silent == []


def test_others_are_waited_for_no_longer_when_one_has_answered_and_left() -> None:
    board = FakeBoard(a="a.1", b="b.1")
    gathering = gathering_of(board)
    gathering.step(0.0)
    board.given = ["a"]
    for number in range(1, 30):
        gathering.step(number / 10)
    del board.sessions["a"]
    for number in range(30, 60):
        gathering.step(number / 10)
    assert not gathering.is_over
    board.given = ["a", "b"]
    assert ended(board, gathering, after=6.0) < 7
    assert gathering.silent == []


def test_a_living_node_is_waited_for() -> None:
    board = FakeBoard(a="a.1")
    assert ended(board, gathering_of(board)) >= PATIENCE


def seen(ts: str, **more: Any) -> dict[str, Any]:
    """What a node says that has fetched a page."""
    return {"ok": True, "state": "decided", "fate": {"ts": ts, "outcome": "success"}, **more}


#: What the owner of a host says of a URL that it has not fetched itself.
KNOWN: dict[str, Any] = {"ok": True, "owner": True, "state": "seen"}
QUEUED = {**KNOWN, "state": "queued"}
EARLY, LATE = seen("2026-01-01T00:00:00Z"), seen("2026-01-02T00:00:00Z")


@pytest.mark.parametrize(
    ("answers", "silent", "node", "state"),
    [
        ({"a": QUEUED, "b": {"ok": True}}, [], "a", "queued"),
        # The newest of those that have fetched it, if the owner knows it by its fingerprint alone.
        ({"a": KNOWN, "b": EARLY, "c": LATE}, [], "c", "decided"),
        ({"a": KNOWN, "b": LATE, "c": EARLY}, [], "b", "decided"),
        ({"a": QUEUED, "b": LATE}, [], "a", "queued"),
        ({"a": KNOWN, "b": {"ok": True}}, ["c"], "a", "seen"),
        ({"b": EARLY}, ["c"], "b", "decided"),
    ],
)
def test_a_url_is_explained_by_who_knows_most_of_it(
    answers: Answers, silent: list[str], node: str, state: str
) -> None:
    found = explained(answers, silent)
    assert (found["ok"], found["node"], found["state"]) == (True, node, state)
    assert "owner" not in found
    assert ("why" in found) == (state == "seen")


@pytest.mark.parametrize(
    ("answers", "silent", "why"),
    [
        ({}, [], "no node runs"),
        ({"a": {"ok": True}}, [], "no node owns its host just now"),
        ({"a": {"ok": True}}, ["b", "c"], "no answer from b, c; try again"),
    ],
)
def test_why_a_url_cannot_be_explained(answers: Answers, silent: list[str], why: str) -> None:
    found = explained(answers, silent)
    assert found["ok"] is False and found["error"].startswith(why)


def test_all_have_done_it_or_it_is_said_who_has_not() -> None:
    good, bad = {"ok": True}, {"ok": False, "error": "the disk is full"}
    assert all_did({"b": good, "a": good}, []) == {"ok": True, "nodes": ["a", "b"]}
    assert all_did({"b": bad, "a": good}, ["c"]) == {
        "ok": False,
        "error": "b: the disk is full; c: no answer, it may still come",
    }


def test_a_question_is_settled_when_the_owner_or_a_witness_has_answered() -> None:
    nothing, owner, witness = {"ok": True}, {"ok": True, "owner": True}, {"ok": True, "state": "x"}
    assert not is_settled({"a": nothing}, [])
    assert not is_settled({"a": nothing}, ["b"])
    assert not is_settled({}, ["b"])
    assert is_settled({"a": nothing, "b": owner}, [])
    assert is_settled({"a": witness}, ["b"])
    # Nobody runs who could be asked.
    assert is_settled({}, [])
