from collections.abc import Callable

from larbinpy.fleet.journal import JournalRound
from larbinpy.fleet.node import Sending
from larbinpy.fleet.vault import Answered, Away, Commit, NodeSession
from tests.support.memoryvault import Engine, MemoryVault

EMPTY = Commit(b"", {}, {}, [], 0, 0, {}, {})


def connected() -> tuple[Engine, MemoryVault]:
    """A connection of session a.1, which has shard 0 with number 1."""
    engine = Engine(4)
    vault = MemoryVault(engine)
    vault.take(0, "", 0, "a.1", lambda answer: None)
    vault.step()
    return engine, vault


def test_a_round_is_done_when_all_is_answered_and_flushed() -> None:
    engine, vault = connected()
    sending = Sending(vault, "a.1", JournalRound({2: b"x"}, {0: (1, EMPTY)}))
    for _ in range(2):
        assert not sending.is_done
        sending.step()
        vault.step()
    assert sending.is_done
    assert engine.standings[0].n == 2
    assert engine.standings[2].inbox == 1


def test_questions_of_a_session_are_asked_again_until_it_ends() -> None:
    session = NodeSession()
    heard: list[str] = []
    again: list[str] = []
    assert session.is_settled
    first = session.then(heard.append, lambda: again.append("first"))
    second = session.then(heard.append, lambda: again.append("second"))
    third = session.then(heard.append, lambda: again.append("third"))
    assert not session.is_settled
    first("one")
    second(Away())
    assert heard == ["one"] and not session.is_settled
    session.resend()
    session.resend()
    assert again == ["second"]
    session.end()
    third("late")
    assert heard == ["one"]


def test_a_round_is_flushed_once_when_the_last_of_it_is_answered() -> None:
    """A flush says only what was written before it."""
    _, vault = connected()
    answers: list[Callable[[Answered], None]] = []
    flushes: list[Callable[[Answered], None]] = []
    vault.post = lambda letters, then: answers.append(then)  # type: ignore[method-assign]
    vault.commit = lambda *call: answers.append(call[-1])  # type: ignore[method-assign]
    vault.flush = flushes.append  # type: ignore[assignment, method-assign]
    sending = Sending(vault, "a.1", JournalRound({2: b"x"}, {0: (1, EMPTY), 1: (1, EMPTY)}))
    sending.step()
    for answer in answers:
        assert flushes == []
        answer(Answered.DONE)
        sending.step()
    assert len(flushes) == 1 and not sending.is_done
    flushes[0](Answered.DONE)
    assert sending.is_done


def test_an_empty_round_is_done_at_once() -> None:
    assert Sending(connected()[1], "a.1", JournalRound({}, {})).is_done


def test_what_was_executed_before_the_connection_was_lost_is_recognised() -> None:
    engine, vault = connected()
    sending = Sending(vault, "a.1", JournalRound({2: b"x"}, {0: (1, EMPTY)}))
    sending.step()
    vault.travel()
    vault.cut(0.0, lambda: None)
    for _ in range(5):
        engine.step(engine.now + 1)
        vault.step()
        sending.step()
    assert sending.is_done
    assert engine.standings[0].n == 2
    assert engine.standings[2].inbox == 2


def test_a_commit_to_a_shard_of_another_owner_is_refused() -> None:
    _, vault = connected()
    vault.take(0, "a.1", 1, "b.1", lambda answer: None)
    sending = Sending(vault, "a.1", JournalRound({}, {0: (1, EMPTY)}))
    for _ in range(5):
        vault.step()
        sending.step()
    assert "another owner" in sending.refused
    assert not sending.is_done


def test_a_commit_with_another_number_is_refused() -> None:
    _, vault = connected()
    sending = Sending(vault, "a.1", JournalRound({}, {0: (3, EMPTY)}))
    sending.step()
    vault.step()
    assert sending.refused == "shard 0 has number 1 instead of 3"
