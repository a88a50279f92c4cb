"""The engine: one turn of the loop after another. It tells all others the time.

Larbin's main loop was seven lines, and so is `Engine.turn`: each is a stage, each takes
a bounded batch, and no stage calls another. They meet at the frontier's queues.
"""

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Protocol

from larbinpy.dns.lookup import Answer
from larbinpy.dns.resolver import Resolver
from larbinpy.fetch.fetcher import Fetcher
from larbinpy.fetch.settings import Request
from larbinpy.frontier.frontier import Frontier
from larbinpy.frontier.media_types import Types
from larbinpy.loop.clock import Clock, clock, wall
from larbinpy.loop.poller import Poller
from larbinpy.outcome import Outcome
from larbinpy.output.plug import NO_REFRESH, Refresher, ReplyListener
from larbinpy.page import Fate, Page
from larbinpy.parse import Link, Parsed, redirect_target
from larbinpy.stats.counters import Stats
from larbinpy.url import Url, hash64
from larbinpy.workers.pool import Reader

#: RFC 9309, 2.5: at least 500 KiB of a robots.txt are read.
ROBOTS_SIZE = 512 * 1024
#: Pages read in one turn, and how long that may go on (s): parsing is the dear part, some
#: pages are made to be dear, and sockets must not wait for it.
_PAGES = 32
_SLICE = 0.02
#: Fates written down in one turn.
_FATES = 500
#: Names asked for in one turn.
_NAMES = 200
#: Requests opened in one turn.
_REQUESTS = 100
#: Stands for the address of a site that only the proxy knows.
BY_PROXY = "proxy"
#: No turn waits longer, so that the second's work is never late (s).
_LONGEST_WAIT = 1.0


class FateSink(Protocol):
    """Where fates are written down."""

    def write(self, fate: Fate) -> None: ...


class Listener(Protocol):
    """What people talk to: stepped once a turn for its time-outs."""

    @property
    def deadline(self) -> float | None: ...

    def step(self, now: float) -> None: ...


@dataclass(slots=True, frozen=True)
class EngineSettings:
    """The part of the configuration that the engine itself works by."""

    max_page_size: int
    ignore_robots: bool
    no_duplicate: bool
    #: Only pages of specificSet go to the output.
    specific_search: bool
    #: All requests go through a proxy.
    proxied: bool


@dataclass(slots=True)
class Mode:
    """What the operator wants of the engine, as it may change while it runs."""

    #: No request is opened.
    paused: bool = False
    #: Only the transfers in flight are brought to their end.
    draining: bool = False
    #: People may bring something to do where there is nothing.
    staying: bool = False
    #: limitPage; 0 for none.
    limit_page: int = 0
    #: A time that no wait may pass, as something ends then; None for none.
    until: float | None = None
    #: When there is something to do between the turns.
    wake_at: float = float("inf")
    #: Until then nothing is done that wants room on the disk.
    stalled_until: float = float("-inf")


