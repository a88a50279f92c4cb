"""Crawls that are stopped and resumed: signals, exit statuses, reports, messages."""

import json
import signal
import sys
from collections.abc import Iterator

import pytest

from larbinpy.demo import Serving
from larbinpy.page import Outcome
from tests.support.crawling import (
    LARBINPY,
    Asked,
    Crawler,
    Web,
    World,
    html,
    missing,
    moved,
    one_line,
)
from tests.support.ports import free_port
from tests.support.processes import cpu
from tests.support.webserver import Act, Step, Until

pytest_plugins = ["tests.support.crawlworld", "tests.support.demoweb"]
pytestmark = pytest.mark.slow

#: interface.md, "Files".
REPORT = [
    "version",
    "started",
    "elapsed_s",
    "cpu_s",
    "peak_rss_bytes",
    "stop_reason",
    "exit_code",
    "pages",
    "success",
    "outcomes",
    "links",
    "urls_seen",
    "urls_queued",
    "bytes_received",
    "sites",
    "addresses",
    "robots",
    "dns",
    "retries",
    "left_out",
]
FATE = ["ts", "url", "outcome", "status", "size", "type", "depth", "via", "ip", "ms", "attempt"]


class Gate:
    """A web of `pages` pages, of which /held is not answered before `open`."""

    def __init__(self, world: World, pages: int = 5) -> None:
        self.open = False
        self.pages = [f"/{n}" for n in range(pages)]
        self.web: Web = world.web(self._answer, "site.test")

    def _answer(self, asked: Asked) -> Iterator[Step]:
        if asked.path == "/":
            yield html("/held", *self.pages)
        elif asked.path == "/held":
            yield Until(lambda: self.open)
            yield html("/after")
        elif asked.path in (*self.pages, "/after"):
            yield html(text=asked.path)
        else:
            yield missing()

    def url(self, path: str = "/") -> str:
        return self.web.url(path)

    @property
    def urls(self) -> set[str]:
        return {self.url(path) for path in ("/", "/held", "/after", *self.pages)}


def wait_until_stopping(world: World, crawler: Crawler) -> None:
    while "stopping" not in crawler.err:
        said = len(crawler.err)
        crawler.signal(signal.SIGUSR1)
        world.until(lambda: len(crawler.err) > said)  # noqa: B023


@pytest.fixture
def gate(world: World) -> Gate:
    gate = Gate(world)
    world.conf(f"startUrl {gate.url()}")
    return gate


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_first_signal_finishes_what_is_in_flight(
    world: World, gate: Gate, number: signal.Signals
) -> None:
    crawler = world.crawl()
    world.until(lambda: gate.web.count("/held") == 1)
    crawler.signal(number)
    wait_until_stopping(world, crawler)
    gate.open = True
    assert world.finish(crawler) == 11
    assert world.outcomes()[gate.url("/held")] == "success"
    # Nothing new was begun.
    assert gate.web.count("/0") == 0
    report = world.reported()
    assert (report["exit_code"], report["stop_reason"]) == (11, "stopped")
    assert report["urls_queued"] == len(gate.pages) + 1
    assert "Traceback" not in crawler.err

    owed = world.larbinpy("frontier", str(world.state))
    assert set(owed.out.split()) == gate.urls - set(world.outcomes())
    assert int(world.larbinpy("frontier", str(world.state), "--count").out) == 6

    assert world.run("--resume").process.returncode == 0
    assert world.outcomes() == dict.fromkeys(gate.urls, "success")
    assert all(gate.web.count(path) == 1 for path in ("/", "/held", "/after", *gate.pages))
    assert world.larbinpy("frontier", str(world.state)).out == ""


def test_second_signal_ends_at_once(world: World, gate: Gate) -> None:
    crawler = world.crawl()
    world.until(lambda: gate.web.count("/held") == 1)
    crawler.signal(signal.SIGTERM)
    wait_until_stopping(world, crawler)
    crawler.signal(signal.SIGTERM)
    assert world.finish(crawler) == 13
    assert world.reported()["exit_code"] == 13
    owed = world.larbinpy("frontier", str(world.state)).out.split()
    assert set(owed) == gate.urls - {gate.url(), gate.url("/after")}

    gate.open = True
    assert world.run("--resume").process.returncode == 0
    assert world.outcomes() == dict.fromkeys(gate.urls, "success")
    assert gate.web.count("/held") == 2


