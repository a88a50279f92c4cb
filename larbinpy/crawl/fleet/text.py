"""A fleet as text for a terminal, and as JSON-able values."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from larbinpy.console.text import counted, duration, grouped, printable, roughly, size
from larbinpy.fleet.board import Board
from larbinpy.fleet.vault import NOBODY, CrawlState, Standing

Status = dict[str, Any]

#: Said for seeds with logins that a command gives to a crawl on Redis, which never has them.
LOGINS_STAY = "logins in seeds are not given to the nodes: these know those of startUrl alone"
#: The fields that are summed over all nodes.
_SUMMED = ("pages", "replies", "bytes", "links", "sites", "seen")
_RATES = ("pages_s", "bytes_s", "busy")


def status_of(name: str, board: Board, shards: Sequence[Standing]) -> Status:
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


def _shards(board: Board, shards: Sequence[Standing]) -> dict[str, int]:
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
    if state == CrawlState.RUNNING.value and not status["running"]:
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
