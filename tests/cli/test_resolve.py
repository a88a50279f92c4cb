"""``larbinpy resolve`` as a process: its streams, its signals, its exit status."""

import json
import os
import pty
import re
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from larbinpy.loop.poller import READ
from tests.support.crawling import LARBINPY, Crawler, World, one_line
from tests.support.nameserver import drop

pytest_plugins = ["tests.support.crawlworld"]


class Terminal:
    """A terminal, and the text written to it."""

    def __init__(self, world: World) -> None:
        self._master, self.slave = pty.openpty()
        self._poller = world.poller
        self._text = bytearray()
        world.poller.register(self._master, READ, self._read)

    def _read(self, fd: int, _events: int) -> None:
        try:
            self._text += os.read(fd, 1 << 16)
        except OSError:  # EIO: the other end is closed
            self._poller.unregister(fd)

    @property
    def text(self) -> str:
        return self._text.decode(errors="replace")

    def close(self) -> None:
        self._poller.unregister(self._master)
        os.close(self._master)
        os.close(self.slave)


@pytest.fixture
def terminal(world: World) -> Iterator[Terminal]:
    with closing(Terminal(world)) as it:
        yield it


Resolve = Callable[..., Crawler]


@pytest.fixture
def resolve(world: World) -> Resolve:
    """Starts ``larbinpy resolve`` with the world's name server, in a `shell` where that is
    given: ``"$@"`` is the command there.
    """
    host, port = world.names.address
    world.names.zone |= {f"n{n}.test": ["192.0.2.1"] for n in range(300)}
    world.names.script("dead.test", drop)

    def start(*arguments: str, shell: str = "", **streams: int) -> Crawler:
        command: tuple[str, ...] = (*LARBINPY, "resolve", "--server", f"{host}:{port}")
        if shell:
            command = ("sh", "-c", shell, "sh", *command)
        return world.start(*arguments, command=command, **streams)

    return start


def names(world: World, *lines: str) -> str:
    """A file with these names, or with 300 that exist."""
    file = world.folder / "names"
    file.write_text("\n".join(lines or (f"n{n}.test" for n in range(300))) + "\n")
    return str(file)


def until_lines(world: World, crawler: Crawler, number: int) -> None:
    """Turn until so many lines of output have come."""
    world.until(lambda: crawler.out.count("\n") == number)


def catches(crawler: Crawler, number: int) -> bool:
    """Whether the process handles this signal."""
    status = Path(f"/proc/{crawler.process.pid}/status").read_text()
    (caught,) = re.findall(r"^SigCgt:\s*(\w+)", status, re.MULTILINE)
    return bool(int(caught, 16) >> (number - 1) & 1)