class Engine:
    """The stages of the crawl in their order."""

    def __init__(
        self,
        settings: EngineSettings,
        mode: Mode,
        poller: Poller,
        frontier: Frontier,
        resolver: Resolver,
        fetcher: Fetcher,
        reader: Reader,
        types: Types,
        output: ReplyListener,
        registers: Sequence[FateSink],
        stats: Stats,
        listeners: Sequence[Listener] = (),
        keeper: Refresher = NO_REFRESH,
        *,
        clock: Clock = clock,
        wall: Clock = wall,
    ) -> None:
        self._settings = settings
        self._mode = mode
        self._poller = poller
        self._frontier = frontier
        self._resolver = resolver
        self._fetcher = fetcher
        self._reader = reader
        self._types = types
        self._output = output
        self._registers = registers
        self._stats = stats
        self._listeners = listeners
        self._keeper = keeper
        self._clock = clock
        self._wall = wall
        # Pages that have come in, with what they say where they were read already.
        self._landed: deque[tuple[Page, Parsed | None]] = deque()
        self._woke = clock()
        # Whether there is no room on the disk, for this turn.
        self._stalled = False

    def __repr__(self) -> str:
        stages = (self._fetcher, self._reader, self._resolver, self._frontier)
        return f"<Engine {self._mode} {' '.join(map(repr, stages))}>"

    def turn(self) -> float:
        """One turn through all stages; returns the time it began."""
        now = self._clock()
        self._stalled = now < self._mode.stalled_until
        self.input(now)
        self.sequencer(now)
        self.fetch_dns(now)
        self.fetch_open(now)
        self.check_all(now)
        self.poll(now)
        return now

    @property
    def idle(self) -> bool:
        """Nothing is in flight and nothing waits to be looked at."""
        return self._fetcher.busy == 0 and not self._arrived

    @property
    def out_of_work(self) -> bool:
        """No URL is owed any more."""
        return self.idle and self._frontier.owed == 0

    @property
    def limit_reached(self) -> bool:
        """limitPage is met."""
        return 0 < self._mode.limit_page <= self._stats.success

    def input(self, now: float) -> None:
        """People: seeds and commands come in through the poller's callbacks."""
        for listener in self._listeners:
            listener.step(now)

    def sequencer(self, now: float) -> None:
        """Store -> NamedSites, behind the isGet gate."""
        if not (self._mode.draining or self._stalled):
            self._frontier.sequence(now)

    def fetch_dns(self, now: float) -> None:
        """NamedSites -> resolver -> NamedSites."""
        for answer in self._resolver.step(now):
            self._frontier.resolved(answer, now)
        for told in self._resolver.told:
            self._output.resolved(told)
        for _ in range(0 if self._mode.draining else min(_NAMES, self._resolver.room)):
            question = self._frontier.next_name()
            if question is None:
                break
            self._ask(*question, now)

    def _ask(self, name: str, refresh: bool, now: float) -> None:
        if not self._settings.proxied:
            answer = self._resolver.ask(name, now, refresh=refresh)
        else:
            # The proxy looks names up; what needs no look-up is refused here all the same.
            answer = self._resolver.at_hand(name) or Answer(name, (BY_PROXY,), None)
        if answer is not None:
            self._frontier.resolved(answer, now)

    def fetch_open(self, now: float) -> None:
        """IPSites whose wait is over -> fetcher."""
        for _ in range(min(_REQUESTS, self._openable)):
            due = self._frontier.take(now)
            if due is None:
                break
            self._fetcher.start(self._request(*due), now)

    @property
    def _openable(self) -> int:
        """How many requests may be opened: limitPage is met, not exceeded.

        A page that is still to be read holds its connexion's place: where reading is the slow
        part, pages would pile up.
        """
        mode = self._mode
        if mode.paused or mode.draining or self._stalled:
            return 0
        free = max(0, self._fetcher.free - self._arrived)
        if not mode.limit_page:
            return free
        under_way = self._stats.success + self._fetcher.busy + self._arrived
        return max(0, min(free, mode.limit_page - under_way))

    @property
    def _arrived(self) -> int:
        """Pages that have arrived and were not read yet."""
        return len(self._landed) + self._reader.busy

    def _request(self, url: Url, address: str) -> Request:
        if url.robots_for is not None:
            return Request(url, address, _any, ROBOTS_SIZE)
        accept = _any if url.requisite else partial(self._types.refuse, url.href)
        conditions = self._keeper.conditions(url.href)
        return Request(url, address, accept, self._settings.max_page_size, conditions)

    def check_all(self, now: float) -> None:
        """Fetcher -> parse -> output; links go back to the top, failures to their sites."""
        landed = self._fetcher.step(now)
        for page in landed:
            self._stats.received(page)
        self._landed.extend((page, None) for page in landed)
        if self._stalled:
            return
        # Transfers may have ended since the turn began, and waits count from their ends; those
        # of pages that are read beside, from when they come back.
        now = self._clock()
        enough = now + _SLICE
        for done in range(_PAGES):
            if done and self._clock() > enough:
                break
            if not (self._take_landed(now) or self._take_read(now)):
                break
        for page in self._frontier.decided(_FATES):
            if page.outcome is not Outcome.SUCCESS:
                self._output.failed(page.url, page.outcome)
            self._write_down(page)

    def _take_landed(self, now: float) -> bool:
        """Go on with a page that has arrived; was there one that could be?"""
        if not self._can_take_landed:
            return False
        page, parsed = self._landed.popleft()
        if page.url.robots_for is not None:
            self._tell(page)
            self._frontier.robots_done(page, now, self._wall())
        else:
            self._consult(page)
            self._finish(page, parsed, now)
        return True

    @property
    def _can_take_landed(self) -> bool:
        """Is there a page that has arrived, and room for it where it is to be read?"""
        if not self._landed or self._reader.room:
            return bool(self._landed)
        page, parsed = self._landed[0]
        to_read = page.outcome is Outcome.SUCCESS and page.url.robots_for is None
        return parsed is not None or not to_read

    def _take_read(self, now: float) -> bool:
        """Go on with a page that was read beside; was there one?"""
        found = self._reader.take()
        if found is not None:
            self._finish(*found, now)
        return found is not None

    def _finish(self, page: Page, parsed: Parsed | None, now: float) -> None:
        """Bring a page to its end, or have it read where that is what it needs."""
        if page.outcome is Outcome.SUCCESS:
            digests = self._digests(page)
            if not any(digest in self._frontier.digests for digest in digests):
                if parsed is None:
                    parsed = self._reader.read(page)
                if parsed is not None:
                    self._loaded(page, parsed, digests, now)
                return
            page.outcome = Outcome.DUPLICATE
        self._tell(page)
        if self._frontier.finished(page, now, self._wall()) and page.outcome is Outcome.ERR_30X:
            self._admit(page.url, redirect_target(page), now, redirect=True)

    def _consult(self, page: Page) -> None:
        """Who keeps pages comes first, too: for nothing is decided yet if the disk refuses."""
        try:
            if page.not_modified:
                self._keeper.unchanged(page)
            elif page.outcome is Outcome.ERR_30X:
                for link in redirect_target(page):
                    self._keeper.moved(page.url.href, link.url)
        except OSError:
            self._landed.appendleft((page, None))
            raise

    def _digests(self, page: Page) -> list[int]:
        """What copies of a page are known by: nothing where its body stayed on the disk."""
        unread = page.not_modified and not page.body
        return [hash64(page.body)] if self._settings.no_duplicate and not unread else []

    def _loaded(self, page: Page, parsed: Parsed, digests: list[int], now: float) -> None:
        """Output comes first: a page that cannot be written is still owed, and still new."""
        page.charset = parsed.charset
        page.links = [link.url for link in parsed.links]
        kept = not parsed.noindex or self._settings.ignore_robots
        if kept and (not self._settings.specific_search or self._types.specific(page.type)):
            self._put_out(page, self._output.loaded, parsed)
        if digests:
            self._frontier.digests.add(digests)
        self._frontier.finished(page, now, self._wall())
        links = parsed.links
        if not self._settings.ignore_robots:
            links = [] if parsed.nofollow else [link for link in links if not link.nofollow]
        self._stats.links += len(parsed.links)
        self._admit(page.url, links, now)

    def _tell(self, page: Page) -> None:
        """What is no page to keep is something that a server said, all the same."""
        if page.status:
            self._put_out(page, self._output.replied)

    def _put_out(
        self, page: Page, put: Callable[[Page], None], parsed: Parsed | None = None
    ) -> None:
        """A page that the disk refuses comes first the next time, and need not be read again."""
        try:
            put(page)
        except OSError:
            self._landed.appendleft((page, parsed))
            raise

    def _admit(
        self, parent: Url, links: Sequence[Link], now: float, *, redirect: bool = False
    ) -> None:
        """Early asking: names are looked up while their URLs wait in the store."""
        names = self._frontier.admit(parent, links, now, redirect=redirect)
        if not self._settings.proxied:
            self._resolver.expect(names, now)

    def _write_down(self, page: Page) -> None:
        fate = Fate.of(page, self._wall())
        self._stats.decided(page.outcome, fate)
        for register in self._registers:
            register.write(fate)

    def poll(self, now: float) -> None:
        """Wait for sockets until the first stage wants its next turn."""
        frontier = None
        if not (self._mode.draining or self._stalled):
            can_ask = self._resolver.room > 0
            frontier = self._frontier.deadline(now, can_open=self._openable > 0, can_ask=can_ask)
        deadlines = [
            frontier,
            self._resolver.deadline,
            self._fetcher.deadline,
            self._mode.until,
            self._mode.wake_at,
            self._mode.stalled_until if self._stalled else None,
            *(listener.deadline for listener in self._listeners),
        ]
        until = min((d for d in deadlines if d is not None), default=now + _LONGEST_WAIT)
        can_go_on = self._can_take_landed or self._reader.ready
        at_once = not self._stalled and (can_go_on or self._awaits_nothing)
        self._stats.turn_took(self._clock() - self._woke)
        self._poller.wait(0.0 if at_once else min(until - now, _LONGEST_WAIT))
        self._woke = self._clock()

    @property
    def _awaits_nothing(self) -> bool:
        """Is the crawl to end, so that no socket is worth waiting for?"""
        if self._mode.staying:
            return False
        return self.idle if self._mode.draining else self.out_of_work or self.limit_reached


def _any(media_type: str) -> Outcome | None:
    return None
