"""Blocks of a shard in an engine in memory, of whose lines one in four is owed."""

from typing import Any

from larbinpy.fleet.journal import ShardJournal, unpack
from larbinpy.fleet.node import Thinning
from larbinpy.fleet.vault import Answered, Gained
from tests.support.memoryvault import Engine, MemoryVault


class End:
    """A node's end."""

    def __init__(self) -> None:
        self.vault = MemoryVault(Engine(1))
        self.journal = ShardJournal(lines=4)
        self.journal.take_up(0, 1)
        self.journal.serve(0)
        assert self.ask("take", 0, "", 0, "a.1") == Gained(1)
        for number in range(81):
            origin = self.journal.put(0, number, f"line {number}")
            if number % 4:
                self.journal.done(origin)
        self.write()
        self.write()

    def ask(self, verb: str, *arguments: Any) -> Any:
        answers: list[Any] = []
        getattr(self.vault, verb)(*arguments, answers.append)
        self.vault.step()
        return answers[0]

    def write(self) -> None:
        """Make a round."""
        self.journal.tidy(self.journal.cut())
        made = self.journal.next_round()
        for n, commit in made.commits.values():
            assert self.ask("commit", 0, "a.1", n, commit) is Answered.DONE
        self.journal.settle(made)

    @property
    def lines(self) -> int:
        """The number of lines in the vault."""
        blocks = self.ask("read_blocks", 0, range(20))
        return sum(bool(line) for _, packed, _ in blocks for line in unpack(packed))


def test_blocks_are_thinned_out_until_half_of_their_lines_are_owed() -> None:
    end = End()
    thinning = Thinning(end.vault, end.journal)
    found = []
    for _ in range(3):
        found.append(end.lines)
        thinning.step()
        end.vault.step()
        end.write()
    assert found == [80, 32, 32]


def test_blocks_are_not_asked_for_twice() -> None:
    end = End()
    thinning = Thinning(end.vault, end.journal)
    thinning.step()
    thinning.step()
    assert repr(end.vault) == "<MemoryVault 1 under way>"


def test_a_lost_answer_is_not_missed() -> None:
    end = End()
    thinning = Thinning(end.vault, end.journal)
    thinning.step()
    end.vault.cut(1.0, lambda: None)
    end.vault.step()
    assert repr(thinning) == "<Thinning idle>"
    assert not end.journal.has_changes(0)
