"""Reads again what is stored of a page; the filters of a query as conditions on the table `page`.

The SQL is the same for all kinds of database.
"""

import json
from collections.abc import Callable, Iterable, Sequence
from itertools import groupby
from typing import Any

from larbinpy.database.base import DatabaseError, Stored
from larbinpy.database.preparation import Packed, unpacked_markdown
from larbinpy.database.search.fingerprint import KEYS
from larbinpy.database.search.query import Query
from larbinpy.url import split, typed

#: Runs a statement with "?" for its arguments.
Rows = Callable[[str, Sequence[Any]], Iterable[tuple[Any, ...]]]

#: The columns of `page` that `Stored` has, apart from host, same_as, near, and copy.
_COLUMNS = (
    *("url", "status", "type", "charset", "lang", "title", "site_name", "author", "summary"),
    *("published", "modified", "image", "canonical", "comments", "clicks", "size", "depth"),
    *("via", "fetched", "first_seen", "changed", "visits", "changes", "etag", "last_modified"),
    *("missing", "moved_to", "gone", "due", "observed", "exposure"),
)
#: Whether a page has a key of near copies in common with the page that it is a copy of.
_HAS_ITS_KEY = " OR ".join(f"original.near{each} = page.near{each}" for each in range(1, KEYS + 1))
STORED = (
    f"SELECT page.id, {', '.join(f'page.{column}' for column in _COLUMNS)}, host.name, "
    f"original.url, original.text_hash = page.text_hash, {_HAS_ITS_KEY}, marked.url, "
    "content.text, content.text_size, content.more, content.more_size, "
    "host.sample, host.sample_size, content.anchors "
    "FROM page LEFT JOIN host ON host.id = page.host "
    "LEFT JOIN page AS original ON original.id = page.same_as "
    "LEFT JOIN page AS marked ON marked.id = page.near "
    "LEFT JOIN content ON content.page = page.id "
)
#: Bytes of the sample of a host; zlib looks back at most twice as far.
LONGEST_SAMPLE = 16 << 10


def read_page(rows: Rows, condition: str, value: Any) -> Stored | None:
    """The page for which a condition holds. Raises `DatabaseError` if it is damaged."""
    row = next(iter(rows(f"{STORED} WHERE {condition}", (value,))), None)
    return None if row is None else stored(row)


def stored(row: Sequence[Any]) -> Stored:
    """The page of a row of `STORED`. Raises `DatabaseError` if it is damaged."""
    end = 1 + len(_COLUMNS)
    columns = dict(zip(_COLUMNS, row[1:end], strict=True))
    host, original, has_its_text, has_its_key, marked, text, text_size, *more, anchors = row[end:]
    columns |= {"host": host, "same_as": original, "near": marked}
    columns["copy"] = _kind_of_copy(columns, has_its_text, has_its_key)
    if any(isinstance(value, bytes) for value in (*columns.values(), anchors)):
        raise DatabaseError(f"{columns['url']}: its row in the database is damaged")
    try:
        plain = unpacked_text(text, text_size)
        parts = parts_of(*more)
    except ValueError as error:
        url = columns["url"]
        raise DatabaseError(f"{url}: its text in the database is damaged ({error})") from None
    if markdown := _markdown(parts, plain):
        parts["markdown"] = markdown
    return Stored(columns, plain, parts, anchors.splitlines() if anchors else [])


def _markdown(parts: dict[str, Any], text: str) -> str:
    """The Markdown in the parts of a page, from which it is removed."""
    packed, links = parts.pop("markdown", ""), parts.get("links")
    if not packed or not isinstance(packed, str) or not isinstance(links, list):
        return ""
    known = [[str(each[0])] for each in links if isinstance(each, list) and each]
    return unpacked_markdown(packed, text, known)


#: Types whose text is Markdown as it stands.
_MARKDOWN = frozenset({"text/markdown", "text/x-markdown"})


def markdown_of(page: Stored) -> str:
    """The main text of a page as Markdown; without one of its own, its lines are paragraphs, its
    headings are headings, and lines that are indented are programs."""
    own = page.more.get("markdown")
    if own or page.columns.get("type") in _MARKDOWN:
        return own or page.text
    headings = set(page.more.get("headings") or ())
    blocks: list[str] = []
    for is_code, lines in groupby(page.text.split("\n"), lambda line: line.startswith("  ")):
        if is_code:
            blocks.append("\n".join(("```", *lines, "```")))
        else:
            blocks += [f"## {line}" if line in headings else line for line in lines if line]
    return "\n\n".join(blocks)


def _kind_of_copy(
    columns: dict[str, Any], has_its_text: bool | None, has_its_key: bool | None
) -> str | None:
    """Why a page is a copy: it has the text, declares the URL, or says nearly the same."""
    original = columns["same_as"]
    if original is None:
        return None if columns["near"] is None else "near"
    if has_its_text:
        return "text"
    is_declared = columns["canonical"] == original or not has_its_key
    return "canonical" if is_declared else "near"


def parts_of(
    more: bytes | None, size: int | None, sample: bytes | None, sample_size: int | None
) -> dict[str, Any]:
    """The parts of a page beside its text, by name, with the sample of its host.

    Raises `ValueError` if they are damaged.
    """
    try:
        parts = json.loads(unpacked(more, size, unpacked_sample(sample, sample_size)) or b"{}")
    except RecursionError:
        raise ValueError("nested too deeply") from None
    if not isinstance(parts, dict):
        raise ValueError("no object")
    return parts


def unpacked_text(data: bytes | None, size: int | None) -> str:
    """The main text of a page; "" if it has none. Raises `ValueError` if it is damaged."""
    return unpacked(data, size).decode()


def unpacked_sample(sample: bytes | None, size: int | None) -> bytes:
    """The sample of a host; b"" if it has none. Raises `ValueError` if it is damaged."""
    if isinstance(size, int) and size > LONGEST_SAMPLE:
        raise ValueError("a sample that is too long")
    return unpacked(sample, size)


def unpacked(data: bytes | None, size: int | None, sample: bytes = b"") -> bytes:
    """The bytes that are stored as `data`; b"" for none. Raises `ValueError` if it is damaged."""
    if not data:
        return b""
    # SQLite keeps anything in any column.
    if not isinstance(data, bytes) or not isinstance(size, int) or size < 0:
        raise ValueError("no compressed text")
    return Packed(data, size).bytes(sample)


#: When a page is from: its own word, unless that is later than it was fetched.
DATE = "CASE WHEN page.published <= page.fetched THEN page.published ELSE page.first_seen END"

#: The path of a URL without its slash; a host has a character at least.
_PATH = "substr(page.url, 9 + instr(substr(page.url, 9), '/'))"

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
            host, _, path = value.partition("/")
            of_host, hosts = among("page.host", _hosts(rows, host))
            if not path:
                return of_host, hosts
            return f"({of_host} AND substr({_PATH}, 1, ?) = ?)", [*hosts, len(path), path]
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
