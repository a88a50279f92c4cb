"""A model of a fleet: a web as a graph, nodes with the real deciders, and faults at any step.

Time goes on in steps. Each node has a connection to one engine, and a small crawl: queues by
shard, requests that take turns, and local checkpoints. `World.run` asserts what a fleet promises.
"""

from array import array
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from random import Random
from zlib import crc32

from larbinpy.fleet.journal import ShardJournal
from larbinpy.fleet.node import Local, Node, Thinning
from larbinpy.fleet.ownership import shard_of
from larbinpy.fleet.vault import Away, FleetState, Part, SiteWait
from tests.support.memoryvault import Engine, MemoryVault

STEP = 0.05
SHARDS = 16
#: waitDuration, and seconds that a turn lasts without being renewed.
WAIT = 0.4
TURN = 10.0 + WAIT
#: Seconds of a pause that a host asks for, longer than a takeover.
PAUSE = 12.0
#: Requests in flight by node.
POOL = 6
#: Connections with less latency (s) lose nothing on the way.
LOSSLESS = 0.05
#: Seconds of writes that the engine can forget.
WINDOW = 1.0


class Web:
    """Pages on hosts, some of which share an address; `links` by URL."""

    def __init__(self, random: Random, pages: int, hosts: int) -> None:
        urls = [f"http://h{random.randrange(hosts)}/{page}" for page in range(pages)]
        self.seeds = urls[:2]
        self.links: dict[str, list[str]] = {}
        for k, url in enumerate(urls):
            # Each page but the seeds is linked from one before it, so all are reachable. Most have
            # no other link to them: if that one is lost, they are.
            self.links[url] = random.choices(urls, k=random.randrange(2))
            if k >= 2:
                self.links[urls[random.randrange(k)]].append(url)

    @staticmethod
    def host(url: str) -> str:
        return url.split("/")[2]

    def address(self, url: str) -> str:
        """Two hosts share an address."""
        return f"10.0.0.{int(self.host(url)[1:]) // 2}"


@dataclass
class Request:
    url: str
    origin: int
    address: str
    #: When it is sent: its connection is made then.
    due: float = float("inf")
    #: When it was sent; None before.
    start: float | None = None
    end: float = 0.0
    #: When its turn was renewed.
    renewed: float = 0.0
    #: It may have stayed open while its node was stopped: only its start counts.
    was_stopped: bool = False


@dataclass
class Fetch:
    """A page that was fetched; `session` is its node's at that time."""

    at: float
    session: str
    #: The journal's number of URLs done, with this one.
    noted: int


@dataclass
class Note:
    """A URL or a host of which something was decided, as of a `Fetch`."""

    name: str
    at: float
    session: str
    noted: int


@dataclass
class Log:
    """The deeds of all nodes."""

    fetches: defaultdict[str, list[Fetch]] = field(default_factory=lambda: defaultdict(list))
    #: Start and end of requests, by address; of stopped nodes only the start counts.
    requests: defaultdict[str, list[tuple[float, float]]] = field(
        default_factory=lambda: defaultdict(list)
    )
    #: By session: when the vault knew how many URLs as done.
    known: defaultdict[str, list[tuple[float, int]]] = field(
        default_factory=lambda: defaultdict(list)
    )
    #: By session that was lost: how many URLs the vault knew as done.
    ended: dict[str, int] = field(default_factory=dict)
    again: int = 0
    #: Starts of requests by host.
    starts: defaultdict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    #: URLs that were not fetched because of the limit of their hosts.
    over: list[Note] = field(default_factory=list)
    #: Hosts that asked for a pause.
    pauses: list[Note] = field(default_factory=list)


def machine(node: str) -> int:
    """The machine on which a node runs."""
    return node.encode()[-1] % 2


def fingerprint(url: str) -> int:
    return crc32(url.encode()) << 32 | crc32(url[::-1].encode())


