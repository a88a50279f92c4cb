"""Searches of a whole crawl: `larbinpy search --join` gives nodes an order, and merges answers.

    search NAMES QUERY      names of nodes, with commas between them, and a query string

Each of these nodes asks its database by the process that also answers for the Search page.
"""

import json
import socket
from collections.abc import Sequence
from typing import NamedTuple
from urllib.parse import urlencode

from larbinpy.config import Config
from larbinpy.console.ports.commands import CommandSteps, Wait
from larbinpy.console.ports.finder_process import FinderProcess
from larbinpy.console.search.form import LONGEST_QUERY, Frame
from larbinpy.console.search.request import FOUND
from larbinpy.database.base import DatabaseError, Found, Wish
from larbinpy.database.exchange import found_of
from larbinpy.database.merging import merged, wish_of_each
from larbinpy.database.mysql.address import Address
from larbinpy.database.opening import is_server
from larbinpy.fleet.answers import Answers
from larbinpy.fleet.board import Board
from larbinpy.loop.clock import Clock

_FILE = "file"


class FleetFound(NamedTuple):
    """The merged answer, and what went wrong, a line for each thing."""

    found: Found
    troubles: list[str]


def shown_database(config: Config) -> str:
    """The content database of a node, as other machines have to name it; "" for none."""
    if "database" not in config.output_mode:
        return ""
    if not is_server(config.content_database):
        return _FILE
    address = Address.of(config.content_database)
    is_here = address.host in ("localhost", "::1") or address.host.startswith("127.")
    return str(address._replace(host=socket.gethostname()) if is_here else address)


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
        servers = [place for place in databases.values() if place not in ("", _FILE)]
        own = servers[0] if servers else "save/NODE/larbinpy.db"
        raise DatabaseError(
            f"{name}: no node runs that could search; name a database: larbinpy search -d {own}"
        )
    chosen: dict[str, str] = {}
    for node in alive:
        if place := databases[node]:
            chosen.setdefault(node if place == _FILE else place, node)
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
