"""The commands: they parse arguments and set the exit status; other packages do the work."""

import codecs
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from importlib import import_module
from typing import Any

import click

from larbinpy.console.text import open_all, printable
from larbinpy.errors import INTERRUPTED, USAGE, Ending, what_failed
from larbinpy.url import masked_line

#: The commands in the order of the help -> the module that has each.
_COMMANDS = {
    "crawl": "crawl",
    "mirror": "mirror",
    "revisit": "crawl",
    "demo": "demo",
    "search": "database",
    "show": "database",
    "changes": "database",
    "index": "index",
    "pack": "index",
    "export": "database",
    "serve": "serve",
    "report": "report",
    "log": "report",
    "explain": "report",
    "frontier": "report",
    "init": "check_config",
    "check-config": "check_config",
    "seed": "running",
    "console": "running",
    "status": "running",
    "fleet": "running",
    "resolve": "fetch",
    "fetch": "fetch",
    "login": "fetch",
    "man": "man",
    "completion": "man",
}


class _Commands(click.Group):
    """Loads a command when it is used, so that `resolve` does not load a crawler."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        name = cmd_name.replace("-", "_")
        command: click.Command = getattr(import_module(f"larbinpy.cli.{_COMMANDS[cmd_name]}"), name)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if name in _COMMANDS or name.startswith("-") or ctx.resilient_parsing:
            return super().resolve_command(ctx, args)
        is_url = "." in name or "/" in name
        near = [f"crawl {name}"] if is_url else get_close_matches(name, _COMMANDS, n=1)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        raise click.UsageError(f"No such command {name!r}.{hint}", ctx)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if not args:
            # It shows the help.
            return super().parse_args(ctx, args)
        with _one_line():
            return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        with _one_line():
            return super().invoke(ctx)


@contextmanager
def _one_line() -> Iterator[None]:
    """Turn usage errors into one line, as all other errors are; click prints four.

    Ctrl-C has the exit status that shells use for it, also while a command is loaded.
    """
    try:
        yield
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    except BrokenPipeError:
        raise
    except OSError as error:
        # The help and the versions cannot be printed.
        click.echo(f"larbinpy: {what_failed(error)}", err=True)
        sys.exit(Ending.DISK.code)
    except click.UsageError as error:
        reason = " ".join(error.format_message().split())
        end = "" if reason.endswith((".", "?")) else "."
        path = "larbinpy" if error.ctx is None else error.ctx.command_path
        line = printable(masked_line(f"larbinpy: {reason}{end} Try '{path} --help'."))
        click.echo(line, err=True)
        sys.exit(USAGE)


#: Packages of which nothing but the version is told.
_PACKAGES = (
    "turbohtml",
    "ada-url",
    "click",
    "dnspython",
    "h11",
    "hiredis",
    "isal",
    "tqdm",
    "warcio",
)


def _show_versions(context: click.Context, parameter: click.Parameter, value: bool) -> None:
    if value and not context.resilient_parsing:
        click.echo("\n".join(_versions()))
        context.exit()


def _versions() -> list[str]:
    """Lines of text, the most important first."""
    # Here, since only they need these modules.
    import platform

    from lxml import etree

    from larbinpy._version import __version__
    from larbinpy.fetch import options as fetching
    from larbinpy.native import native

    libxml2 = ".".join(map(str, etree.LIBXML_VERSION))
    scan = "compiled" if native else "not compiled, so reading pages is slow"
    return [
        f"larbinpy, version {__version__}",
        f"Python {platform.python_version()} on {platform.system()} {platform.machine()}",
        fetching.versions(),
        f"lxml {etree.__version__} with libxml2 {libxml2}, link scan {scan}",
        ", ".join(f"{name} {found}" for name in _PACKAGES if (found := _version(name))),
    ]


def _version(package: str) -> str:
    """Empty if the package was installed without its metadata."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(package)
    except PackageNotFoundError:
        return ""


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--version",
    is_flag=True,
    expose_value=False,
    is_eager=True,
    callback=_show_versions,
    help="Show the versions of larbinpy and of its libraries, and exit.",
)
def main() -> None:
    """A polite, fast web crawler in the tradition of Larbin: one process, one poll loop."""
    _speak_utf_8()
    open_all()


def _speak_utf_8() -> None:
    """Begin anew with names of files and arguments in UTF-8 if the locale has another encoding.

    It could not name the file of a page in another script, and Python reads it once, at its start.
    The terminal keeps its encoding.
    """
    if (
        codecs.lookup(sys.getfilesystemencoding()).name == "utf-8"
        or os.environ.get("PYTHONUTF8") == "1"
    ):
        return
    spoken = codecs.lookup(sys.__stdout__.encoding).name if sys.__stdout__ else "ascii"
    if spoken != "ascii":
        os.environ.setdefault("PYTHONIOENCODING", spoken)
    os.environ["PYTHONUTF8"] = "1"
    os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])