class Crawl(Local):
    """The crawl of one node."""

    def __init__(self, name: str, world: "World", latency: float) -> None:
        self.name = name
        self.world = world
        self.latency = latency
        self.random = Random(f"{world.seed}{name}")
        self.vault = MemoryVault(world.engine, self.delay)
        self.journal = ShardJournal(lines=4)
        self.sessions = 0
        self.node = Node(
            self.vault, self, self.journal, self.name_session, self.has_ended, SHARDS, WAIT
        )
        self.thinning = Thinning(self.vault, self.journal)
        self.stopped_until = float("-inf")
        self.seen: dict[int, set[int]] = defaultdict(set)
        self.posted: set[int] = set()
        #: By host: pages counted, and until when it is left alone.
        self.counts: Counter[str] = Counter()
        self.paused: dict[str, float] = {}
        self.queue: dict[int, str] = {}
        self.flight: list[Request] = []
        self.checkpoint_at = 0.0
        self.mark: tuple[int, float] | None = None
        self.on_disk = 0

    def delay(self) -> float:
        # One command in a thousand has to be sent again by the kernel, and a look has 16.
        lost = self.latency > LOSSLESS and self.random.random() < 0.001
        return self.random.uniform(0, self.latency) + 3 * lost

    def name_session(self) -> str:
        self.sessions += 1
        return f"{self.name}.{self.sessions}"

    # -- what the node asks for

    def has_ended(self, session: str) -> bool:
        """Every second node is on the machine of this one."""
        return session in self.world.killed[machine(self.name)]

    def seed(self) -> bool:
        for url in self.world.web.seeds:
            self.journal.letter(self.shard(url), url)
        return True

    def loaded(self, shard: int, part: Part, lines: Sequence[tuple[int, str]]) -> None:
        self.seen[shard].update(array("Q", part.fingerprints))
        self.counts |= part.counts
        self.paused |= {h: self.world.now + wait.seconds for h, wait in part.waits.items()}
        self.queue.update(lines)

    def receive(self, shard: int, lines: Sequence[str]) -> None:
        for url in lines:
            self.admit(url)

    def withdraw(self, shard: int) -> None:
        self.queue = {o: url for o, url in self.queue.items() if self.shard(url) != shard}
        self.seen.pop(shard, None)

    def busy(self, shard: int) -> bool:
        return any(self.shard(request.url) == shard for request in self.flight)

    @property
    def is_spent(self) -> bool:
        return not (self.queue or self.flight)

    def interrupt(self) -> None:
        for request in self.flight:
            if request.start is not None:
                self.ended(request, self.world.now)
            if self.journal.holds(request.origin):
                self.queue[request.origin] = request.url
        self.flight.clear()

    def clear(self) -> None:
        self.world.log.ended[self.node.session] = self.journal.known
        self.interrupt()
        self.queue.clear()
        self.seen.clear()
        self.posted.clear()
        self.counts.clear()
        self.paused.clear()

    # -- the crawl

    @staticmethod
    def shard(url: str) -> int:
        return shard_of(Web.host(url), SHARDS)

    def admit(self, url: str) -> None:
        shard, key = self.shard(url), fingerprint(url)
        if self.journal.serves(shard):
            if key not in self.seen[shard]:
                self.seen[shard].add(key)
                self.queue[self.journal.put(shard, key, url)] = url
        elif key not in self.posted:
            self.posted.add(key)
            self.journal.letter(shard, url)

    def has_lost(self, fetch: Fetch) -> bool:
        """Whether a kill now loses this page."""
        return fetch.session.startswith(f"{self.name}.") and fetch.noted > self.on_disk

    def step(self, now: float) -> None:
        if now < self.stopped_until:
            self.vault.travel()
            return
        self.node.interrupt(now)
        self.connected(now)
        self.vault.step()
        self.node.step(now)
        self.thinning.step()
        self.vault.step()
        if self.node.lost and not self.world.has_faults:
            raise AssertionError(f"{self.name}: {self.node.lost}")
        self.world.log.known[self.node.session].append((now, self.journal.known))
        self.land(now)
        if self.node.may_open(now):
            self.open(now)
        self.save(now)

    def connected(self, now: float) -> None:
        """Send the requests whose connections are there."""
        for request in self.flight:
            if request.start is None and now >= request.due:
                request.start = now
                self.world.log.starts[Web.host(request.url)].append(now)
                slow = self.random.random() < 0.1
                request.end = now + self.random.uniform(0.05, 14.0 if slow else 0.3)

    def land(self, now: float) -> None:
        for request in [r for r in self.flight if r.start is not None and now >= r.end]:
            self.flight.remove(request)
            self.ended(request, now)
            self.fetched(request, now)
        for request in self.flight:
            if self.world.turns and request.start is not None and now >= request.renewed + 3:
                request.renewed = now
                self.vault.renew([request.address], int(TURN * 1000))

    def ended(self, request: Request, now: float) -> None:
        assert request.start is not None
        end = request.start if request.was_stopped else now
        self.world.log.requests[request.address].append((request.start, end))
        if self.world.turns:
            self.vault.rest(request.address, int(WAIT * 1000))

    def fetched(self, request: Request, now: float) -> None:
        for url in self.world.web.links[request.url]:
            self.admit(url)
        host = Web.host(request.url)
        if self.world.limit:
            self.counts[host] += 1
            self.journal.count_page(request.origin, {host: 1})
        self.journal.done(request.origin)
        self.world.fetched(request.url, Fetch(now, self.node.session, self.journal.noted))
        if self.random.random() < self.world.pausing:
            self.paused[host] = now + PAUSE
            self.journal.wait(self.shard(request.url), host, SiteWait(PAUSE))
            self.world.log.pauses.append(self.note(host))

    def note(self, name: str) -> Note:
        return Note(name, self.world.now, self.node.session, self.journal.noted)

    def open(self, now: float) -> None:
        busy = {request.address for request in self.flight}
        for origin, url in list(self.queue.items()):
            if len(self.flight) >= POOL:
                break
            host = Web.host(url)
            address = self.world.web.address(url) if self.world.turns else host
            if self.world.limit and self.counts[host] >= self.world.limit:
                del self.queue[origin]
                self.journal.done(origin)
                self.world.log.over.append(self.note(url))
            elif address not in busy and now >= self.paused.get(host, now):
                assert self.journal.holds(origin)
                busy.add(address)
                del self.queue[origin]
                request = Request(url, origin, address)
                self.flight.append(request)
                if self.world.turns:
                    self.vault.turn(address, int(TURN * 1000), partial(self.turn, request))
                else:
                    self.begin(request)

    def turn(self, request: Request, answer: int | Away) -> None:
        if request not in self.flight:
            if answer == 0:
                self.vault.rest(request.address, 1)
            return
        now = self.world.now
        if answer == 0 and self.node.may_open(now) and self.journal.holds(request.origin):
            self.begin(request)
            return
        self.flight.remove(request)
        if answer == 0:
            self.vault.rest(request.address, 1)
        if self.journal.holds(request.origin):
            self.queue[request.origin] = request.url

    def begin(self, request: Request) -> None:
        request.renewed = self.world.now
        request.due = self.world.now + self.random.uniform(0, 0.2)

    def save(self, now: float) -> None:
        if self.mark is not None and now >= self.mark[1]:
            self.on_disk = self.mark[0]
            self.journal.tidy(self.on_disk)
            self.mark = None
        elif self.mark is None and now >= self.checkpoint_at:
            self.checkpoint_at = now + 0.5
            # One in ten checkpoints fails.
            mark = self.journal.cut()
            if self.random.random() < 0.9:
                self.mark = mark, now + self.random.uniform(0, 0.3)


