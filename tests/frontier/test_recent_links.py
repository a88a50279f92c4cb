"""Familiar: what was named lately is known, what was not named for long is not."""

from larbinpy.frontier.recent_links import RecentLinks
from larbinpy.parse import Kind, Link


def links(*numbers: int) -> list[Link]:
    return [Link(f"http://a.test/{number}", Kind.PAGE) for number in numbers]


def learn(familiar: RecentLinks, *numbers: int) -> None:
    familiar.learn(link.url for link in links(*numbers))


def test_what_was_learned_is_known() -> None:
    familiar = RecentLinks(8)
    learn(familiar, 1, 2)
    assert familiar.others(links(3, 1, 4, 2)) == links(3, 4)


def test_what_is_not_named_any_more_is_forgotten() -> None:
    familiar = RecentLinks(8)
    learn(familiar, *range(4))
    assert familiar.others(links(0, 1, 2, 3)) == []
    learn(familiar, *range(4, 8))
    learn(familiar, *range(8, 12))
    assert familiar.others(links(0, 1, 2, 3)) == links(0, 1, 2, 3)


def test_what_is_named_again_and_again_stays() -> None:
    familiar = RecentLinks(8)
    learn(familiar, 0)
    for number in range(1, 100):
        learn(familiar, number)
        assert familiar.others(links(0)) == []


def test_there_are_never_more_than_so_many() -> None:
    familiar = RecentLinks(8)
    for number in range(100):
        learn(familiar, number, number + 1)
        familiar.others(links(*range(number)))
        assert len(familiar) <= 8 + 2
