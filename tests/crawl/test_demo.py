"""A crawl of the whole demo web ends as its description says it must."""

from collections import defaultdict
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from larbinpy.demo import Location, Serving
from larbinpy.demo.site import Resource
from larbinpy.page import Outcome
from larbinpy.url import split
from tests.support.crawling import Crawled, crawl_demo

pytest_plugins = ["tests.support.demoweb"]
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def crawled(demo_process: Serving, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Crawled]:
    demo_process.reset()
    done = crawl_demo(demo_process, tmp_path_factory.mktemp("demo"), retry_wait=0.2)
    yield done


@pytest.fixture(scope="module")
def requests(crawled: Crawled, demo_process: Serving) -> list[tuple[str, int]]:
    """The requests of `crawled` as the server saw them, before another crawl."""
    return demo_process.requests()


def test_every_url_has_its_fate(crawled: Crawled, demo_process: Serving) -> None:
    assert crawled.code == 0
    assert demo_process.truth().differences(crawled.pairs) == []


def test_no_request_but_the_needed_ones(
    requests: list[tuple[str, int]], demo_process: Serving
) -> None:
    assert len(requests) > 300
    assert demo_process.truth().trespasses(requests) == []


def _resource(demo: Serving, url: str) -> Resource:
    parts = split(url)
    return demo.web.find(Location(parts.host, parts.path))


def test_mirror_has_each_page_at_its_place(crawled: Crawled, demo_process: Serving) -> None:
    files = crawled.files
    for file, url in demo_process.truth().files.items():
        assert files[file] == _resource(demo_process, url).body, url


def test_mirror_has_no_other_file(crawled: Crawled, demo_process: Serving) -> None:
    """One for each success, but for the pages that ask not to be kept."""
    kept = [url for url, outcome in crawled.pairs if outcome == "success"]
    indexed = [url for url in kept if _resource(demo_process, url).indexed]
    assert len(crawled.files) == len(indexed) < len(kept)


def test_fates_say_how(crawled: Crawled, demo_process: Serving) -> None:
    truth = demo_process.truth()
    by_url = {fate["url"]: fate for fate in crawled.fates}
    assert {url for url, fate in by_url.items() if fate["via"] is None} == set(demo_process.seeds)
    for url, end in truth.expected.items():
        fate = by_url[url]
        if end.status:
            assert fate["status"] == end.status, url
            assert fate["ip"].startswith("127.0."), url
            assert fate["attempt"] >= 1, url
        if fate["via"] is not None and not fate["via"].endswith("/robots.txt"):
            assert fate["via"] in by_url, url
        assert 0 <= fate["depth"] <= 20, url


def test_report_agrees_with_the_log(crawled: Crawled) -> None:
    report = crawled.crawl.report
    outcomes = report["outcomes"]
    assert isinstance(outcomes, dict)
    assert set(outcomes) == {outcome.value for outcome in Outcome}
    fates = crawled.fates
    assert report["success"] == outcomes["success"]
    for name in ("success", "err30X", "err40X", "err50X", "badType", "forbiddenRobots", "noDNS"):
        assert outcomes[name] == sum(fate["outcome"] == name for fate in fates), name
    assert report["urls_queued"] == 0
    assert report["stop_reason"] == "finished"


def test_faults_only_delay(demo_with: Callable[..., Serving], tmp_path: Path) -> None:
    """A fifth of the names' answers is lost, and one page in twenty fails at first."""
    demo = demo_with(drop=0.2, flaky=0.05, seed=7)
    crawled = crawl_demo(demo, tmp_path, retry_wait=0.2, extra="dnsTimeout 0.2\n")
    truth = demo.truth()
    assert truth.differences(crawled.pairs) == []
    assert truth.trespasses(demo.requests()) == []
    assert any(result == "lost" for _, _, result in demo.names())
    assert sum(status == 503 for _, status in demo.requests()) > 10


def test_any_type_takes_everything(demo: Serving, tmp_path: Path) -> None:
    crawled = crawl_demo(demo, tmp_path, retry_wait=0.2, any_type=True)
    truth = demo.truth(any_type=True)
    assert len(truth.fetched) > len(demo.truth().fetched)
    assert truth.differences(crawled.pairs) == []
    assert truth.trespasses(demo.requests()) == []


def test_requests_to_one_address_keep_their_distance(demo: Serving, tmp_path: Path) -> None:
    wait = 0.2
    crawl_demo(demo, tmp_path, wait=wait, extra="limitTime 4s\n")
    times = defaultdict(list)
    for request in demo.log():
        times[request.address].append(request.time)
    gaps = [b - a for seen in times.values() for a, b in pairwise(seen)]
    assert len(gaps) > 100
    assert min(gaps) >= wait
