"""A crawl without network, clock or process, of which only the files are real.

`ValueCrawl` fetches `WEB`, a few dozen pages, in a folder. Frontier, crawl log, saved pages and
checkpoints are the real ones, connected and called as the engine does it. A seed decides the
order of pages. It also keeps an account of what was done, and of what each checkpoint must hold.
"""

import json
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from math import inf
from pathlib import Path
from random import Random
from typing import Any

import pytest

from larbinpy.crawl.on_disk import saved_by
from larbinpy.dns.lookup import Answer
from larbinpy.output.log import CrawlLog
from larbinpy.output.plug import NullOutput, Outputs, SeveralOutputs
from larbinpy.output.save import SaveOutput
from larbinpy.page import Fate, Outcome, Page
from larbinpy.storage.files import LineFile
from larbinpy.storage.sizes import FrontierSizes, SeenSizes, StoreSizes, TableSizes
from larbinpy.storage.state import Checkpoints, State
from larbinpy.url import Url, fingerprint, hash64
from tests.support.frontiers import MANY, WALL, digests_of, links, make_frontier, owed

#: Sizes with which a few dozen URLs have the effects of millions: several files of queues, a table
#: of fingerprints that grows and its images, and deletions of both.
SIZES = StoreSizes(lines=4, file_size=250, site_lines=2, most_read=500)
SEEN_SIZES = SeenSizes(
    batch=4,
    waiting=3,
    image_after=3,
    piece=200,
    write_back=128,
    cut_off=100,
    table=TableSizes(region_bits=3, width=3, tail=2, growth=1),
)


@contextmanager
def small_parts() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        # The remains of a power cut are copies, so their inodes differ.
        patch.setattr(LineFile, "number", 1)
        yield


def _address(host: str) -> str:
    """A different address for each site, as an address serves one request at a time."""
    return f"198.51.100.{ord(host[0])}"


