"""``larbinpy search``."""

import os
import sys
from collections.abc import Callable, Iterator

import click

from larbinpy.cli.database import database_options, exit_nothing, filtered, finder_of
from larbinpy.config import ConfigError
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

    --json: url, title, snippet, marks (the ranges of its characters that are hits), score, lang,
    fetched.

    The exit status is 0 if something was found, 1 if not, 3 if the database cannot be read.
    """
    with finder_of(database, config_file) as finder:
        now = wall()
        query = parse(" ".join(words), finder.languages(), now)
        query = filtered(query, now, site=site, lang=lang, type=type_, since=since)
        if query.is_empty and not "".join(words).strip():
            raise ConfigError("nothing to search for; give some words")
        if not answer(finder, query, Wish(n=most, page=page, sort=sort), as_json=as_json):
            exit_nothing()


def answer(finder: Finder, query: Query, wish: Wish, *, as_json: bool = False) -> bool:
    """Print what is found; whether there is something."""
    found = finder.search(query, wish)
    if as_json:
        for hit in found.hits:
            sys.stdout.write(json_line(hit.fields()).decode())
    else:
        first = (wish.page - 1) * wish.n + 1
        for line in _lines(found, first, _Style.of_terminal()):
            sys.stdout.write(f"{line}\n")
    notes = dict.fromkeys((*query.notes, *found.notes))
    is_empty = not (found.hits or finder.counts()["pages"])
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
