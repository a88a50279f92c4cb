"""The frontier of a node: it takes the URLs of its own shards, and passes on the others.

Each URL of its own has an *origin*, its place in the journal. A URL whose shard has gone to another
node meanwhile is dropped as soon as it is met: the other node has it from Redis.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import compress

from larbinpy.fleet.journal import Journal
from larbinpy.frontier.admission import Admission
from larbinpy.frontier.frontier import Frontier
from larbinpy.frontier.lifecycle import SiteLifecycle
from larbinpy.frontier.scope.folding import Folding
from larbinpy.frontier.scope.scope import Scope
from larbinpy.frontier.scope.seed_area import SeedArea
from larbinpy.frontier.scope.traps import Traps
from larbinpy.frontier.sequencer import Sequencer
from larbinpy.outcome import Outcome
from larbinpy.parse import Kind, Link
from larbinpy.storage.seen import Seen
from larbinpy.storage.state import SavedPart, SavedValue
from larbinpy.storage.store import decode, encode
from larbinpy.url import Url, fingerprint, host_of, typed

#: A URL that was passed on is remembered beside those of this node, by another fingerprint: its
#: shard may come here later, and then it must not look as if it were queued already.
_PASSED_ON = 0x9E3779B97F4A7C15
#: Before the line of a seed that is to be fetched again.
AGAIN = "!"
#: The depth of a seed that has that of its site.
FULL_DEPTH = -1


class SharedAdmission(Admission):
    """Remembers what is new here, and passes on the links that other nodes decide on."""

    # Attributes, since the constructor is that of `Admission`.
    journal: Journal
    shard_of: Callable[[str], int]

    def seed(
        self, text: str, *, depth: int | None, priority: bool, again: bool
    ) -> Url | Outcome | None:
        """As `Admission.seed`; None if the seed was passed on."""
        href = typed(text)
        if href is None:
            return Outcome.BAD_URL
        self._scope.area.add([href])
        depth = self._scope.full_depth(href) if depth is None else depth
        url = Url(href, depth, priority=priority, seed=True)
        shard = self.shard_of(url.host)
        if self.journal.serves(shard):
            return self._take(url, shard, again=again)
        self.journal.letter(shard, (AGAIN if again else "") + encode(url))
        return None

    def receive(self, line: str) -> Url | Outcome:
        """The URL of a line that was passed on to this node, or the outcome that refuses it."""
        again = line.startswith(AGAIN)
        url = decode(line.removeprefix(AGAIN))
        if url.depth == FULL_DEPTH:
            url.depth = self._scope.full_depth(url.href)
        if url.seed:
            self._scope.area.add([url.href])
        elif fingerprint(url.href) not in self._seen:
            # The node that found it counts in its own shards alone.
            kind = Kind.PAGE if not url.requisite else Kind.IMAGE
            if not self._traps.admits(url.href, kind):
                return Outcome.TRAP
        return self._take(url, self.shard_of(url.host), again=again)

    def _take(self, url: Url, shard: int, *, again: bool) -> Url | Outcome:
        key = fingerprint(url.href)
        [fresh] = self._seen.add([key])
        if not (fresh or again):
            return Outcome.URL_DUP
        self.has_repeats = self.has_repeats or not fresh
        url.origin = self.journal.put(shard, key, encode(url))
        return url

    def _unseen(self, links: Sequence[Link]) -> list[tuple[Link, int]]:
        """As in `Admission`, without the links that were passed on already."""
        unseen = super()._unseen(links)
        if not unseen:
            return unseen
        serves, shard_of = self.journal.serves, self.shard_of
        foreign = [not serves(shard_of(host_of(link.url))) for link, _ in unseen]
        if True not in foreign:
            return unseen
        others = list(compress(unseen, foreign))
        fresh = self._seen.unseen([key ^ _PASSED_ON for _, key in others])
        self._recent.learn([link for link, _ in others], fresh)
        news = iter(fresh)
        return [
            pair for pair, other in zip(unseen, foreign, strict=True) if not other or next(news)
        ]

    def _new(self, urls: list[Url], keys: list[int]) -> list[Url]:
        journal, shard_of = self.journal, self.shard_of
        shards = [shard_of(url.host) for url in urls]
        own = list(map(journal.serves, shards))
        marked = [
            key if is_own else key ^ _PASSED_ON for key, is_own in zip(keys, own, strict=True)
        ]
        new = []
        for k in compress(range(len(urls)), self._seen.add(marked)):
            url, shard = urls[k], shards[k]
            if not self._wants_new(url):
                self.refused[Outcome.REJECTED] += 1
                # It was counted as a link that was seen, and so is one that is passed on.
                self.refused[Outcome.URL_DUP] -= 1
            elif own[k]:
                url.origin = journal.put(shard, keys[k], encode(url))
                new.append(url)
            else:
                journal.letter(shard, encode(url))
                self.refused[Outcome.URL_DUP] -= 1
        return new

    def _wants_new(self, url: Url) -> bool:
        """Whether the operator's plug wants a URL, which is new."""
        return True


