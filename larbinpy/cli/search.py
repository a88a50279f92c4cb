"""``larbinpy search``."""

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping

import click

from larbinpy.cli.common import load_config
from larbinpy.cli.database import (
    database_errors,
    database_options,
    exit_nothing,
    filtered,
    finder_of,
)
from larbinpy.cli.joining import open_remote
from larbinpy.config import ConfigError
from larbinpy.console.search.request import with_filter
from larbinpy.console.text import counted, json_line, printable
from larbinpy.database.base import Finder, Found, Hit, Wish
from larbinpy.loop.clock import wall
from larbinpy.search.query import Query, parse
from larbinpy.search.snippet import pieces

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
    beginnings, -word leaves pages out; intitle:, inurl:, site:, lang:, type: and since: narrow the
    search. The database may be searched while the crawl writes it.

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
    if found.missing:
        missing = ", ".join(found.missing)
        yield f"no page has all words; these have most of them, without: {missing}"
    if found.cut:
        yield "only a part of the pages was compared; more words, or site:, narrow the search"
    if not found.hits:
        yield "no more pages" if page > 1 and found.total else "nothing found"
