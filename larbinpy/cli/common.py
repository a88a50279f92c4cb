"""Options, the configuration, error messages and the crawl in question, for all commands.

`open_remote` finds a crawl on Redis: that of --join, LARBINPY_JOIN or `join` in larbin.conf, else
that of `crawl --nodes` that runs in stateDir. `place_of` finds the door or the port of a crawl
that `seed`, `console` and `status` connect to.
"""

import gc
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, TypeVar

import click
from click.shell_completion import CompletionItem

from larbinpy.config import SETTINGS, Config, ConfigError, Given, in_environment
from larbinpy.config.kinds import COMMENT, SEED, UTF_16, ValueKind, decoded
from larbinpy.console.ports.input_port import DOOR
from larbinpy.console.text import printable
from larbinpy.errors import INTERRUPTED, USAGE, Ending, UserError, what_failed
from larbinpy.url import host_of, masked_line, typed

if TYPE_CHECKING:
    from larbinpy.crawl.fleet.remote import Remote


_F = TypeVar("_F", bound=Callable[..., Any])
_T = TypeVar("_T")

NOTHING = Ending.NOTHING.code
STOPPED = Ending.STOPPED.code
_DISK = Ending.DISK.code
#: Thresholds of the garbage collector's generations: young objects after this many
#: allocations, the middle one after this many collections of the young one, the old one never.
_YOUNG, _ROUNDS, _NEVER = 20_000, 10, 2**31 - 1
_WRAPPED = re.compile(r"""^(?:"([^"]*)"|'([^']*)'|<([^<>]*)>)$""")
_NEXT_URL = re.compile(r"\s+(?=https?://)", re.IGNORECASE)
#: Marks that nobody sees, and the end of a DOS file; files that were put together have a byte order
#: mark at the beginning of each.
_UNSEEN = " \t\r\n\f\v\xa0\u200b\u200e\u200f\u2060\ufeff\u3000\x1a"
_GZIP = b"\x1f\x8b"
#: Bytes that are not UTF-8, after decoding.
_ODD_BYTE = re.compile("[\udc80-\udcff]")
#: Keywords that choose how far a crawl goes; with one of them, nothing is assumed about it.
_SCOPE = frozenset({"stay", "locksite", "noexternallinks", "limittodomain", "accept", "reject"})
#: Keywords that say what becomes of pages.
_KEPT = frozenset({"outputmode", "plug"})


def _options(*options: Callable[[_F], _F]) -> Callable[[_F], _F]:
    def decorate(command: _F) -> _F:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


def _paths(kind: str) -> Callable[[click.Context, click.Parameter, str], list[CompletionItem]]:
    """Leaves completion to the shell: `kind` is "file" for any path, "dir" for folders."""
    return lambda context, parameter, begun: [CompletionItem(begun, type=kind)]


files, folders = _paths("file"), _paths("dir")


def _keywords(
    context: click.Context, parameter: click.Parameter, begun: str
) -> list[CompletionItem]:
    keyword, equals, value = begun.partition("=")
    if equals:
        row = SETTINGS.get(keyword.lower())
        names = [] if row is None else row.kind.names
        return [CompletionItem(f"{keyword}={name}") for name in names if name.startswith(value)]
    return [
        CompletionItem(f"{row.keyword}=", help=row.help)
        for name, row in SETTINGS.items()
        if name.startswith(begun.lower())
    ]


