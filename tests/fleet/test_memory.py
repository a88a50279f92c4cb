"""The model of Redis itself: what fences refuse, and what is forgotten."""

from typing import Any

from larbinpy.fleet.vault import (
    Answered,
    Away,
    Behind,
    Commit,
    FleetState,
    Gained,
    Owned,
    Part,
    Present,
    SiteWait,
)
from tests.support.memoryvault import Engine, MemoryVault

ONE = Commit(b"12345678", {0: b"=a"}, {}, [], 1, 0, {"p": 2}, {"a": SiteWait(60.0, 1.5, 0.5)})
EMPTY = Commit(b"", {}, {}, [], 1, 0, {}, {})


class Client:
    """Asks an engine, and returns the answers."""

    def __init__(self, engine: Engine) -> None:
        self.vault = MemoryVault(engine)

    def __getattr__(self, verb: str) -> Any:
        def ask(*arguments: Any) -> Any:
            answers: list[Any] = []
            getattr(self.vault, verb)(*arguments, answers.append)
            assert not answers
            self.vault.step()
            [answer] = answers
            return answer

        return ask


def test_one_crawl_is_made() -> None:
    engine = Engine(2)
    assert Client(engine).open({"a": "1"}).created
    crawl = Client(engine).open({"a": "2"})
    assert not crawl.created
    assert crawl.settings == {"a": "1"}
    assert Client(engine).declare(FleetState.NEW, FleetState.RUNNING) is FleetState.RUNNING
    assert Client(engine).declare(FleetState.NEW, FleetState.STOPPED) is FleetState.RUNNING


def test_members() -> None:
    engine = Engine(2)
    client = Client(engine)
    assert client.join("a.1") is Answered.GONE
    client.open({})
    assert client.join("a.1") == Present({"a.1": 0}, FleetState.NEW)
    assert client.join("a.1f-1") == Present({"a.1": 0, "a.1f-1": 0}, FleetState.NEW)
    assert client.join("a.2f-1") is Answered.TAKEN
    assert client.quit("a.1f-1") is Answered.DONE
    assert client.beat("a.1") == Present({"a.1": 1}, FleetState.NEW)
    client.bury("a.1", 0)
    assert client.beat("a.1") == Present({"a.1": 2}, FleetState.NEW)
    client.bury("a.1", 2)
    assert client.beat("a.1") is Answered.GONE


def test_takes_and_leaves_are_fenced() -> None:
    client = Client(Engine(2))
    assert client.take(1, "", 0, "a.1") == Gained(1)
    assert client.take(1, "", 0, "a.1") == Gained(1)
    assert client.take(1, "", 0, "b.1") == Owned("a.1", 1)
    assert client.leave(1, "a.1", 0) == Behind(1)
    assert client.leave(1, "b.1", 1) is Answered.FENCED
    assert client.leave(1, "a.1", 1) is Answered.DONE
    assert client.take(1, "", 1, "a.1") == Gained(2)
    # Late copies of what was sent before.
    assert client.leave(1, "a.1", 1) == Behind(2)
    assert client.take(1, "", 0, "a.1") == Owned("a.1", 2)


def test_a_commit_is_applied_once() -> None:
    engine = Engine(2)
    client = Client(engine)
    client.take(1, "", 0, "a.1")
    assert client.commit(1, "b.1", 1, ONE) is Answered.FENCED
    assert client.commit(1, "a.1", 1, ONE) is Answered.DONE
    assert client.commit(1, "a.1", 1, ONE) == Behind(2)
    assert client.commit(1, "a.1", 2, EMPTY._replace(counts={"p": 3})) is Answered.DONE
    engine.now = 45.0
    blocks, waits = [(0, b"=a", b"")], {"a": SiteWait(15.0, 1.5, 0.5)}
    assert client.load(1, "") == Part(b"12345678", blocks, {"p": 5}, waits, None)


def test_a_shard_is_loaded_in_parts() -> None:
    client = Client(Engine(2))
    client.take(1, "", 0, "a.1")
    client.commit(1, "a.1", 1, ONE._replace(blocks=dict.fromkeys(range(6), b"=a")))
    first = client.load(1, "")
    second = client.load(1, first.cursor)
    assert second.fingerprints == b""
    assert [block for part in (first, second) for block, _, _ in part.blocks] == [*range(6)]
    assert second.cursor is None


def test_letters_stay_until_a_commit_has_them() -> None:
    client = Client(Engine(2))
    client.post({0: b"x", 1: b"y"})
    client.post({1: b"z"})
    assert client.collect({0: 0, 1: 1}) == {0: [b"x"], 1: [b"z"]}
    client.take(1, "", 0, "a.1")
    client.commit(1, "a.1", 1, ONE._replace(received=1))
    assert client.collect({0: 1, 1: 0}) == {1: [b"z"]}


def test_turns() -> None:
    engine = Engine(2)
    one, other = Client(engine), Client(engine)
    assert one.turn("10.0.0.1", 5000) == 0
    assert 4000 < other.turn("10.0.0.1", 5000) <= 5000
    engine.step(4.0)
    one.vault.renew(["10.0.0.1"], 5000)
    one.vault.step()
    engine.step(6.0)
    assert other.turn("10.0.0.1", 5000) > 0
    one.vault.rest("10.0.0.1", 500)
    one.vault.step()
    engine.step(6.6)
    assert other.turn("10.0.0.1", 5000) == 0


def test_the_last_writes_may_be_forgotten() -> None:
    engine = Engine(1)
    client = Client(engine)
    client.open({})
    engine.step(2.0)
    client.take(0, "", 0, "a.1")
    client.vault.cut(2.5, lambda: None)
    engine.forget(0, keep=0.0)
    assert engine.standings[0].own == ""
    assert isinstance(client.look(), Away)
    assert client.vault.lost == ""
    engine.step(3.0)
    client.vault.step()
    assert client.vault.lost
    assert client.vault.up == 1.0
    assert client.join("a.2") == Present({"a.2": 0}, FleetState.NEW)
    assert not client.vault.lost


def test_what_a_replica_has_is_not_forgotten() -> None:
    engine = Engine(2, masters=2)
    client = Client(engine)
    client.take(0, "", 0, "a.1")
    client.flush()
    client.take(1, "", 0, "a.1")
    for master in engine.masters:
        engine.forget(master, keep=0.0)
    assert [shard.own for shard in engine.standings] == ["a.1", ""]


def test_a_verb_may_be_executed_after_its_connection() -> None:
    engine = Engine(2)
    client = Client(engine)
    answers: list[Any] = []
    client.vault.post({0: b"x"}, answers.append)
    client.vault.cut(0.0, lambda: 3.0)
    client.vault.step()
    assert isinstance(answers[0], Away)
    assert engine.standings[0].inbox == 0
    engine.step(3.0)
    assert engine.standings[0].inbox == 1
