"""From a configuration to the parts of a crawl: which part gets what, and in which order."""

import io
import json
import os
import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from math import inf
from pathlib import Path
from typing import Any

import pytest

from larbinpy import Config, Start
from larbinpy.config import ConfigError
from larbinpy.config.kinds import Proxy
from larbinpy.config.patterns import HostPattern
from larbinpy.context import DEFAULT, Context, Tuning
from larbinpy.crawl.assembly import Alone, Assembly
from larbinpy.crawl.network import OTHER_FILES
from larbinpy.crawl.parts import Display
from larbinpy.dns.lookup import Answer
from larbinpy.loop.poller import Poller
from larbinpy.output import Output
from larbinpy.output.plug import NullOutput
from larbinpy.page import Outcome
from larbinpy.storage.queues import owed_urls
from larbinpy.storage.state import State, StateError
from tests.support.enginefakes import Clock
from tests.support.frontiers import owed, pool_of
from tests.support.ports import free_port

SEEDS = ("http://a.test/", "http://b.test/")


class Plug(NullOutput):
    """A durable plug with a mark of its own."""

    def __init__(self, mark: str = "") -> None:
        self.mark = mark
        self.loaded_mark: object = None
        self.closed = False

    def cut(self) -> dict[str, object]:
        return {"at": self.mark}

    def load(self, mark: object) -> None:
        self.loaded_mark = mark

    def close(self) -> None:
        self.closed = True