def _web(**sizes: int) -> dict[str, list[str]]:
    """Sites with a tree of pages, each of which links to a page of the next site, too."""
    hosts = list(sizes)
    web: dict[str, list[str]] = {}
    for host, after in zip(hosts, [*hosts[1:], hosts[0]], strict=True):
        for number in range(sizes[host]):
            found = [(host, 2 * number + 1), (host, 2 * number + 2), (after, number // 2)]
            web[_page(host, number)] = [_page(*each) for each in found if each[1] < sizes[each[0]]]
    return web


def _page(host: str, number: int) -> str:
    return f"http://{host}.test/{number}"


#: The links of each page.
WEB = _web(a=16, b=5, c=3, gone=2, d=6)
_SEEDS = (_page("a", 0), _page("b", 0), _page("d", 0))
FINGERPRINTS = {href: fingerprint(href) for href in WEB}
_UNRESOLVED = "gone.test"
_MOST_TURNS = 500


def _fetched(url: Url) -> Page:
    """The reply to a request: some pages are missing, some succeed at the second try."""
    number = int(url.href.rpartition("/")[2])
    if number % 10 == 9:
        return Page(url, Outcome.ERR_40X, status=404)
    if number % 6 == 4 and not url.attempt:
        return Page(url, Outcome.TIMEOUT)
    return Page(url, Outcome.SUCCESS, status=200, body=_body(url.href))


def _body(href: str) -> bytes:
    return f"This is {href}".encode()


@dataclass(frozen=True, slots=True)
class Account:
    """The work of a crawl, as it was done or as its files show it."""

    seen: frozenset[str]
    #: The URLs in the crawl log, in its order.
    decided: tuple[str, ...]
    #: The URLs in the index of the saved pages, in its order.
    saved: tuple[str, ...]

    @property
    def owed(self) -> list[str]:
        return sorted(self.seen.difference(self.decided))

    @property
    def is_whole(self) -> bool:
        """Whether each URL of the web was decided once."""
        return self.seen == frozenset(WEB) and sorted(self.decided) == sorted(WEB)


NOTHING = Account(frozenset(), (), ())


def _is_good(href: str) -> bool:
    """Whether its last try succeeds."""
    last = _fetched(Url(href, 0, attempt=1))
    return _UNRESOLVED not in href and last.outcome is Outcome.SUCCESS


@dataclass
class ValueCrawl:
    """A run of the crawl, from the beginning or from the state saved in `folder`.

    `disk` flushes the pages to the disk, as `larbinpy.storage.syncing` does.
    """

    folder: Path
    random: Random = field(default_factory=lambda: Random(1))
    pages: bool = False
    disk: Any = None
    scratch: bool = False

    def __post_init__(self) -> None:
        self.frontier = make_frontier(
            self.folder,
            max_urls=6,
            retries=2,
            retry_wait=3.0,
            ignore_robots=True,
            sizes=SIZES,
            frontier_sizes=FrontierSizes(batch=5),
            seen_sizes=SEEN_SIZES,
        )
        self.output: Outputs = NullOutput()
        if self.pages:
            pages = SaveOutput(self.folder / "pages", files_per_folder=9)
            self.output = SeveralOutputs({"save": pages})
        self.log = CrawlLog(self.folder / "crawl.jsonl")
        self.state = State(self.folder)
        self.parts = saved_by(self.frontier, self.log, self.output, self.disk)
        self.checkpoints = Checkpoints(self.state, self.parts, 0.0)
        self.now = 100.0
        self._flying: list[Url] = []
        self._landed: deque[Page] = deque()
        self._seen: set[str] = set()
        self._decided: list[str] = []
        self._saved: list[str] = []
        #: Whether a checkpoint named an image of seen.
        self.had_images = False
        #: The accounts of the last committed checkpoint and of those begun since.
        self.saves: list[Account] = [NOTHING]

    def open(self) -> None:
        """Begin, or resume the saved state."""
        if self.scratch:
            self.saves.append(NOTHING)
            self.state.clear(self.parts)
            del self.saves[:-1]
        elif self.state.exists:
            ended = self.state.load(self.parts, self.now)
            self.frontier.resume(self.now, ended=ended)
            found = self.found()
            self._seen, self._decided = set(found.seen), list(found.decided)
            self._saved = list(found.saved)
            self.saves = [found]
        for href in _SEEDS:
            self.frontier.seed(href)
            self._seen.add(href)

    def close(self) -> None:
        """End as a killed process does: the content of the memory is lost."""
        self.frontier.close()
        self.log._waiting.clear()
        self.log.close()
        self.output.close()

    # The account.

    def account(self) -> Account:
        """The work done, as this object recorded it."""
        return Account(frozenset(self._seen), tuple(self._decided), tuple(self._saved))

    def found(self) -> Account:
        """The work done, as the loaded state shows it; AssertionError if its parts disagree."""
        seen = self.frontier.seen
        known = {href for href, number in FINGERPRINTS.items() if number in seen}
        assert len(seen) == len(known), "seen holds URLs that were not found"
        lines = (self.folder / "crawl.jsonl").read_bytes().splitlines()
        decided = [json.loads(line)["url"] for line in lines]
        assert len(decided) == len(set(decided)), "decided twice"
        # Otherwise a URL that was seen and is in no queue would never be fetched.
        account = Account(frozenset(known), tuple(decided), tuple(self._index()))
        assert owed(self.frontier) == account.owed, "not each is queued or decided"
        # Otherwise a page would be taken for a duplicate of itself.
        good, digests = list(filter(_is_good, decided)), digests_of(self.frontier)
        # Sites and addresses are there as well, to be counted.
        sites = {Url(href, 0).site for href in FINGERPRINTS}
        keys = [f"\0site {site}" for site in sites]
        keys += {f"\0address {_address(Url(href, 0).host)}" for href in FINGERPRINTS}
        counted = sum(fingerprint(key) in digests for key in keys)
        assert len(digests) == len(good) + counted
        assert all(hash64(_body(href)) in digests for href in good)
        assert not self.pages or sorted(account.saved) == sorted(good)
        return account

    def _index(self) -> Iterator[str]:
        """The URLs of the saved pages, in order; asserts that the pages are complete."""
        for folder in sorted((self.folder / "pages").glob("d*")):
            lines = (folder / "index").read_text().splitlines()
            for line in lines:
                number, href = line.split()
                assert (folder / f"f{int(number):05}").read_bytes() == _body(href)
                yield href

    # The crawl.

    def run(self, checkpoints: float = inf, *, slow: float = 0.0) -> None:
        """Continue to the end, or until this many checkpoints were made.

        In the share `slow` of the turns, no step of a checkpoint is made.
        """
        self.save()
        for _ in range(_MOST_TURNS):
            self.turn()
            if not (self.checkpoints.under_way and self.random.random() < slow):
                checkpoints -= self.save_some()
                if checkpoints <= 0:
                    return
            if not self.frontier.owed and not self._landed:
                self.save(ended=True)
                return
        raise AssertionError(f"no end: {self.frontier!r}")

    def turn(self) -> None:
        """A turn of the engine. After an OSError the next turn continues."""
        self.now += 1.0
        frontier = self.frontier
        frontier.sequence(self.now)
        while question := frontier.next_name():
            name = question[0]
            answer = Answer(name, (_address(name),), None)
            if name == _UNRESOLVED:
                answer = Answer(name, (), "nxdomain")
            frontier.resolved(answer, self.now)
        while due := frontier.take(self.now):
            self._flying.append(due[0])
        for _ in range(min(len(self._flying), self.random.randrange(3))):
            at = self.random.randrange(len(self._flying))
            self._landed.append(_fetched(self._flying.pop(at)))
        while self._landed:
            self._land(self._landed[0])
            self._landed.popleft()
        for page in frontier.decided(MANY):
            self._write_down(page)
        if self.random.random() < 0.3:
            self.log.flush()

    def _land(self, page: Page) -> None:
        """Take a page as the engine does: if it cannot be saved, it is still owed."""
        href = page.url.href
        if page.outcome is Outcome.SUCCESS:
            assert not self.frontier.is_duplicate([hash64(page.body)])
            self.output.loaded(page)
            if self.pages:
                self._saved.append(href)
            self.frontier.remember([hash64(page.body)])
        decided = self.frontier.replied(page, self.now, WALL + self.now)
        if decided and page.outcome is Outcome.SUCCESS:
            self.frontier.admit(page.url, links(*WEB[href]), self.now)
            self._seen.update(WEB[href])

    def _write_down(self, page: Page) -> None:
        self.log.write(Fate.of(page, WALL + self.now))
        self._decided.append(page.url.href)

    # Checkpoints.

    def save_some(self) -> bool:
        """Make a step of a checkpoint; return whether it was the last one."""
        if not self.checkpoints.under_way:
            self.checkpoints.begin(self.now)
            self.saves.append(self.account())
        self.checkpoints.step()
        return self._count()

    def save(self, *, ended: bool = False) -> None:
        """Make a whole checkpoint."""
        self.saves.append(self.account())
        self.checkpoints.save(self.now, ended=ended)
        self._count()

    def _count(self) -> bool:
        if not self.checkpoints.under_way:
            del self.saves[:-1]
            manifest = json.loads((self.folder / "state.json").read_bytes())
            self.had_images |= manifest["seen"]["table"] is not None
        return not self.checkpoints.under_way
