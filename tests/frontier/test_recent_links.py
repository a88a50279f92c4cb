"""Familiar: what was named lately is known, what was not named for long is not."""

from larbinpy.frontier.recent_links import RecentLinks
from larbinpy.parse import Kind, Link


def links(*numbers: int) -> list[Link]:
    return [Link(f"http://a.test/{number}", Kind.PAGE) for number in numbers]


def learn(recent: RecentLinks, *numbers: int) -> None:
    recent.learn(link.url for link in links(*numbers))


def test_learned_links_are_known() -> None:
    recent = RecentLinks(8)
    learn(recent, 1, 2)
    assert recent.others(links(3, 1, 4, 2)) == links(3, 4)


def test_links_that_are_not_repeated_are_forgotten() -> None:
    recent = RecentLinks(8)
    learn(recent, *range(4))
    assert recent.others(links(0, 1, 2, 3)) == []
    learn(recent, *range(4, 8))
    learn(recent, *range(8, 12))
    assert recent.others(links(0, 1, 2, 3)) == links(0, 1, 2, 3)


def test_repeated_links_stay() -> None:
    recent = RecentLinks(8)
    learn(recent, 0)
    for number in range(1, 100):
        learn(recent, number)
        assert recent.others(links(0)) == []


def test_there_are_never_more_than_so_many() -> None:
    recent = RecentLinks(8)
    for number in range(100):
        learn(recent, number, number + 1)
        recent.others(links(*range(number)))
        assert len(recent) <= 8 + 2
