"""``larbinpy export``."""

import csv
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import blake2b
from pathlib import Path
from typing import TextIO

import click

from larbinpy.cli.common import files
from larbinpy.cli.database import database_options, finder_of
from larbinpy.cli.show import as_dict
from larbinpy.console.text import json_line
from larbinpy.database.base import Finder

#: Columns of a page that a spreadsheet has, in this order.
_COLUMNS = (
    *("url", "title", "lang", "type", "status", "published", "modified", "fetched", "first_seen"),
    *("changed", "visits", "changes", "author", "site_name", "summary", "image", "comments"),
    *("clicks", "size", "charset", "etag", "last_modified", "canonical", "depth", "via", "host"),
    *("same_as", "near", "missing", "moved_to", "due", "observed", "exposure"),
)
#: A spreadsheet takes a cell that begins so for a formula (OWASP, CSV Injection).
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")


@click.command()
@database_options
@click.option(
    "--format",
    "form",
    type=click.Choice(["jsonl", "csv", "opensearch"]),
    default="jsonl",
    help="Form of the output [jsonl].",
)
@click.option(
    *("-o", "file"), metavar="FILE", help="Write to FILE [standard output].", shell_complete=files
)
def export(database: str | None, config_file: str | None, form: str, file: str | None) -> None:
    """Write all pages of the database, one after the other.

    jsonl has a line of JSON with all of each page; csv is for spreadsheets and has no texts;
    opensearch is the input of the _bulk request of OpenSearch and Elasticsearch, in which each
    page keeps its _id, and pages that are gone are deleted.
    """
    with finder_of(database, config_file) as finder, _opened(file) as out:
        _FORMS[form](finder, out)


@contextmanager
def _opened(file: str | None) -> Iterator[TextIO]:
    """Standard output, or `file`, which is replaced once all is written, unless it is a device."""
    if file is None:
        yield sys.stdout
        return
    path = Path(file).resolve()
    if path.exists() and not path.is_file():
        with path.open("w", encoding="utf-8", newline="") as out:
            yield out
        return
    part = Path(f"{path}.part")
    try:
        with part.open("w", encoding="utf-8", newline="") as out:
            yield out
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)


def _jsonl(finder: Finder, out: TextIO) -> None:
    for stored in finder.pages():
        out.write(json_line(as_dict(stored)).decode())


def _csv(finder: Finder, out: TextIO) -> None:
    rows = csv.writer(out, lineterminator="\r\n")
    rows.writerow(_COLUMNS)
    for stored in finder.pages():
        rows.writerow([_cell(stored.columns.get(name)) for name in _COLUMNS])


def _cell(value: object) -> object:
    """`value` as a text that no spreadsheet runs: it begins with an apostrophe if need be."""
    if not isinstance(value, str):
        return value
    return f"'{value}" if value.startswith(_FORMULA) else value


def _opensearch(finder: Finder, out: TextIO) -> None:
    for stored in finder.pages():
        page = as_dict(stored)
        out.write(json_line({"index": {"_id": _identity(str(page["url"]))}}).decode())
        out.write(json_line(page).decode())
    # Last, as pairs of lines can then be sent in parts of an even number of lines.
    gone = set()
    for change in finder.changes(""):
        if change.kind in ("gone", "moved"):
            gone.add(change.url)
        else:
            gone.discard(change.url)
    for url in sorted(gone):
        out.write(json_line({"delete": {"_id": _identity(url)}}).decode())


def _identity(url: str) -> str:
    """The name of a page in another index; URLs may be longer than the 512 bytes of an _id."""
    return blake2b(url.encode(), digest_size=16).hexdigest()


_FORMS: dict[str, Callable[[Finder, TextIO], None]] = {
    "jsonl": _jsonl,
    "csv": _csv,
    "opensearch": _opensearch,
}