file_option = click.option(
    *("-c", "config_file"),
    metavar="FILE",
    help="Configuration file [larbin.conf]; - is standard input.",
    shell_complete=files,
)
set_option = click.option(
    *("--set", "settings"),
    metavar="KEY=VALUE",
    multiple=True,
    help="Set a keyword of larbin.conf; repeatable.",
    shell_complete=_keywords,
)
config_options = _options(
    file_option,
    set_option,
    click.option("--allow-private", is_flag=True, help="Also fetch from private addresses."),
)
node_join_option = click.option(
    "--join",
    metavar="URL",
    help="Be a node of this crawl: redis://HOST[:PORT]/NAME or unix:PATH?crawl=NAME.",
)
report_option = click.option(
    "--report",
    metavar="FILE",
    help="Write a JSON report to FILE (or -) at the end.",
    shell_complete=files,
)
progress_option = click.option(
    "--progress",
    type=click.Choice(["auto", "bar", "log", "none"]),
    default="auto",
    help="Show a bar, log lines or nothing [bar on a terminal].",
)
input_option = click.option(
    *("-i", "input_file"),
    metavar="FILE",
    help="Read more URLs from FILE, one a line, # for comments; - is standard input.",
    shell_complete=files,
)


def pace_options(depth: str, wait: str) -> Callable[[_F], _F]:
    """--depth, --wait and --rate; the arguments are the defaults that the help names."""
    return _options(
        click.option(
            "--depth", metavar="NUMBER", help=f"Links to follow from a seed [depthInSite, {depth}]."
        ),
        click.option(
            "--wait", metavar="TIME", help=f"Time between two requests [waitDuration, {wait}]."
        ),
        click.option("--rate", metavar="BYTES", help="Most bytes a second [bondWidth, no limit]."),
    )


def pace(depth: str | None, wait: str | None, rate: str | None) -> list[tuple[str, str]]:
    """Those of `pace_options` that were given, as keywords and values."""
    given = (("depthInSite", depth), ("waitDuration", wait), ("bondWidth", rate))
    return [(keyword, value) for keyword, value in given if value is not None]


servers_option = click.option(
    *("--server", "servers"),
    metavar="IP[:PORT]",
    multiple=True,
    help="Name server to use; repeatable.",
)


def option_value(option: str, text: str, kind: ValueKind[_T]) -> _T:
    """`text` as a value of `kind`; a ConfigError names `option`, as the user typed it."""
    try:
        return kind.parse(text)
    except ValueError as error:
        raise ConfigError(f"command line, {option}: {error}") from None


def collect_rarely() -> None:
    """Set the garbage collector for a process whose objects are mostly long-lived.

    A full collection stops a crawl of 100,000 sites for two seconds and finds nothing, because
    reference cycles become garbage while young. Collecting young objects less often reduces the
    time for that to a tenth.
    """
    gc.set_threshold(_YOUNG, _ROUNDS, _NEVER)


@contextmanager
def plain_errors() -> Iterator[None]:
    """Turns errors that the user can correct into one line and an exit status."""
    try:
        yield
    except UserError as error:
        _exit_with(str(error), USAGE)
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    except BrokenPipeError:
        # The reader of the output has exited. At exit, Python would write to it again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except OSError as error:
        _exit_with(what_failed(error), _DISK)


def complain(reason: object) -> None:
    """Print one line on standard error; an address in it may stand where it should not."""
    click.echo(f"larbinpy: {printable(masked_line(str(reason)))}", err=True)


def _exit_with(reason: str, code: int) -> None:
    complain(reason)
    sys.exit(code)


def all_commands(context: click.Context) -> click.Group:
    """The group of all commands, from the context of one of them."""
    group = context.find_root().command
    assert isinstance(group, click.Group)
    return group


def going_on(given: Given, folder: str | os.PathLike[str], *, says: bool = True) -> Given:
    """`given`, and what the runs before were given whose state is in `folder`; says that.

    Raises StateError, ConfigError.
    """
    # Here, since only commands that run a crawl need it.
    from larbinpy.crawl.kept_options import kept_in

    earlier = kept_in(Path(folder))
    if earlier is None:
        return given
    merged, besides = given.over(earlier), given.beside(earlier)
    if besides and says:
        complain(f"given earlier: {', '.join(besides)}; --set changes that")
    return merged


