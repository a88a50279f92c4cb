"""The work of each second."""

from math import inf
from types import SimpleNamespace
from typing import Any

from larbinpy.crawl.engine import Housekeeping
from tests.support.contexts import make_context
from tests.support.fakefeeder import FakeFeeder


def test_a_full_spool_asks_for_a_checkpoint_each_second() -> None:
    """The indexer takes only what one covers, and the crawl waits for the indexer."""
    feeder, requests = FakeFeeder(), []
    resolver = SimpleNamespace(answered=0, stats=lambda: {"servers": []})
    network: Any = SimpleNamespace(resolver=resolver, fetcher=SimpleNamespace(busy=0))
    frontier: Any = SimpleNamespace(owed=1)
    disk: Any = SimpleNamespace(
        journals=SimpleNamespace(flush=lambda: None),
        saving=SimpleNamespace(request=lambda: requests.append("save")),
    )
    display: Any = SimpleNamespace(show=lambda: None, say=lambda line: None)
    housekeeping = Housekeeping(make_context(), frontier, network, disk, display, feeder)
    housekeeping.step(10.0)
    assert requests == []
    assert housekeeping.deadline == inf
    feeder.holds = "900 pages wait for the database (spoolMax)"
    for now in (10.5, 11.0, 11.5, 12.0):
        housekeeping.step(now)
        # The loop must not sleep longer, also if nothing else happens.
        assert now < housekeeping.deadline <= now + 1.0
    assert requests == ["save", "save"]
