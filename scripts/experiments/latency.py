"""Names resolved over time, with and without cache, with and without asynchrony.

The list is a million names that repeat as in a crawl. The name server on loopback answers with
the delays reported in papers on crawlers. The baseline is `socket.gethostbyname`, one name after
another.
"""

import socket
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from matplotlib.axes import Axes

from experiments import apart, names
from experiments.nameservers import slow_server
from experiments.plots import plot
from experiments.report import Report, Table, verdict
from experiments.runs import CLIENT, kept_on, say, warn_of_load
from experiments.slowserver import delay
from larbinpy.dns import NameCache, Resolver, wire
from larbinpy.dns.bulk import resolve_names
from larbinpy.loop.clock import clock
from larbinpy.loop.poller import Poller

ABOUT = f"""\
Names from a list with the repetition of a crawl (Zipf, exponent {names.EXPONENT}, drawn from
{names.HOSTS:,} hosts). The name server answers 98 % of the names after 10 to 100 ms and 2 %
after 1 to 3 s; the delay of a name is always the same. The cache holds 50,000 names, as in the
source; without a cache the resolver remembers one name. Without asynchrony, a question is sent
after the reply to the one before. With asynchrony, a name that is already being asked for is
not asked for again."""

FACTOR = 50
BLOCKING = "gethostbyname"
BOTH = "cache and asynchrony"

_CACHE = 50_000
_CACHE_TIME = 1800.0
_IN_FLIGHT = 1000
_SEND_QUEUE = 1024
_TIMEOUT = 1.0
_SAMPLE = 1.0


@dataclass(slots=True)
class Timeline:
    """Numbers of names resolved over time, for `limit` seconds from its creation."""

    limit: float
    done: int = 0
    failed: int = 0
    started: float = field(default_factory=clock)
    #: Seconds since the start and names resolved by then; at least one sample a second.
    samples: list[tuple[float, int]] = field(default_factory=lambda: [(0.0, 0)])

    @property
    def passed(self) -> float:
        return clock() - self.started

    @property
    def is_over(self) -> bool:
        return self.passed >= self.limit

    def add(self, count: int) -> None:
        """Count more names as resolved, unless the time is over."""
        passed = self.passed
        if passed < self.limit:
            self.done += count
            if passed >= self.samples[-1][0] + _SAMPLE:
                self.samples.append((passed, self.done))

    def close(self) -> None:
        self.samples.append((min(self.passed, self.limit), self.done))

    @property
    def rate(self) -> float:
        return self.done / self.samples[-1][0]


Variant = Callable[[Iterator[str], Timeline], None]


def blocking(wanted: Iterator[str], timeline: Timeline) -> None:
    for name in wanted:
        try:
            socket.gethostbyname(name)
        except OSError:
            timeline.failed += 1
        timeline.add(1)


def one_by_one(wanted: Iterator[str], timeline: Timeline, *, port: int, cache: int) -> None:
    with closing(Poller()) as poller, closing(_resolver(poller, port, cache, 1)) as resolver:
        for name in wanted:
            answer = resolver.ask(name, clock())
            while answer is None:
                deadline = resolver.deadline
                poller.wait(0 if deadline is None else deadline - clock())
                answer = next(iter(resolver.step(clock())), None)
            timeline.failed += answer.reason is not None
            timeline.add(1)


def at_once(wanted: Iterator[str], timeline: Timeline, *, port: int, cache: int) -> None:
    with (
        closing(Poller()) as poller,
        closing(_resolver(poller, port, cache, _IN_FLIGHT)) as resolver,
    ):
        summary = resolve_names(
            wanted, resolver, poller, clock, lambda _: None, timeline.add, as_json=False
        )
        timeline.failed = summary.failed


def _resolver(poller: Poller, port: int, cache: int, in_flight: int) -> Resolver:
    return Resolver(
        poller,
        [("127.0.0.1", port)],
        NameCache(cache, 1000, _CACHE_TIME),
        {},
        in_flight=in_flight,
        send_queue=_SEND_QUEUE,
        timeout=_TIMEOUT,
        address_time=_CACHE_TIME,
    )


def variants(port: int) -> dict[str, Variant]:
    return {
        BLOCKING: blocking,
        "neither": partial(one_by_one, port=port, cache=1),
        "cache": partial(one_by_one, port=port, cache=_CACHE),
        "asynchrony": partial(at_once, port=port, cache=1),
        BOTH: partial(at_once, port=port, cache=_CACHE),
    }


