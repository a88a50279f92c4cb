"""The order in which workers get the tests."""

from tests.support.dealing import dealt


def test_each_part_begins_with_slow_tests_and_ends_with_quick_ones() -> None:
    slow = [["a1", "a2"], ["b1"], ["c1", "c2", "c3"], ["d1"]]
    quick = [str(number) for number in range(8)]
    order = dealt(slow, quick, 3)
    assert [order[:5], order[5:10], order[10:]] == [
        ["a1", "a2", "0", "1", "2"],
        ["b1", "d1", "3", "4", "5"],
        ["c1", "c2", "c3", "6", "7"],
    ]


def test_none_is_left_out() -> None:
    for workers in range(1, 9):
        for quick in range(20):
            order = dealt([[-1, -2, -3], [-4], [-5, -6]], list(range(quick)), workers)
            assert sorted(order) == list(range(-6, quick))
