import pytest

from larbinpy.fleet.ownership import EndProof
from larbinpy.fleet.vault import NOBODY, ShardLook

DONE = ShardLook("a.1", 7, 0, 0)


def test_two_equal_looks_prove_the_end() -> None:
    ending = EndProof()
    assert not ending.is_near
    assert not ending.proven([DONE, DONE])
    assert ending.is_near
    assert ending.proven([DONE, DONE])


def test_a_commit_between_the_looks_proves_nothing() -> None:
    ending = EndProof()
    assert not ending.proven([DONE])
    assert not ending.proven([DONE._replace(n=8)])
    assert ending.proven([DONE._replace(n=8)])


def test_a_take_between_the_looks_is_no_commit() -> None:
    for before in (DONE, DONE._replace(own=NOBODY)):
        ending = EndProof()
        assert not ending.proven([before])
        assert ending.proven([DONE._replace(own="b.1", n=8)])


@pytest.mark.parametrize(
    "after",
    [
        # A commit, and a commit before the shard was left.
        DONE._replace(n=8),
        DONE._replace(own=NOBODY, n=8),
        # A commit and a take; and a number of the past.
        DONE._replace(own="b.1", n=9),
        DONE._replace(own="b.1", n=6),
    ],
)
def test_what_may_have_been_a_commit_proves_nothing(after: ShardLook) -> None:
    ending = EndProof()
    assert not ending.proven([DONE])
    assert not ending.proven([after])
    assert ending.proven([after])


def test_what_is_owed_or_in_an_inbox_begins_anew() -> None:
    for shard in (DONE._replace(owing=1), DONE._replace(inbox=1)):
        ending = EndProof()
        assert not ending.proven([DONE, DONE])
        assert not ending.proven([DONE, shard])
        assert not ending.proven([DONE, DONE])
        assert ending.proven([DONE, DONE])


def test_every_shard_must_be_without_a_commit() -> None:
    ending = EndProof()
    assert not ending.proven([DONE, DONE])
    assert not ending.proven([DONE, DONE._replace(n=8)])
    assert not ending.proven([DONE._replace(n=8), DONE._replace(n=8)])
