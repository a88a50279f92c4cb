"""Shared by the commands that ask the content database: which one it is, errors, exit status."""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import click

from larbinpy.cli.common import complain, file_option, files, load_config, plain_errors
from larbinpy.config import ConfigError
from larbinpy.console.text import printable
from larbinpy.database.base import DatabaseError, Finder
from larbinpy.database.opening import is_server, open_finder
from larbinpy.database.several import open_finders
from larbinpy.exit_status import NOTHING_FOUND, Ending
from larbinpy.fleet.settings import as_node
from larbinpy.observe.report.log_files import states_in
from larbinpy.search.operators import FILTERS
from larbinpy.search.query import Query
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
        with closing(open_finder(where)) as finder:
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
                raise ConfigError(f"command line, --{name}: '{wrong}': expected {_EXPECTED[name]}")
    return replace(query, **filters)


#: The value that each of the options takes, in words.
_EXPECTED = {
    "site": "a host, such as www.example.org",
    "lang": "a language, such as zh",
    "type": "a media type or its end, such as pdf",
    "since": "a time such as 7d or 12h, or a date such as 2026-11-23",
}


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
    spellings = [url]
    if "://" not in text:
        spellings.append(f"https{url.removeprefix('http')}")
    return next((each for each in spellings if finder.fetched(each) is not None), None)
