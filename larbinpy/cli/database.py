"""The commands that ask the content database: ``show``, ``changes``, ``search`` and ``export``.

They share how the database is found, its errors and their exit status.
"""

import csv
import json
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from hashlib import blake2b
from pathlib import Path
from typing import Any, TextIO, TypeVar
from unicodedata import normalize
from urllib.parse import unquote

import click

from larbinpy.cli.common import complain, file_option, files, load_config, open_remote, plain_errors
from larbinpy.config import ConfigError
from larbinpy.console.search.replies import feed
from larbinpy.console.text import counted, json_line, printable, roughly
from larbinpy.database.base import (
    Change,
    DatabaseError,
    Finder,
    Found,
    Hit,
    Stored,
    Wish,
    is_server,
)
from larbinpy.database.finder import DatabaseFinder, Difference, markdown_of, open_finders
from larbinpy.database.search.query import EXPECTED, FILTERS, Query, parse, with_filter
from larbinpy.database.search.snippet import pieces
from larbinpy.errors import NOTHING_FOUND, Ending
from larbinpy.fleet.identity import as_node
from larbinpy.loop.clock import wall
from larbinpy.observe.report.log import states_in
from larbinpy.url import fault, typed

_F = TypeVar("_F", bound=Callable[..., Any])

_UNREADABLE = Ending.DISK.code


def database_options(command: _F) -> _F:
    """-d and -c: the arguments of `database_of`."""
    option = click.option(
        *("-d", "database"),
        metavar="DATABASE",
        help="Database: a file, or mysql://[USER@]HOST[:PORT]/NAME [that of the configuration].",
        shell_complete=files,
    )
    return option(file_option(command))


def database_of(database: str | None, config_file: str | None) -> str:
    """The database to use: `database` if one is named, else that of the configuration.

    Raises ConfigError.
    """
    if database is not None:
        if os.path.isdir(database):
            raise ConfigError(f"{database}: a folder; name the file in it, such as larbinpy.db")
        return database
    return load_config(config_file, ()).content_database


def databases_of(database: str | None, config_file: str | None) -> list[str]:
    """As `database_of`; if the crawl had several nodes on this machine, the databases of all."""
    if database is not None:
        return [database_of(database, None)]
    config = load_config(config_file, ())
    own = config.content_database
    if is_server(own):
        return [own]
    nodes = [state.name for state in states_in(Path(config.state_dir))]
    places = [as_node(replace(config, node=node)).content_database for node in nodes]
    return [place for place in (own, *places) if os.path.exists(place)] or [own]


@contextmanager
def database_errors() -> Iterator[None]:
    """As `plain_errors`; a database that cannot be read has an exit status of its own.

    The output is flushed, so that a reader who has left (``| head``) is noticed in here.
    """
    with plain_errors():
        try:
            yield
            sys.stdout.flush()
        except DatabaseError as error:
            complain(error)
            sys.exit(_UNREADABLE)


@contextmanager
def finder_of(database: str | None, config_file: str | None) -> Iterator[Finder]:
    """The finder of `databases_of`, and `database_errors`."""
    with database_errors(), closing(open_finders(databases_of(database, config_file))) as finder:
        yield finder


#: Kinds of copies, in words.
_COPIES = {"text": "a copy of", "canonical": "declared to be", "near": "nearly a copy of"}


def in_database(where: str, url: str) -> dict[str, str]:
    """For the answer of `explain` on a page that was fetched: why searches may not find it, if so.

    A database that cannot be read has no part in the answer.
    """
    try:
        with closing(DatabaseFinder(where)) as finder:
            stored = finder.show(url)
    except DatabaseError:
        return {}
    if stored is None:
        return {}
    if stored.columns["gone"]:
        # It answers, so nothing else can have removed it.
        return {"database": "it has left the index, as it asks not to be indexed (noindex)"}
    if stored.columns["copy"] is None:
        return {}
    original, near = stored.columns["same_as"], stored.columns["near"]
    place = "found beside it" if original is None else "not found by searches"
    return {"database": f"{_COPIES[stored.columns['copy']]} {original or near}, {place}"}


def exit_nothing() -> None:
    """End the command with the exit status of an answer that is empty."""
    sys.stdout.flush()
    sys.exit(NOTHING_FOUND)


