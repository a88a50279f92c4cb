"""``larbinpy show``."""

import sys
from collections.abc import Iterator

import click

from larbinpy.cli.database import database_options, exit_nothing, finder_of, stored_url
from larbinpy.config import ConfigError
from larbinpy.console.text import counted, json_line, printable, roughly
from larbinpy.database.base import Finder, Stored

#: Columns that are shown apart.
_APART = {"url", "title", "observed", "exposure"}
#: Characters of the main text, and headings and texts of links to the page, in the summary.
_SHOWN_TEXT = 300
_SHOWN = 10


@click.command()
@click.argument("url")
@database_options
@click.option("--text", "what", flag_value="text", help="Print the main text.")
@click.option("--links", "what", flag_value="links", help="Print the links and their texts.")
@click.option("--json", "what", flag_value="json", help="Print all as one JSON object.")
@click.option(
    "--history", "what", flag_value="history", help="Print when the page changed, and its visits."
)
@click.option("--body", "what", flag_value="body", help="Print the body as it came (keepBodies).")
def show(url: str, database: str | None, config_file: str | None, what: str | None) -> None:
    """Show what the database has of one page.

    The exit status is 0, 1 if the page is not in the database, or 3 if that cannot be read.
    """
    with finder_of(database, config_file) as finder:
        there = stored_url(finder, url)
        if there is None:
            click.echo(f"larbinpy: {printable(url)}: not in the database", err=True)
            exit_nothing()
            return
        if what == "body":
            _write_body(finder, there)
        elif what == "history":
            sys.stdout.writelines(f"{printable(line)}\n" for line in _history(finder, there))
        else:
            stored = finder.show(there)
            assert stored is not None
            sys.stdout.writelines(f"{line}\n" for line in _lines(stored, what))


def _write_body(finder: Finder, url: str) -> None:
    if sys.stdout.isatty():
        raise ConfigError("--body: a terminal may act on what is in a body; write it to a file")
    body = finder.body(url)
    if body is None:
        click.echo("larbinpy: the database has no body of it; see keepBodies", err=True)
        exit_nothing()
    else:
        sys.stdout.buffer.write(body)


def _history(finder: Finder, url: str) -> Iterator[str]:
    """The changes of a page, and below them what its visits say of them."""
    for change in finder.history(url):
        target = f"  {change.target}" if change.target else ""
        yield f"{change.at}  {change.kind}{target}"
    stored = finder.show(url)
    if stored is None:
        return
    columns, interval = stored.columns, stored.change_interval
    visits = counted(columns.get("visits") or 0, "visit")
    yield f"{visits}, the first {columns.get('first_seen')}, the last {columns.get('fetched')}"
    if columns.get("missing") and not columns.get("gone"):
        yield f"missing since {columns['missing']}"
    if interval is not None:
        yield f"changes about every {roughly(interval)}"


def _lines(stored: Stored, what: str | None) -> Iterator[str]:
    match what:
        case "text":
            yield from map(printable, stored.text.split("\n"))
        case "links":
            for link in stored.more.get("links") or ():
                url, anchor = link[:2]
                yield printable(f"{url}  {anchor}".rstrip())
        case "json":
            yield json_line(as_dict(stored)).decode().rstrip("\n")
        case _:
            yield from map(printable, _summary(stored))


def as_dict(stored: Stored) -> dict[str, object]:
    """All of a page by name: its columns, text, anchors, and the fields of `more`."""
    return {**stored.columns, "text": stored.text, **stored.more, "anchors": stored.anchors}


def _summary(stored: Stored) -> Iterator[str]:
    columns, more = stored.columns, stored.more
    yield str(columns.get("title") or "(no title)")
    yield str(columns["url"])
    for name, value in columns.items():
        if name not in _APART and value not in (None, ""):
            yield f"{name + ':':<15}{value}"
    links, images = len(more.get("links") or ()), len(more.get("images") or ())
    yield f"{'has:':<15}{counted(links, 'link')}, {counted(images, 'image')}"
    for name in ("headings", "anchors"):
        texts = stored.anchors if name == "anchors" else more.get(name) or ()
        if texts:
            yield f"{name + ':':<15}{' | '.join(texts[:_SHOWN])}"
    text = " ".join(stored.text.split())
    if text:
        yield ""
        yield text if len(text) <= _SHOWN_TEXT else f"{text[:_SHOWN_TEXT]}..."