def processor_time(crawler: Crawler) -> float:
    """Seconds that the process has used."""
    fields = Path(f"/proc/{crawler.process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


# Output.


def test_results_and_a_summary(world: World, resolve: Resolve) -> None:
    crawler = resolve(names(world, "n1.test", "none.test", "", "n2.test", "n1.test"))
    assert world.finish(crawler) == 0
    assert sorted(crawler.out.splitlines()) == [
        "n1.test 192.0.2.1",
        "n1.test 192.0.2.1",
        "n2.test 192.0.2.1",
        "none.test !nxdomain",
    ]
    assert re.fullmatch(
        r"4 names in \d\.\d\d s \(\d+/s\): 3 resolved, 1 failed, 0 cached, 0 resent\n", crawler.err
    )


def test_results_as_json(world: World, resolve: Resolve) -> None:
    crawler = resolve(names(world, "n1.test", "none.test"), "--json")
    assert world.finish(crawler) == 0
    assert sorted(map(json.loads, crawler.out.splitlines()), key=lambda line: line["name"]) == [
        {"name": "n1.test", "addresses": ["192.0.2.1"], "reason": None},
        {"name": "none.test", "addresses": [], "reason": "nxdomain"},
    ]


def test_names_come_from_standard_input_too(world: World, resolve: Resolve) -> None:
    names(world)
    for shell in ('"$@" < names', 'cat names | "$@"', '"$@" - < names'):
        crawler = resolve(shell=shell)
        assert world.finish(crawler) == 0
        assert len(crawler.out.splitlines()) == 300


def test_results_are_written_as_they_arrive(world: World, resolve: Resolve) -> None:
    """Not at the end, and not when some buffer is full."""
    crawler = resolve(names(world, "n1.test", "dead.test", "n2.test"))
    world.until(lambda: crawler.out.count("\n") == 2)
    assert not crawler.ended
    crawler.signal(signal.SIGKILL)
    world.finish(crawler)


def test_bytes_that_are_no_utf8_and_names_that_are_none(world: World, resolve: Resolve) -> None:
    (world.folder / "names").write_bytes(
        b"caf\xe9.test\n\xff\xfe\x00\nn1.test\r\nb\xc3\xbccher.test\n\x1b[31m\n" + b"x" * 100_000
    )
    crawler = resolve("names")
    assert world.finish(crawler) == 0
    assert sorted(crawler.out.splitlines()) == [
        r"\x1b[31m !badname",
        r"\xff\xfe\x00 !badname",
        r"b\xfccher.test !badname",
        r"caf\xe9.test !badname",
        "n1.test 192.0.2.1",
        "x" * 300 + " !badname",
    ]


@pytest.mark.parametrize(("cache", "asked"), [("10", 2), ("0", 6)])
def test_a_cache_of_0_is_none(world: World, resolve: Resolve, cache: str, asked: int) -> None:
    """A name that comes again after its answer is asked for again, be it absent or not."""
    crawler = resolve("--cache", cache, stdin=subprocess.PIPE)
    give = crawler.process.stdin
    assert give is not None
    for known in range(1, 4):
        give.write(b"n1.test\nnone.test\n")
        give.flush()
        until_lines(world, crawler, 2 * known)
    give.close()
    assert world.finish(crawler) == 0
    assert len(world.names.asked) == asked


# The bar.


def test_a_bar_where_standard_error_is_a_terminal(
    world: World, resolve: Resolve, terminal: Terminal
) -> None:
    crawler = resolve(names(world), stderr=terminal.slave)
    assert world.finish(crawler) == 0
    world.until(lambda: "resent" in terminal.text)
    assert "300/300" in terminal.text
    assert len(crawler.out.splitlines()) == 300


def test_a_bar_without_a_total_for_a_pipe(
    world: World, resolve: Resolve, terminal: Terminal
) -> None:
    names(world)
    world.finish(resolve(shell='cat names | "$@"', stderr=terminal.slave))
    world.until(lambda: "resent" in terminal.text)
    assert "300 names [" in terminal.text
    known = resolve(shell='"$@" < names', stderr=terminal.slave)
    world.finish(known)
    world.until(lambda: "300/300" in terminal.text)


def test_results_and_bar_on_one_terminal_leave_each_other_whole(
    world: World, resolve: Resolve, terminal: Terminal
) -> None:
    crawler = resolve(names(world), stdout=terminal.slave, stderr=terminal.slave)
    assert world.finish(crawler) == 0
    world.until(lambda: "resent" in terminal.text)
    shown = [line.rpartition("\r")[2] for line in terminal.text.split("\r\n")]
    assert sum(line.endswith(".test 192.0.2.1") for line in shown) == 300
    assert sum(bool(re.fullmatch(r"n\d+\.test 192\.0\.2\.1", line)) for line in shown) == 300
    assert "300/300" in terminal.text


def test_no_bar_elsewhere(world: World, resolve: Resolve) -> None:
    crawler = resolve(names(world))
    world.finish(crawler)
    assert crawler.err.count("\n") == 1 and "\r" not in crawler.err


# Exit status.


def test_4_if_no_name_has_an_address(world: World, resolve: Resolve) -> None:
    crawler = resolve(names(world, "none.test", "a b"))
    assert world.finish(crawler) == 4
    assert "0 resolved, 2 failed" in crawler.err


def test_0_for_no_names(world: World, resolve: Resolve) -> None:
    assert world.finish(resolve("/dev/null")) == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["missing"], "missing: cannot be read: No such file or directory"),
        (["."], "cannot be read: Is a directory"),
        (["--server", "nonsense", "/dev/null"], "dnsServer"),
        (["--parallel", "0", "/dev/null"], "--parallel: 0 is not between 1 and 65535"),
        (["--parallel", "65536", "/dev/null"], "--parallel: 65536 is not between 1 and 65535"),
        (["--parallel", "x", "/dev/null"], "--parallel: 'x' is not a whole number"),
        (["--cache", "-1", "/dev/null"], "--cache: '-1' is not a whole number"),
        (["--cache", "1000000001", "/dev/null"], "--cache: 1000000001 is not between 0 and"),
    ],
)
def test_2_for_wrong_usage(
    world: World, resolve: Resolve, arguments: list[str], message: str
) -> None:
    crawler = resolve(*arguments)
    assert world.finish(crawler) == 2
    assert message in one_line(crawler)


