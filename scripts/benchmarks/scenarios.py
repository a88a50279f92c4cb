"""The scenarios: web, programs, and promised ratios of each."""

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from experiments.report import Table

from benchmarks.corpora import Corpus
from benchmarks.programs import FETCH, PARSE, Program, larbin, larbinpy, scrapy, wget, wget2
from benchmarks.ratios import Found, Ratio
from benchmarks.web import Web

_BESIDE_SCRAPY = (
    Ratio("times Scrapy's pages/s", "Scrapy", "rate", target=15),
    Ratio("times less CPU a page than Scrapy", "Scrapy", "cpu", inverse=True, target=15),
)
_BESIDE_WGET2 = Ratio("times wget2's pages/s", "wget2", "rate")
_LESS_THAN_WGET2 = Ratio("times wget2's CPU a page", "wget2", "cpu", more_is_better=False)
_ABOVE_FETCH = Ratio("times the fetch floor's CPU", FETCH.name, "cpu", more_is_better=False)
_ABOVE_PARSE = Ratio("times the fetch + parse floor's CPU", PARSE.name, "cpu", more_is_better=False)
_MORE_THAN_LARBIN = Ratio("times Larbin's CPU a page", "Larbin", "cpu", more_is_better=False)
_FLOORS = (_ABOVE_FETCH, _ABOVE_PARSE)


@dataclass(frozen=True)
class Given:
    """Programs that are no packages of the system; None if they do not take part."""

    #: The interpreter of Scrapy's environment.
    scrapy: Path | None
    #: The binary of Larbin.
    larbin: Path | None


@dataclass(frozen=True)
class Scenario:
    about: str
    web: Web
    hosts: int
    #: Hosts for Scrapy; 0 if it does not take part.
    scrapy_hosts: int
    others: tuple[Program, ...]
    ratios: tuple[Ratio, ...]
    #: outputMode.
    output: str = "none"
    #: Whether it runs for every corpus, with pages of the corpus's size.
    every: bool = False

    def web_of(self, corpus: Corpus) -> Web:
        return replace(self.web, size=corpus.size) if self.every else self.web

    def programs(self, given: Given, share: int) -> list[Program]:
        """The programs that crawl 1 / `share` of the hosts."""
        programs = [larbinpy(self.output), *self.others]
        if self.scrapy_hosts and given.scrapy is not None:
            programs.append(scrapy(given.scrapy, max(1, self.scrapy_hosts // share)))
        if self.scrapy_hosts and given.larbin is not None:
            programs.append(larbin(given.larbin))
        return programs


_PEERS = (FETCH, PARSE, wget2())
BROAD = Web(pages=40, size=33_000, group=20)

SCENARIOS: dict[str, Scenario] = {
    "broad": Scenario(
        "many sites of 40 pages",
        BROAD,
        2000,
        40,
        _PEERS,
        (
            replace(_BESIDE_SCRAPY[0], target=60),
            _BESIDE_SCRAPY[1],
            # wget2 uses both cores, larbinpy one.
            replace(_BESIDE_WGET2, target=0.8),
            replace(_LESS_THAN_WGET2, target=1.1),
            _ABOVE_FETCH,
            replace(_ABOVE_PARSE, target=1.6),
            _MORE_THAN_LARBIN,
        ),
        every=True,
    ),
    "above": Scenario(
        "pages that were cut out of deeper sites",
        replace(BROAD, above=6),
        1000,
        20,
        (FETCH, wget2()),
        (_BESIDE_WGET2, _LESS_THAN_WGET2, _ABOVE_FETCH, _MORE_THAN_LARBIN),
    ),
    "big": Scenario(
        "20 sites of 500 pages",
        Web(pages=500, size=33_000, group=4),
        20,
        4,
        _PEERS,
        (*_BESIDE_SCRAPY[:1], _BESIDE_WGET2, _LESS_THAN_WGET2, *_FLOORS),
        every=True,
    ),
    "tls": Scenario(
        "one page a site, over TLS, with names",
        Web(pages=1, size=33_000, group=20, tls=True),
        2000,
        0,
        (FETCH, PARSE),
        (replace(_ABOVE_FETCH, target=1.5), _ABOVE_PARSE),
    ),
    "large": Scenario(
        "large pages",
        Web(pages=20, size=150_000, group=10),
        200,
        20,
        _PEERS,
        (*_BESIDE_SCRAPY, _BESIDE_WGET2, *_FLOORS),
    ),
    "tiny": Scenario(
        "tiny pages",
        Web(pages=40, size=1_000, group=20),
        1000,
        100,
        _PEERS,
        (*_BESIDE_SCRAPY, _BESIDE_WGET2, *_FLOORS),
    ),
    "mirror": Scenario(
        "sites of 40 pages, written to the disk",
        BROAD,
        500,
        0,
        (wget2(mirror=True),),
        (replace(_BESIDE_WGET2, target=0.6), _LESS_THAN_WGET2),
        output="mirror",
        every=True,
    ),
    "warc": Scenario(
        "sites of 40 pages, written to WARC files",
        BROAD,
        200,
        0,
        (wget(),),
        (
            Ratio("times wget's pages/s", "wget", "rate"),
            Ratio("times wget's CPU a page", "wget", "cpu", more_is_better=False),
        ),
        output="warc",
    ),
}


@dataclass
class Outcome:
    """Results of one scenario."""

    about: str
    tables: list[Table] = field(default_factory=list)
    ratios: list[Found] = field(default_factory=list)
    raw: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Size:
    """Rounds and hosts of a run."""

    rounds: int
    #: Hosts; None for the number of each scenario.
    hosts: int | None
    #: A run crawls 1 / share of the hosts of each scenario.
    share: int

    def of(self, hosts: int, web: Web) -> int:
        return web.closed(self.hosts or max(1, hosts // self.share))