class Assembler:
    """Assembles crawls in one folder; nothing of them runs."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.clock = Clock()
        self.stderr = io.StringIO()
        self.closing = ExitStack()

    def __call__(
        self,
        start: Start = Start.REFUSE,
        seeds: tuple[str, ...] = (),
        output: Output | None = None,
        tuning: Tuning = DEFAULT,
        **settings: Any,
    ) -> Assembly:
        given = {"dns_server": (("127.0.0.1", 53),), "allow_private": True, **settings}
        config = Config(
            state_dir=str(self.folder / "state"), output_dir=str(self.folder / "out"), **given
        )
        poller = Poller()
        self.closing.callback(poller.close)
        tuning = replace(tuning, poller=poller, clock=self.clock, wall=lambda: 0.0)
        context = Context.open(config, self.closing, tuning)
        display = Display(context, "none", io.StringIO(), self.stderr)
        return Assembly(context, Alone(config), start, seeds, output, display)

    def close(self) -> None:
        self.closing.close()

    def crawl_once(self, *seeds: str, output: Output | None = None) -> None:
        """A crawl that is opened, saved and closed."""
        self(seeds=seeds, output=output).saving.save(ended=True)
        self.close()

    def owed(self) -> list[str]:
        return sorted(url.href for url in owed_urls(State(self.folder / "state")))


@pytest.fixture
def assemble(tmp_path: Path) -> Iterator[Assembler]:
    assembler = Assembler(tmp_path)
    yield assembler
    assembler.close()


@pytest.fixture
def taken_port() -> Iterator[int]:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        sock.listen()
        yield sock.getsockname()[1]


# The files of an earlier crawl.


def test_seeds_are_queued(assemble: Assembler) -> None:
    parts = assemble(seeds=SEEDS)
    assert owed(parts.frontier) == [*SEEDS]
    assert not parts.engine.out_of_work


def test_an_earlier_crawl_is_not_touched_unless_that_is_wanted(assemble: Assembler) -> None:
    assemble.crawl_once(*SEEDS)
    with pytest.raises(StateError, match="--resume continues it, --scratch crawls anew"):
        assemble()
    assemble.close()
    assert assemble.owed() == [*SEEDS]


def test_resume_goes_on_with_queues_and_outputs(assemble: Assembler) -> None:
    assemble.crawl_once(*SEEDS, output=Plug("page 7"))
    plug = Plug()
    parts = assemble(Start.RESUME, ("http://c.test/", SEEDS[0]), plug)
    assert owed(parts.frontier) == [*SEEDS, "http://c.test/"]
    assert plug.loaded_mark == {"at": "page 7"}


def test_scratch_forgets_queues_and_log(assemble: Assembler) -> None:
    assemble.crawl_once(*SEEDS, output=Plug("page 7"))
    log = assemble.folder / "state/crawl.jsonl"
    log.write_text(json.dumps({"url": SEEDS[0]}) + "\n")
    plug = Plug()
    parts = assemble(Start.SCRATCH, ("http://c.test/",), plug)
    assert owed(parts.frontier) == ["http://c.test/"]
    assert (log.read_text(), plug.loaded_mark) == ("", None)


def test_a_folder_is_for_one_crawl(assemble: Assembler) -> None:
    assemble(seeds=SEEDS)
    with pytest.raises(StateError, match="in use by process"):
        assemble(Start.SCRATCH, SEEDS)
    # It has saved nothing yet.
    with pytest.raises(StateError, match="a crawl is running there"):
        assemble(Start.RESUME)


@pytest.mark.parametrize("keyword", ["input_port", "http_port"])
def test_a_port_refuses_before_an_old_crawl_is_forgotten(
    assemble: Assembler, taken_port: int, keyword: str
) -> None:
    port: Any = {keyword: taken_port}
    assemble.crawl_once(*SEEDS)
    plug = Plug()
    with pytest.raises(ConfigError, match=f"{taken_port}: Address already in use; set another"):
        assemble(Start.SCRATCH, output=plug, **port)
    assemble.close()
    assert plug.closed
    assert assemble.owed() == [*SEEDS]
    assert not (assemble.folder / "state/token").exists()


def test_all_is_closed_at_the_end(assemble: Assembler) -> None:
    # The first port that a process takes opens what reserves it.
    http, commands = free_port(), free_port()
    before = len(os.listdir("/proc/self/fd"))
    plug = Plug()
    assemble(seeds=SEEDS, output=plug, http_port=http, input_port=commands)
    assert (assemble.folder / "state/reserve").stat().st_size > 0
    assemble.close()
    assert plug.closed
    assert not (assemble.folder / "state/reserve").exists()
    assert len(os.listdir("/proc/self/fd")) == before


# The network.


def test_handles_leave_descriptors_for_all_else(assemble: Assembler) -> None:
    wanted: list[int] = []

    def few(number: int) -> int:
        wanted.append(number)
        return OTHER_FILES + 12

    parts = assemble(tuning=Tuning(open_files=few), pages_connexions=50_000)
    # Two descriptors a handle.
    assert wanted == [OTHER_FILES + 100_000]
    assert parts.handles == 6
    assert pool_of(parts.frontier) == 6
    assert parts.control.status()["config"]["pagesConnexions"] == "6"  # type: ignore[index]
    assert parts.control.set("pagesConnexions", "7") is not None
    assert parts.control.set("pagesConnexions", "5") is None
    assert (pool_of(parts.frontier), parts.snapshots.take("", {})["system"]["handles"]) == (
        5,
        5,
    )


def test_at_least_one_handle_is_there(assemble: Assembler) -> None:
    assert assemble(tuning=Tuning(open_files=lambda wanted: OTHER_FILES)).handles == 1


def test_too_few_descriptors_are_named_with_the_number_that_is_needed(assemble: Assembler) -> None:
    with pytest.raises(
        ConfigError, match=r"\(ulimit -n\) is 64, and a crawl needs 250.*LimitNOFILE"
    ):
        assemble(tuning=Tuning(open_files=lambda wanted: 64))


def first_requests(parts: Assembly, answers: Callable[[str], tuple[str, ...]]) -> list[str]:
    """The URLs of which the requests are opened at once, where names have `answers`."""
    frontier, now = parts.frontier, 100.0
    frontier.sequence(now)
    while question := frontier.next_name():
        frontier.resolved(Answer(question[0], answers(question[0]), None), now)
    urls = []
    while due := frontier.take(now):
        urls.append(due[0].href)
    return sorted(urls)


def test_one_address_is_one_server(assemble: Assembler) -> None:
    parts = assemble(seeds=SEEDS, ignore_robots=True)
    assert len(first_requests(parts, lambda name: ("127.0.0.1",))) == 1


def test_by_proxy_each_host_is_a_server(assemble: Assembler) -> None:
    """The proxy's address says nothing about the servers behind it."""
    parts = assemble(seeds=SEEDS, ignore_robots=True, proxy=Proxy("127.0.0.1", 8080))
    parts.engine.sequencer(100.0)
    parts.engine.fetch_dns(100.0)
    assert first_requests(parts, lambda name: ()) == [*SEEDS]


def test_a_host_without_the_proxy_is_looked_up(assemble: Assembler) -> None:
    """With or without the port that the exception names."""
    parts = assemble(
        seeds=("http://a.test/", "http://b.test/", "http://c.test/"),
        ignore_robots=True,
        proxy=Proxy("127.0.0.1", 8080),
        no_proxy=(HostPattern.parse("b.test"), HostPattern.parse("c.test:81")),
    )
    parts.engine.sequencer(100.0)
    parts.engine.fetch_dns(100.0)
    assert parts.snapshots.take("", {})["dns"]["asked"] == 2
    assert first_requests(parts, lambda name: ()) == ["http://a.test/"]


