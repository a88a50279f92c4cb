"""Nodes of a fleet with a browser each: every page once, and no request before its time."""

import time
from collections import defaultdict
from collections.abc import Iterator
from itertools import pairwise

import pytest

from tests.support import renderweb
from tests.support.browser import chromium
from tests.support.crawling import Asked
from tests.support.fleetworld import Fleet
from tests.support.renderweb import PATHS
from tests.support.webserver import Step

pytest_plugins = ["tests.support.fleetcrawls"]
pytestmark = pytest.mark.slow

_APPS = ("react", "svelte", "history", "modules", "consent", "shadow")
#: Seconds between two requests to a site: those of pages in a browser, and all others.
_PART, _PAGE = 0.2, 0.3


def test_two_nodes_render_each_page_once_and_wait(fleet: Fleet) -> None:
    chromium()
    times: dict[str, list[float]] = defaultdict(list)

    def answer(asked: Asked) -> Iterator[Step]:
        times[asked.host].append(time.monotonic())
        yield from renderweb.answer(asked)

    hosts = [f"{app}.test" for app in _APPS]
    waits = (f"waitDuration {_PAGE}", f"renderWait {_PART}", "limitTime 3")
    web = fleet.serve(answer, *hosts, settings=("render **", "noExternalLinks", *waits))
    nodes = [fleet.node(name, *(web.url("/", host) for host in hosts)) for name in "ab"]
    fleet.until(lambda: all(node.ended for node in nodes), 150)
    assert [node.process.wait() for node in nodes] == [0, 0], [node.err for node in nodes]
    # Chance gives each node its hosts; one may have none of so few.
    assert {node["name"] for node in fleet.status()["nodes"]} == {"a", "b"}
    pages = [url for url in fleet.pages("a", "b") if not url.endswith("/home")]
    assert sorted(pages) == sorted(web.url(path, host) for host in hosts for path in PATHS)
    gaps = [after - before for each in times.values() for before, after in pairwise(each)]
    assert min(gaps) > _PART - 0.02
