import pytest

from larbinpy.fleet.holding import Holding, Stage
from larbinpy.fleet.vault import Standing


def standing(*owners: str) -> list[Standing]:
    return [Standing(own, 1, 0, 0) for own in owners]


def test_only_lacking_shards_without_a_living_owner_are_taken() -> None:
    holding = Holding()
    holding.wanted = {0, 1, 2, 3}
    holding.move(3, Stage.TAKING)
    assert holding.to_take(standing("", "dead.1", "b.1", "", ""), ["a.1", "b.1"]) == [0, 1]
    assert sorted(holding.lacking) == [0, 1, 2]


def test_only_served_shards_that_others_should_have_are_left() -> None:
    holding = Holding()
    holding.wanted = {1}
    for shard in (1, 2, 3):
        holding.move(shard, Stage.TAKING)
        holding.move(shard, Stage.LOADING)
    for shard in (1, 2):
        holding.move(shard, Stage.SERVED)
    assert holding.to_leave() == [2]


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