def test_two_signals_together_end_it(world: World, gate: Gate) -> None:
    crawler = world.crawl()
    world.until(lambda: gate.web.count("/held") == 1)
    crawler.signal(signal.SIGINT)
    crawler.signal(signal.SIGTERM)
    assert world.finish(crawler) == 13


def test_stopped_and_resumed_crawls_are_one(world: World, demo: Serving) -> None:
    """Stopped again and again in the middle of the demo web, by the log of the server itself."""
    conf = demo.conf(world.out, world.state, retry_wait=0.2, extra="fetchInfo\n")
    (world.folder / "larbin.conf").write_text(conf)
    codes = []
    flags: tuple[str, ...] = ()
    for stop_after in (40, 80, 120):
        crawler = world.crawl(*flags)
        world.until(lambda: crawler.out.count("\n") >= stop_after or crawler.ended)  # noqa: B023
        crawler.signal(signal.SIGINT)
        codes.append(world.finish(crawler))
        flags = ("--resume",)
    assert codes == [11, 11, 11]
    assert world.run("--resume").process.returncode == 0
    truth = demo.truth()
    pairs = [(fate["url"], fate["outcome"]) for fate in world.fates]
    assert truth.differences(pairs) == []
    assert truth.trespasses(demo.requests()) == []
    assert truth.files.keys() <= world.files()


def test_status_on_usr1_and_pipe_ignored(world: World, gate: Gate) -> None:
    crawler = world.crawl()
    world.until(lambda: gate.web.count("/held") == 1)
    crawler.signal(signal.SIGPIPE)
    for lines in (1, 2):
        crawler.signal(signal.SIGUSR1)
        world.until(lambda: crawler.err.count("\n") == lines)  # noqa: B023
    for line in crawler.err.splitlines():
        assert "running" in line
        assert "pages 1 (" in line
        assert "queued 6 " in line
    gate.open = True
    assert world.finish(crawler) == 0


def test_hup_reopens_the_log(world: World, gate: Gate) -> None:
    crawler = world.crawl()
    log, old = world.state / "crawl.jsonl", world.state / "crawl.jsonl.1"
    world.until(lambda: bool(world.fates))
    log.rename(old)
    crawler.signal(signal.SIGHUP)
    world.until(log.exists)
    gate.open = True
    assert world.finish(crawler) == 0
    moved_away = {json.loads(line)["url"] for line in old.read_text().splitlines()}
    assert moved_away == {gate.url()}
    assert set(world.outcomes()) == gate.urls - moved_away


def test_reader_of_stdout_may_leave(world: World, gate: Gate) -> None:
    """``larbinpy crawl | head``: the lines are lost, the pages are not."""
    command = ["sh", "-c", '"$@" | head -n 1', "sh", *LARBINPY]
    gate.open = True
    crawler = world.run(command=command)
    assert crawler.out.count("\n") == 1
    assert crawler.err == ""
    assert world.reported()["exit_code"] == 0
    assert set(world.outcomes()) == gate.urls


@pytest.mark.parametrize("streams", ["<&- >&- 2>&-", ">/dev/full 2>/dev/full", "2>&-"])
@pytest.mark.parametrize("progress", ["bar", "log"])
def test_closed_streams_do_not_matter(
    world: World, gate: Gate, streams: str, progress: str
) -> None:
    """Closed and full streams, as of a service: the crawl is the same."""
    gate.open = True
    command = ["sh", "-c", f'exec "$@" {streams}', "sh", *LARBINPY]
    talk = ("--set", "debug=on", "--set", "printStats=on", "--progress", progress)
    crawler = world.start("crawl", *talk, "--report", str(world.report), command=command)
    assert world.finish(crawler) == 0
    assert set(world.outcomes()) == gate.urls
    assert world.reported()["exit_code"] == 0


