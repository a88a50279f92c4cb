"""The commands: parse, call, exit. What they do is done elsewhere."""

import json
import os
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import click

from larbinpy._version import __version__
from larbinpy.config import Config, ConfigError, assignment, describe, load
from larbinpy.console import client
from larbinpy.console.progress import status_line
from larbinpy.console.stream import open_all
from larbinpy.console.text import printable
from larbinpy.crawl import Crawl, Start
from larbinpy.dns.bulk import resolve_names
from larbinpy.engine import clock
from larbinpy.frontier.state import State, StateError
from larbinpy.output.report import write_report
from larbinpy.poller import Poller
from larbinpy.settings import URL
from larbinpy.single import fetch_one
from larbinpy.wiring import make_resolver

_F = TypeVar("_F", bound=Callable[..., Any])

_USAGE = 2
_DISK = 3
_NOTHING = 4


def _options(*options: Callable[[_F], _F]) -> Callable[[_F], _F]:
    def decorate(command: _F) -> _F:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


_config_options = _options(
    click.option("-c", "config_file", metavar="FILE", help="Configuration [larbin.conf]."),
    click.option("--set", "settings", metavar="KEY=VALUE", multiple=True, help="Any keyword."),
    click.option("--allow-private", is_flag=True, help="Fetch from private addresses, too."),
)
_progress_option = click.option(
    "--progress",
    type=click.Choice(["auto", "bar", "log", "none"]),
    default="auto",
    help="A bar, lines, or nothing [a bar on a terminal].",
)
_input_option = click.option(
    "-i", "input_file", metavar="FILE", help="More URLs, one a line; - is standard input."
)
_servers_option = click.option(
    "--server", "servers", metavar="IP[:PORT]", multiple=True, help="Name server to ask."
)


@contextmanager
def _plain_errors() -> Iterator[None]:
    """What people can mend is one line and an exit status, never a traceback."""
    try:
        yield
    except (ConfigError, StateError, client.NoAnswer) as error:
        _leave(str(error), _USAGE)
    except BrokenPipeError:
        # The reader of our output has left; what it did not read, nobody misses.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        _leave(f"{where}{error.strerror or error}", _DISK)


def _leave(reason: str, code: int) -> None:
    click.echo(f"larbinpy: {printable(reason)}", err=True)
    sys.exit(code)


def _load(
    config_file: str | None,
    settings: Iterable[str],
    allow_private: bool = False,
    more: Iterable[tuple[str, str]] = (),
) -> Config:
    overrides = [*more, *map(assignment, settings)]
    if allow_private:
        overrides.append(("allowPrivate", "on"))
    return load(config_file, os.environ, overrides)


def _lines(name: str | None) -> list[str]:
    """The lines of a file of URLs or names; none where there is no file."""
    if name is None:
        return []
    return [line.strip() for line in _open_lines(name) if line.strip()]


def _open_lines(name: str) -> Iterator[str]:
    try:
        with click.open_file(name, errors="replace") as file:
            yield from file
    except OSError as error:
        raise ConfigError(f"{name}: cannot be read: {error.strerror}") from None


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="larbinpy")
def main() -> None:
    """A polite, fast web crawler in the mould of Larbin: one process, one poll loop."""
    open_all()


@main.command()
@click.argument("urls", nargs=-1, metavar="[URL]...")
@_config_options
@_input_option
@click.option("-o", "output_dir", metavar="DIR", help="Where pages are written.")
@click.option("--resume", "--reload", is_flag=True, help="Go on with the crawl in stateDir.")
@click.option("--scratch", is_flag=True, help="Forget the crawl in stateDir.")
@click.option("--report", metavar="FILE", help="Write a JSON report at the end.")
@_progress_option
def crawl(
    urls: tuple[str, ...],
    config_file: str | None,
    settings: tuple[str, ...],
    allow_private: bool,
    input_file: str | None,
    output_dir: str | None,
    resume: bool,
    scratch: bool,
    report: str | None,
    progress: str,
) -> None:
    """Crawl from the URLs given here, in a file, and as startUrl together."""
    with _plain_errors():
        if resume and scratch:
            raise ConfigError("--resume and --scratch exclude each other")
        more = [("outputDir", output_dir)] if output_dir else []
        config = _load(config_file, settings, allow_private, more)
        seeds = [*urls, *_lines(input_file)]
        if not (seeds or config.start_url or config.input_port or resume):
            raise ConfigError("nothing to crawl: give a URL, a startUrl or an inputPort")
        start = Start.RESUME if resume else Start.SCRATCH if scratch else Start.REFUSE
        _run(Crawl(config, seeds=_checked(seeds), start=start, progress=progress), report)


