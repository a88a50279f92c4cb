"""What the commands share: options, the configuration, and how errors are told."""

import gc
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import IO, Any, TypeVar

import click
from click.shell_completion import CompletionItem

from larbinpy.config import SETTINGS, Config, ConfigError, assignment, load
from larbinpy.config.kinds import ValueKind
from larbinpy.console.text import printable
from larbinpy.errors import UserError
from larbinpy.exit_status import Ending

_F = TypeVar("_F", bound=Callable[..., Any])
_T = TypeVar("_T")

USAGE = 2
NOTHING = Ending.NOTHING.code
STOPPED = Ending.STOPPED.code
_DISK = Ending.DISK.code
#: Objects made and not yet gone before the collector looks at those, and how often it does
#: before it looks at these again. Old objects it never looks at.
_YOUNG, _ROUNDS, _NEVER = 20_000, 10, 2**31 - 1
#: What a shell makes of a command that SIGINT ended.
_INTERRUPTED = 130


def _options(*options: Callable[[_F], _F]) -> Callable[[_F], _F]:
    def decorate(command: _F) -> _F:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


def _paths(kind: str) -> Callable[[click.Context, click.Parameter, str], list[CompletionItem]]:
    """The shell itself completes paths: "file" for all, "dir" for folders."""
    return lambda context, parameter, begun: [CompletionItem(begun, type=kind)]


files, folders = _paths("file"), _paths("dir")


def _keywords(
    context: click.Context, parameter: click.Parameter, begun: str
) -> list[CompletionItem]:
    return [
        CompletionItem(f"{row.keyword}=", help=row.help)
        for name, row in SETTINGS.items()
        if name.startswith(begun.lower())
    ]


file_option = click.option(
    *("-c", "config_file"),
    metavar="FILE",
    help="Configuration [larbin.conf].",
    shell_complete=files,
)
set_option = click.option(
    *("--set", "settings"),
    metavar="KEY=VALUE",
    multiple=True,
    help="Any keyword.",
    shell_complete=_keywords,
)
config_options = _options(
    file_option,
    set_option,
    click.option("--allow-private", is_flag=True, help="Fetch from private addresses, too."),
)
progress_option = click.option(
    "--progress",
    type=click.Choice(["auto", "bar", "log", "none"]),
    default="auto",
    help="A bar, lines, or nothing [a bar on a terminal].",
)
input_option = click.option(
    *("-i", "input_file"),
    metavar="FILE",
    help="More URLs, one a line; - is standard input.",
    shell_complete=files,
)
servers_option = click.option(
    "--server", "servers", metavar="IP[:PORT]", multiple=True, help="Name server to ask."
)


def option_value(option: str, text: str, kind: ValueKind[_T]) -> _T:
    """`text` as a value of `kind`; a ConfigError names `option`, as the user typed it."""
    try:
        return kind.parse(text)
    except ValueError as error:
        raise ConfigError(f"command line, {option}: {error}") from None


def collect_rarely() -> None:
    """Set the garbage collector for a process of which most objects live long.

    To look at all of them stops a crawl of 100,000 sites for two seconds, and finds nothing:
    what leaves circles behind leaves them young. To look for those ever so often takes a
    tenth of the time.
    """
    gc.set_threshold(_YOUNG, _ROUNDS, _NEVER)


@contextmanager
def plain_errors() -> Iterator[None]:
    """What people can mend is one line and an exit status, never a traceback."""
    try:
        yield
    except UserError as error:
        _leave(str(error), USAGE)
    except KeyboardInterrupt:
        sys.exit(_INTERRUPTED)
    except BrokenPipeError:
        # The reader of our output has left; what it did not read, nobody misses.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        _leave(f"{where}{error.strerror or error}", _DISK)


def complain(reason: object) -> None:
    """One line for people."""
    click.echo(f"larbinpy: {printable(str(reason))}", err=True)


def _leave(reason: str, code: int) -> None:
    complain(reason)
    sys.exit(code)


def all_commands(context: click.Context) -> click.Group:
    """The group of all commands, from the context of one of them."""
    group = context.find_root().command
    assert isinstance(group, click.Group)
    return group


def load_config(
    config_file: str | None,
    settings: Iterable[str],
    allow_private: bool = False,
    more: Iterable[tuple[str, str]] = (),
    defaults: Config | None = None,
) -> Config:
    overrides = [*more, *map(assignment, settings)]
    if allow_private:
        overrides.append(("allowPrivate", "on"))
    return load(config_file, os.environ, overrides, defaults)


def lines(name: str | None) -> Iterator[str]:
    """The lines of a file of URLs, as they are asked for; none where there is no file."""
    if name is None:
        return
    with open_bytes(name) as file:
        for line in file:
            text = line.decode(errors="replace").strip()
            if text:
                yield text


def open_bytes(name: str) -> IO[bytes]:
    """A file, or standard input for "-"."""
    try:
        return click.open_file(name, "rb")
    except OSError as error:
        raise ConfigError(f"{name}: cannot be read: {error.strerror}") from None
