"""The area around the seeds is the same on all nodes."""

import pytest

from larbinpy.crawl.fleet.frontier import SharedArea
from larbinpy.fleet.board import AreaLog
from larbinpy.frontier.scope import SeedArea


class Pair:
    """The areas of two nodes, whose logs are exchanged by hand, and the area of one crawl alone."""

    def __init__(self, stay: str) -> None:
        self.logs = AreaLog(), AreaLog()
        self.areas = [SharedArea(stay, log) for log in self.logs]
        self.alone = SeedArea(stay)
        self._entries: list[str] = []

    def exchange(self) -> None:
        for log in self.logs:
            news = log.news(1000)
            self._entries += [entry for entry in news if entry not in self._entries]
            log.published(len(news))
        for log in self.logs:
            log.take(self._entries[log.position :], len(self._entries))

    def agree(self) -> None:
        self.exchange()
        for area in self.areas:
            assert set(area.hosts) == set(self.alone.hosts)
            assert dict(area.places) == dict(self.alone.places)


@pytest.mark.parametrize("stay", ["page", "prefix", "host", "domain", "any"])
def test_seeds_and_redirects_of_either_node_reach_the_other(stay: str) -> None:
    pair = Pair(stay)
    first, second = pair.areas
    docs = "http://a.test/docs"
    for area in (first, pair.alone):
        area.add([docs, "http://a.test/x/1", "http://a.test/x/2"])
    for area in (second, pair.alone):
        area.add(["http://b.test/y/"])
    pair.agree()
    # The folder of /docs is not the root, as it looked.
    for area in (second, pair.alone):
        area.redirect(docs, [f"{docs}/"])
    for area in (first, pair.alone):
        area.redirect("http://b.test/y/", ["http://c.test/y/"])
    pair.agree()
    for area in pair.areas:
        assert area.has("http://b.test/y/")
        assert area.has("http://c.test/y/")
        assert not area.has("http://a.test/other") or stay in ("host", "domain", "any")


def test_what_was_put_up_by_both_counts_once() -> None:
    pair = Pair("prefix")
    for area in [*pair.areas, pair.alone]:
        area.add(["http://a.test/x/1"])
    pair.agree()
    # A seed that is received again, after a restart of Redis.
    pair.areas[0].add(["http://a.test/x/1"])
    pair.agree()


def test_a_new_session_puts_up_all_again() -> None:
    pair = Pair("host")
    pair.areas[0].add(["http://a.test/"])
    pair.alone.add(["http://a.test/"])
    pair.exchange()
    pair._entries.clear()  # Redis has forgotten them
    for log in pair.logs:
        log.begin()
    pair.agree()
    assert pair._entries == ["host a.test"]
