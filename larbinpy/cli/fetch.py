"""The commands that try one part of a crawl: ``fetch``, ``login`` and ``resolve``.

`resolve` takes names from a file or pipe without blocking the loop, and prints as they arrive.
"""

import json
import os
import select
import signal
import sys
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import replace
from functools import partial
from typing import TextIO

import click

from larbinpy.cli.common import (
    NOTHING,
    STOPPED,
    collect_rarely,
    complain,
    config_options,
    load_config,
    open_bytes,
    option_value,
    plain_errors,
    servers_option,
)
from larbinpy.config import SETTINGS
from larbinpy.config.kinds import count
from larbinpy.console.terminal.progress import NamesBar
from larbinpy.console.text import printable
from larbinpy.crawl.resolver import make_resolver
from larbinpy.dns.bulk import resolve_names
from larbinpy.dns.cache import NameCache
from larbinpy.errors import LOGIN_FAILED
from larbinpy.loop.clock import clock
from larbinpy.loop.poller import READ, Poller
from larbinpy.page import Outcome, cure, reason
from larbinpy.url import fault


@click.command()
@click.argument("url")
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
@servers_option
@click.option("--max-size", metavar="BYTES", help="Bytes of the page that are read.")
@click.option("--render", is_flag=True, help="Read the page in a browser; robots.txt is obeyed.")
@config_options
def fetch(
    url: str,
    as_json: bool,
    render: bool,
    servers: tuple[str, ...],
    max_size: str | None,
    config_file: str | None,
    settings: tuple[str, ...],
    allow_private: bool,
) -> None:
    """Fetch one URL through resolver, fetcher and parser; show what each of them finds."""
    # Here, since a login needs other modules.
    from larbinpy.crawl.single import fetch_one, render_one

    with plain_errors():
        more = [("dnsServer", server) for server in servers]
        if max_size is not None:
            size = option_value("--max-size", max_size, SETTINGS["maxpagesize"].kind)
            more.append(("maxPageSize", str(size)))
        read = render_one if render else fetch_one
        page = read(url, load_config(config_file, settings, allow_private, more))
        if as_json:
            click.echo(json.dumps(page))
        else:
            for key, value in page.items():
                shown = value if not isinstance(value, list) else "\n  ".join(["", *value])
                click.echo(printable_lines(f"{key}: {'-' if shown is None else shown}"))
        if hint := _hint(page, url):
            complain(f"{page['url']}: {hint}")
        sys.exit(NOTHING if page["status"] is None else 0)


def _hint(page: Mapping[str, object], url: str) -> str:
    """Why there is no page of `url`, and the cure; empty if there is a reply."""
    if page["outcome"] == Outcome.BAD_URL.value:
        return fault(url)
    outcome, detail, status = str(page["outcome"]), str(page["detail"] or ""), page["status"]
    remedy = cure(outcome, detail)
    if status is not None and not remedy:
        return ""
    why = reason(outcome, status if isinstance(status, int) else None, detail)
    return "; ".join(filter(None, (why, remedy)))


def printable_lines(text: str) -> str:
    return "\n".join(map(printable, text.split("\n")))


@click.command()
@click.argument("url")
@config_options
def login(
    url: str, config_file: str | None, settings: tuple[str, ...], allow_private: bool
) -> None:
    """Try the login of loginFile for the site of URL, and say what is seen.

    Makes the requests of the login, and asks for URL; prints each request, the fields of forms,
    markers, and the names of cookies. Keeps nothing. The exit status is 0 if it is logged in, 6 if
    not, or if that is not certain.
    """
    # Here, since only this command needs libcurl.
    from larbinpy.crawl.login_trial import try_login

    with plain_errors():
        config = load_config(config_file, settings, allow_private)
        is_in = try_login(url, config, lambda line: click.echo(printable(line)))
    sys.exit(0 if is_in else LOGIN_FAILED)


_BLOCK = 1 << 16
#: Bytes kept of a line; no useful line is longer.
_LONGEST = 1 << 12