def filtered(query: Query, now: float, **options: str | None) -> Query:
    """`query` with filters that were given as options: site, lang, type, since.

    They mean what the operators of the query mean. Raises ConfigError.
    """
    filters: dict[str, Any] = {}
    for name, text in options.items():
        if text is not None:
            filters[name] = FILTERS[name](text.strip(), now)
            if filters[name] is None:
                wrong = printable(text[:60])
                raise ConfigError(f"command line, --{name}: '{wrong}': expected {EXPECTED[name]}")
    return replace(query, **filters)


def time_since(text: str, now: float) -> str:
    """--since as ISO 8601. Raises ConfigError."""
    since = filtered(Query(), now, since=text).since
    assert since is not None
    return since


def stored_url(finder: Finder, text: str) -> str | None:
    """The URL in the database that `text`, as it was typed, means; None if it is not there.

    Without a scheme it is http or https. Raises ConfigError for a text that is no URL.
    """
    url = typed(text)
    if url is None:
        raise ConfigError(f"{text[:200]!r}: {fault(text)}")
    # A view of a page may be a page of its own.
    spellings = list(filter(None, dict.fromkeys((typed(text, views=True), url))))
    if "://" not in text:
        spellings += [f"https{each.removeprefix('http')}" for each in spellings]
    return next((each for each in spellings if finder.fetched(each) is not None), None)


#: Columns that are shown apart.
_APART = {"url", "title", "observed", "exposure"}
#: Characters of the main text, and headings and texts of links to the page, in the summary.
_SHOWN_TEXT = 300
_SHOWN = 10


@click.command()
@click.argument("url")
@database_options
@click.option("--text", "what", flag_value="text", help="Print the main text.")
@click.option("--markdown", "what", flag_value="markdown", help="Print the main text as Markdown.")
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
            sys.stdout.writelines(f"{line}\n" for line in _stored_lines(stored, what))


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


def _stored_lines(stored: Stored, what: str | None) -> Iterator[str]:
    match what:
        case "text":
            yield from map(printable, stored.text.split("\n"))
        case "markdown":
            yield from map(printable, markdown_of(stored).split("\n"))
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


@click.command()
@database_options
@click.option(
    "--since",
    metavar="TIME",
    default="1d",
    help="Since when: 12h, 7d, 2w, 3m (months), 2026-11-23 [1d].",
)
@click.option(
    "--kind",
    "kinds",
    type=click.Choice(["new", "changed", "gone", "back", "moved"]),
    multiple=True,
    help="Only changes of this kind; may be repeated.",
)
@click.option("--diff", is_flag=True, help="Show which sentences went and came.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json", "atom"]),
    default="text",
    help="Form of the output [text].",
)
@click.option("--json", "form", flag_value="json", help="Print a line of JSON for each change.")
@click.option(
    *("-o", "file"), metavar="FILE", help="Write to FILE [standard output].", shell_complete=files
)
def changes(
    database: str | None,
    config_file: str | None,
    since: str,
    kinds: tuple[str, ...],
    diff: bool,
    form: str,
    file: str | None,
) -> None:
    """List the pages that are new, changed, gone, back or moved, the oldest change first.

    A page has changed if its main text is one that it did not have before. The exit status is 0 if
    there are changes, 1 if not, 3 if the database cannot be read.
    """
    with finder_of(database, config_file) as finder:
        told = (
            (change, finder.difference(change) if diff and change.kind == "changed" else None)
            for change in finder.changes(time_since(since, wall()))
            if not kinds or change.kind in kinds
        )
        with _opened(file) as out:
            count = _CHANGES[form](told, out)
        if not count:
            exit_nothing()


#: Changes with what they changed, if that is asked for and known.
_Told = Iterable[tuple[Change, Difference | None]]


def _changes_text(told: _Told, out: TextIO) -> int:
    count = 0
    for change, difference in told:
        count += 1
        out.write(f"{_line(change)}\n")
        for mark, sentences in zip("-+", difference or (), strict=False):
            out.writelines(f"  {mark} {printable(_in_line(each))}\n" for each in sentences)
    return count


def _changes_json(told: _Told, out: TextIO) -> int:
    count = 0
    for change, difference in told:
        count += 1
        fields = change._asdict() | (difference._asdict() if difference else {})
        out.write(json_line(fields).decode())
    return count