@dataclass(frozen=True, slots=True)
class Defaults:
    """The defaults of a crawl, and which of them are not those of larbin.conf."""

    config: Config
    #: It stays on the hosts of its seeds.
    stays: bool = False
    #: It keeps its pages, in a folder that the user has not named.
    keeps: bool = False

    def said(self, folder: str, urls: Sequence[str]) -> str:
        """A line about them for a crawl from `urls` with this outputDir; empty for none."""
        said = []
        if self.stays:
            hosts = dict.fromkeys(map(host_of, filter(None, map(typed, urls))))
            few = " and ".join(hosts) if 0 < len(hosts) < 3 else "the hosts of the seeds"
            said.append(f"staying on {few} (--set stay=any follows all links)")
        if self.keeps:
            folder = folder.rstrip("/")
            said.append(f"keeping pages in {folder}/, a mirror (-o DIR or --set outputMode=none)")
        return "; ".join(said)


def defaults_of(given: Given) -> Defaults:
    """The defaults for a crawl with this configuration."""
    if given.has_file:
        return Defaults(Config())
    variables = in_environment(given.environ)
    keywords = given.keywords | {name.partition("_")[2].lower() for name in variables}
    stays, keeps = keywords.isdisjoint(_SCOPE), keywords.isdisjoint(_KEPT)
    config = Config(
        stay="host" if stays else "any",
        output_mode=("mirror",) if keeps else (),
        # As a visitor of these hosts. A crawl of many sites sees what a first visitor sees.
        use_cookies=stays,
    )
    return Defaults(config, stays, keeps and "outputdir" not in keywords)


def config_of(given: Given, folder: str | os.PathLike[str], *, says: bool = True) -> Config:
    """The configuration of the crawl in `folder`, with its defaults; see `going_on`."""
    merged = going_on(given, folder, says=says)
    return merged.config(None if merged is given else defaults_of(merged).config)


def load_config(
    config_file: str | None,
    settings: Iterable[str],
    allow_private: bool = False,
    more: Iterable[tuple[str, str]] = (),
    defaults: Config | None = None,
) -> Config:
    return Given.by(config_file, settings, allow_private, more).config(defaults)


def lines(name: str | None) -> Iterator[tuple[str, str]]:
    """The URLs in a file, each with its place ("urls.txt:7"); read lazily; none without `name`.

    Empty lines are left out, and so are comments: from "#" at the beginning of a line, or after a
    blank, to its end. A "#" within a URL begins its fragment. Of the columns of a table, which tabs
    part, the first one counts; it may be in quotes or angle brackets. URLs that blanks part count
    each.
    """
    if name is None:
        return
    shown = "standard input" if name == "-" else name
    with open_bytes(name) as file:
        for number, line in enumerate(_text_lines(file), 1):
            text = COMMENT.sub("", line.lstrip(_UNSEEN)).partition("\t")[0].strip(_UNSEEN)
            for url in _NEXT_URL.split(_WRAPPED.sub(r"\1\2\3", text)):
                if url:
                    yield url, f"{shown}:{number}"


def _text_lines(file: IO[bytes]) -> Iterator[str]:
    """The lines of a text in UTF-8, or in UTF-16 if its byte order mark says so."""
    first = file.readline()
    if first.startswith(_GZIP):
        raise ConfigError(f"{file.name}: packed by gzip; gunzip it, or zcat it to -i -")
    if first[:2] in UTF_16:
        yield from decoded(first + file.read(), "replace").splitlines()
        return
    for line in chain([first], file):
        text = line.decode(errors="surrogateescape")
        # A browser sends bytes of another encoding as they are.
        text = _ODD_BYTE.sub(lambda found: f"%{ord(found[0]) - 0xDC00:02X}", text)
        yield from text.splitlines()


def refuse_files(urls: Iterable[str]) -> None:
    """Raise ConfigError if an argument that should be a URL is a file: -i is missing."""
    for url in urls:
        if typed(url) is None and Path(url).is_file():
            raise ConfigError(f"{url}: a file, no URL; -i {url} reads the URLs in it")