def test_2_where_the_file_may_not_be_read_and_a_bar_would_count_it(
    world: World, resolve: Resolve, terminal: Terminal
) -> None:
    assert world.finish(resolve("missing", stderr=terminal.slave)) == 2
    world.until(lambda: "cannot be read" in terminal.text)
    assert "Traceback" not in terminal.text


def test_3_for_a_full_disk(world: World, resolve: Resolve) -> None:
    crawler = resolve(names(world), shell='"$@" > /dev/full')
    assert world.finish(crawler) == 3
    assert "No space left" in one_line(crawler)


def test_0_if_the_reader_of_the_output_leaves(world: World, resolve: Resolve) -> None:
    file = names(world, *(f"n{n % 300}.test" for n in range(20_000)))
    crawler = resolve(file, shell='{ "$@"; echo "status $?" >&2; } | head -n 1')
    world.finish(crawler)
    assert crawler.out.count("\n") == 1
    assert crawler.err == "status 0\n"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_11_where_a_signal_ends_it_and_known_results_are_printed(
    world: World, resolve: Resolve, number: int
) -> None:
    crawler = resolve(names(world, "n1.test", "dead.test", "n2.test"))
    world.until(lambda: crawler.out.count("\n") == 2)
    crawler.signal(number)
    assert world.finish(crawler) == 11
    assert re.fullmatch(r"2 names in \d\.\d\d s \(\d+/s\), then stopped\n", crawler.err)


def test_results_come_while_names_still_do(world: World, resolve: Resolve) -> None:
    crawler = resolve(stdin=subprocess.PIPE)
    give = crawler.process.stdin
    assert give is not None
    for text, known in ((b"n1.test\n\nn2", 1), (b".test\nn3.test\r\n", 3), (b"n4.test\n", 4)):
        give.write(text)
        give.flush()
        until_lines(world, crawler, known)
    give.write(b"n5.test")
    give.close()
    assert world.finish(crawler) == 0
    assert sorted(crawler.out.split()[::2]) == [f"n{number}.test" for number in range(1, 6)]


def test_waiting_for_names_costs_nothing(world: World, resolve: Resolve) -> None:
    crawler = resolve(stdin=subprocess.PIPE)
    world.until(lambda: catches(crawler, signal.SIGTERM))
    used = processor_time(crawler)
    late = time.monotonic() + 0.5
    world.until(lambda: time.monotonic() > late)
    assert processor_time(crawler) - used < 0.1


def test_11_while_it_waits_for_names(world: World, resolve: Resolve) -> None:
    crawler = resolve(stdin=subprocess.PIPE)
    assert crawler.process.stdin is not None
    crawler.process.stdin.write(b"n1.test\n")
    crawler.process.stdin.flush()
    world.until(lambda: catches(crawler, signal.SIGTERM))
    crawler.signal(signal.SIGINT)
    assert world.finish(crawler) == 11
    assert "then stopped" in crawler.err
