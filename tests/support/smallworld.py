"""Whole crawls in one process and in simulated time: a `Crawl`, its web and its name server.

All three are driven by the crawl's own poll loop and by a simulated clock: when no socket is
ready, it leaps to the next deadline. So a crawl that waits for an hour ends within milliseconds,
and the times of requests can be compared with the settings.
"""

import io
import json
import socket
import time
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import Any, Self

from larbinpy import Crawl, Start
from larbinpy.config import Config, load
from larbinpy.context import DEFAULT, Tuning
from larbinpy.loop.poller import READ, WRITE, Poller
from larbinpy.page import Outcome, Page
from larbinpy.url import Url
from tests.support.nameserver import NameServer
from tests.support.smallweb import Asked, Server, Web

#: A crawl that takes more turns than this will not end.
MOST_TURNS = 50_000
#: Duration of a turn by the simulated clock (s), so that time passes in a crawl that never waits.
TURN = 1e-5
#: Real time to wait for a socket (s). All parties are in this process, so bytes arrive at once.
_MOMENT = 0.001

_BASE = """\
From me@larbinpy.invalid
UserAgent larbinpy
allowPrivate
waitDuration 0
guessSitemap off
dnsServer {dns}
outputDir {folder}/out
stateDir {folder}/state
"""


class Clock:
    """The simulated clock."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


class LeapingPoller(Poller):
    """If no socket is ready, the clock leaps to the end of the wait.

    Without `leaps` it waits, for durations that libcurl measures by its own clock.
    """

    def __init__(self, clock: Clock, each_turn: Callable[[], float], leaps: bool) -> None:
        """`each_turn` is called in each turn, and returns when it next has something to do."""
        super().__init__()
        self._clock = clock
        self._each_turn = each_turn
        self._leaps = leaps
        self._turns = 0

    def wait(self, timeout: float) -> int:
        self._turns += 1
        assert self._turns < MOST_TURNS, "the crawl does not end"
        clock = self._clock
        clock.now += TURN
        wanted = min(clock.now + max(timeout, 0.0), self._each_turn())
        patience = max(wanted - clock.now, 0.0)
        began = time.monotonic()
        ready = super().wait(min(patience, _MOMENT) if self._leaps else patience)
        if not self._leaps:
            clock.now += time.monotonic() - began
        elif not ready:
            clock.now += patience
        return ready


class Client:
    """Sends lines to a port of the crawl and reads the reply.

    It connects at the first call of `done`, so that `done` can be the condition
    (`Answer.until`) on which the web replies.
    """

    def __init__(self, crawl: "Worlds", port: int, *lines: str, host: str = "127.0.0.1") -> None:
        self._crawl = crawl
        crawl.clients.append(self)
        self._where = (host, port)
        self._unsent = "".join(f"{line}\r\n" for line in lines).encode()
        self.said = b""
        self.refused = False
        #: Close after the last line, in place of waiting until the crawl does.
        self.hang_up = False
        self._socket: socket.socket | None = None
        self._ended = False

    def done(self) -> bool:
        """Whether the crawl has closed the connection."""
        if self._socket is None and not self._ended:
            self._connect()
        return self._ended

    @property
    def _poller(self) -> Poller:
        return self._crawl.world.poller

    def _connect(self) -> None:
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        self._socket.setblocking(False)
        self._socket.connect_ex(self._where)
        self._poller.register(self._socket.fileno(), WRITE, self._send)

    def _send(self, _fd: int, _events: int) -> None:
        assert self._socket is not None
        try:
            self._socket.sendall(self._unsent)
        except ConnectionRefusedError:
            self.refused = True
            self._end()
            return
        if self.hang_up:
            self._socket.shutdown(socket.SHUT_WR)
        self._poller.register(self._socket.fileno(), READ, self._receive)

    def _receive(self, _fd: int, _events: int) -> None:
        assert self._socket is not None
        data = self._socket.recv(1 << 16)
        self.said += data
        if not data:
            self._end()

    def finish(self) -> None:
        """Read the last lines of the crawl, once it is over."""
        if self._socket is not None:
            self._socket.setblocking(True)
            while data := self._socket.recv(1 << 16):
                self.said += data
            self.close()

    def _end(self) -> None:
        assert self._socket is not None
        self._poller.unregister(self._socket.fileno())
        self.close()

    def close(self) -> None:
        if self._socket is not None:
            self._socket.close()
            self._socket = None
        self._ended = True

    @property
    def answers(self) -> list[dict[str, Any]]:
        """The JSON lines of the reply."""
        lines = self.said.decode().splitlines()
        return [json.loads(line) for line in lines if line.startswith("{")]


class Pages:
    """The output plug of the tests: it keeps the bodies."""

    def __init__(self) -> None:
        self.bodies: dict[str, bytes] = {}

    def loaded(self, page: Page) -> None:
        self.bodies[page.url.href] = page.body

    def failed(self, url: Url, outcome: Outcome) -> None:
        pass

    def stats(self) -> dict[str, object]:
        return {}

    def close(self) -> None:
        pass


@dataclass
class World:
    """One crawl of a web, while it runs and afterwards."""

    web: Web
    folder: Path
    output: Pages = field(default_factory=Pages)
    start: Start = Start.REFUSE
    #: Keywords that the command line gives.
    fixed: Collection[str] = ()
    #: Called before the crawl is made; gives more lines of its configuration.
    prepare: Callable[["World"], Iterable[str]] = lambda world: ()
    #: Called once a turn.
    watch: Callable[["World"], None] = lambda world: None
    #: Whether its clock leaps, see `LeapingPoller`.
    leaps: bool = True
    wall: Callable[[], float] = time.time
    tuning: Tuning = DEFAULT
    code: int = -1
    crawl: Crawl = field(init=False)

    def __post_init__(self) -> None:
        self.folder.mkdir(exist_ok=True)
        self.stdout, self.stderr = io.StringIO(), io.StringIO()
        self.clock = Clock()
        self.started = self.clock.now
        self.poller = LeapingPoller(self.clock, self._turn, self.leaps)
        self.server = Server(self.web, self.poller, self.clock)
        self.names = NameServer(self.web.zone, self.poller)
        for name, actions in self.web.scripts.items():
            self.names.script(name, *actions)

    def _turn(self) -> float:
        self.watch(self)
        return self.server.turn()

    def run(self, config: str) -> Self:
        try:
            self.crawl = Crawl(
                self._load(config),
                start=self.start,
                fixed=self.fixed,
                output=self.output,
                stdout=self.stdout,
                stderr=self.stderr,
                tuning=replace(self.tuning, clock=self.clock, wall=self.wall, poller=self.poller),
            )
            self.code = self.crawl.run()
        finally:
            self.server.close()
            self.names.close()
            self.poller.close()
        return self

    def _load(self, config: str) -> Config:
        host, port = self.names.address
        base = _BASE.format(dns=f"{host}:{port}", folder=self.folder)
        file = self.folder / "larbin.conf"
        file.write_text("\n".join([base, *self.prepare(self), config]))
        return load(str(file), {}, ())

    @property
    def asked(self) -> list[Asked]:
        """The requests in their order."""
        return self.server.asked

    @property
    def pages_asked(self) -> list[Asked]:
        """The requests except those for robots.txt, in their order."""
        return [asked for asked in self.asked if asked.path != "/robots.txt"]

    @property
    def fates(self) -> dict[str, dict[str, Any]]:
        """The crawl log: the line of each URL by its place."""
        lines = (self.folder / "state/crawl.jsonl").read_text().splitlines()
        found = [json.loads(line) for line in lines]
        return {_place(fate["url"]): fate for fate in found}

    @property
    def outcomes(self) -> dict[str, str]:
        return {place: fate["outcome"] for place, fate in self.fates.items()}

    @property
    def fetched(self) -> set[str]:
        """The places that ended in success."""
        return {place for place, outcome in self.outcomes.items() if outcome == "success"}

    @property
    def kept(self) -> set[str]:
        """The places of the pages that reached the output."""
        return {_place(url) for url in self.output.bodies}

    @property
    def report_outcomes(self) -> Any:
        """The report's count of URLs and links by outcome."""
        return self.crawl.report["outcomes"]

    @property
    def elapsed(self) -> float:
        return self.clock.now - self.started

    def gaps(self, requests: Iterable[Asked] | None = None) -> list[float]:
        """Seconds from each of `requests` (by default those of pages) to the next."""
        times = [asked.time for asked in (self.pages_asked if requests is None else requests)]
        return [b - a for a, b in pairwise(times)]

    def snapshot(self, name: str) -> Any:
        """One group of the snapshot, while the crawl runs."""
        return self.crawl.snapshot()[name]

    def files(self, folder: str = "out") -> set[str]:
        """The files below `folder`, without hidden ones; names are without the web's port."""
        root = self.folder / folder
        files = (path for path in root.rglob("[!.]*") if path.is_file())
        return {str(path.relative_to(root)).replace(f":{self.web.port}", "") for path in files}


def _place(url: str) -> str:
    """The place that a URL names; the web's own port is left out."""
    authority, slash, path = url.partition("://")[2].partition("/")
    return authority.rpartition(":")[0] + slash + path


class Worlds:
    """Makes crawls of one web; the fixture `crawl` is one."""

    def __init__(self, web: Web, folder: Path) -> None:
        self.web = web
        self._folder = folder
        self._number = 0
        #: The latest crawl.
        self.world: World
        self.clients: list[Client] = []

    def __call__(
        self,
        *lines: str,
        seeds: Iterable[str] = ("a.test/",),
        **world: Any,
    ) -> World:
        """A whole crawl: `lines` are added to a larbin.conf that waits for nothing."""
        self._number += 1
        world.setdefault("folder", self._folder / str(self._number))
        self.world = World(self.web, **world)
        starts = [f"startUrl {self.web.url(seed)}" for seed in seeds]
        return self.world.run("\n".join([*lines, *starts]) + "\n")