def run(out: Path, *, quick: bool, seconds: float, count: int) -> str:
    """Run all variants for at most `seconds` each; returns the tables."""
    if quick:
        seconds, count = min(seconds, 5.0), min(count, 200_000)
    warn_of_load()
    with TemporaryDirectory(prefix="latency-") as folder:
        if apart.is_apart():
            apart.prepare(Path(folder))
        lines = names.write_lines(Path(folder) / "names", map(names.host, names.zipf(count)))
        with slow_server(delays=True, port=53 if apart.is_apart() else 0) as port:
            todo = variants(port)
            if not apart.is_apart():
                del todo[BLOCKING]
            with kept_on(CLIENT):
                timelines = {name: _measure(todo[name], name, lines, seconds) for name in todo}
    return _report(out, timelines, count)


def _measure(variant: Variant, name: str, lines: Path, seconds: float) -> Timeline:
    with lines.open() as file:
        timeline = Timeline(seconds)
        variant(_until_over(map(str.strip, file), timeline), timeline)
        timeline.close()
    say(f"  {name}: {timeline.rate:,.0f} names/s, {timeline.failed} failed")
    return timeline


def _until_over(wanted: Iterable[str], timeline: Timeline) -> Iterator[str]:
    for name in wanted:
        if timeline.is_over:
            return
        yield name


def _report(out: Path, timelines: dict[str, Timeline], count: int) -> str:
    report = Report(out, "latency", ABOUT)
    slowest = timelines.get(BLOCKING)
    table = Table("Rates", "variant", "names", "seconds", "names/s", "factor", "failed")
    for name, line in timelines.items():
        factor = f"{line.rate / slowest.rate:.1f}x" if slowest else "not measured"
        table.add(name, line.done, line.samples[-1][0], line.rate, factor, line.failed)
    report.table(table)
    if slowest:
        met = timelines[BOTH].rate >= FACTOR * slowest.rate
        text = f"at least {FACTOR} times gethostbyname with cache and asynchrony"
        report.note(verdict(met, text))
    report.table(_whole_list(count))
    report.table(_over_time(timelines))
    pictures = [partial(_draw, timelines, name) for name in ("cache", "asynchrony", BOTH)]
    plot(report.path(".png"), *pictures)
    return report.close()


def _whole_list(count: int) -> Table:
    """Computed time for the whole list; the first seconds show little effect of a cache."""
    title = f"One by one through all {count:,} names, computed from the delays"
    table = Table(title, "variant", "hours", "answered by the cache, %", "factor")
    (without, _), (cached, hits) = _serial(count, 0), _serial(count, _CACHE)
    table.add("without cache", without / 3600, 0, "1.0x")
    table.add("with cache", cached / 3600, 100 * hits / count, f"{without / cached:.1f}x")
    return table


def _serial(count: int, size: int) -> tuple[float, int]:
    """Seconds for all questions one by one, and cache hits, with a cache of `size` names."""
    expiries: OrderedDict[int, float] = OrderedDict()
    passed, hits = 0.0, 0
    for number in names.zipf(count):
        if expiries.get(number, -1.0) > passed:
            expiries.move_to_end(number)
            hits += 1
            continue
        passed += delay(wire.question(names.host(number), wire.A))
        expiries[number] = passed + _CACHE_TIME
        expiries.move_to_end(number)
        if len(expiries) > size:
            expiries.popitem(last=False)
    return passed, hits


def _over_time(timelines: dict[str, Timeline]) -> Table:
    """Names resolved at each second."""
    table = Table("Names done", "seconds", *timelines)
    last = max(line.samples[-1][0] for line in timelines.values())
    for second in range(1, round(last) + 1):
        table.add(second, *(_done_by(line, second) for line in timelines.values()))
    return table


def _done_by(line: Timeline, second: float) -> int:
    return max(done for at, done in line.samples if at <= second + _SAMPLE / 2)


def _draw(timelines: dict[str, Timeline], name: str, axes: Axes) -> None:
    for shown_name in (BLOCKING, "neither", name):
        if shown_name in timelines:
            axes.plot(*zip(*timelines[shown_name].samples[1:], strict=True), label=shown_name)
    axes.set(title=name, xlabel="seconds", ylabel="names resolved", yscale="log")
    axes.legend()