def arriving_lines(fd: int, poller: Poller) -> Iterator[str]:
    """The lines of `fd`, without blanks around them and without empty ones.

    If no line has arrived yet, yields an empty one; `poller` then wakes for the next. Bytes
    that are not UTF-8 are escaped as ``\\xe9``.
    """
    rest = b""
    while True:
        if not select.select([fd], [], [], 0)[0]:
            poller.register(fd, READ, lambda fd, _events: poller.unregister(fd))
            yield ""
            continue
        block = os.read(fd, _BLOCK)
        whole, _, rest = (rest + (block or b"\n")).rpartition(b"\n")
        rest = rest[:_LONGEST]
        yield from filter(None, map(str.strip, whole.decode(errors="backslashreplace").split("\n")))
        if not block:
            return


_OUTPUT_BLOCK = 1 << 20


class Results:
    """Writes lines to `stream`, and a bar to `stderr` if that is a terminal.

    `source` is the file of the names, "-" for standard input; its number of lines is the total
    of the bar.
    """

    def __init__(self, stream: TextIO, stderr: TextIO, source: str) -> None:
        self._stream = stream
        self._bar: NamesBar | None = None
        if stderr.isatty():
            self._bar = NamesBar(stderr, lines_in(source), shared=stream.isatty())
        #: Lines written.
        self.count = 0

    def write(self, lines: str) -> None:
        """Write one or more lines and flush; the last comes without its newline."""
        self.count += lines.count("\n") + 1
        if self._bar is not None:
            self._bar.clear()
        self._stream.write(lines + "\n")
        self._stream.flush()

    def update(self, names: int) -> None:
        """Advance the bar by `names`; call it after each `write`."""
        if self._bar is not None:
            self._bar.update(names)

    def close(self) -> None:
        if self._bar is not None:
            self._bar.close()


def lines_in(name: str) -> int | None:
    """The number of lines of a file; None for pipes, terminals and unreadable files."""
    path = "/dev/stdin" if name == "-" else name
    if not os.path.isfile(path):
        return None
    count, last = 0, b"\n"
    try:
        with open(path, "rb") as file:
            for block in iter(partial(file.read, _OUTPUT_BLOCK), b""):
                count += block.count(b"\n")
                last = block[-1:]
    except OSError:
        return None
    return count + (last != b"\n")


#: The upper bound of dnsCacheSize.
_MOST_NAMES = 10**9


@click.command()
@click.argument("file", default="-")
@servers_option
@click.option("--json", "as_json", is_flag=True, help="One JSON object a line.")
@click.option(
    "--parallel", metavar="N", default="1000", show_default=True, help="Names asked for at once."
)
@click.option(
    "--cache", metavar="N", default="50000", show_default=True, help="Names to remember, or 0."
)
def resolve(file: str, servers: tuple[str, ...], as_json: bool, parallel: str, cache: str) -> None:
    """Resolve the names in FILE (or standard input) with the crawler's own resolver."""
    collect_rarely()
    with plain_errors():
        at_once = option_value("--parallel", parallel, SETTINGS["dnsconnexions"].kind)
        config = replace(
            load_config(None, [], more=[("dnsServer", server) for server in servers]),
            dns_connexions=at_once,
            dns_send_queue=at_once,
        )
        # It may be 0, which a crawl cannot have.
        cached = NameCache(
            option_value("--cache", cache, count(0, _MOST_NAMES)),
            config.dns_negative_size,
            config.dns_cache_time,
        )
        with (
            closing(Poller()) as poller,
            closing(make_resolver(config, poller, cached)) as resolver,
            open_bytes(file) as source,
            closing(Results(sys.stdout, sys.stderr, file)) as results,
        ):
            started = clock()
            try:
                # Like Ctrl-C; timeout(1), for example, sends SIGTERM.
                signal.signal(signal.SIGTERM, signal.default_int_handler)
                summary = resolve_names(
                    arriving_lines(source.fileno(), poller),
                    resolver,
                    poller,
                    clock,
                    results.write,
                    results.update,
                    as_json=as_json,
                )
            except KeyboardInterrupt:
                results.close()
                click.echo(f"{_rate(results.count, clock() - started)}, then stopped", err=True)
                sys.exit(STOPPED)
        click.echo(
            f"{_rate(summary.names, summary.elapsed)}: "
            f"{summary.resolved} resolved, {summary.failed} failed, "
            f"{summary.cached} cached, {summary.resent} resent",
            err=True,
        )
        sys.exit(NOTHING if summary.names and not summary.resolved else 0)


def _rate(names: int, seconds: float) -> str:
    return f"{names} names in {seconds:.2f} s ({names / seconds if seconds else 0:.0f}/s)"