def _changes_atom(told: _Told, out: TextIO) -> int:
    # The newest comes first.
    newest = list(told)[::-1]
    differences = {change: difference for change, difference in newest if difference}
    document = feed("", [change for change, _ in newest], 0, more=False, differences=differences)
    out.write(document.decode())
    return len(newest)


_CHANGES: dict[str, Callable[[_Told, TextIO], int]] = {
    "text": _changes_text,
    "json": _changes_json,
    "atom": _changes_atom,
}


def _line(change: Change) -> str:
    target = f" -> {change.target}" if change.target else ""
    return printable(f"{change.at}  {change.kind:<7}  {change.url}{target}")


#: Put before an argument that click must not take for options; no argument can hold it.
_WORD = "\0"
_MOST_HITS, _MOST_PAGES = 1000, 1000


class _SearchCommand(click.Command):
    """A command whose arguments may begin with a dash: ``-word`` is a word to leave out.

    Options of one letter stand alone (``-n 5``, not ``-n5``), so that ``-news`` is no option.
    """

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        letters = {name for each in self.get_params(ctx) for name in each.opts if len(name) == 2}
        marked = list(args)
        for index, text in enumerate(args):
            if text == "--":
                break
            if text.startswith("-") and not text.startswith("--") and text not in letters:
                marked[index] = _WORD + text
        return super().parse_args(ctx, marked)


def _unmarked(
    context: click.Context, parameter: click.Parameter, words: tuple[str, ...]
) -> tuple[str, ...]:
    return tuple(word.removeprefix(_WORD) for word in words)


@click.command(cls=_SearchCommand)
@click.argument("words", nargs=-1, metavar="WORDS...", callback=_unmarked)
@database_options
@click.option(
    "--join",
    metavar="redis://HOST[:PORT]/NAME",
    help="Ask the databases of all nodes of the crawl NAME [join of FILE].",
)
@click.option("-n", "most", type=click.IntRange(1, _MOST_HITS), default=10, help="Hits [10].")
@click.option(
    "--page", type=click.IntRange(1, _MOST_PAGES), default=1, help="Page of the hits [1]."
)
@click.option(
    "--sort",
    type=click.Choice(["rank", "date"]),
    default="rank",
    help="Best first, or newest first [rank].",
)
@click.option("--site", metavar="HOST", help="Only this host and its subdomains.")
@click.option("--lang", metavar="LANGUAGE", help="Only pages in this language, such as zh.")
@click.option("--type", "type_", metavar="TYPE", help="Only this media type, such as pdf.")
@click.option("--since", metavar="TIME", help="Only pages fetched since: 7d, 2026-11-23.")
@click.option("--json", "as_json", is_flag=True, help="Print a line of JSON for each hit.")
def search(
    words: tuple[str, ...],
    database: str | None,
    config_file: str | None,
    join: str | None,
    most: int,
    page: int,
    sort: str,
    site: str | None,
    lang: str | None,
    type_: str | None,
    since: str | None,
    as_json: bool,
) -> None:
    """Search the pages that a crawl put into its database (outputMode database).

    A page is found if it has all words. '"a phrase"' finds words in this order, word* their
    beginnings, -word leaves pages out; intitle:, inurl:, site:, lang:, type:, since: and before:
    narrow the search. The database may be searched while the crawl writes it.

    If the crawl had several nodes on this machine, the databases of all are searched. --join asks
    the nodes that run, wherever they are, and merges what they find; those that do not answer are
    named.

    --json: url, title, snippet, marks (the ranges of its characters that are hits), score, lang,
    fetched.

    The exit status is 0 if something was found, 1 if not, 3 if the database cannot be read.
    """
    text = " ".join(words)
    filters = {"site": site, "lang": lang, "type": type_, "since": since}
    wish = Wish(n=most, page=page, sort=sort)
    with database_errors():
        address = _fleet_of(database, config_file, join)
        if address:
            is_found = _answer_of_fleet(address, text, filters, wish, as_json=as_json)
        else:
            with finder_of(database, config_file) as finder:
                now = wall()
                query = filtered(parse(text, finder.languages(), now), now, **filters)
                _refuse_nothing(query, text)
                is_found = answer(finder, query, wish, as_json=as_json)
        if not is_found:
            exit_nothing()


