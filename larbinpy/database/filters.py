"""The filters of a query as conditions on the table `page`."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from larbinpy.database.records import Rows
from larbinpy.search.query import Query
from larbinpy.url import split, typed

#: When a page is from: its own word, unless that is later than it was fetched.
DATE = "CASE WHEN page.published <= page.fetched THEN page.published ELSE page.first_seen END"

#: SQL for "a column is one of these values", and its arguments.
Among = Callable[[str, Sequence[Any]], tuple[str, list[Any]]]


def filters(
    query: Query, rows: Rows, types: Callable[[], Sequence[str]], among: Among
) -> tuple[str, list[Any]]:
    """Conditions on the table `page`, each after " AND ", and their arguments.

    `types` gives the media types of the pages.
    """

    def condition(name: str, value: str) -> tuple[str, list[Any]]:
        if name == "site":
            return among("page.host", _hosts(rows, value))
        if name == "since":
            return "page.fetched >= ?", [value]
        if name == "lang" or "/" in value:
            return f"page.{name} = ?", [value]
        return among("page.type", [type_ for type_ in types() if type_.endswith(f"/{value}")])

    wanted = ("site", query.site), ("lang", query.lang), ("type", query.type)
    parts = [condition(name, value) for name, value in (*wanted, ("since", query.since)) if value]
    for name, value in query.excluded:
        # Pages whose language or type is not known do not pass the filter, so they stay.
        passed, given = condition(name, value)
        parts.append((f"NOT coalesce({passed}, 0)", given))
    arguments = [argument for _, given in parts for argument in given]
    return "".join(f" AND {part}" for part, _ in parts), arguments


def _hosts(rows: Rows, site: str) -> list[int]:
    """The hosts of a site: itself on any port, and those below it."""
    address = typed(site)
    if address is not None:
        # Names in other scripts, as they stand in URLs.
        parts = split(address)
        site = parts.host + (f":{parts.port}" if site.endswith(f":{parts.port}") else "")
    return [
        number
        for number, name in rows("SELECT id, name FROM host WHERE instr(name, ?)", (site,))
        if f".{name}".endswith(f".{site}") or f".{name.rpartition(':')[0]}".endswith(f".{site}")
    ]


def one_of(column: str, values: Iterable[Any]) -> tuple[str, list[Any]]:
    """An `Among` for up to some thousand values."""
    given = list(values) or [None]  # NULL equals nothing
    return f"{column} IN ({', '.join('?' * len(given))})", given
