import json
from collections.abc import Callable, Iterable, Iterator

import pytest

from larbinpy.dns.bulk import Summary, resolve_names
from larbinpy.dns.cache import NameCache
from larbinpy.dns.resolver import Resolver
from larbinpy.loop.poller import Poller
from tests.support import nameserver as ns
from tests.support.nameserver import NameServer

pytestmark = pytest.mark.slow


class Clock:
    """Moves when the poller finds nothing ready."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


class ImpatientPoller(Poller):
    """Waits for packets on their way; the rest of the time passes on the clock only."""

    def __init__(self, clock: Clock) -> None:
        super().__init__()
        self._clock = clock

    def wait(self, timeout: float) -> int:
        ready = super().wait(min(timeout, 0.01))
        if not ready:
            self._clock.now += max(timeout, 0)
        return ready


class Bench:
    def __init__(self) -> None:
        self.clock = Clock()
        self.poller = ImpatientPoller(self.clock)
        self.server = NameServer({"www.test": ["192.0.2.1", "192.0.2.2"]}, self.poller)
        self.resolver = Resolver(
            self.poller,
            [self.server.address],
            NameCache(1000),
            {},
            in_flight=100,
            send_queue=50,
            timeout=1.0,
            address_time=1800.0,
        )
        self.written: list[str] = []
        self.reported = 0
        #: Called once a turn.
        self.watch: Callable[[], object] = lambda: None
        self.summary = Summary()

    def run(self, lines: Iterable[str], *, as_json: bool = False) -> list[str]:
        self.summary = resolve_names(
            lines,
            self.resolver,
            self.poller,
            self.clock,
            lambda text: self.written.extend(text.split("\n")),
            self._tell,
            as_json=as_json,
        )
        assert self.reported == len(self.written)
        return self.written

    def _tell(self, names: int) -> None:
        self.reported += names
        self.watch()


@pytest.fixture
def bench() -> Iterator[Bench]:
    it = Bench()
    yield it
    it.resolver.close()
    it.server.close()
    it.poller.close()


def test_a_line_for_each_name(bench: Bench) -> None:
    bench.server.zone["six.test"] = ["2001:db8::1"]
    lines = ["www.test\n", "none.test\n", "\n", "six.test", "  www.test \r\n", "10.1.2.3\n"]
    assert sorted(bench.run(lines)) == [
        "10.1.2.3 10.1.2.3",
        "none.test !nxdomain",
        "six.test 2001:db8::1",
        "www.test 192.0.2.1",
        "www.test 192.0.2.1",
    ]
    assert bench.summary == Summary(names=5, resolved=4, failed=1, cached=0, asked=4)


def test_json(bench: Bench) -> None:
    written = [json.loads(line) for line in bench.run(["www.test", "none.test"], as_json=True)]
    assert sorted(written, key=lambda line: line["name"]) == [
        {"name": "none.test", "addresses": [], "reason": "nxdomain"},
        {"name": "www.test", "addresses": ["192.0.2.1", "192.0.2.2"], "reason": None},
    ]


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("a/b", "a/b !badname"),
        ("two words.test", r"two\x20words.test !badname"),
        ("esc\x1b[31m.test", r"esc\x1b[31m.test !badname"),
        ("nul\0.test", r"nul\x00.test !badname"),
        ("\N{RIGHT-TO-LEFT OVERRIDE}moc.test", r"\u202emoc.test !badname"),
        ("\udc80.test", r"\udc80.test !badname"),
        ("x" * 5000, "x" * 300 + " !badname"),
    ],
)
@pytest.mark.parametrize("as_json", [False, True])
def test_bad_lines(bench: Bench, line: str, shown: str, as_json: bool) -> None:
    (written,) = bench.run([line + "\n"], as_json=as_json)
    if as_json:
        assert json.loads(written)["name"] == shown.split()[0]
    else:
        assert written == shown
    assert bench.server.asked == []


def test_a_repeated_name(bench: Bench) -> None:
    assert bench.run(["www.test"] * 500) == ["www.test 192.0.2.1"] * 500
    assert len(bench.server.asked) == 1
    assert bench.summary.cached > 0


def test_only_names_in_flight_are_held(bench: Bench) -> None:
    """The input is read no further ahead of the output than the resolver has room for."""
    bench.server.zone.update({f"n{n}.test": ["192.0.2.9"] for n in range(1000)})

    def lines() -> Iterator[str]:
        for number in range(1000):
            assert number - len(bench.written) <= 100 + 50
            yield f"n{number}.test"

    assert len(bench.run(lines())) == 1000


def test_dead_names_hold_up_no_others(bench: Bench) -> None:
    """As many of them as may be in flight, and all others are done within the first wait."""
    bench.server.zone.update({f"n{n}.test": ["192.0.2.9"] for n in range(1000)})
    lines = []
    for number in range(1000):
        lines.append(f"n{number}.test")
        if number % 10 == 0:
            bench.server.script(f"dead{number}.test", ns.drop)
            lines.append(f"dead{number}.test")
    done: list[float] = []

    def watch() -> None:
        if not done and sum(not line.startswith("dead") for line in bench.written) == 1000:
            done.append(bench.clock.now)

    bench.watch = watch
    bench.run(lines)
    assert done[0] <= 1.0
    assert sum(line.endswith("!timeout") for line in bench.written) == 100


def test_losses_and_dead_names(bench: Bench) -> None:
    names = [f"n{n}.test" for n in range(300)]
    bench.server.zone.update({name: ["192.0.2.9"] for name in names})
    bench.server.drop_share = 0.2
    bench.server.script("dead.test", ns.drop)
    written = bench.run([*names, "dead.test"])
    assert sorted(written) == sorted(
        [f"{name} 192.0.2.9" for name in names] + ["dead.test !timeout"]
    )
    assert bench.summary.resent > 30
    assert bench.summary.elapsed == pytest.approx(bench.clock.now)
    assert 23 <= bench.summary.elapsed < 60


def test_no_input(bench: Bench) -> None:
    assert bench.run([]) == []
    assert bench.summary == Summary()