class SharedAskingAdmission(SharedAdmission):
    """Asks `wants`, a method of the operator's plug, on the node that finds the link.

    It is asked before the link is noted: what is noted has to be decided.
    """

    def __init__(
        self,
        scope: Scope,
        seen: Seen,
        traps: Traps,
        folding: Folding,
        wants: Callable[[Url], bool],
    ) -> None:
        super().__init__(scope, seen, traps, folding)
        self._wants = wants

    def _wants_new(self, url: Url) -> bool:
        return self._wants(url)

    def asks(self, href: str) -> bool:
        return self._wants(Url(href, self._scope.full_depth(href)))


class SharedSequencer(Sequencer):
    """Notes the URLs that are decided."""

    journal: Journal

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
    """Examines the URLs of all sites, `most` at each step, and drops those of other nodes.

    URLs in flight are left alone.
    """

    def __init__(self, lifecycle: SiteLifecycle, sequencer: SharedSequencer, most: int) -> None:
        self._lifecycle = lifecycle
        self._sequencer = sequencer
        self._most = most
        self._left = list(lifecycle.registry)

    def __repr__(self) -> str:
        return f"<Withdrawal {len(self._left)} sites>"

    @property
    def over(self) -> bool:
        return not self._left

    def step(self) -> None:
        examined = 0
        while self._left and examined < self._most:
            site = self._left.pop()
            examined += 1 + site.held
            if site.held:
                for url in self._lifecycle.remove(site, self._is_foreign):
                    self._sequencer.drop(url)

    def _is_foreign(self, url: Url) -> bool:
        return url.origin > 0 and not self._sequencer.journal.holds(url.origin)


class SharedFrontier(Frontier):
    """The frontier of a node."""

    _sequencer: SharedSequencer
    _admission: SharedAdmission
    shard_of: Callable[[str], int]

    def begin(
        self, journal: Journal, shard_of: Callable[[str], int], area: SeedArea | None = None
    ) -> None:
        """Note URLs in `journal`, by the shards of their hosts; called before the first one.

        `area` takes the place of the one that belongs to this node alone.

        Files of an earlier session are deleted. Raises OSError.
        """
        if area is not None:
            self._scope.area = area
        self._store.clear()
        self._seen.clear()
        self._admission.journal = self._sequencer.journal = journal
        self._admission.shard_of = self.shard_of = shard_of

    def load(self, keys: Iterable[int], lines: Iterable[tuple[int, str]]) -> None:
        """Take over the URLs of a shard: fingerprints of all, and those owed, by their origins."""
        self._seen.add(keys)
        for origin, line in lines:
            url = decode(line)
            url.origin = origin
            self._sequencer.put(url)

    def receive(self, lines: Iterable[str]) -> None:
        """Take URLs that other nodes have passed on."""
        for line in lines:
            url = self._admission.receive(line)
            if isinstance(url, Url):
                self._sequencer.put(url)

    def withdrawal(self) -> Withdrawal:
        """Work that drops the URLs in memory that are not to be fetched here any more."""
        return Withdrawal(self._lifecycle, self._sequencer, self._sizes.swept)

    def in_memory(self) -> set[int]:
        """The shards with a URL that is with its site, in flight, or not logged yet."""
        return {self.shard_of(host_of(f"{site}/")) for site in self._sequencer.by_site}

    def parts(self) -> dict[str, SavedPart]:
        """Redis has the queues and the URLs seen."""
        parts = super().parts()
        return {key: parts[key] for key in ("digests",)}

    def values(self) -> dict[str, SavedValue]:
        """Redis has the area of the seeds, too."""
        values = super().values()
        del values["seed_hosts"]
        return values
