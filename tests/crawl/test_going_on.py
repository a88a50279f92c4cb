"""Values that outlive a run: totals, the pause and the settings of the console; --resume=auto."""

import json
from pathlib import Path
from typing import Any

import pytest

from larbinpy import Start
from larbinpy.context import Tuning
from larbinpy.crawl.network import OTHER_FILES
from larbinpy.demo import Serving
from larbinpy.storage.state import StateError
from tests.support.crawling import crawl_demo
from tests.support.ports import free_port
from tests.support.smallweb import Answer, Web
from tests.support.smallworld import Client, World, Worlds

pytest_plugins = ["tests.support.demoweb", "tests.support.smallcrawls"]

#: Figures of a report that depend on times, and those of one process.
_OF_TIMES = {"started", "elapsed_s", "cpu_s", "peak_rss_bytes"}
#: How often names are looked up, and robots.txt is read, depends on the number of runs.
_OF_RUNS = {"dns", "robots", "bytes_received"}


def saved(world: World) -> Any:
    return json.loads((world.folder / "state/state.json").read_text())


@pytest.fixture
def chain(web: Web) -> Web:
    """a.test/0 -> a.test/1 -> ... -> a.test/9, and two links of a.test/3 that are left out."""
    for n in range(9):
        web.page(f"a.test/{n}", f"/{n + 1}", *(["/q?x", "/q?y"] if n == 3 else []))
    web.pages("a.test/9")
    return web


SEED = ["a.test/0"]
CHAIN = ("depthInSite 20",)


class Operators:
    """Runs of one crawl, with commands to the input port at given times of a run."""

    def __init__(self, crawl: Worlds) -> None:
        self._crawl = crawl
        self.port = free_port()

    def run(
        self, *lines: str, at: float = 0.0, commands: tuple[str, ...] = (), **more: Any
    ) -> World:
        client = Client(self._crawl, self.port, "console", *commands, "quit")

        def watch(world: World) -> None:
            if commands and world.elapsed >= at:
                client.done()

        more = {"watch": watch, "seeds": SEED, **more}
        world = self._crawl(f"inputPort {self.port}", *CHAIN, *lines, **more)
        self.answers = client.answers
        return world


@pytest.fixture
def operator(crawl: Worlds) -> Operators:
    return Operators(crawl)


# Totals.


def test_three_runs_count_as_one(chain: Web, crawl: Worlds) -> None:
    chain.put("a.test/7", Answer(status=404))
    whole: Any = crawl(*CHAIN, seeds=SEED).crawl.report
    first = crawl(*CHAIN, "limitPage 3", seeds=SEED)
    second = crawl(*CHAIN, "limitPage 2", folder=first.folder, start=Start.RESUME, seeds=SEED)
    assert (first.crawl.report["success"], second.crawl.report["success"]) == (3, 5)
    third = crawl(*CHAIN, folder=first.folder, start=Start.RESUME, seeds=SEED)
    report: Any = third.crawl.report
    assert report["success"] == 7
    assert report["outcomes"] == whole["outcomes"]
    same = whole.keys() - _OF_TIMES - _OF_RUNS
    assert {key: report[key] for key in same} == {key: whole[key] for key in same}
    assert report["started"] == first.crawl.report["started"]
    elapsed = first.elapsed + second.elapsed + third.elapsed
    assert report["elapsed_s"] == pytest.approx(elapsed, abs=0.01)
    assert report["bytes_received"] > whole["bytes_received"]  # a robots.txt for each run


def test_a_resumed_crawl_waits_for_names_that_existed(chain: Web, crawl: Worlds) -> None:
    """As when a machine starts it before its network is up: the resolver knows no name yet."""
    first = crawl(*CHAIN, "limitPage 3", seeds=SEED)
    zone = dict(chain.zone)
    chain.zone.clear()

    def come_up(world: World) -> None:
        if world.elapsed >= 5:
            world.names.zone.update(zone)

    again = crawl(*CHAIN, folder=first.folder, start=Start.RESUME, seeds=SEED, watch=come_up)
    assert (again.code, len(again.fetched)) == (0, 10)