def _refuse_nothing(query: Query, text: str) -> None:
    if query.is_empty and not text.strip():
        raise ConfigError("nothing to search for; give some words")


def _fleet_of(database: str | None, config_file: str | None, join: str | None) -> str:
    """The address of the crawl whose nodes are asked; empty if `-d` or the folder says where."""
    if database is None:
        return load_config(config_file, (), more=[("join", join)] if join else ()).join
    if join is not None:
        raise ConfigError("-d and --join cannot be used together")
    return ""


def _answer_of_fleet(
    address: str, text: str, filters: Mapping[str, str | None], wish: Wish, *, as_json: bool
) -> bool:
    """As `answer`. The nodes read the query, as each knows the languages of its pages."""
    _refuse_nothing(filtered(parse(text, (), wall()), wall(), **filters), text)
    for name, value in filters.items():
        if value is not None:
            text = with_filter(text, name, value.strip())
    with open_remote(address) as remote:
        found, troubles = remote.search(text, wish)
    for line in troubles:
        click.echo(printable(line), err=True)
    return _show(found, wish, found.notes, as_json=as_json)


def answer(finder: Finder, query: Query, wish: Wish, *, as_json: bool = False) -> bool:
    """Print what is found; whether there is something."""
    found = finder.search(query, wish)
    is_empty = not (found.hits or finder.counts()["pages"])
    notes = dict.fromkeys((*query.notes, *found.notes))
    return _show(found, wish, notes, as_json=as_json, is_empty=is_empty)


def _show(
    found: Found, wish: Wish, notes: Iterable[str], *, as_json: bool, is_empty: bool = False
) -> bool:
    if as_json:
        for hit in found.hits:
            sys.stdout.write(json_line(hit.fields()).decode())
    else:
        first = (wish.page - 1) * wish.n + 1
        for line in _lines(found, first, _Style.of_terminal()):
            sys.stdout.write(f"{line}\n")
    remarks = ["the database has no pages yet"] if is_empty else _remarks(found, wish.page)
    for line in (*notes, *remarks):
        click.echo(printable(line), err=True)
    return bool(found.hits)


class _Style:
    """The look of the parts of a hit; each method gets and returns a text."""

    def __init__(self, *, coloured: bool) -> None:
        self._coloured = coloured

    @classmethod
    def of_terminal(cls) -> "_Style":
        """Coloured on a terminal, unless the user asks for no colours (no-color.org)."""
        plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
        return cls(coloured=sys.stdout.isatty() and not plain)

    def title(self, text: str) -> str:
        return click.style(text, bold=True) if self._coloured else text

    def url(self, text: str) -> str:
        return click.style(text, fg="green") if self._coloured else text

    def about(self, text: str) -> str:
        return click.style(text, dim=True) if self._coloured else text

    def mark(self, text: str) -> str:
        return click.style(text, fg="yellow", bold=True) if self._coloured else f"*{text}*"


def _lines(found: Found, first: int, style: _Style) -> Iterator[str]:
    """The hits, numbered from `first`, and a line with the number of pages found."""
    for number, hit in enumerate(found.hits, first):
        title = printable(_in_line(hit.title)) or "(no title)"
        date = (hit.published or hit.fetched)[:10]
        yield f"{number}. {style.title(title)}"
        yield f"   {style.url(printable(hit.url))}  {style.about(printable(date))}"
        if hit.snippet:
            yield f"   {_marked(hit, style.mark)}"
        yield ""
    if found.hits:
        last = first + len(found.hits) - 1
        least = "at least " if found.cut else ""
        pages = counted(found.total, "page")
        yield style.about(f"{first}-{last} of {least}{pages}, {found.seconds:.2f} s")


def _marked(hit: Hit, mark: Callable[[str], str]) -> str:
    """The snippet with its marks; characters that a terminal acts on are escaped."""
    parts = []
    for piece, is_hit in pieces(hit.snippet, hit.marks):
        shown = printable(_in_line(piece))
        parts.append(mark(shown) if is_hit else shown)
    return "".join(parts)


def _in_line(text: str) -> str:
    return text.replace("\n", " ").replace("\t", " ")