class World:
    """The engine, the web and the nodes."""

    def __init__(
        self,
        seed: int,
        *,
        pages: int = 60,
        hosts: int = 8,
        masters: int = 1,
        turns: bool = True,
        limit: int = 0,
        pausing: float = 0.0,
    ) -> None:
        """`limit`: most pages of a host; `pausing`: the part of pages that ask for a pause."""
        self.seed = seed
        self.limit, self.pausing = limit, pausing
        #: Without turns, shards alone keep two nodes from asking one host.
        self.turns = turns
        self.random = Random(seed)
        self.web = Web(self.random, pages, hosts)
        self.engine = Engine(SHARDS, masters, WINDOW)
        self.now = 0.0
        self.log = Log()
        self.crawls: list[Crawl] = []
        self.names = 0
        #: By machine: the sessions of its nodes that were killed.
        self.killed: tuple[set[str], set[str]] = set(), set()
        #: Whether something happened but starts and leaves.
        self.has_faults = False
        #: When the engine forgot writes.
        self.forgot: list[float] = []
        opening = MemoryVault(self.engine)
        opening.open({}, lambda answer: None)
        opening.step()
        # Not so lately that the engine may forget the crawl itself.
        self.now = 2.0

    # -- events

    def start(self, latency: float | None = None) -> None:
        """Start a node; `latency` is the longest time of a verb or an answer (s)."""
        self.names += 1
        if latency is None:
            latency = self.random.choice((0.0, 0.1, 0.5))
        self.crawls.append(Crawl(f"n{self.names}", self, latency))

    def remove(self) -> None:
        """Remove the crawl from the engine."""
        self.has_faults = True
        self.engine.remove()

    def kill(self, crawl: Crawl) -> None:
        self.has_faults = True
        self.log.ended[crawl.node.session] = crawl.journal.known
        self.killed[machine(crawl.name)].add(crawl.node.session)
        crawl.vault.cut(float("inf"), self.fate)
        # Its outputs count as far as they are on the disk.
        for url, fetches in self.log.fetches.items():
            self.log.fetches[url] = [f for f in fetches if not crawl.has_lost(f)]
        for request in crawl.flight:
            if request.start is not None:
                end = request.start if request.was_stopped else self.now
                self.log.requests[request.address].append((request.start, end))
        self.crawls.remove(crawl)

    def stop(self, crawl: Crawl, seconds: float) -> None:
        self.has_faults = True
        crawl.stopped_until = self.now + seconds
        for request in crawl.flight:
            request.was_stopped = request.start is not None

    def fate(self) -> float | None:
        return self.random.choice((None, self.now, self.now + self.random.uniform(0, 12)))

    def cut(self, crawl: Crawl, seconds: float) -> None:
        self.has_faults = True
        crawl.vault.cut(self.now + seconds, self.fate)

    def stall(self, crawl: Crawl, seconds: float) -> None:
        self.has_faults = True
        crawl.vault.stall(self.now + seconds)

    def forget(self, seconds: float) -> None:
        """Redis is restarted, or one of its masters fails over, and forgets some seconds.

        Not in the first ones: if the crawl itself is forgotten, its nodes say so and end.
        """
        if self.now < 5.0:
            return
        self.has_faults = True
        master = self.random.choice(self.engine.masters)
        for crawl in self.crawls:
            crawl.vault.cut(self.now + self.random.uniform(0, seconds + 1), lambda: None)
        self.engine.forget(master, self.random.random())
        self.forgot.append(self.now)

    # -- promises

    def fetched(self, url: str, fetch: Fetch) -> None:
        """A page may be fetched again only if the vault did not know it as done."""
        if earlier := self.log.fetches[url]:
            last = earlier[-1]
            forgotten = any(self.knew(last, at - WINDOW) < last.noted for at in self.forgot)
            has_ended = last.session not in self.engine.sessions
            assert self.has_faults, f"{url}: twice without a fault"
            assert has_ended or forgotten, f"{url}: {last}, then {fetch}"
            known = self.log.ended.get(last.session, 0)
            assert last.noted > known or forgotten, f"{url}: {last} of {known}, then {fetch}"
            self.log.again += 1
        earlier.append(fetch)

    def knew(self, fetch: Fetch, at: float) -> int:
        """How many URLs the vault knew as done then, of the session of `fetch`."""
        known = self.log.known[fetch.session]
        k = bisect_right(known, (at, 1 << 60))
        return known[k - 1][1] if k else 0

    def step(self) -> None:
        self.now += STEP
        self.engine.step(self.now)
        for crawl in list(self.crawls):
            crawl.step(self.now)
        self.crawls = [crawl for crawl in self.crawls if not crawl.node.is_over]
        if self.engine.state is FleetState.FINISHED:
            assert not self.missing, f"finished without {self.missing}"

    def is_known(self, note: Fetch | Note) -> bool:
        """Whether the vault knew this when the session ended, as far as its node was answered."""
        buried = {
            crawl.node.session: crawl.journal.known
            for crawl in self.crawls
            if crawl.node.session not in self.engine.sessions
        }
        return note.noted <= (buried | self.log.ended).get(note.session, note.noted)

    @property
    def missing(self) -> list[str]:
        """URLs that were found, not fetched, and not over the limit of their hosts."""
        if not self.limit:
            return [url for url in self.web.links if not self.log.fetches[url]]
        if self.forgot:
            # A page that was forgotten may be over the limit now, and its links are not found.
            return []
        over = {note.name for note in self.log.over}
        found, at = dict.fromkeys(self.web.seeds), 0
        while at < len(found):
            url = list(found)[at]
            at += 1
            if any(map(self.is_known, self.log.fetches[url])):
                found |= dict.fromkeys(self.web.links[url])
        return [url for url in found if not (self.log.fetches[url] or url in over)]

    def run(self, events: Sequence[tuple[float, str, int, float]], most: float = 300.0) -> None:
        """Let the events happen, each some seconds after the one before; then let it end.

        An event is a fault or the coming of a node: its kind, a number of a node, and seconds.
        """
        for delay, kind, number, seconds in events:
            until = self.now + delay
            while self.now < until and not self.is_over:
                self.step()
            self.happen(kind, number, seconds)
        end = self.now + most
        while not self.is_over:
            assert self.now < end, f"no end: {self.crawls}, {self.engine.standings}"
            if not self.crawls:
                self.start()
            self.step()
        self.check()

    @property
    def is_over(self) -> bool:
        return self.engine.state is FleetState.FINISHED and not self.crawls

    def happen(self, kind: str, number: int, seconds: float) -> None:
        if kind == "start":
            if len(self.crawls) < 5:
                self.start()
        elif kind == "forget":
            self.forget(seconds)
        elif self.crawls:
            crawl = self.crawls[number % len(self.crawls)]
            if kind == "kill":
                self.kill(crawl)
            elif kind == "leave":
                crawl.node.leave()
            elif kind == "stop":
                self.stop(crawl, seconds)
            elif kind == "cut":
                self.cut(crawl, seconds)
            else:
                self.stall(crawl, seconds)

    def check(self) -> None:
        """Never two requests at once at an address, nor closer than the wait.

        Without turns: never two at once at a host.
        """
        wait = WAIT if self.turns else 0.0
        for address, spans in self.log.requests.items():
            free = float("-inf")
            for start, end in sorted(spans):
                assert start >= free - STEP, f"{address}: {free - wait}, then {start}"
                free = max(free, end + wait)
        if not self.forgot:
            self.check_limits()
            self.check_pauses()

    def check_limits(self) -> None:
        """The vault counts each page once that it knows, and no host has more than its limit."""
        pages: Counter[str] = Counter()
        for url, fetches in self.log.fetches.items():
            pages[Web.host(url)] += sum(map(self.is_known, fetches))
        counts = self.engine.counts
        assert all(pages[host] <= counts[host] <= self.limit for host in pages) or not self.limit
        for note in filter(self.is_known, self.log.over):
            assert counts[Web.host(note.name)] == self.limit, note

    def check_pauses(self) -> None:
        """A host that asked for a pause gets it, from whichever node."""
        for pause in filter(self.is_known, self.log.pauses):
            spoilt = [
                start
                for start in self.log.starts[pause.name]
                if pause.at + STEP < start < pause.at + PAUSE - STEP
            ]
            assert not spoilt, f"{pause}: {spoilt}"
