from larbinpy.fleet.vault import ABORT, CERTAIN, DEAD, FleetState, Members, Present


def present(**counters: int) -> Present:
    return Present(counters, FleetState.RUNNING)


def test_a_session_is_certain_from_the_sending_of_a_beat() -> None:
    members = Members()
    assert not members.is_certain(0.0)
    members.answered(present(me=1), 10.0, 13.0)
    assert members.is_certain(10.0 + CERTAIN - 0.1)
    assert not members.is_certain(10.0 + CERTAIN)
    assert not members.must_abort(10.0 + ABORT - 0.1)
    assert members.must_abort(10.0 + ABORT)


def test_an_answer_that_comes_late_makes_nothing_less_certain() -> None:
    members = Members()
    members.answered(present(me=2), 11.0, 11.1)
    members.answered(present(me=1), 10.0, 11.2)
    assert members.seen_at == 11.0


def test_a_counter_that_stands_still_is_buried_after_a_while() -> None:
    members = Members()
    found = {now: members.answered(present(me=now, other=5), now, now) for now in range(8)}
    assert [now for now, dead in found.items() if dead] == [6, 7]
    assert found[6] == {"other"}
    assert ABORT < DEAD < 6


def test_a_counter_that_moves_is_alive() -> None:
    members = Members()
    assert not any(members.answered(present(other=now // 3), now, now) for now in range(30))


def test_a_long_gap_in_watching_counts_as_one_beat() -> None:
    """Redis was away, for all nodes."""
    members = Members()
    times = [0, 1, 2, 60, 61, 62]
    assert not any(members.answered(present(other=5), now, now) for now in times)
    assert members.answered(present(other=5), 63, 63) == {"other"}


def test_on_a_bad_line_the_dead_are_buried_too() -> None:
    members = Members()
    found = {now: members.answered(present(other=5), now, now) for now in range(0, 30, 3)}
    assert next(now for now, dead in found.items() if dead) == 18


def test_a_session_that_is_not_named_any_more_is_forgotten() -> None:
    members = Members()
    members.answered(present(me=1, other=1), 0, 0)
    members.answered(present(me=2), 1, 1)
    assert members.sessions == ["me"]