def _remarks(found: Found, page: int) -> Iterator[str]:
    """Notes about the answer for the user."""
    if found.instead:
        yield f"did you mean: {found.instead}"
    if found.missing:
        missing = ", ".join(found.missing)
        yield f"no page has all words; these have most of them, without: {missing}"
    if found.cut:
        yield "only a part of the pages was compared; more words, or site:, narrow the search"
    if not found.hits:
        yield "no more pages" if page > 1 and found.total else "nothing found"


#: Columns of a page that a spreadsheet has, in this order.
_COLUMNS = (
    *("url", "title", "lang", "type", "status", "published", "modified", "fetched", "first_seen"),
    *("changed", "visits", "changes", "author", "site_name", "summary", "image", "comments"),
    *("clicks", "size", "charset", "etag", "last_modified", "canonical", "depth", "via", "host"),
    *("same_as", "near", "missing", "moved_to", "due", "observed", "exposure"),
)
#: A spreadsheet takes a cell that begins so for a formula (OWASP, CSV Injection).
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")


@click.command()
@database_options
@click.option(
    "--format",
    "form",
    type=click.Choice(["jsonl", "csv", "opensearch", "markdown-jsonl", "markdown"]),
    default="jsonl",
    help="Form of the output [jsonl].",
)
@click.option(
    *("-o", "file"),
    metavar="FILE",
    help="Write to FILE [standard output]; with markdown, a folder.",
    shell_complete=files,
)
@click.option("--site", metavar="HOST", help="Only this host and its subdomains.")
@click.option("--lang", metavar="LANGUAGE", help="Only pages in this language, such as zh.")
@click.option("--type", "type_", metavar="TYPE", help="Only this media type, such as pdf.")
@click.option("--since", metavar="TIME", help="Only pages fetched since: 7d, 2026-11-23.")
@click.option("--fields", metavar="NAME,...", help="Only these fields, in this order [all].")
def export(
    database: str | None,
    config_file: str | None,
    form: str,
    file: str | None,
    site: str | None,
    lang: str | None,
    type_: str | None,
    since: str | None,
    fields: str | None,
) -> None:
    """Write the pages of the database, one after the other.

    jsonl has a line of JSON with all of each page; csv is for spreadsheets and has no texts;
    opensearch is the input of the _bulk request of OpenSearch and Elasticsearch, in which each
    page keeps its _id, and pages that are gone are deleted.

    markdown-jsonl has a line for each page with its main text as Markdown; markdown writes a file
    for each page, with its facts at the top, into the folder that -o names. Both leave out pages
    without text and copies of others, and say how many.
    """
    with finder_of(database, config_file) as finder:
        options = {"site": site, "lang": lang, "type": type_, "since": since}
        pages = finder.pages(filtered(Query(), wall(), **options))
        names = None if fields is None else [name.strip() for name in fields.split(",")]
        if form == "markdown":
            _export_folder(pages, file, names)
            return
        if form == "opensearch" and (names or any(options.values())):
            raise ConfigError("--format opensearch has all of all pages: the rest would be deleted")
        with _opened(file) as out:
            if form == "opensearch":
                _opensearch(finder, out)
            else:
                _FORMS[form](pages, out, names)


@contextmanager
def _opened(file: str | None) -> Iterator[TextIO]:
    """Standard output, also for "-", or `file`, which is replaced once all is written, unless it is
    a device."""
    if file is None or file == "-":
        yield sys.stdout
        return
    # A pipe has no other name than that of /dev/stdout.
    if os.path.exists(file) and not os.path.isfile(file):
        with open(file, "w", encoding="utf-8", newline="") as out:
            yield out
        return
    path = Path(file).resolve()
    part = Path(f"{path}.part")
    try:
        with part.open("w", encoding="utf-8", newline="") as out:
            yield out
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)


#: What the forms write of each page.
_Pages = Iterable[Stored]
_Fields = Sequence[str] | None


def _chosen(page: Mapping[str, object], names: Iterable[str]) -> dict[str, object]:
    """The fields of a page that were asked for. Raises ConfigError for one that no page has."""
    for name in names:
        if name not in page and name not in _OPTIONAL:
            raise ConfigError(f"--fields {name}: no such field; known: {', '.join(page)}")
    return {name: page.get(name) for name in names}


