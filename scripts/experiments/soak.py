"""A long crawl of an endless web: does it slow down, does its memory grow?

Larbin slows down as its queues fill with URLs of few sites, according to its study. Here a
crawl runs for an hour, and its status is read at regular intervals.
"""

import json
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any
from urllib.request import urlopen

from matplotlib.axes import Axes

from experiments import endless
from experiments.plots import plot
from experiments.report import Report, Table, verdict
from experiments.runs import CLIENT, PYTHON, kept_on, say, serving

SITES = 20_000
SEEDS = 100
_SAMPLES = 240
#: Seconds until memory must have settled, and its highest relative growth afterwards.
SETTLING, FLAT_BOUND = 600, 0.05
#: Least speed of the last quarter, relative to the first.
SPEED_BOUND = 0.97

CONF = """\
From soak@example.test
UserAgent larbinpy-soak
waitDuration {wait}
pagesConnexions 200
depthInSite 1000000
allowPrivate
httpPort {port}
stateDir {folder}/state
"""

#: Bytes of a URL in seen, as `scale` measures. That part of the memory must grow.
_SEEN_BYTES = 15

ABOUT = f"""\
A web of {SITES:,} sites, each at its own loopback address and with endless pages. 24 links of a
page stay on the site, two of them to new pages; 8 links go to other sites, most to the sites
with low numbers. The server has one core, the crawl the other. Memory does not include the
{_SEEN_BYTES} bytes that each URL seen takes permanently."""


def run(out: Path, *, quick: bool, seconds: float, wait: float) -> str:
    """Crawl for `seconds`; returns the tables."""
    if quick:
        seconds = min(seconds, 20)
    report = Report(out, "soak", f"{ABOUT} waitDuration was {wait:g} s.")
    samples = list(crawled(SITES, seconds, wait))
    report.table(_quarters(samples))
    report.note("\n".join(_verdicts(samples, seconds)))
    draws = [partial(_draw, samples, key, scale) for key, scale in _PICTURES]
    plot(report.path(".png"), partial(_draw_speed, samples), *draws)
    return report.close()


#: Figures of a crawl's status, and the time (s).
Sample = dict[str, float]

_PICTURES = (("MB", 1.0), ("sites in memory", 1.0), ("URLs queued", 1.0))


def crawled(sites: int, seconds: float, wait: float) -> Iterator[Sample]:
    """Samples of a crawl of endless sites, at regular intervals for `seconds`."""
    command = [PYTHON, "-m", "experiments.endless", str(sites)]
    with (
        tempfile.TemporaryDirectory(dir=Path.cwd(), prefix="soak-") as folder,
        serving(command) as (line, _),
    ):
        web = int(line)
        with _crawler(Path(folder), web, min(SEEDS, sites), wait) as (crawler, port):
            yield from _sampled(crawler, port, seconds)


@contextmanager
def _crawler(
    folder: Path, web: int, seeded: int, wait: float
) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    port = 20_000 + web % 10_000
    conf = folder / "larbin.conf"
    conf.write_text(CONF.format(folder=folder, port=port, wait=wait))
    seeds = folder / "seeds"
    hosts = (endless.address(site) for site in range(seeded))
    seeds.write_text("".join(f"http://{host}:{web}/\n" for host in hosts))
    options: list[str | Path] = ["-c", conf, "-i", seeds, "--progress", "none"]
    with kept_on(CLIENT):
        crawler = subprocess.Popen([PYTHON, "-m", "larbinpy", "crawl", *options])
    try:
        yield crawler, port
    finally:
        crawler.terminate()
        crawler.wait(60)


def _sampled(crawler: subprocess.Popen[bytes], port: int, seconds: float) -> Iterator[Sample]:
    while crawler.poll() is None and not _answers(port):
        time.sleep(0.1)
    began = time.monotonic()
    for number in range(1, _SAMPLES + 1):
        time.sleep(max(0.0, began + number * seconds / _SAMPLES - time.monotonic()))
        if crawler.poll() is not None:
            break
        status = _status(port)
        yield _sample(status, time.monotonic() - began, crawler.pid)
        if number % 24 == 0:
            say(f"  {100 * number // _SAMPLES} %: {status['totals']['success']:,} pages")


def _status(port: int) -> dict[str, Any]:
    with urlopen(f"http://127.0.0.1:{port}/status.json", timeout=10) as reply:
        status: dict[str, Any] = json.load(reply)
    return status


def _answers(port: int) -> bool:
    try:
        return bool(_status(port))
    except OSError:
        return False


def _sample(status: dict[str, Any], at: float, pid: int) -> Sample:
    resident = Path(f"/proc/{pid}/smaps_rollup").read_text()
    kibibytes = sum(int(line.split()[1]) for line in resident.splitlines() if "Anonymous:" in line)
    return {
        "at": at,
        "CPU": status["system"]["cpu_s"],
        "pages": status["totals"]["success"],
        "links": status["totals"]["links"],
        "URLs queued": status["totals"]["urls_queued"],
        "sites in memory": status["totals"]["sites"],
        "MB": (kibibytes * 1024 - _SEEN_BYTES * status["totals"]["urls_seen"]) / 1e6,
    }


def _quarters(samples: list[Sample]) -> Table:
    table = Table("Quarters", "quarter", "pages/s", "links/s", "MB at the end", "URLs queued")
    for number, (first, last) in enumerate(_bounds(samples), 1):
        took = last["at"] - first["at"]
        pages, links = (last[key] - first[key] for key in ("pages", "links"))
        table.add(number, pages / took, links / took, last["MB"], last["URLs queued"])
    return table


def _bounds(samples: list[Sample]) -> Iterator[tuple[Sample, Sample]]:
    begin: Sample = dict.fromkeys(samples[0], 0.0)
    for quarter in range(1, 5):
        last = samples[len(samples) * quarter // 4 - 1]
        yield begin, last
        begin = last


def _speeds(samples: list[Sample]) -> list[float]:
    return [(b["pages"] - a["pages"]) / (b["at"] - a["at"]) for a, b in _bounds(samples)]


def _verdicts(samples: list[Sample], seconds: float) -> Iterator[str]:
    first, *_, last = _speeds(samples)
    settled = [each["MB"] for each in samples if each["at"] >= min(SETTLING, seconds / 6)]
    spread = max(settled) / min(settled) - 1
    speed = last / first
    yield verdict(speed >= SPEED_BOUND, f"speed of the last quarter by the first: {speed:.3f}")
    yield verdict(spread <= FLAT_BOUND, f"memory after it settled: +{spread:.1%}")


def _draw_speed(samples: list[Sample], axes: Axes) -> None:
    pairs = [(a, b) for a, b in zip(samples, samples[4:], strict=False)]
    speeds = [(b["pages"] - a["pages"]) / (b["at"] - a["at"]) for a, b in pairs]
    axes.plot([b["at"] for _, b in pairs], speeds)
    axes.set(title="speed", xlabel="seconds", ylabel="pages/s", ylim=(0, None))


def _draw(samples: list[Sample], key: str, scale: float, axes: Axes) -> None:
    axes.plot([each["at"] for each in samples], [each[key] / scale for each in samples])
    axes.set(title=key, xlabel="seconds", ylim=(0, None))