def test_a_proxy_looks_names_up(assemble: Assembler) -> None:
    parts = assemble(
        seeds=("http://a.test/", "http://10.0.0.1/"),
        ignore_robots=True,
        allow_private=False,
        proxy=Proxy("127.0.0.1", 8080),
    )
    parts.engine.sequencer(100.0)
    parts.engine.fetch_dns(100.0)
    refused = [page.url.href for page in parts.frontier.to_write()]
    assert refused == ["http://10.0.0.1/"]
    assert parts.snapshots.take("", {})["dns"]["sent"] == 0
    assert parts.frontier.take(100.0) is not None


def test_a_proxy_without_an_address_is_an_error(assemble: Assembler) -> None:
    with pytest.raises(ConfigError, match=r"proxy no\.invalid: no address found"):
        assemble(proxy=Proxy("no.invalid", 8080))


def test_an_address_of_another_machine_is_no_source(assemble: Assembler) -> None:
    with pytest.raises(ConfigError, match=r"sourceAddress 192\.0\.2\.1: not an address of this"):
        assemble(source_address=("127.0.0.1", "192.0.2.1"))


# Addresses.


@pytest.mark.parametrize(("allowed", "count"), [(False, 0), (True, 1)])
def test_private_addresses_need_a_permission(
    assemble: Assembler, allowed: bool, count: int
) -> None:
    parts = assemble(seeds=SEEDS[:1], ignore_robots=True, allow_private=allowed)
    assert len(first_requests(parts, lambda name: ("127.0.0.1",))) == count
    refused = [page.outcome for page in parts.frontier.to_write()]
    assert refused == ([] if allowed else [Outcome.PRIVATE_ADDRESS])


# The state on the disk.


@pytest.mark.parametrize(
    ("mode", "synced"),
    [("save", True), ("mirror", True), ("warc", True), ("stats", False)],
)
def test_a_checkpoint_brings_what_outputs_write_to_the_disk(
    assemble: Assembler, monkeypatch: pytest.MonkeyPatch, mode: str, synced: bool
) -> None:
    commands: list[list[str]] = []

    def spawn(path: str, argv: list[str], *more: Any, **others: Any) -> int:
        commands.append(argv)
        raise OSError("no processes in this test")

    monkeypatch.setattr(os, "posix_spawnp", spawn)
    monkeypatch.setattr(os, "sync", lambda: None)
    parts = assemble(output_mode=(mode,))
    parts.saving.save()
    assert commands == ([["sync", "-f", str(assemble.folder / "out")]] if synced else [])


@pytest.mark.parametrize(("can_reload", "every"), [(False, 5.0), (True, 1.0)])
def test_the_state_is_saved_every_few_seconds(
    assemble: Assembler, can_reload: bool, every: float
) -> None:
    parts = assemble(seeds=SEEDS, can_reload=can_reload)
    parts.saving.save()
    parts.saving.step(assemble.clock.now, all_decided=False)
    assert parts.saving.deadline == assemble.clock.now + every


# The end, and people.


def test_limit_time_is_counted_from_the_start(assemble: Assembler) -> None:
    parts = assemble(seeds=SEEDS, limit_time=60.0)
    assert parts.stopping.deadline == assemble.clock.now + 60.0
    assert not parts.stopping.step(assemble.clock.now + 59.9, stop=False, at_once=False)
    assert not parts.mode.draining
    assert parts.stopping.step(assemble.clock.now + 60.0, stop=False, at_once=False)
    assert parts.stopping.ending is not None
    assert parts.stopping.ending.reason == "limitTime"


def test_no_limit_is_no_deadline(assemble: Assembler) -> None:
    parts = assemble(seeds=SEEDS)
    assert parts.stopping.deadline == inf
    assert not parts.stopping.step(assemble.clock.now + 1e9, stop=False, at_once=False)


def test_the_status_page_outlives_the_crawl_where_there_is_one(assemble: Assembler) -> None:
    parts = assemble(high_level_web_server=True)
    assert parts.stopping.step(0.0, stop=False, at_once=False)
    assemble.close()
    parts = assemble(Start.SCRATCH, high_level_web_server=True, http_port=free_port())
    assert not parts.stopping.step(0.0, stop=False, at_once=False)
    assert parts.stopping.step(0.0, stop=True, at_once=False)


def test_no_snapshot_is_made_that_nobody_sees(assemble: Assembler) -> None:
    parts = assemble(seeds=SEEDS)
    taken: list[int] = []
    parts.snapshots.take = lambda *args: taken.append(1)  # type: ignore[assignment,method-assign]
    parts.housekeeping.step(100.0)
    assert taken == []
