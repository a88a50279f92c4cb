"""A crawl on Redis, for a command that is no node of it: to look, to steer and to search.

`FleetConsole` has the commands of a node's console, for all nodes. `larbinpy search --join` gives
nodes an order and merges the answers:

    search NAMES QUERY      names of nodes, with commas between them, and a query string

Each of these nodes asks its database by the process that also answers for the Search page.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple, Self, TextIO
from urllib.parse import urlencode

from larbinpy.config import SETTINGS, ConfigError, change
from larbinpy.console.ports import commands
from larbinpy.console.ports.commands import Wait, usages
from larbinpy.console.search.form import LONGEST_QUERY
from larbinpy.console.terminal.prompt import Session
from larbinpy.console.text import counted, duration, grouped, json_line, printable, roughly, size
from larbinpy.crawl.fleet.frontier import Seeding, post_all
from larbinpy.crawl.fleet.orders import (
    EXPLAIN,
    OWN_FILE,
    SAVE,
    SET,
    STATES,
    Answer,
    Gathering,
    Order,
    T,
)
from larbinpy.database.base import DatabaseError, Found, Wish
from larbinpy.database.finder import found_of, merged, wish_of_each
from larbinpy.errors import UserError
from larbinpy.fleet.board import Answers, AreaLog, Board
from larbinpy.fleet.identity import has_area, to_steer
from larbinpy.fleet.ownership import shard_of
from larbinpy.fleet.redis.board import RedisBoard
from larbinpy.fleet.redis.client import Client
from larbinpy.fleet.redis.overview import Asker
from larbinpy.fleet.redis.wire import CrawlAddress
from larbinpy.fleet.vault import NOBODY, FleetState, ShardLook, Then
from larbinpy.loop.clock import Clock, clock
from larbinpy.loop.poller import Poller
from larbinpy.url import fault, login_of, masked_typed

Status = dict[str, Any]

#: Said for seeds with logins that a command gives to a crawl on Redis, which never has them.
LOGINS_STAY = "logins in seeds are not given to the nodes: these know those of startUrl alone"
#: The fields that are summed over all nodes.
_SUMMED = ("pages", "replies", "bytes", "links", "sites", "seen")
_RATES = ("pages_s", "bytes_s", "busy")


def status_of(name: str, board: Board, shards: Sequence[ShardLook]) -> Status:
    """The whole crawl: sums, and what each node has reported."""
    nodes = [
        {**report.status, "name": node, "age_s": report.age, "alive": board.is_alive(node)}
        for node, report in board.reports.items()
    ]
    alive = [node for node in nodes if node["alive"]]
    outcomes: Counter[str] = Counter()
    for node in nodes:
        outcomes.update(node.get("outcomes") or {})
    return {
        "name": name,
        "state": board.state.value,
        "running": len(alive),
        **{key: sum(node.get(key) or 0 for node in nodes) for key in _SUMMED},
        **{key: round(sum(node.get(key) or 0 for node in alive), 2) for key in _RATES},
        "outcomes": dict(outcomes),
        "queued": sum(shard.owing for shard in shards),
        "limit_page": board.limit,
        "pages_left": max(0, board.left),
        "shards": _shards(board, shards),
        "nodes": nodes,
    }


def _shards(board: Board, shards: Sequence[ShardLook]) -> dict[str, int]:
    owned = Counter(shard.own for shard in shards)
    served = sum(count for own, count in owned.items() if own in board.sessions)
    return {
        "all": len(shards),
        "owned": served,
        "without_owner": len(shards) - served,
        "owned_by_dead": len(shards) - served - owned[NOBODY],
        "owed": sum(shard.owing for shard in shards),
        "inbox": sum(shard.inbox for shard in shards),
    }


def redis_of(servers: Iterable[Mapping[str, str]]) -> list[dict[str, Any]]:
    """Memory and persistence of each server, from its INFO."""
    return [
        {
            "server": info["server"],
            "version": info.get("redis_version", ""),
            "memory_bytes": int(info.get("used_memory", 0)),
            "memory_limit_bytes": int(info.get("maxmemory", 0)),
            "aof": info.get("aof_enabled") == "1",
            "aof_ok": info.get("aof_last_write_status", "ok") == "ok",
            "snapshot_ok": info.get("rdb_last_bgsave_status", "ok") == "ok",
            "replicas": int(info.get("connected_slaves", 0)),
        }
        for info in servers
    ]


def _state(status: Status) -> str:
    """The crawl, its state, and the number of its nodes."""
    state = status["state"]
    if state == FleetState.RUNNING.value and not status["running"]:
        # Its nodes have left at a limit, or have died.
        state = "unfinished"
    return f"{status['name']}: {state}, {counted(status['running'], 'node')}"


def status_lines(status: Status) -> list[str]:
    """The crawl in one line, and one for each node."""
    parts = [
        _state(status),
        *_work(status),
        f"queued {grouped(status['queued'])}",
    ]
    if status["limit_page"]:
        left = grouped(status["pages_left"])
        parts.append(f"limitPage {grouped(status['limit_page'])}, {left} not given to nodes")
    return [printable("  ".join(parts)), *map(_node_line, status["nodes"])]


def _work(of: Status) -> list[str]:
    return [
        f"pages {grouped(of.get('pages') or 0)} ({grouped(of.get('pages_s') or 0)}/s)",
        f"replies {grouped(of.get('replies') or 0)}",
        f"received {size(of.get('bytes') or 0)} ({size(of.get('bytes_s') or 0)}/s)",
    ]


def _node_line(node: Status) -> str:
    if not node["alive"]:
        parts = [f"  {node['name']}: gone for {roughly(node['age_s'])}"]
        parts.append(f"pages {grouped(node.get('pages') or 0)}")
    else:
        parts = [f"  {node['name']}: {node.get('state')}", *_work(node)]
        parts.append(f"shards {node.get('shards')}")
    if node["alive"] and node.get("trouble"):
        parts.append(str(node["trouble"]))
    return printable("  ".join(parts))


_HEAD = ("node", "since", "pages", "pages/s", "shards", "lag", "page", "trouble")


def fleet_lines(status: Status, redis: Sequence[Mapping[str, Any]]) -> list[str]:
    """Tables of nodes, shards and servers."""
    rows = [_HEAD, *map(_row, status["nodes"])]
    shards = status["shards"]
    lines = [_state(status), *(_table(rows) if status["nodes"] else ["no node has joined yet"])]
    without = grouped(shards["without_owner"])
    lines.append(
        f"shards: {grouped(shards['owned'])} of {grouped(shards['all'])} owned, {without} without "
        f"owner, {grouped(shards['owed'])} URLs owed, {counted(shards['inbox'], 'letter')} waiting"
    )
    return [printable(line) for line in [*lines, *map(_server, redis)]]


def _row(node: Status) -> tuple[str, ...]:
    if not node["alive"]:
        gone = f"gone for {roughly(node['age_s'])}"
        return (node["name"], "-", grouped(node.get("pages") or 0), "-", "-", "-", "-", gone)
    return (
        node["name"],
        duration((node.get("joined_s") or 0) + node["age_s"]),
        grouped(node.get("pages") or 0),
        grouped(node.get("pages_s") or 0),
        grouped(node.get("shards") or 0),
        roughly(node.get("lag_s") or 0),
        node.get("http") or "-",
        node.get("trouble") or "-",
    )


def _table(rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]


def _server(info: Mapping[str, Any]) -> str:
    limit = info["memory_limit_bytes"]
    memory = f"{size(info['memory_bytes'])}" + (f" of {size(limit)}" if limit else ", no limit")
    kept = (
        "append-only file" if info["aof"] else "no append-only file: a restart may lose the crawl"
    )
    if not (info["aof_ok"] and info["snapshot_ok"]):
        kept += ", its last write failed"
    return (
        f"Redis {info['server']} {info['version']}: memory {memory}; {kept}; "
        f"{counted(info['replicas'], 'replica')}"
    )


class FleetFound(NamedTuple):
    """The merged answer, and what went wrong, a line for each thing."""

    found: Found
    troubles: list[str]


def order_of(nodes: Sequence[str], q: str, wish: Wish) -> str:
    """The order to `nodes`. Raises DatabaseError if the query is too long."""
    if len(q) > LONGEST_QUERY:
        raise DatabaseError(f"the query has more than {LONGEST_QUERY} characters; use fewer words")
    each = wish_of_each(wish)
    query = urlencode({"q": q, "n": each.n, "sort": each.sort}, errors="replace")
    return f"search {','.join(nodes)} {query}"


def nodes_to_ask(name: str, board: Board) -> list[str]:
    """The nodes that have a database; one of those that fill the same. Raises DatabaseError."""
    alive = board.alive
    databases = {node: report.status.get("database", "") for node, report in board.reports.items()}
    if alive and not any(databases[node] for node in alive):
        raise DatabaseError(f"{name}: its nodes fill no content database (outputMode database)")
    if not alive:
        servers = [place for place in databases.values() if place not in ("", OWN_FILE)]
        own = servers[0] if servers else "save/NODE/larbinpy.db"
        raise DatabaseError(
            f"{name}: no node runs that could search; name a database: larbinpy search -d {own}"
        )
    chosen: dict[str, str] = {}
    for node in alive:
        if place := databases[node]:
            chosen.setdefault(node if place == OWN_FILE else place, node)
    return list(chosen.values())


def as_one(name: str, answers: Answers, silent: Sequence[str], wish: Wish) -> FleetFound:
    """The answers of nodes as one. Raises DatabaseError if there is none."""
    good = {node: answer for node, answer in answers.items() if answer["ok"]}
    refused = [f"{node}: {answers[node]['error']}" for node in answers if node not in good]
    troubles = [f"no answer from {', '.join(silent)}"] if silent else []
    troubles += refused
    if not good:
        raise DatabaseError(f"{name}: no database could be asked; {'; '.join(troubles)}")
    return FleetFound(merged([found_of(answer) for answer in good.values()], wish), troubles)


#: Seconds for which sessions must stand still before a crawl is forgotten.
_WATCH = 4.0


class Remote:
    """The crawl at the address `join`. Raises UserError, also if there is none.

    `forgets`: also one that is half forgotten.
    """

    def __init__(
        self, join: str, clock: Clock = clock, *, forgets: bool = False, watch: float = _WATCH
    ) -> None:
        self._clock = clock
        self._watch = watch
        self._poller = Poller()
        self._client = Client(self._poller, clock, CrawlAddress.of(join))
        self._asker = Asker(self._client, self._poller, clock)
        self._board = RedisBoard(self._client)
        try:
            found = self._ask(partial(self._board.find, cleared=forgets))
            #: The settings as they are now, as far as they are needed here.
            self.config = to_steer(found)
            self._board.first_limit = to_steer(found._replace(changed={})).limit_page
        except BaseException:
            self.close()
            raise
        if has_area(self.config):
            self._board.area = AreaLog()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._client.close()
        self._poller.close()

    def _ask(self, ask: Callable[[Then[Any]], None]) -> Any:
        return self._asker.ask(ask)

    @property
    def name(self) -> str:
        return self._board.name

    def rest(self, seconds: float) -> None:
        """Let time pass. Raises UserError if Redis must be corrected."""
        self._asker.wait(seconds)

    # -- looking

    def board(self) -> Board:
        board: Board = self._ask(self._board.read)
        return board

    def status(self) -> Status:
        shards: Sequence[ShardLook] = self._ask(self._board.look)
        return status_of(self.name, self.board(), shards)

    def servers(self) -> list[dict[str, str]]:
        """The fields of INFO of each master, with its address as `server`."""
        links = self._client.topology.masters
        return [{"server": str(link.server), **link.info} for link in links]

    # -- steering

    def seed(
        self, urls: Iterable[str], *, depth: int | None, priority: bool, again: bool
    ) -> list[str]:
        """Give seeds; return those that are no URLs."""
        seeding = Seeding(
            self._board,
            partial(shard_of, shards=self.config.shards),
            self.config.stay,
            views=self.config.has_views,
        )
        refused = []
        for url in urls:
            if not seeding.add(url, depth=depth, priority=priority, again=again):
                refused.append(url)
            elif seeding.is_full:
                post_all(seeding, self._asker)
        post_all(seeding, self._asker)
        return refused

    def declare(self, command: str) -> Answer:
        """Change the state of the crawl, as the command does; an error if it cannot."""
        state, befores = STATES[command]
        found = state
        for before in befores:
            found = self._ask(partial(self._board.declare, before, state))
            if found is state:
                return {"ok": True}
        return {"ok": False, "error": f"the crawl is {found.value}"}

    def set(self, key: str, value: str) -> Answer:
        """Change a setting; nodes that join later have it, too."""
        try:
            self.config = config = change(self.config, key, value)
        except ConfigError as error:
            return {"ok": False, "error": str(error)}
        keyword = SETTINGS[key.lower()].keyword
        return self._order(SET, partial(self._board.change, keyword, value, config.limit_page))

    def save(self) -> Answer:
        return self._order(SAVE, partial(self._board.order, "save"))

    def explain(self, url: str) -> Answer:
        return self._order(EXPLAIN, partial(self._board.order, f"explain {url}"))

    def search(self, q: str, wish: Wish) -> FleetFound:
        """Search the databases of all nodes. Raises DatabaseError if none can be asked."""
        board = self.board()
        nodes = nodes_to_ask(self.name, board)

        def merge(answers: Answers, silent: Sequence[str]) -> FleetFound:
            asked = {node: answers[node] for node in nodes if node in answers}
            return as_one(self.name, asked, silent, wish)

        give = partial(self._board.order, order_of(nodes, q, wish))
        sessions = {node: board.alive[node] for node in nodes}
        return self._order(Order(merge), give, sessions)

    def _order(
        self,
        order: Order[T],
        give: Callable[[Then[str]], None],
        nodes: Mapping[str, str] | None = None,
    ) -> T:
        """The answer of `nodes`, which have their sessions; of all by default."""

        def gather() -> Gathering:
            asked = self.board().alive if nodes is None else nodes
            return Gathering(self._board, give, asked, self._clock() + order.patience)

        steps = order.steps(gather, self._clock)
        while isinstance(found := next(steps), Wait):
            self._client.resume()
            self._asker.wait(0.05)
        return found

    # -- forgetting

    def forget(self) -> None:
        """Remove the crawl. Raises UserError if a node may live."""
        board = self.board()
        alive = board.alive
        if board.sessions and not alive:
            self.rest(self._watch)
        if alive or not self._ask(partial(self._board.clear, board.sessions)):
            names = f" ({', '.join(alive)})" if alive else ""
            raise UserError(f"{self.name}: nodes run{names}; stop them first")
        self._ask(self._board.remove)


class Verb(NamedTuple):
    """A command to a whole crawl. Its answer is shown in `lines`, or as that of a node."""

    run: Callable[[Remote, list[str]], Answer]
    lines: Callable[[Answer], Iterable[str]] | None = None


def _add(remote: Remote, urls: list[str]) -> Answer:
    refused = remote.seed(urls, depth=None, priority=False, again=False)
    reasons = [{"url": masked_typed(url), "reason": fault(url)} for url in refused]
    answer = {"ok": not refused, "accepted": len(urls) - len(refused), "refused": reasons}
    return answer | ({"note": LOGINS_STAY} if any(map(login_of, urls)) else {})


def _declare(command: str) -> Verb:
    return Verb(lambda remote, words: remote.declare(command))


VERBS: Mapping[str, Verb] = {
    "add": Verb(_add),
    "status": Verb(lambda remote, words: {"ok": True, **remote.status()}, status_lines),
    "pause": _declare("pause"),
    "resume": _declare("resume"),
    "set": Verb(lambda remote, words: remote.set(words[0], " ".join(words[1:]))),
    "explain": Verb(lambda remote, words: remote.explain(words[0])),
    "save": Verb(lambda remote, words: remote.save()),
    "stop": _declare("stop"),
    "help": Verb(
        lambda remote, words: {"ok": True, "commands": usages(VERBS)},
        lambda answer: [f"  {usage}" for usage in answer["commands"]],
    ),
    "quit": Verb(lambda remote, words: {"ok": True}),
}


class FleetConsole(Session):
    """A session with a crawl on Redis, whether nodes run or not."""

    def __init__(self, remote: Remote, stdout: TextIO, *, as_json: bool) -> None:
        super().__init__(stdout, as_json=as_json)
        self._remote = remote

    def ask(self, command: str) -> bytes:
        if why := commands.fault(command, list(VERBS), " of a fleet"):
            return commands.failure(why)
        name, *words = command.split()
        return json_line(VERBS[name].run(self._remote, words))

    def interrupted(self) -> None:
        """Answers that come now belong to their order, and to no other command."""

    def _laid_out(self, command: str, text: str) -> str:
        answer, verb = json.loads(text), VERBS.get(command.split()[0])
        if verb is None or verb.lines is None or not answer["ok"]:
            return super()._laid_out(command, text)
        return "".join(f"{line}\n" for line in verb.lines(answer))