def test_folder_with_state_is_refused(world: World, gate: Gate) -> None:
    gate.open = True
    assert world.run().process.returncode == 0
    before = world.outcomes()
    crawler = world.crawl()
    assert world.finish(crawler) == 2
    assert "--resume" in one_line(crawler)
    assert "--scratch" in crawler.err
    assert world.outcomes() == before
    assert world.run("--scratch").process.returncode == 0
    assert world.outcomes().keys() == gate.urls
    assert gate.web.count("/held") == 2


def test_resume_without_a_state_is_refused(world: World, gate: Gate) -> None:
    crawler = world.run("--resume")
    assert crawler.process.returncode == 2
    assert str(world.state.name) in one_line(crawler)


def test_damaged_state_is_refused(world: World, gate: Gate) -> None:
    gate.open = True
    world.run()
    manifest = world.state / "state.json"
    manifest.write_text(json.dumps(json.loads(manifest.read_text()) | {"store": 7}))
    crawler = world.run("--resume")
    assert crawler.process.returncode == 2
    assert "damaged" in one_line(crawler)
    shown = world.larbinpy("frontier", str(world.state))
    assert shown.process.returncode == 2
    assert "damaged" in one_line(shown)


@pytest.mark.parametrize("flag", ["", "--resume", "--scratch"])
def test_second_crawl_on_one_state_is_refused(world: World, gate: Gate, flag: str) -> None:
    first = world.crawl()
    world.until(lambda: gate.web.count("/held") == 1)
    second = world.start("crawl", *filter(None, [flag]))
    assert world.finish(second) == 2
    assert str(first.process.pid) in one_line(second)
    gate.open = True
    assert world.finish(first) == 0
    assert set(world.outcomes()) == gate.urls


def test_a_lock_left_behind_keeps_nobody_out(world: World, gate: Gate) -> None:
    first = world.crawl()
    world.until(lambda: gate.web.count("/held") == 1)
    first.signal(signal.SIGKILL)
    world.finish(first)
    gate.open = True
    assert world.run("--resume").process.returncode == 0
    assert {fate["url"] for fate in world.fates} == gate.urls


def test_report_and_log_have_the_promised_keys(world: World, gate: Gate) -> None:
    gate.open = True
    world.run()
    report = world.reported()
    assert list(report) == REPORT
    assert set(report["outcomes"]) == {outcome.value for outcome in Outcome}
    assert list(report["robots"]) == ["fetched", "denied"]
    assert list(report["dns"]) == ["asked", "sent", "answered", "cached", "failed"]
    assert report["pages"] == report["success"] == report["outcomes"]["success"] == 8
    assert (report["sites"], report["addresses"], report["urls_queued"]) == (1, 1, 0)
    assert report["robots"] == {"fetched": 1, "denied": 0}
    assert report["started"].endswith("Z")
    assert report["elapsed_s"] > 0
    assert all(list(fate) == FATE for fate in world.fates)


def test_report_counts_the_memory_of_the_crawl_alone(world: World, gate: Gate) -> None:
    """Not that of the process which started it."""
    gate.open = True
    large = "import os, sys; mine = b'x' * (300 << 20); os.execv(sys.executable, sys.argv[1:])"
    world.run(command=[sys.executable, "-c", large, *LARBINPY])
    assert 10 << 20 < world.reported()["peak_rss_bytes"] < 200 << 20


def test_limit_page_is_reached_and_not_exceeded(world: World, gate: Gate) -> None:
    gate.open = True
    assert world.run("--set", "limitPage=3").process.returncode == 0
    report = world.reported()
    assert (report["stop_reason"], report["success"]) == ("limitPage", 3)


def test_limit_time_ends_it_in_time(world: World, gate: Gate) -> None:
    world.conf(f"startUrl {gate.url()} waitDuration 60")
    assert world.run("--set", "limitTime=0.3s").process.returncode == 0
    report = world.reported()
    assert report["stop_reason"] == "limitTime"
    assert report["urls_queued"] > 0
    assert 0.3 <= report["elapsed_s"] < 10


