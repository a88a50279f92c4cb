"""URLs that ended in an earlier run and are queued again at a resume, in whole crawls."""

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from larbinpy import Start
from larbinpy.observe.report.formats import Report
from larbinpy.storage.state import StateError
from tests.support.smallweb import Answer, Web
from tests.support.smallworld import World, Worlds

pytest_plugins = ["tests.support.smallcrawls"]
pytestmark = pytest.mark.slow

SEEDS = ["a.test/", "b.test/", "c.test/"]


@pytest.fixture
def three(web: Web) -> Web:
    """Three sites of 40 pages each."""
    for host in ("a.test", "b.test", "c.test"):
        web.page(f"{host}/", *[f"/{n}" for n in range(1, 40)])
        web.pages(*[f"{host}/{n}" for n in range(1, 40)])
    return web


def by_site(world: World) -> Counter[str]:
    return Counter(place.partition("/")[0] for place in world.fetched)


def each(number: int) -> dict[str, int]:
    return dict.fromkeys(("a.test", "b.test", "c.test"), number)


def test_a_raised_limit_continues_where_the_lower_one_stopped(
    three: Web, crawl: Worlds, tmp_path: Path
) -> None:
    folder = tmp_path / "again"
    first = crawl("limitPageBySite 20", folder=folder, seeds=SEEDS)
    assert by_site(first) == each(20)
    second = crawl("limitPageBySite 30", folder=folder, start=Start.RESUME, seeds=())
    assert by_site(second) == each(30)
    assert len(second.pages_asked) == 30
    assert "limits by site have changed; URLs queued again: 60" in second.stderr.getvalue()
    assert "finished" not in second.stderr.getvalue()
    assert second.report_outcomes["siteLimit"] == 30
    assert second.report_outcomes["success"] == 90
    third = crawl(folder=folder, start=Start.RESUME, seeds=())
    assert by_site(third) == each(40)
    assert len(third.pages_asked) == 30
    assert third.report_outcomes["siteLimit"] == 0
    report = Report(folder / "state")
    assert dict(report.summary.outcomes) == {"success": 120}
    again = crawl(folder=folder, start=Start.RESUME, seeds=())
    assert again.asked == []
    assert "this crawl is finished" in again.stderr.getvalue()


def test_a_lower_limit_or_the_same_queues_nothing(
    three: Web, crawl: Worlds, tmp_path: Path
) -> None:
    folder = tmp_path / "again"
    crawl("limitPageBySite 5", folder=folder, seeds=SEEDS)
    log = (folder / "state/crawl.jsonl").read_bytes()
    for limit in (5, 3):
        crawl(f"limitPageBySite {limit}", folder=folder, start=Start.RESUME, seeds=())
        assert (folder / "state/crawl.jsonl").read_bytes() == log


def test_the_limit_of_one_site_is_raised_and_depth_is_kept(
    web: Web, crawl: Worlds, tmp_path: Path
) -> None:
    folder = tmp_path / "again"
    web.page("a.test/", "/1", web.url("b.test/"))
    web.page("a.test/1", "/2")
    web.page("a.test/2", "/3")
    web.pages("a.test/3")
    web.page("b.test/", "/1")
    web.pages("b.test/1")
    lines = "site a.test limitPageBySite {} end", "limitPageBySite 1", "depthInSite 2"
    crawl(lines[0].format(1), *lines[1:], folder=folder)
    world = crawl(lines[0].format(9), *lines[1:], folder=folder, start=Start.RESUME, seeds=())
    assert world.fetched == {"a.test/", "a.test/1", "a.test/2", "b.test/"}
    assert world.fates["a.test/1"]["via"] == world.fates["a.test/"]["url"]
    assert world.outcomes["b.test/1"] == "siteLimit"


def test_requisites_that_a_limit_stopped_return_as_requisites(
    web: Web, crawl: Worlds, tmp_path: Path
) -> None:
    folder = tmp_path / "again"
    web.put("a.test/", Answer(b"<img src=/1.png><img src=/2.png>"))
    for n in (1, 2):
        web.put(f"a.test/{n}.png", Answer(b"png", "image/png"))
    crawl("limitPageBySite 2", "requisites site", folder=folder)
    world = crawl("requisites site", folder=folder, start=Start.RESUME, seeds=())
    assert world.fetched == {"a.test/", "a.test/1.png", "a.test/2.png"}


def test_a_kill_while_urls_are_queued_again_loses_and_repeats_none(
    three: Web, crawl: Worlds, tmp_path: Path
) -> None:
    folder = tmp_path / "again"
    crawl("limitPageBySite 20", folder=folder, seeds=SEEDS)

    class Killed(Exception):
        pass

    def kill(world: World) -> None:
        # In the first turn, after the first checkpoint.
        raise Killed

    with pytest.raises(Killed):
        crawl("limitPageBySite 30", folder=folder, start=Start.RESUME, seeds=(), watch=kill)
    world = crawl("limitPageBySite 30", folder=folder, start=Start.RESUME, seeds=())
    assert by_site(world) == each(30)
    lines = map(json.loads, (folder / "state/crawl.jsonl").read_text().splitlines())
    ended = Counter((fate["url"], fate["outcome"]) for fate in lines)
    assert sum(count for (_, outcome), count in ended.items() if outcome == "siteLimit") == 90
    assert max(count for (_, outcome), count in ended.items() if outcome == "success") == 1


Change = Callable[[dict[str, Any]], object]


def put(*path: str, value: object) -> Change:
    """Put a value at a place in a saved state."""

    def change(state: dict[str, Any]) -> None:
        for key in path[:-1]:
            state = state[key]
        state[path[-1]] = value

    return change


