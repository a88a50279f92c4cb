"""One crawl in its own process, with its progress from second to second.

python -m experiments.crawls PLAN RESULT      (both JSON; RESULT is a file to write)
"""

import json
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from experiments import larbin
from experiments.runs import PYTHON, run
from larbinpy import Crawl, Start
from larbinpy.config import Config
from larbinpy.crawl.resources.frontier import KINDS
from larbinpy.crawl.resources.surroundings import Tuning
from larbinpy.dns.lookup import TRIES
from larbinpy.loop.clock import clock
from larbinpy.outcome import Outcome
from larbinpy.page import Page
from larbinpy.url import Url

#: Outcomes caused by the network or the server, not by the page.
FAILURES = (
    Outcome.NO_DNS,
    Outcome.FAST_NO_DNS,
    Outcome.NO_CONNECTION,
    Outcome.FAST_NO_CONN,
    Outcome.TIMEOUT,
    Outcome.EARLY_STOP,
    Outcome.ERR_50X,
)


@dataclass(frozen=True)
class Plan:
    """Settings of a crawl."""

    seeds: list[str]
    #: Time limit (s).
    seconds: float
    wait_duration: float
    max_urls_by_site: int = 10_000
    retries: int = 3
    #: Address and port of the name server; None for the system's.
    dns_server: tuple[str, int] | None = None
    #: Tries for a name; None for larbinpy's own number.
    dns_tries: int | None = None
    #: Period (s) of Larbin's sequencer, which replaces larbinpy's; None for larbinpy's.
    larbin_period: float | None = None


@dataclass(frozen=True)
class Result:
    """Progress and outcomes of a crawl."""

    #: For each second from 0 on: pages so far, links on them, distinct URLs among the links.
    samples: list[list[int]]
    outcomes: dict[str, int]
    #: As `larbinpy crawl --report` writes it.
    report: dict[str, Any]

    @property
    def pages(self) -> int:
        return self.samples[-1][0]

    @property
    def links(self) -> int:
        return self.samples[-1][1]

    @property
    def urls(self) -> int:
        return self.samples[-1][2]

    @property
    def failed(self) -> int:
        return sum(self.outcomes.get(outcome.value, 0) for outcome in FAILURES)


def crawl(plan: Plan, enter: Sequence[str] = ()) -> Result:
    """Crawl by `plan` in a process started through the command prefix `enter`."""
    with TemporaryDirectory(prefix="crawls-") as name:
        folder = Path(name)
        command = [PYTHON, "-m", "experiments.crawls", json.dumps(asdict(plan))]
        run([*enter, *command, folder / "result"], folder / "out")
        return Result(**json.loads((folder / "result").read_text()))


@dataclass
class Counts:
    """The output of the crawl, which counts pages and links."""

    started: float
    samples: list[list[int]] = field(default_factory=list)
    outcomes: Counter[str] = field(default_factory=Counter)
    links: int = 0
    _urls: set[str] = field(default_factory=set)

    def loaded(self, page: Page) -> None:
        self.sample(clock())
        self.outcomes[page.outcome.value] += 1
        self.links += len(page.links)
        self._urls.update(page.links)

    def failed(self, url: Url, outcome: Outcome) -> None:
        self.outcomes[outcome.value] += 1

    def sample(self, now: float) -> None:
        """Record the counts for each second that has passed."""
        while now - self.started >= len(self.samples):
            self.samples.append([self.outcomes["success"], self.links, len(self._urls)])

    def stats(self) -> dict[str, object]:
        return {}

    def close(self) -> None:
        pass


def main(plan: Plan, out: Path) -> None:
    kinds = KINDS if plan.larbin_period is None else larbin.kinds(clock, plan.larbin_period)
    tries = TRIES if plan.dns_tries is None else plan.dns_tries
    with TemporaryDirectory(prefix="crawl-") as folder:
        counts = Counts(clock())
        config, tuning = _config(plan, Path(folder)), Tuning(dns_tries=tries, kinds=kinds)
        crawl = Crawl(config, output=counts, start=Start.SCRATCH, tuning=tuning)
        crawl.run()
        # If the crawl ended early, the part of its last second counts, too.
        counts.sample(clock() + 1.0)
    # Transfers in flight may end shortly after the limit.
    samples = counts.samples[: int(plan.seconds) + 1]
    result = Result(samples, dict(counts.outcomes), crawl.report)
    out.write_text(json.dumps(asdict(result)))


def _config(plan: Plan, folder: Path) -> Config:
    return Config(
        start_url=tuple(plan.seeds),
        output_dir=str(folder / "save"),
        state_dir=str(folder / "state"),
        limit_time=plan.seconds,
        wait_duration=plan.wait_duration,
        max_urls_by_site=plan.max_urls_by_site,
        retries=plan.retries,
        dns_server=(plan.dns_server,) if plan.dns_server else (),
        # Reaches every page.
        depth_in_site=10**6,
        allow_private=True,
    )


def _read(text: str) -> Plan:
    values = json.loads(text)
    server = values.pop("dns_server")
    return Plan(**values, dns_server=(server[0], server[1]) if server else None)


if __name__ == "__main__":
    main(_read(sys.argv[1]), Path(sys.argv[2]))