@pytest.mark.slow
def test_three_runs_over_the_demo_web_count_as_one(demo: Serving, tmp_path: Path) -> None:
    settings: dict[str, Any] = {"retry_wait": 0.2}
    whole: Any = crawl_demo(demo, tmp_path / "whole", **settings).crawl.report
    demo.reset()
    pages = 0
    for limit in (60, 60, 2000):
        start = Start.RESUME if pages else Start.SCRATCH
        extra = f"limitPage {limit}"
        done = crawl_demo(demo, tmp_path / "runs", start=start, extra=extra, **settings)
        report: Any = done.crawl.report
        pages += limit
        assert limit == 2000 or report["success"] == pages
    # The sitemaps of a robots.txt are found again in each run.
    outcomes = {name for name in whole["outcomes"] if name != "urlDup"}
    for outcome in outcomes:
        assert report["outcomes"][outcome] == whole["outcomes"][outcome], outcome
    # A URL that waits for another try at the end of a run has all its tries again in the next,
    # and may use the other address of its host.
    same = ("success", "links", "urls_seen", "urls_queued", "sites")
    assert {key: report[key] for key in same} == {key: whole[key] for key in same}
    assert report["success"] == sum(fate["outcome"] == "success" for fate in done.fates)


def test_after_a_kill_the_totals_fit_the_log(chain: Web, crawl: Worlds) -> None:
    """The totals are those of the checkpoint that the log is cut back to."""

    class Killed(BaseException):
        """No error that a crawl would save its state for."""

    def kill(world: World) -> None:
        if world.elapsed >= 47:
            raise Killed

    waits = (*CHAIN, "waitDuration 10")
    with pytest.raises(Killed):
        crawl(*waits, seeds=SEED, watch=kill)
    folder = crawl.world.folder
    again = crawl(*waits, folder=folder, start=Start.RESUME, seeds=SEED)
    report = again.crawl.report
    lines = (folder / "state/crawl.jsonl").read_text().splitlines()
    assert report["success"] == len(lines) == len(again.fates) == 10


@pytest.mark.parametrize(
    "totals", [{}, {"started": 0, "elapsed_s": 0, "counts": {"totals": {"pages": "x"}}}, 7]
)
def test_damaged_totals_are_one_error(chain: Web, crawl: Worlds, totals: object) -> None:
    first = crawl(*CHAIN, "limitPage 4", seeds=SEED)
    path = first.folder / "state/state.json"
    path.write_text(json.dumps({**saved(first), "totals": totals}))
    with pytest.raises(StateError, match="damaged"):
        crawl(*CHAIN, folder=first.folder, start=Start.RESUME, seeds=SEED)


def test_the_snapshot_has_the_run_and_the_whole(chain: Web, crawl: Worlds) -> None:
    first = crawl(*CHAIN, "limitPage 4", seeds=SEED)
    again = crawl(*CHAIN, "limitPage 5", folder=first.folder, start=Start.RESUME, seeds=SEED)
    shown = again.crawl.snapshot()
    assert (shown["totals"]["success"], shown["run"]["success"]) == (9, 5)  # type: ignore[index]
    assert shown["started"] == first.crawl.snapshot()["started"]
    rates = shown["rates"]
    assert rates["success"] <= 5  # type: ignore[index]  # earlier runs are in no rate


# No page in the whole crawl.


def test_a_resumed_run_says_whether_the_whole_crawl_got_a_page(chain: Web, crawl: Worlds) -> None:
    for n in range(10):
        chain.put(f"a.test/{n}", Answer(status=404))
    first = crawl(*CHAIN, seeds=SEED)
    assert first.code == 4
    again = crawl(*CHAIN, folder=first.folder, start=Start.RESUME, seeds=SEED)
    assert again.code == 4
    assert "no page could be fetched: " in again.stderr.getvalue()
    chain.pages("a.test/8")
    third = crawl(*CHAIN, folder=first.folder, start=Start.RESUME, seeds=["a.test/8"])
    assert third.code == 0
    fourth = crawl(*CHAIN, folder=first.folder, start=Start.RESUME, seeds=["a.test/5"])
    assert (fourth.code, fourth.outcomes["a.test/5"]) == (0, "err40X")


# The pause, and live settings.


def test_a_pause_outlives_a_resume(chain: Web, operator: Operators) -> None:
    first = operator.run("waitDuration 10", at=25, commands=("pause", "stop"))
    assert (first.code, len(first.fetched)) == (11, 2)
    again = operator.run(
        *("waitDuration 10",),
        at=500,
        commands=("status", "resume"),
        folder=first.folder,
        start=Start.RESUME,
    )
    assert operator.answers[0]["state"] == "paused"
    assert min(asked.time for asked in again.asked) >= again.started + 500
    said = "larbinpy: still paused; the command resume of larbinpy console continues\n"
    assert said in again.stderr.getvalue()
    assert (again.code, len(again.fetched)) == (0, 10)
    assert saved(again)["paused"] is False


def test_a_paused_crawl_that_nobody_could_continue_does_not_hang(
    chain: Web, operator: Operators, crawl: Worlds
) -> None:
    first = operator.run("waitDuration 10", at=25, commands=("pause", "stop"))
    before = saved(first)
    # No socket can be made there, as in some file systems.
    (first.folder / "state" / "control").mkdir()
    with pytest.raises(StateError, match=r"was paused, and no port is open.*inputPort"):
        crawl(*CHAIN, folder=first.folder, start=Start.RESUME, seeds=SEED)
    assert saved(first) == before