def _checked(seeds: Iterable[str]) -> list[str]:
    """The seeds, of which a wrong one is an error before anything starts."""
    try:
        return [URL.parse(seed) for seed in seeds]
    except ValueError as error:
        raise ConfigError(str(error)) from None


def _run(crawl: Crawl, report: str | None = None) -> None:
    code = crawl.run()
    if report is not None:
        write_report(report, crawl.report)
    sys.exit(code)


@main.command()
@click.argument("urls", nargs=-1, metavar="[URL]...")
@_input_option
@click.option("--host", default="127.0.0.1", show_default=True)
@click.option("--port", default=1976, show_default=True, help="The crawl's inputPort.")
@click.option("--priority", is_flag=True, help="Before all others.")
@click.option("--depth", default=5, show_default=True, help="Links to follow from there.")
@click.option("--again", is_flag=True, help="Fetch even what was seen.")
def seed(
    urls: tuple[str, ...],
    input_file: str | None,
    host: str,
    port: int,
    priority: bool,
    depth: int,
    again: bool,
) -> None:
    """Add seeds to a running crawl through its input port."""
    with _plain_errors():
        seeds = [*urls, *_lines(input_file)]
        if not seeds:
            raise ConfigError("no URL given")
        refusals = client.seed(host, port, seeds, priority, depth, again)
        for refusal in refusals:
            click.echo(f"larbinpy: {refusal.url}: {refusal.reason}", err=True)
        click.echo(f"{len(seeds) - len(refusals)} of {len(seeds)} URLs taken")
        sys.exit(_USAGE if len(refusals) == len(seeds) else 0)


@main.command()
@click.option("--host", default="127.0.0.1", show_default=True)
@click.option("--port", default=1976, show_default=True, help="The crawl's inputPort.")
def console(host: str, port: int) -> None:
    """Talk to a running crawl."""
    with _plain_errors():
        client.repl(host, port, sys.stdin, sys.stdout)


@main.command()
@click.option("--url", default="http://127.0.0.1:8081/", show_default=True, help="Status page.")
@click.option("--follow", is_flag=True, help="Print each URL as its fate is decided.")
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
def status(url: str, follow: bool, as_json: bool) -> None:
    """Print, or follow, the status of a running crawl."""
    with _plain_errors():
        host, port = client.address(url)
        if follow:
            for fate in client.follow(host, port):
                click.echo(json.dumps(fate) if as_json else _fate_line(fate))
        else:
            snapshot = client.read_status(host, port)
            click.echo(json.dumps(snapshot) if as_json else status_line(snapshot))


def _fate_line(fate: dict[str, Any]) -> str:
    return printable(f"{fate['ts']} {fate['outcome']} {fate['status'] or '-'} {fate['url']}")


@main.command()
@click.argument("url")
@click.argument("directory", metavar="DIR")
@click.option("--depth", default=50, show_default=True, help="Links to follow from URL.")
@click.option("--wait", default="1s", show_default=True, help="Between two requests.")
@click.option("--rate", default="0", metavar="BYTES", help="Bytes a second at most.")
@_config_options
@_progress_option
def mirror(
    url: str,
    directory: str,
    depth: int,
    wait: str,
    rate: str,
    config_file: str | None,
    settings: tuple[str, ...],
    allow_private: bool,
    progress: str,
) -> None:
    """Mirror one site: its pages and what they need, below DIR."""
    with _plain_errors():
        state = str(Path(directory) / ".larbinpy")
        more = [
            ("startUrl", url),
            ("outputMode", "mirror"),
            ("outputDir", directory),
            ("stateDir", state),
            ("lockSite", "on"),
            ("getCGI", "on"),
            ("anyType", "on"),
            ("depthInSite", str(depth)),
            ("waitDuration", wait),
            ("bondWidth", rate),
        ]
        config = _load(config_file, settings, allow_private, more)
        _run(Crawl(config, start=_unfinished(state), progress=progress))


def _unfinished(folder: str) -> Start:
    """A mirror that was stopped goes on; one that was finished is made anew."""
    state = State(Path(folder))
    if state.exists and next(iter(state.owed()), None) is not None:
        return Start.RESUME
    return Start.SCRATCH


