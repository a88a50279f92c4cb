"""The frontier of a node: it takes the URLs of its own shards, and passes on the others.

Each URL of its own has an *origin*, its place in the journal. A URL whose shard has gone to another
node meanwhile is dropped as soon as it is met: the other node has it from Redis. Seeds go to the
nodes that own their shards as letters, whoever gives them (`Seeding`), and the area around the
seeds of a node widens the areas of the others (`SharedArea`).

The state that belongs to a shard (`SiteState`: what was counted of its sites, and their waits) is
noted in the journal when it changes, so that the next node continues with it. robots.txt, with its
Crawl-delay, is fetched again by that node; cookies stay where they are.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import compress
from operator import and_

from larbinpy.fleet.board import HOST, REDIRECT, SEED, AreaLog, entries_of
from larbinpy.fleet.journal import ShardJournal, pack
from larbinpy.fleet.redis.board import RedisBoard
from larbinpy.fleet.redis.overview import Asker
from larbinpy.fleet.vault import Away, FleetState, SiteWait, Then
from larbinpy.frontier.admission import Admission, key_of
from larbinpy.frontier.frontier import Frontier
from larbinpy.frontier.lifecycle import Judgement, SiteLifecycle
from larbinpy.frontier.politeness import SiteLimits, is_counted
from larbinpy.frontier.scope import SeedArea
from larbinpy.frontier.sequencer import Sequencer
from larbinpy.frontier.site import NamedSite
from larbinpy.frontier.traps import Traps
from larbinpy.page import Outcome, Page
from larbinpy.parse import Kind
from larbinpy.storage.fingerprint_table import FingerprintTable
from larbinpy.storage.queues import decode, encode
from larbinpy.storage.site_counts import SiteCounts
from larbinpy.storage.state import SavedPart, SavedValue
from larbinpy.url import Url, fingerprints, typed


class SharedArea(SeedArea):
    """A SeedArea that notes in `log` what widens it."""

    def __init__(self, stay: str, log: AreaLog, *, follows: bool = True) -> None:
        super().__init__(stay, follows=follows)
        self._log = log
        log.apply = self._apply

    def add(self, urls: Iterable[str], *, known: bool = False) -> None:
        for url in urls:
            [entry] = entries_of(self._stay, [url])
            if self._log.note(entry):
                super().add([url])

    def redirect(self, seed: str, targets: Iterable[str]) -> None:
        targets = list(targets)
        # With prefix it takes the folder of the seed away, which must be done once.
        is_done = self._stay == "prefix" and not self._log.note(_redirect(seed, targets))
        if not is_done:
            super().redirect(seed, targets)

    def _apply(self, entry: str) -> None:
        word, _, rest = entry.partition(" ")
        if word == HOST:
            self.load([rest], {})
        elif word == SEED:
            super().add([rest])
        elif word == REDIRECT:
            seed, *targets = rest.split(" ")
            super().redirect(seed, targets)


def _redirect(seed: str, targets: Iterable[str]) -> str:
    return " ".join((REDIRECT, seed, *targets))


#: The first letters of the names of counts: before a site, and before a key of `Traps`.
_PAGES, _BYTES, _TAKEN = "p", "b", "t"
#: A wait that is longer than waitDuration by less (s) is waitDuration, rounded.
_LONGER = 0.001


class SiteState:
    """Notes the state of sites that are served here, and takes over that of others."""

    def __init__(
        self,
        lifecycle: SiteLifecycle,
        counts: SiteCounts,
        traps: Traps,
        journal: ShardJournal,
        shard_of: Callable[[str], int],
    ) -> None:
        self._lifecycle = lifecycle
        self._counts = counts
        self._traps = traps
        self._journal = journal
        self._shard_of = shard_of
        traps.report = self._taken

    # -- what is noted

    def landed(self, page: Page, now: float, *, decided: bool = False) -> None:
        """Note the end of a request; `decided`: it decides the outcome of its URL."""
        site = self._lifecycle.registry.get(page.url.site)
        if site is None:
            return
        if site.quota is not None:
            self._count(site, site.quota.limits, page, decided)
        wait, (extra, usual) = site.next_at - now, site.pace.adapted
        if extra or wait > site.settings.waits.least + _LONGER:
            shard = self._shard_of(site.key)
            self._journal.wait(shard, site.key, SiteWait(wait, extra, usual))

    def _count(self, site: NamedSite, limits: SiteLimits, page: Page, decided: bool) -> None:
        counts = {}
        if limits.pages and is_counted(page):
            counts[_PAGES + site.key] = 1
        if limits.received and page.received:
            counts[_BYTES + site.key] = page.received
        if not counts:
            return
        if decided:
            self._journal.count_page(page.url.origin, counts)
        else:
            self._journal.count(self._shard_of(site.key), counts)

    def _taken(self, site: str, key: str, growth: int) -> None:
        shard = self._shard_of(site)
        # Links to others are counted by the node that gets them, too.
        if self._journal.serves(shard):
            self._journal.count(shard, {_TAKEN + key: growth})

    # -- what is taken over

    def load(self, counts: Mapping[str, int], waits: Mapping[str, SiteWait], now: float) -> None:
        """Continue with what another node has noted."""
        numbers: defaultdict[str, dict[str, int]] = defaultdict(dict)
        for name, number in counts.items():
            numbers[name[0]][name[1:]] = number
        self._traps.count_from(numbers[_TAKEN])
        for key in numbers[_PAGES].keys() | numbers[_BYTES].keys():
            # One of the two may come in another part of the shard.
            pages, received = self._counts.get(key)
            pages = numbers[_PAGES].get(key, pages)
            self._counts.put(key, pages, numbers[_BYTES].get(key, received))
            site = self._lifecycle.registry.get(key)
            if site is not None and site.quota is not None:
                site.quota.load()
                self._lifecycle.close_if_spent(site, now)
        for key, wait in waits.items():
            until = now + max(0.0, wait.seconds)
            self._lifecycle.registry.take_over(key, until, wait.extra, wait.usual)


#: Before the line of a seed that is to be fetched again.
AGAIN = "!"
#: The depth of a seed that has that of its site.
FULL_DEPTH = -1

#: A URL of a link, with its fingerprint and its shard.
_Found = tuple[Url, int, int]


class SharedAdmission(Admission):
    """Remembers what is new here, and passes on the links that other nodes decide on."""

    # Attributes, since the constructor is that of `Admission`.
    journal: ShardJournal
    shard_of: Callable[[str], int]
    # The URLs that were passed on. When a shard comes here, they must not look as if they were
    # queued: then all are forgotten, and some passed on again.
    _passed_on: FingerprintTable

    def begin(self, journal: ShardJournal, shard_of: Callable[[str], int]) -> None:
        """Note URLs in `journal`, by the shards of their sites."""
        self.journal = journal
        self.shard_of = shard_of
        self._passed_on = FingerprintTable()

    def shard_comes(self) -> None:
        """A shard comes here that was served elsewhere."""
        if len(self._passed_on):
            self._passed_on = FingerprintTable()

    def seed(
        self, text: str, *, depth: int | None, priority: bool, again: bool, label: str
    ) -> Url | Outcome | None:
        """As `Admission.seed`; None if the seed was passed on."""
        href = typed(text, views=self.scope.has_views)
        if href is None:
            return Outcome.BAD_URL
        self.scope.area.add([href])
        depth = self.scope.full_depth(href) if depth is None else depth
        url = Url(href, depth, priority=priority, seed=True, label=label)
        shard = self.shard_of(url.site)
        if self.journal.serves(shard):
            return self._take(url, shard, again=again)
        self.journal.letter(shard, (AGAIN if again else "") + encode(url))
        return None

    def receive(self, lines: Sequence[str]) -> list[Url]:
        """Take lines that were passed on to this node; return the URLs that are to be fetched."""
        # Several nodes find most URLs, so those that are known are left out first.
        hrefs = (line[line.startswith(AGAIN) : line.index(" ")] for line in lines)
        unseen = self.seen.unseen(fingerprints(hrefs))
        received = (
            self._receive(line)
            for line, is_unseen in zip(lines, unseen, strict=True)
            if is_unseen or line.startswith(AGAIN)
        )
        return [url for url in received if isinstance(url, Url)]

    def _receive(self, line: str) -> Url | Outcome:
        again = line.startswith(AGAIN)
        url = decode(line.removeprefix(AGAIN))
        if url.depth == FULL_DEPTH:
            url.depth = self.scope.full_depth(url.href)
        if url.seed:
            self.scope.area.add([url.href])
        # The node that found it counts in its own shards alone.
        elif not again and not self.traps.admits(url.href, _kind(url), url.via or ""):
            return Outcome.TRAP
        return self._take(url, self.shard_of(url.site), again=again)

    def _take(self, url: Url, shard: int, *, again: bool) -> Url | Outcome:
        key = key_of(url)
        [fresh] = self.seen.add([key])
        if not (fresh or again):
            return Outcome.URL_DUP
        self.has_repeats = self.has_repeats or not fresh
        url.origin = self.journal.put(shard, key, encode(url))
        return url

    def _absent(self, keys: list[int]) -> list[bool]:
        """As in `Admission`; URLs that were passed on count as met."""
        absent = super()._absent(keys)
        if not len(self._passed_on) or True not in absent:
            return absent
        return list(map(and_, absent, self._passed_on.absent(keys)))

    def _new(self, urls: list[Url], keys: list[int]) -> list[Url]:
        own: list[_Found] = []
        foreign: list[_Found] = []
        shards = [self.shard_of(url.site) for url in urls]
        for found in zip(urls, keys, shards, strict=True):
            (own if self.journal.serves(found[2]) else foreign).append(found)
        new = self._put(own) if own else []
        if foreign:
            self._pass_on(foreign)
        return new

    def _put(self, own: Sequence[_Found]) -> list[Url]:
        """Note those URLs that are new and wanted, and return them."""
        new = []
        for url, key, shard in compress(own, self.seen.add([key for _, key, _ in own])):
            # The plug is asked on the node that finds the link: what is noted has to be decided.
            if self._accepts(url):
                url.origin = self.journal.put(shard, key, encode(url))
                new.append(url)
        return new

    def _pass_on(self, foreign: Sequence[_Found]) -> None:
        """Pass on those URLs that were not passed on before."""
        fresh = self._passed_on.add([key for _, key, _ in foreign])
        self._passed_on.grow()
        for url, _, shard in compress(foreign, fresh):
            if self._accepts(url):
                self.journal.letter(shard, encode(url))
                # It would count as a link that was seen.
                self.refused[Outcome.URL_DUP] -= 1


def _kind(url: Url) -> Kind:
    """The kind of link that a URL that was passed on may have been, as far as `Traps` cares."""
    return Kind.IMAGE if url.requisite else Kind.PAGE


class SharedSequencer(Sequencer):
    """Notes the URLs that are decided."""

    journal: ShardJournal

    def take(self, most: int) -> Iterator[Url]:
        for url in super().take(most):
            if self.journal.holds(url.origin):
                yield url
            else:
                self.drop(url)

    def done(self, url: Url) -> None:
        super().done(url)
        self.journal.done(url.origin)

    def drop(self, url: Url) -> None:
        """Remove `url` from memory and store: another node has it."""
        super().done(url)


class Withdrawal:
    """Drops the URLs in memory whose shards went to other nodes; those in flight are left alone.

    A step examines `most` URLs of such shards, or ten times as many sites.
    """

    def __init__(
        self,
        lifecycle: SiteLifecycle,
        sequencer: SharedSequencer,
        is_here: Callable[[str], bool],
        most: int,
    ) -> None:
        """`is_here` tells whether the shard of a site is served here."""
        self._lifecycle = lifecycle
        self._sequencer = sequencer
        self._is_here = is_here
        self._most = most
        self._left = list(lifecycle.registry)

    @property
    def over(self) -> bool:
        return not self._left

    def step(self) -> None:
        examined = 0.0
        while self._left and examined < self._most:
            site = self._left.pop()
            examined += 0.1
            if site.held and not self._is_here(site.key):
                examined += site.held
                for url in self._lifecycle.remove(site, self._is_foreign):
                    self._sequencer.drop(url)

    def _is_foreign(self, url: Url) -> bool:
        return url.origin > 0 and not self._sequencer.journal.holds(url.origin)


class SharedFrontier(Frontier):
    """The frontier of a node."""

    sequencer: SharedSequencer
    admission: SharedAdmission
    shard_of: Callable[[str], int]
    _site_state: SiteState

    def begin(
        self, journal: ShardJournal, shard_of: Callable[[str], int], area: SeedArea | None = None
    ) -> None:
        """Note URLs in `journal`, by the shards of their sites; called before the first one.

        `area` takes the place of the one that belongs to this node alone.

        Files of an earlier session are deleted. Raises OSError.
        """
        if area is not None:
            self.scope.area = area
        self.store.clear()
        self.seen.clear()
        self.admission.begin(journal, shard_of)
        self.sequencer.journal = journal
        self.shard_of = shard_of
        self._site_state = SiteState(self.lifecycle, self._counts, self.traps, journal, shard_of)

    def take_over(
        self, counts: Mapping[str, int], waits: Mapping[str, SiteWait], now: float
    ) -> None:
        """Take over the state of sites of a shard; to be called before its URLs are loaded."""
        self._site_state.load(counts, waits, now)

    def load(self, keys: Iterable[int], lines: Iterable[tuple[int, str]]) -> None:
        """Take over the URLs of a shard: fingerprints of all, and those owed, by their origins."""
        self.admission.shard_comes()
        self.seen.add(keys)
        for origin, line in lines:
            url = decode(line)
            url.origin = origin
            self.sequencer.put(url)

    def receive(self, lines: Sequence[str]) -> None:
        """Take URLs that other nodes have passed on."""
        for url in self.admission.receive(lines):
            self.sequencer.put(url)

    def replied(
        self, page: Page, now: float, wall: float, judgement: Judgement = Judgement.KEEP
    ) -> bool:
        decided = super().replied(page, now, wall, judgement)
        self._site_state.landed(page, now, decided=decided)
        return decided

    def queue_again(self, url: Url) -> None:
        """The origin of the URL is decided, so it gets a new one, or goes to another node."""
        line, shard = AGAIN + encode(replace(url, origin=0)), self.shard_of(url.site)
        if self.admission.journal.serves(shard):
            self.receive([line])
        else:
            self.admission.journal.letter(shard, line)

    def withdrawal(self) -> Withdrawal:
        """Work that drops the URLs in memory that are not to be fetched here any more."""
        serves, shard_of, sizes = self.sequencer.journal.serves, self.shard_of, self._sizes
        return Withdrawal(
            self.lifecycle,
            self.sequencer,
            lambda site: serves(shard_of(site)),
            sizes.withdrawn,
        )

    def in_memory(self) -> set[int]:
        """The shards with a URL that is with its site, in flight, or not logged yet."""
        return set(map(self.shard_of, self.sequencer.by_site))

    def parts(self) -> dict[str, SavedPart]:
        """Redis has the queues and the URLs seen."""
        parts = super().parts()
        return {key: parts[key] for key in ("digests",)}

    def values(self) -> dict[str, SavedValue]:
        """Redis has the area of the seeds and the state of the sites, too."""
        return {"rules": super().values()["rules"]}


#: Seeds that are posted together.
_TOGETHER = 2000


class Seeding:
    """Posts seeds, some at a time, and again if the connection ended."""

    def __init__(
        self, board: RedisBoard, shard_of: Callable[[str], int], stay: str, *, views: bool
    ) -> None:
        """`views`: whether views of a page are pages of their own."""
        self._board = board
        self._shard_of = shard_of
        self._stay = stay
        self._views = views
        self._waiting: list[tuple[int, str]] = []
        self._sent: list[tuple[int, str]] = []

    @property
    def is_done(self) -> bool:
        """Whether all seeds are in their inboxes."""
        return not self._waiting and not self._sent

    @property
    def is_full(self) -> bool:
        """Whether no more seeds should be added now."""
        return len(self._waiting) >= _TOGETHER

    def add(
        self,
        text: str,
        *,
        depth: int | None = None,
        priority: bool = False,
        again: bool = False,
        label: str = "",
    ) -> bool:
        """Add a seed; False if it is no URL."""
        href = typed(text, views=self._views)
        if href is None:
            return False
        depth = FULL_DEPTH if depth is None else depth
        url = Url(href, depth, priority=priority, seed=True, label=label)
        line = (AGAIN if again else "") + encode(url)
        self._waiting.append((self._shard_of(url.host), line))
        if self._board.area is not None:
            # Before the letters: a node may find links to a seed before it gets the seed.
            for entry in entries_of(self._stay, [href]):
                self._board.area.widen(entry)
        return True

    def step(self) -> None:
        """Post what waits, unless a post is under way."""
        if not self._sent and self._waiting:
            self.post(lambda state: None)

    def post(self, then: Then[FleetState]) -> None:
        """Post what waits, or the first part of it; what was lost on its way waits again."""

        def posted(state: FleetState | Away) -> None:
            if isinstance(state, Away):
                self._waiting[:0] = self._sent
            self._sent = []
            then(state)

        self._sent = self._waiting[:_TOGETHER]
        del self._waiting[:_TOGETHER]
        self._board.seed(_letters(self._sent), posted)


def post_all(seeding: Seeding, asker: Asker) -> None:
    """Post the seeds that were added. Raises UserError."""
    while not seeding.is_done:
        asker.ask(seeding.post)


def _letters(lines: Iterable[tuple[int, str]]) -> dict[int, bytes]:
    letters = defaultdict(list)
    for shard, line in lines:
        letters[shard].append(line)
    return {shard: pack(some) for shard, some in letters.items()}
