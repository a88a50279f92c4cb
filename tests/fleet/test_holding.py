import pytest

from larbinpy.fleet.ownership import Holding, Stage
from larbinpy.fleet.vault import ShardLook


def standing(*owners: str) -> list[ShardLook]:
    return [ShardLook(own, 1, 0, 0) for own in owners]


def test_only_lacking_shards_without_a_living_owner_are_taken() -> None:
    holding = Holding()
    holding.wanted = {0, 1, 2, 3}
    holding.move(3, Stage.TAKING)
    assert holding.to_take(standing("", "dead.1", "b.1", "", ""), ["a.1", "b.1"]) == [0, 1]
    assert sorted(holding.lacking) == [0, 1, 2]


def serving(*shards: int) -> Holding:
    holding = Holding()
    for shard in shards:
        for stage in (Stage.TAKING, Stage.LOADING, Stage.SERVED):
            holding.move(shard, stage)
    return holding


def test_only_served_shards_that_others_should_have_are_left() -> None:
    holding = serving(1, 2)
    holding.move(3, Stage.TAKING)
    holding.move(3, Stage.LOADING)
    look = standing("", "a.1", "a.1", "a.1")
    holding.plan({"a.1": {1}, "b.1": {2, 3}}, "a.1")
    assert (holding.wanted, holding.surplus) == ({1}, [2])
    assert holding.to_leave(look) == [2]
    holding.plan({"a.1": {1}}, "a.1")
    assert holding.to_leave(look) == []


def test_a_session_gets_the_next_shards_when_it_has_taken_some() -> None:
    """Six of 96 shards may move to a session at a time: its first ones that it has not."""
    holding = serving(*range(96))
    holding.plan({"a.1": {0}, "b.1": set(range(1, 96))}, "a.1")
    look = standing(*["a.1"] * 96)
    assert holding.to_leave(look) == [1, 2, 3, 4, 5, 6]
    # One is free, and one was taken.
    look[2:4] = standing("", "b.1")
    assert holding.to_leave(look) == [1, 2, 4, 5, 6, 7]
    # Those of the dead come first, too.
    look[1] = standing("dead.1")[0]
    for shard in (1, 2, 3, 4):
        holding.move(shard, Stage.LEAVING)
    assert holding.to_leave(look) == [5, 6, 7]


def test_few_large_shards_move_at_once_but_at_least_one() -> None:
    holding = serving(0, 1, 2)
    holding.plan({"b.1": {0, 1, 2}}, "a.1")
    assert holding.to_leave([ShardLook("a.1", 1, 100_000, 0)] * 3) == [0, 1]
    assert holding.to_leave([ShardLook("a.1", 1, 10**9, 0)] * 3) == [0]


def test_several_sessions_that_join_get_shards_at_once() -> None:
    holding = serving(*range(10))
    holding.plan({"b.1": set(range(5)), "c.1": set(range(5, 10))}, "a.1")
    assert holding.to_leave(standing(*["a.1"] * 10)) == [0, 1, 2, 3, 5, 6, 7, 8]


def test_a_shard_goes_through_all_stages() -> None:
    holding = Holding()
    for stage in Stage:
        holding.move(5, stage)
        assert holding.at(stage) == [5]
    holding.move(5, None)
    assert holding.at(*Stage) == []


@pytest.mark.parametrize("stage", [Stage.SERVED, Stage.LEAVING, None])
def test_no_stage_is_left_out(stage: Stage | None) -> None:
    with pytest.raises(RuntimeError, match="shard 5"):
        Holding().move(5, stage)