def seeds_in(name: str | None) -> Iterator[str]:
    """The URLs in a file of seeds; raises ConfigError with the line of one that is none."""
    for text, place in lines(name):
        try:
            yield SEED.parse(text)
        except ValueError as error:
            raise ConfigError(f"{place}: {error}; a list has URLs, and comments behind #") from None


def open_bytes(name: str) -> IO[bytes]:
    """Open a file, or standard input for "-"."""
    try:
        return click.open_file(name, "rb")
    except OSError as error:
        raise ConfigError(f"{name}: cannot be read: {error.strerror}") from None


def check_writable(file: str) -> None:
    """Raise ConfigError before a crawl if its report cannot be written to `file` after it."""
    if file == "-":
        return
    path = Path(file)
    if path.is_dir() or not os.access(path if path.exists() else path.parent, os.W_OK):
        raise ConfigError(f"{path}: the report cannot be written there")


join_option = click.option(
    "--join",
    metavar="redis://HOST[:PORT]/NAME",
    help="The whole crawl NAME of all nodes, also while none runs [join of FILE].",
)


def join_of(config_file: str | None, join: str | None, state: str | None = None) -> str:
    """The address of the crawl; empty for one that is on this machine alone."""
    if state is not None and join is None:
        return _of_nodes(state)
    config = load_config(config_file, (), more=() if join is None else [("join", join)])
    return config.join or _of_nodes(config.state_dir)


def _of_nodes(state_dir: str) -> str:
    """The address of the Redis that `crawl --nodes` has started in `state_dir`; empty for none."""
    folder = Path(state_dir, "redis")
    if not os.path.exists(folder / "socket"):
        return ""
    # Here, since only a crawl by nodes needs it.
    from larbinpy.cli.nodes.redis_server import running_in

    return running_in(folder)


def open_remote(join: str, *, forgets: bool = False) -> "Remote":
    """The crawl at an address. Raises UserError."""
    # Here, since it needs what is not always installed.
    from larbinpy.fleet import require

    require()
    from larbinpy.crawl.fleet.remote import Remote

    return Remote(join, forgets=forgets)


#: Larbin's own ports, used if no port is given.
_USUAL = {"input": 1976, "http": 8081}
_LOOPBACK = "127.0.0.1"
#: The loopback address for a server that listens on all addresses.
_LOCAL = {"0.0.0.0": _LOOPBACK, "::": "::1"}

host_option = click.option("--host", help="Host of the crawl [inputHost of FILE, 127.0.0.1].")
port_option = click.option("--port", type=int, help="Port of the crawl [inputPort of FILE, 1976].")
state_option = click.option(
    "--state", metavar="DIR", help="The crawl of this folder [stateDir].", shell_complete=folders
)


@contextmanager
def place_of(
    kind: str,
    config_file: str | None,
    state: str | None = None,
    host: str | None = None,
    port: int | None = None,
) -> Iterator[tuple[str, int]]:
    """The place of a crawl: as given, else the door in its stateDir, else a port.

    Without `state`, stateDir and ports are those of the configuration, else the defaults. `kind` is
    "input" or "http". A NoAnswer in the body gets a hint if a default port was used.
    """
    # Here, since it loads http.client, which most commands do not need.
    from larbinpy.console.terminal import client

    if port is not None:
        yield host or _LOOPBACK, port
        return
    config = load_config(config_file, ())
    door = os.path.join(state or config.state_dir, DOOR)
    if state is not None or (host is None and client.is_open(door)):
        yield door, 0
        return
    there = getattr(config, f"{kind}_host")
    port = getattr(config, f"{kind}_port")
    try:
        yield host or _LOCAL.get(there, there), port or _USUAL[kind]
    except client.NoAnswer as error:
        if port:
            raise
        keyword = SETTINGS[f"{kind}port"].keyword
        raise client.NoAnswer(
            f"no crawl runs in {config.state_dir}; {error} Give its stateDir (--state) or"
            f" {keyword}, or -c FILE with it"
        ) from None