def _jsonl(pages: _Pages, out: TextIO, names: _Fields) -> None:
    for stored in pages:
        page = as_dict(stored)
        out.write(json_line(page if names is None else _chosen(page, names)).decode())


def _csv(pages: _Pages, out: TextIO, names: _Fields) -> None:
    # A spreadsheet takes a file without this mark for one in the encoding of its country.
    out.write("\ufeff")
    rows = csv.writer(out, lineterminator="\r\n")
    for name in names or ():
        if name not in _COLUMNS:
            raise ConfigError(f"--fields {name}: no such column; known: {', '.join(_COLUMNS)}")
    rows.writerow(names or _COLUMNS)
    for stored in pages:
        rows.writerow([_cell(stored.columns.get(name)) for name in names or _COLUMNS])


#: Facts of a page that stand beside its Markdown.
_FACTS = ("url", "title", "author", "site_name", "published", "modified", "fetched", "lang", "type")
#: Fields that not all pages have.
_OPTIONAL = frozenset({"markdown"})
#: Characters of the path of a URL in the name of its file, and the bytes of them.
_LONGEST_NAME, _MOST_BYTES = 80, 200
_NOT_IN_NAMES = re.compile(r"[^\w.-]+")


def _in_markdown(pages: _Pages, names: _Fields) -> Iterator[tuple[dict[str, object], str]]:
    """The facts and the Markdown of the pages that have text and are no copies."""
    empty = copies = 0
    for stored in pages:
        if stored.columns.get("same_as") is not None:
            copies += 1
        elif not stored.text.strip():
            empty += 1
        else:
            yield _chosen(as_dict(stored), names or _FACTS), markdown_of(stored)
    for number, why in ((empty, "without text"), (copies, "copies of other pages")):
        if number:
            click.echo(f"larbinpy: {counted(number, 'page')} left out: {why}", err=True)


def _markdown_jsonl(pages: _Pages, out: TextIO, names: _Fields) -> None:
    for facts, markdown in _in_markdown(pages, names):
        out.write(json_line({**facts, "markdown": markdown}).decode())


def _export_folder(pages: _Pages, folder: str | None, names: _Fields) -> None:
    """Write a file for each page, HOST/PATH-HASH.md: no two URLs have one."""
    if folder is None:
        raise ConfigError("--format markdown writes a folder; name it with -o")
    count = 0
    for facts, markdown in _in_markdown(pages, ("url", *(names or _FACTS))):
        url = str(facts["url"])
        _, _, host, path = [*url.split("/", 3), ""][:4]
        place = _name_of(path)
        above = Path(folder, _NOT_IN_NAMES.sub("-", host).strip("."))
        above.mkdir(parents=True, exist_ok=True)
        # JSON is YAML.
        head = "".join(
            f"{name}: {json.dumps(value, ensure_ascii=False)}\n"
            for name, value in facts.items()
            if value
        )
        with _opened(str(above / f"{place}-{_identity(url)[:8]}.md")) as out:
            out.write(f"---\n{head}---\n\n{markdown}\n")
        count += 1
    click.echo(f"{folder}: {counted(count, 'page')}")


def _name_of(path: str) -> str:
    """The path of a URL as a part of a file's name, in its own script.

    Without dots: Windows takes con.html-1.md for a device.
    """
    name = _NOT_IN_NAMES.sub("-", normalize("NFC", unquote(path)).replace(".", "-"))
    name = name.strip("-")[:_LONGEST_NAME].encode()[:_MOST_BYTES].decode(errors="ignore")
    return name or "index"


def _cell(value: object) -> object:
    """`value` as a text that no spreadsheet runs: it begins with an apostrophe if need be."""
    if not isinstance(value, str):
        return value
    return f"'{value}" if value.startswith(_FORMULA) else value


def _opensearch(finder: Finder, out: TextIO) -> None:
    for stored in finder.pages():
        # The engine learns the type of a field from the first page, and refuses others.
        page = as_dict(stored) | {
            "facts": json_line(stored.more.get("facts", [])).decode().rstrip()
        }
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


_FORMS: dict[str, Callable[[_Pages, TextIO, _Fields], None]] = {
    "jsonl": _jsonl,
    "csv": _csv,
    "markdown-jsonl": _markdown_jsonl,
}