@main.command()
@click.argument("file", default="-")
@_servers_option
@click.option("--json", "as_json", is_flag=True, help="One JSON object a line.")
@click.option("--parallel", default=1000, show_default=True, help="Questions in flight.")
@click.option("--cache", default=50000, show_default=True, help="Names to remember.")
def resolve(file: str, servers: tuple[str, ...], as_json: bool, parallel: int, cache: int) -> None:
    """Resolve the names in FILE (or standard input) with the crawler's own resolver."""
    with _plain_errors():
        more = [("dnsServer", server) for server in servers]
        more += [("dnsCacheSize", str(cache)), ("dnsConnexions", str(parallel))]
        more.append(("dnsSendQueue", str(parallel)))
        poller = Poller()
        resolver = make_resolver(_load(None, [], more=more), poller)
        summary = resolve_names(
            _open_lines(file),
            resolver,
            poller,
            clock,
            print,
            parallel=parallel,
            as_json=as_json,
        )
        resolver.close()
        rate = summary.names / summary.elapsed if summary.elapsed else 0.0
        click.echo(
            f"{summary.names} names in {summary.elapsed:.2f} s ({rate:.0f}/s): "
            f"{summary.resolved} resolved, {summary.failed} failed, "
            f"{summary.cached} cached, {summary.resent} resent",
            err=True,
        )
        sys.exit(_NOTHING if summary.names and not summary.resolved else 0)


@main.command()
@click.argument("url")
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
@_servers_option
@click.option("--max-size", metavar="BYTES", help="Bytes of the page that are read.")
@_config_options
def fetch(
    url: str,
    as_json: bool,
    servers: tuple[str, ...],
    max_size: str | None,
    config_file: str | None,
    settings: tuple[str, ...],
    allow_private: bool,
) -> None:
    """Fetch one URL through resolver, fetcher and parser, nothing else."""
    with _plain_errors():
        more = [("dnsServer", server) for server in servers]
        if max_size is not None:
            more.append(("maxPageSize", max_size))
        page = fetch_one(url, _load(config_file, settings, allow_private, more))
        if as_json:
            click.echo(json.dumps(page))
        else:
            for key, value in page.items():
                shown = value if not isinstance(value, list) else "\n  ".join(["", *value])
                click.echo(printable_lines(f"{key}: {'-' if shown is None else shown}"))
        sys.exit(_NOTHING if page["status"] is None else 0)


def printable_lines(text: str) -> str:
    return "\n".join(map(printable, text.split("\n")))


@main.command()
@click.argument("state_dir", metavar="STATE_DIR")
@click.option("--count", is_flag=True, help="Only how many.")
def frontier(state_dir: str, count: bool) -> None:
    """List the URLs that a stopped crawl still owes."""
    with _plain_errors():
        urls = State(Path(state_dir)).owed()
        if count:
            click.echo(sum(1 for _ in urls))
        else:
            for url in urls:
                click.echo(url.href)


@main.command("check-config")
@click.argument("file")
def check_config(file: str) -> None:
    """Say what a configuration means, every default included, or where it is wrong."""
    with _plain_errors():
        for line in describe(load(file, {}, ())):
            click.echo(line)


@main.command()
@click.option("-o", "directory", metavar="DIR", help="Where to mirror [a new folder].")
@_progress_option
def demo(directory: str | None, progress: str) -> None:
    """Crawl and mirror an embedded web, on loopback: no network is needed."""
    from larbinpy.demo import serve

    with _plain_errors(), serve() as web:
        folder = Path(directory or tempfile.mkdtemp(prefix="larbinpy-demo-"))
        folder.mkdir(parents=True, exist_ok=True)
        conf = folder / "larbin.conf"
        conf.write_text(web.conf(folder / "mirror", folder / "state"))
        click.echo(f"larbinpy crawl -c {conf}")
        crawl = Crawl(load(str(conf), {}, ()), start=Start.SCRATCH, progress=progress)
        code = crawl.run()
        _tell_demo(crawl.report, folder)
        sys.exit(code)


def _tell_demo(report: dict[str, Any], folder: Path) -> None:
    click.echo(
        f"{report['pages']} pages of {report['sites']} sites on {report['addresses']} addresses "
        f"in {report['elapsed_s']} s, {report['links']} links, {report['retries']} retries"
    )
    for name, count in report["outcomes"].items():
        if count:
            click.echo(f"  {name:<16}{count:>6}")
    click.echo(f"mirror: {folder / 'mirror'}\nlog:    {folder / 'state' / 'crawl.jsonl'}")