def test_a_pause_with_nothing_left_to_fetch_is_over(web: Web, crawl: Worlds) -> None:
    """The last page was in flight when the pause came."""
    port = free_port()
    client = Client(crawl, port, "console", "pause", "quit")
    web.page("a.test/0", until=client.done)
    web.pages("a.test/new")
    first = crawl(f"inputPort {port}", seeds=SEED)
    assert saved(first)["paused"] is False
    again = crawl(folder=first.folder, start=Start.RESUME, seeds=["a.test/new"])
    assert (again.code, again.fetched) == (0, {"a.test/0", "a.test/new"})


def test_settings_of_the_console_outlive_a_resume(chain: Web, operator: Operators) -> None:
    lines = ("waitDuration 10", "limitPage 3")
    first = operator.run(*lines, at=15, commands=("set waitduration 20",))
    again = operator.run(*lines, folder=first.folder, start=Start.RESUME)
    assert again.gaps() == pytest.approx([20, 20], abs=0.02)
    assert "larbinpy: set earlier: waitDuration 20; --set changes it\n" in again.stderr.getvalue()
    third = operator.run(
        *lines, folder=first.folder, start=Start.RESUME, fixed=["waitDuration", "limitPage"]
    )
    assert third.gaps() == pytest.approx([10, 10], abs=0.02)
    assert "set earlier" not in third.stderr.getvalue()


def test_a_setting_that_is_not_possible_any_more_is_reported(
    chain: Web, operator: Operators
) -> None:
    lines = ("waitDuration 10", "limitPage 3", "pagesConnexions 5")
    first = operator.run(*lines, at=15, commands=("set pagesConnexions 200",))
    few = Tuning(open_files=lambda wanted: OTHER_FILES + 100)
    again = operator.run(*lines, folder=first.folder, start=Start.RESUME, tuning=few)
    assert "not as set earlier: pagesConnexions 200: at most" in again.stderr.getvalue()
    assert again.code == 0


def test_limits_are_those_of_a_run(chain: Web, operator: Operators) -> None:
    lines = ("waitDuration 10", "limitTime 25s")
    first = operator.run(*lines)
    again = operator.run(*lines, folder=first.folder, start=Start.RESUME)
    assert [world.crawl.report["stop_reason"] for world in (first, again)] == ["limitTime"] * 2
    assert again.crawl.report["elapsed_s"] == pytest.approx(50, abs=1)


# --resume=auto


def test_auto_starts_goes_on_and_ends(chain: Web, crawl: Worlds) -> None:
    first = crawl(*CHAIN, "limitPage 4", start=Start.AUTO, seeds=SEED)
    assert (first.code, len(first.fetched)) == (0, 4)
    again = crawl(*CHAIN, folder=first.folder, start=Start.AUTO, seeds=SEED)
    assert (again.code, len(again.fetched), len(again.pages_asked)) == (0, 10, 6)
    third = crawl(*CHAIN, folder=first.folder, start=Start.AUTO, seeds=SEED)
    assert (third.code, third.asked) == (0, [])
    assert "this crawl is finished; --scratch starts anew" in third.stderr.getvalue()
    chain.page("b.test/")
    fourth = crawl(*CHAIN, folder=first.folder, start=Start.AUTO, seeds=[*SEED, "b.test/"])
    assert (fourth.code, len(fourth.pages_asked)) == (0, 1)
    assert "finished;" not in fourth.stderr.getvalue()
    assert fourth.crawl.report["success"] == 11


def test_auto_refuses_a_damaged_state(chain: Web, crawl: Worlds) -> None:
    first = crawl(*CHAIN, "limitPage 4", seeds=SEED)
    (first.folder / "state/state.json").write_text("{")
    with pytest.raises(StateError, match=r"damaged.*--scratch"):
        crawl(*CHAIN, folder=first.folder, start=Start.AUTO, seeds=SEED)


def test_scratch_discards_whatever_the_state_is(chain: Web, crawl: Worlds) -> None:
    """Each file in turn is one that this version cannot read."""
    first = crawl(*CHAIN, "limitPage 4", seeds=SEED)
    names = [path.name for path in (first.folder / "state").iterdir() if path.is_file()]
    assert {"links.bin", "state.json", "crawl.jsonl"} <= set(names)
    for name in names:
        (first.folder / "state" / name).write_bytes(b"another version" * 9)
        again = crawl(*CHAIN, folder=first.folder, start=Start.SCRATCH, seeds=SEED)
        assert (again.code, len(again.fetched)) == (0, 10), name
