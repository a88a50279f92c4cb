"""The side of a node that operators and other nodes see and change.

- `PageLimit`: limitPage of the whole crawl, of which a node draws its share from Redis.
- `Reports`: those of a node to the others, and theirs to it.
- `FleetControl`: the commands at the ports of a node steer the whole crawl.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from math import inf
from typing import Any

from larbinpy._version import __version__
from larbinpy.config import SETTINGS, Config, ConfigError, change
from larbinpy.console.ports.commands import CommandSteps, Result, Wait
from larbinpy.console.ports.finder_process import FinderProcess
from larbinpy.console.search.form import FOUND, Frame
from larbinpy.crawl.control import Control
from larbinpy.crawl.fleet.frontier import Seeding
from larbinpy.crawl.fleet.orders import EXPLAIN, STATES, Gathering, Orders, ignored, shown_database
from larbinpy.crawl.mode import Mode
from larbinpy.fleet.board import Board, Drawn, PageShare
from larbinpy.fleet.journal import ShardJournal
from larbinpy.fleet.node import Node
from larbinpy.fleet.ownership import shard_of
from larbinpy.fleet.redis.board import RedisBoard
from larbinpy.fleet.vault import Away, FleetState, NodeSession
from larbinpy.loop.clock import Clock
from larbinpy.observe.explain import decided
from larbinpy.observe.report.log import first_time
from larbinpy.observe.snapshot import Totals
from larbinpy.stats import Stats
from larbinpy.url import fault, host_of, typed

#: Seconds between two draws if there is nothing to draw.
_PAUSE = 2.0


class PageLimit:
    """Draws shares as they are used up, and lets the engine have them through its mode."""

    def __init__(self, board: RedisBoard, limit: int, mode: Mode) -> None:
        """`limit` is limitPage now."""
        self._board = board
        self._share = PageShare(limit)
        self._name = ""
        self._mode = mode
        self._is_drawing = False
        self._draw_at = -inf
        # Number of changes of limitPage: an answer to an earlier question may be of the old one.
        self._changes = 0

    @property
    def limit(self) -> int:
        """limitPage; 0 for none."""
        return self._share.limit

    @property
    def holds(self) -> str:
        """Why no request may be opened; empty if they may."""
        if self._share.most == 0 and self._share.may_grow:
            return "this node waits for its share of limitPage"
        return ""

    def begin(self, name: str, before: int) -> None:
        """Draw under this name, for a state that has `before` pages."""
        self._name = name
        self._share.before = before
        self._apply()

    def change(self, limit: int) -> None:
        """limitPage was changed."""
        self._changes += 1
        self._share.change(limit)
        self._draw_at = -inf
        self._apply()

    def step(self, fetched: int, busy: int, handles: int, members: int, now: float) -> None:
        """Draw, if the share is nearly used up, as `PageShare.wanted` tells."""
        self._apply()
        if self._is_drawing or now < self._draw_at:
            return
        total = self._share.wanted(fetched, busy, handles, members)
        if total is not None:
            self._draw_at = now + (0.0 if self._share.may_grow else _PAUSE)
            self._draw(total, self._share.drawn)

    def give_back(self, fetched: int) -> bool:
        """Give back the rest of the share; True when that is done."""
        if not self._share.is_given_back and not self._is_drawing:
            self._draw(self._share.used(fetched), self._share.gave_back)
        return self._share.is_given_back

    def _apply(self) -> None:
        self._mode.share = self._share.most
        self._mode.share_may_grow = self._share.may_grow

    def _draw(self, total: int, then: Callable[[Drawn], None]) -> None:
        changes = self._changes

        def drawn(answer: Drawn | Away | None) -> None:
            self._is_drawing = False
            if isinstance(answer, Drawn) and changes == self._changes:
                then(answer)
                self._apply()

        self._is_drawing = True
        self._board.draw(self._name, total, drawn)


#: Seconds between two reports.
_REPORT = 2.0


@dataclass(slots=True)
class Work:
    """The parts of the crawl that are reported about."""

    totals: Totals
    stats: Stats
    state: Callable[[], str]
    #: URLs not decided, and URLs seen.
    queued: Callable[[], int]
    seen: Callable[[], int]
    #: Transfers running, and at most.
    busy: Callable[[], int]
    handles: Callable[[], int]


class Reports:
    """Reports about the work of this node, and reads the reports of all in the same question."""

    def __init__(self, board: RedisBoard, node: Node, config: Config) -> None:
        self._board = board
        self._node = node
        self._config = config
        self._database = shown_database(config)
        self._session = ""
        self._joined_at = inf
        self._is_reading = False
        # The last report is under way, or was taken.
        self._is_last = self._has_ended = False
        self._read_at = -inf
        # The reports of all nodes.
        self._seen: Board | None = None

    def step(self, work: Work, now: float) -> None:
        """Report, if it is time."""
        if self._node.session != self._session:
            self._session = self._node.session
            self._joined_at = self._read_at = now
        if now >= self._read_at and not self._is_reading and self._session:
            self._read_at = now + _REPORT
            self._exchange(work, now)

    def finish(self, work: Work, now: float) -> bool:
        """Report for the last time, as there were more pages; True when that is done."""
        if not self._has_ended and not self._is_reading:
            self._is_last = True
            self._exchange(work, now)
        return self._has_ended

    def _exchange(self, work: Work, now: float) -> None:
        def read(answer: Board | Away) -> None:
            self._is_reading = False
            if not isinstance(answer, Away):
                self._seen = answer
                self._has_ended = self._is_last

        self._is_reading = True
        self._board.read(read, self._config.node, self._report(work, now))

    def _report(self, work: Work, now: float) -> dict[str, Any]:
        counts, rates = work.totals.counts(), work.stats.rates()
        totals = counts["totals"]
        config, node = self._config, self._node
        return {
            "session": node.session,
            "version": __version__,
            "joined_s": round(now - self._joined_at, 1),
            "state": work.state(),
            "pages": totals["success"],
            "pages_s": round(rates["success"], 2),
            "replies": totals["pages"],
            "bytes": totals["bytes_received"],
            "bytes_s": round(rates["bytes"]),
            "links": totals["links"],
            "outcomes": {name: count for name, count in counts["outcomes"].items() if count},
            "sites": counts["known"]["sites"],
            "queued": work.queued(),
            "seen": work.seen(),
            "busy": work.busy(),
            "shards": node.served,
            "lag_s": round(node.lag, 2),
            "trouble": self._board.client.trouble,
            "http": f"{config.http_host}:{config.http_port}" if config.http_port else "",
            "database": self._database,
            "input": f"{config.input_host}:{config.input_port}" if config.input_port else "",
        }

    @property
    def alive(self) -> Mapping[str, str]:
        """The sessions of the nodes that take part and report, by their names."""
        return self._seen.alive if self._seen is not None else {}

    def describe(self, limit: int) -> dict[str, Any]:
        """The fleet for the snapshot of this node; `limit` is limitPage."""
        nodes = []
        for name, report in (self._seen.reports if self._seen is not None else {}).items():
            assert self._seen is not None
            alive = self._seen.is_alive(name)
            nodes.append({"name": name, "alive": alive, "age_s": report.age, **report.status})
        served = sum(node.get("shards") or 0 for node in nodes if node["alive"])
        return {
            "name": self._board.name,
            "node": self._config.node,
            "state": self._node.state.value,
            "members": self._node.members,
            "nodes": nodes,
            "shards": self._node.served,
            "shards_of_all": self._config.shards,
            "shards_served": served,
            "lag_s": round(self._node.lag, 2),
            "limit": limit,
            "left": self._seen.left if self._seen is not None else 0,
            "redis_trouble": bool(self._board.client.trouble),
            "trouble": self._board.client.trouble,
        }


#: Seconds for the answers of other nodes.
_PATIENCE = 30.0


class Steering:
    """Stepped between the turns of the crawl, after its node: reports, orders, seeds, limitPage."""

    def __init__(
        self,
        board: RedisBoard,
        node: Node,
        journal: ShardJournal,
        config: Config,
        mode: Mode,
        clock: Clock,
    ) -> None:
        self._board = board
        self._node = node
        self._journal = journal
        self._shards = config.shards
        self._mode = mode
        self._clock = clock
        # What is asked here outlives the sessions of the node.
        self._asked = NodeSession()
        self._work: Work | None = None
        self._reports = Reports(board, node, config)
        self._page_limit = PageLimit(board, config.limit_page, mode)
        #: The orders to this node.
        self.orders = Orders(board, config.node)
        #: The seeds that this node passes on.
        self.seeding = Seeding(
            board, partial(shard_of, shards=config.shards), config.stay, views=config.has_views
        )

    def begin(self, work: Work, share_name: str) -> None:
        """The crawl is assembled; `share_name` is that of the state of this node."""
        self._work = work
        self._page_limit.begin(share_name, work.totals.counts()["totals"]["success"])
        self.orders.begin()

    @property
    def holds(self) -> str:
        """Why no request may be opened; empty if they may."""
        return self._page_limit.holds

    def step(self, now: float) -> None:
        """Do what is due."""
        self.pass_on()
        work = self._work
        if work is None:
            return
        self._mode.paused = self._node.state is FleetState.PAUSED
        self._reports.step(work, now)
        self.orders.step()
        # A node that cannot join must not keep a share.
        if self._node.session:
            self._page_limit.step(
                work.stats.success, work.busy(), work.handles(), self._node.members, now
            )

    def pass_on(self) -> bool:
        """Send what was given here: seeds, settings and states; True when Redis has all of it."""
        self._asked.resend()
        self.seeding.step()
        return self.seeding.is_done and self._asked.is_settled

    def finish(self) -> bool:
        """Give back the rest of the share and report for the last time; True when that is done."""
        assert self._work is not None
        return (
            self._page_limit.give_back(self._work.stats.success)
            and self._reports.finish(self._work, self._clock())
            and self.pass_on()
        )

    def describe(self) -> dict[str, Any]:
        """The fleet for the snapshot of this node."""
        return self._reports.describe(self._page_limit.limit)

    @property
    def is_stuck(self) -> bool:
        """Whether seeds pile up here, because Redis is away."""
        return self.seeding.is_full and bool(self._board.client.trouble)

    def owns(self, host: str) -> bool:
        """Whether this node fetches the URLs of a host."""
        return self._journal.serves(shard_of(host, self._shards))

    def declare(self, command: str) -> None:
        """Change the state of the crawl, as the command does."""
        state, befores = STATES[command]
        for before in befores:
            self._declare(before, state)

    def _declare(self, old: FleetState, new: FleetState) -> None:
        again = partial(self._declare, old, new)
        self._board.declare(old, new, self._asked.then(ignored, again))

    def change(self, key: str, value: str, limit: int) -> None:
        """Change a setting of all nodes, with which limitPage is `limit`."""
        again = partial(self.change, key, value, limit)
        then = self._asked.then(ignored, again)
        self._board.change(key, value, limit, then)

    def limited(self, limit: int) -> None:
        """limitPage was changed."""
        self._page_limit.change(limit)

    def gather(self, order: str) -> Gathering:
        """Give an order to all nodes, this one included, and wait for their answers."""
        give = partial(self._board.order, order)
        return Gathering(self._board, give, self._reports.alive, self._clock() + _PATIENCE)


_RULES = "rules of a fleet cannot change while it runs"


class FleetControl(Control):
    """The commands. Those that all nodes execute come back as orders."""

    # Attributes, since the constructor is that of `Control`.
    steering: Steering
    finder: FinderProcess | None = None

    def add(
        self,
        url: str,
        *,
        depth: int | None = None,
        priority: bool = False,
        again: bool = False,
        label: str = "",
    ) -> str | None:
        if self._mode.draining:
            return "this node is ending; ask another one"
        if self.steering.is_stuck:
            return "Redis takes no seeds now; try again later"
        self._logins.learn(url)
        if not self.steering.seeding.add(
            url, depth=depth, priority=priority, again=again, label=label
        ):
            return fault(url)
        return None

    def pause(self) -> None:
        self.steering.declare("pause")

    def resume(self) -> None:
        self.steering.declare("resume")

    def stop(self) -> None:
        self.steering.declare("stop")

    def set(self, key: str, value: str) -> str | None:
        try:
            config = change(self._settings.config, key, value)
        except ConfigError as error:
            return str(error)
        self.steering.change(SETTINGS[key.lower()].keyword, value, config.limit_page)
        return None

    def add_rule(self, accept: bool, pattern: str) -> str | None:
        return _RULES

    def drop_rule(self, word: str) -> int | str:
        return _RULES

    def explain(self, url: str) -> CommandSteps:
        return EXPLAIN.steps(partial(self.steering.gather, f"explain {url}"), self._clock)

    # -- orders

    def execute(self, text: str) -> CommandSteps:
        """Execute an order here."""
        word, *words = text.split()
        if word == "set" and len(words) > 1:
            reason = self._settings.set(words[0], " ".join(words[1:]))
            if words[0].lower() == "limitpage":
                self.steering.limited(self._settings.config.limit_page)
            yield {"ok": True} if reason is None else {"ok": False, "error": reason}
        elif word == "explain" and words:
            yield from self._explain(words[0])
        elif word == "save":
            yield from super().save()
        elif word == "search" and len(words) == 2:
            names, query = words
            if self._settings.config.node in names.split(","):
                yield from searched(self.finder, query, self._clock)
            else:
                yield {"ok": True}
        else:
            yield {"ok": False, "error": f"unknown order {word[:40]!r}"}

    def _explain(self, url: str) -> CommandSteps:
        """The owner knows where the URL stands; another node, if it has fetched it before."""
        href = typed(url)
        if href is None or self.steering.owns(host_of(href)):
            for found in super().explain(url):
                yield found if isinstance(found, Wait) else {"owner": True, **found}
            return
        began = first_time(self._totals.started)
        search = decided(self._frontier, self._log, href, self._clock, began)
        answer: Result = {"ok": True}
        for found in self._searches.run(search):
            if isinstance(found, Wait):
                yield found
            else:
                answer = {"ok": True, **found}
        yield answer


def searched(finder: FinderProcess | None, query: str, clock: Clock) -> CommandSteps:
    """Answer a query string out of this node's database."""
    if finder is None:
        yield {"ok": False, "error": "it has no content database"}
        return
    finder.step(clock())  # so that it knows the time; it may not have been stepped for long
    question = finder.ask(FOUND, query, Frame())
    while question.reply is None:
        finder.step(clock())
        yield Wait.EVENT
    fields = json.loads(question.reply.body)
    yield {"ok": "error" not in fields, **fields}
