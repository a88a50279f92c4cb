"""Recent links: what was linked lately is known, what was not linked for long is not."""

from collections.abc import Callable

import pytest

from larbinpy.frontier.admission import RecentHashes, RecentLinks
from larbinpy.native import native
from larbinpy.parse import Kind, Link
from larbinpy.parse.link import PackedLinks
from larbinpy.url import fingerprint

Recent = RecentLinks | RecentHashes
#: Caches with room for a few.
SMALL = [pytest.param(lambda: RecentLinks(8), id="texts")]
if native is not None:
    SMALL.append(pytest.param(lambda: RecentHashes(native, 1), id="hashes"))


@pytest.fixture(params=SMALL)
def recent(request: pytest.FixtureRequest) -> Recent:
    make: Callable[[], Recent] = request.param
    return make()


def links(*numbers: int) -> list[Link]:
    return [Link(f"http://a.test/{number}", Kind.PAGE) for number in numbers]


def learn(recent: Recent, *numbers: int) -> None:
    recent.learn(links(*numbers), [False] * len(numbers))


def others(recent: Recent, *numbers: int) -> list[Link]:
    found, prints = recent.others(links(*numbers))
    assert prints == [fingerprint(link.url) for link in found]
    return list(found)


def test_learned_links_are_known(recent: Recent) -> None:
    learn(recent, 1, 2)
    assert others(recent, 3, 1, 4, 2) == links(3, 4)
    assert others(recent) == []


def test_unseen_links_are_not_learned(recent: Recent) -> None:
    recent.learn(links(1, 2, 3), [True, False, True])
    assert others(recent, 1, 2, 3) == links(1, 3)


def test_packed_links_are_links(recent: Recent) -> None:
    packed = PackedLinks.pack(links(1, 2))
    recent.learn(packed, [False, True])
    found, prints = recent.others(packed)
    assert (list(found), prints) == (links(2), [fingerprint("http://a.test/2")])


def test_links_that_are_not_repeated_are_forgotten(recent: Recent) -> None:
    learn(recent, *range(4))
    assert others(recent, 0, 1, 2, 3) == []
    learn(recent, *range(4, 8))
    learn(recent, *range(8, 12))
    assert others(recent, 0, 1, 2, 3) == links(0, 1, 2, 3)


def test_repeated_links_stay(recent: Recent) -> None:
    learn(recent, 0)
    for number in range(1, 100):
        learn(recent, number)
        assert others(recent, 0) == []


def test_links_that_are_learned_again_stay(recent: Recent) -> None:
    for number in range(1, 100):
        learn(recent, 0, number)
    assert others(recent, 0) == []


def test_there_are_never_more_than_so_many() -> None:
    recent = RecentLinks(8)
    for number in range(100):
        learn(recent, number, number + 1)
        recent.others(links(*range(number)))
        assert len(recent) <= 8 + 2


@pytest.mark.skipif(native is None, reason="needs the compiled module")
def test_hashes_need_no_memory_for_more() -> None:
    assert native is not None
    recent = RecentHashes(native, 4)
    learn(recent, *range(1000))
    known = 1000 - len(others(recent, *range(1000)))
    assert 4 <= known <= 16
    assert repr(recent) == "<RecentHashes 144 bytes>"