LIMITS = "put_back", "limits"
NO_LIMITS: list[object] = [[], None, {}, {"own": {}}, {"blocks": []}]
NO_NUMBERS: list[object] = [[], [1], [1, 2, 3], "x", None, -1, 1e308]
NO_NUMBER: list[object] = ["x", None, [1]]
NO_BLOCKS: list[object] = [None, "x", 1]
NO_TIMES: list[object] = [None, [], 1, {"siteLimit": 5}]
DAMAGE = [
    *(put(*LIMITS, value=value) for value in NO_LIMITS),
    *(put(*LIMITS, "own", value=value) for value in NO_NUMBERS),
    *(put(*LIMITS, "own", value={"limit_page_by_site": value}) for value in NO_NUMBER),
    *(put(*LIMITS, "blocks", value=value) for value in NO_BLOCKS),
    *(put("put_back", "until", value=value) for value in NO_TIMES),
    put("totals", "started", value=1e308),
    put("totals", "counts", value={}),
    put("totals", "counts", "outcomes", value=None),
]


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_state_is_one_error(
    web: Web, crawl: Worlds, tmp_path: Path, damage: Change
) -> None:
    web.page("a.test/", "/1")
    web.page("a.test/1", "/2")
    web.pages("a.test/2")
    folder = tmp_path / "again"
    crawl("limitPageBySite 1", folder=folder)
    saved = folder / "state" / "state.json"
    state = json.loads(saved.read_bytes())
    damage(state)
    saved.write_text(json.dumps(state))
    with pytest.raises(StateError, match="the saved state is damaged"):
        crawl("limitPageBySite 2", folder=folder, start=Start.RESUME, seeds=())
    Report(folder / "state")


@pytest.mark.parametrize(
    "own", [[1, 0], {"limit_page_by_site": 1}, {"limit_page_by_site": 1, "limit_of_later": 1}]
)
def test_limits_of_other_versions_are_read(
    web: Web, crawl: Worlds, tmp_path: Path, own: object
) -> None:
    web.page("a.test/", "/1")
    web.pages("a.test/1")
    folder = tmp_path / "again"
    crawl("limitPageBySite 1", folder=folder)
    saved = folder / "state" / "state.json"
    state = json.loads(saved.read_bytes())
    put(*LIMITS, "own", value=own)(state)
    saved.write_text(json.dumps(state))
    world = crawl("limitPageBySite 2", folder=folder, start=Start.RESUME, seeds=())
    assert world.fetched == {"a.test/", "a.test/1"}


def test_lines_that_no_crawl_wrote_are_not_queued(web: Web, crawl: Worlds, tmp_path: Path) -> None:
    web.page("a.test/", "/1")
    web.pages("a.test/1")
    folder = tmp_path / "again"
    crawl("limitPageBySite 1", folder=folder)
    log = folder / "state" / "crawl.jsonl"
    fate = json.loads(log.read_bytes().splitlines()[-1])
    assert fate["outcome"] == "siteLimit"
    without = {key: value for key, value in fate.items() if key != "depth"}
    odd = [without, {**fate, "url": "http://a b/"}, {**fate, "url": "http://[x/"}]
    rotated = "".join(json.dumps(line) + "\n" for line in odd)
    log.with_name("crawl.jsonl.1").write_text(rotated)
    world = crawl("limitPageBySite 2", folder=folder, start=Start.RESUME, seeds=())
    assert "URLs queued again: 1\n" in world.stderr.getvalue()
    assert world.fetched == {"a.test/", "a.test/1"}


# A crawl that got no reply.


def test_a_crawl_without_a_reply_does_not_stand_in_the_way(
    web: Web, crawl: Worlds, tmp_path: Path
) -> None:
    folder = tmp_path / "again"
    web.page("a.test/")
    for seeds, line in ((["a.test/"], "allowPrivate off"), (["typo.test/"], "allowPrivate")):
        world = crawl(line, folder=folder, seeds=seeds)
        assert world.code == 4
    world = crawl(folder=folder)
    assert world.code == 0
    assert world.fetched == {"a.test/"}
    assert "replaces a crawl that got no reply at all" in world.stderr.getvalue()
    assert set(world.fates) == {"a.test/"}
    with pytest.raises(StateError, match="holds a crawl already"):
        crawl(folder=folder)


@pytest.mark.parametrize("start", [Start.RESUME, Start.AUTO])
def test_a_crawl_without_a_reply_is_tried_again(
    web: Web, crawl: Worlds, tmp_path: Path, start: Start
) -> None:
    folder = tmp_path / "again"
    web.page("a.test/", "/1")
    web.pages("a.test/1")
    assert crawl("allowPrivate off", folder=folder).code == 4
    world = crawl(folder=folder, start=start, seeds=())
    assert world.code == 0
    assert world.fetched == {"a.test/", "a.test/1"}
    assert "no URL got a reply before; tried again: 1" in world.stderr.getvalue()
    assert world.report_outcomes["privateAddress"] == 0


def test_a_view_without_a_reply_is_tried_again(web: Web, crawl: Worlds, tmp_path: Path) -> None:
    folder = tmp_path / "again"
    web.page("a.test/")
    assert crawl("allowPrivate off", folder=folder, seeds=("a.test/one",)).code == 4
    (log,) = folder.rglob("crawl.jsonl")
    log.write_text(log.read_text().replace("/one", "/#/a"))
    world = crawl(folder=folder, start=Start.RESUME, seeds=())
    assert "no URL got a reply before; tried again: 1" in world.stderr.getvalue()
    assert world.fetched == {"a.test/#/a"}