def test_no_page_at_all_is_four(world: World) -> None:
    web = world.web(lambda asked: [missing()], "site.test")
    world.conf(f"startUrl {web.url()}")
    crawler = world.run()
    assert crawler.process.returncode == 4
    assert world.reported()["stop_reason"] == "no page could be fetched"
    assert list(world.outcomes().values()) == ["err40X"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "nothing to crawl"),
        (("nonsense",), "nonsense"),
        (("--resume", "--scratch", "http://site.test/"), "cannot be used together"),
        (("--set", "waitDuraton=1", "http://site.test/"), "waitDuration"),
        (("-c", "nowhere.conf"), "nowhere.conf"),
        (("-i", "nowhere.txt"), "nowhere.txt"),
    ],
)
def test_wrong_usage_is_one_line(world: World, arguments: tuple[str, ...], said: str) -> None:
    crawler = world.start("crawl", *arguments)
    assert world.finish(crawler) == 2
    assert said in one_line(crawler)
    assert not world.state.exists()


def test_a_taken_port_is_one_line(world: World, gate: Gate) -> None:
    crawler = world.run("--set", f"httpPort={gate.web.port}")
    assert crawler.process.returncode in (2, 3)
    assert str(gate.web.port) in one_line(crawler)


def test_redirected_seed_is_not_asked_again(world: World) -> None:
    """A redirect counts as fetched: after a stop its target alone is owed."""
    held = [False]

    def answer(asked: Asked) -> Iterator[Step]:
        if asked.path == "/":
            yield moved("/target")
        elif asked.path == "/target":
            yield Until(lambda: held[0])
            yield html(text="there")
        else:
            yield missing()

    web = world.web(answer, "site.test")
    world.conf(f"startUrl {web.url()}")
    crawler = world.crawl()
    world.until(lambda: web.count("/target") == 1)
    crawler.signal(signal.SIGINT)
    crawler.signal(signal.SIGTERM)
    assert world.finish(crawler) == 13
    held[0] = True
    assert world.run("--resume").process.returncode == 0
    assert world.outcomes() == {web.url(): "err30X", web.url("/target"): "success"}
    assert web.count("/") == 1


#: At most ten seconds of waiting are promised, with the save at the end, and too long for a test.
SHORT_GRACE = """
import sys
from larbinpy import Crawl, load
from larbinpy.context import DEFAULT, Tuning
from larbinpy.output.log import write_report
assert DEFAULT.grace == 8
settings = {"LARBINPY_GUESSSITEMAP": "off"}
crawl = Crawl(load(None, settings, ()), tuning=Tuning(grace=0.5))
code = crawl.run()
write_report(sys.argv[1], crawl.report)
sys.exit(code)
"""


def short_grace(world: World) -> Crawler:
    command = [sys.executable, "-c", SHORT_GRACE]
    return world.start(str(world.report), command=command)


def test_stop_does_not_wait_for_a_silent_server(world: World) -> None:
    """In flight is given some seconds, not for ever; what did not come is owed."""
    web = world.web(
        lambda asked: [missing()] if "robots" in asked.path else [Act.HANG], "site.test"
    )
    world.conf(f"startUrl {web.url()} timeoutPage 60")
    crawler = short_grace(world)
    world.until(lambda: web.count("/") == 1)
    crawler.signal(signal.SIGTERM)
    assert world.finish(crawler) == 11
    assert 0.5 <= world.reported()["elapsed_s"] < 8
    assert world.larbinpy("frontier", str(world.state)).out == web.url() + "\n"


@pytest.mark.parametrize("for_whom", ["a server", "people"])
def test_waiting_costs_nothing(world: World, for_whom: str) -> None:
    """Two seconds of it take next to nothing of the processor."""
    web = world.web(lambda asked: [Act.HANG] if asked.path == "/" else [missing()], "site.test")
    seed = f"startUrl {web.url()}" if for_whom == "a server" else f"inputPort {free_port()}"
    world.conf("debug timeoutPage 60", seed)
    crawler = short_grace(world)
    world.until(lambda: "requests in flight" in crawler.err)
    seconds, begun = crawler.err.count("requests in flight"), cpu(crawler.process.pid)
    world.until(lambda: crawler.err.count("requests in flight") >= seconds + 2)
    assert cpu(crawler.process.pid) - begun < 0.3
    crawler.signal(signal.SIGTERM)
    assert world.finish(crawler) == 11
