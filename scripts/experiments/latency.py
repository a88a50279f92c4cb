"""Names resolved over time, with and without cache, with and without asynchrony.

A million names with a crawl's repetition go to a name server on loopback that answers as
late as those of the crawlers' papers. What is compared with: `socket.gethostbyname`, name
by name, as a program does that does not care about names.
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
from experiments.report import Report, Table
from experiments.runs import CLIENT, kept_on, say, warn_of_load
from experiments.slowserver import delay, question
from larbinpy.dns import NameCache, Resolver
from larbinpy.dns.bulk import resolve_names
from larbinpy.loop.clock import clock
from larbinpy.loop.poller import Poller

ABOUT = f"""\
Names from a list with a crawl's repetition (Zipf, exponent {names.EXPONENT}, drawn from
{names.HOSTS:,} hosts) through a name server that answers 98 % of the names after 10 to 100 ms
and 2 % after 1 to 3 s, always the same for a name. The cache holds 50,000 names, as the
source's does; without it the resolver remembers one. Without asynchrony a name is asked for
when the one before it is known. A name that is wanted while it is being asked for is asked
for once, in the rows with asynchrony too."""

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
    """How many names were done when, from its making on for `limit` seconds."""

    limit: float
    done: int = 0
    failed: int = 0
    started: float = field(default_factory=clock)
    #: Seconds since the start, and names done by then; at least one of each second.
    samples: list[tuple[float, int]] = field(default_factory=lambda: [(0.0, 0)])

    @property
    def passed(self) -> float:
        return clock() - self.started

    @property
    def is_over(self) -> bool:
        return self.passed >= self.limit

    def add(self, count: int) -> None:
        """So many more are done; those after the end do not count."""
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
    """Run all variants, `seconds` each at most; returns the tables."""
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
        verdict = "met" if met else "MISSED"
        report.note(f"At least {FACTOR} times gethostbyname with cache and asynchrony: {verdict}.")
    report.table(_whole_list(count))
    report.table(_over_time(timelines))
    pictures = [partial(_draw, timelines, name) for name in ("cache", "asynchrony", BOTH)]
    plot(report.path(".png"), *pictures)
    return report.close()


def _whole_list(count: int) -> Table:
    """The first seconds show little of a cache: what one question at a time would take."""
    title = f"One by one through all {count:,} names, computed from the delays"
    table = Table(title, "variant", "hours", "answered by the cache, %", "factor")
    (without, _), (cached, hits) = _serial(count, 0), _serial(count, _CACHE)
    table.add("without cache", without / 3600, 0, "1.0x")
    table.add("with cache", cached / 3600, 100 * hits / count, f"{without / cached:.1f}x")
    return table


def _serial(count: int, size: int) -> tuple[float, int]:
    """Seconds that the questions take, and names that need none, with a cache of `size`."""
    expiries: OrderedDict[int, float] = OrderedDict()
    passed, hits = 0.0, 0
    for number in names.zipf(count):
        if expiries.get(number, -1.0) > passed:
            expiries.move_to_end(number)
            hits += 1
            continue
        passed += delay(question(names.host(number)))
        expiries[number] = passed + _CACHE_TIME
        expiries.move_to_end(number)
        if len(expiries) > size:
            expiries.popitem(last=False)
    return passed, hits


def _over_time(timelines: dict[str, Timeline]) -> Table:
    """Names done at each second, and at the end of those that ended earlier."""
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
