"""``larbinpy man``: manual pages, made from the help of the commands and of the settings.

They use the macros of man(7), which both groff and mandoc format.
"""

from collections.abc import Iterator
from textwrap import wrap

import click

from larbinpy._version import __version__
from larbinpy.cli.common import all_commands, plain_errors
from larbinpy.config import SETTINGS
from larbinpy.config.kinds import Setting
from larbinpy.exit_status import Ending

#: Page -> the section of the manual that it is in.
PAGES = {"larbinpy": 1, "larbin.conf": 5}

_USAGE = "usage or configuration error"
_SIGNALS = {
    "SIGINT, SIGTERM": "The first ends a crawl: transfers in flight get ten seconds, and all is "
    "saved. The second ends it at once; what was saved stays valid.",
    "SIGUSR1": "A line of status on standard error.",
    "SIGHUP": "The logs are opened anew, as after their rotation.",
}
_CONF = (
    "White space parts words, # begins a comment, and a bare keyword switches on. Lists are "
    "closed by end. A word with spaces stands in double quotes. Keywords are in any case. "
    "Durations take s, m, h and d, sizes K, M and G. A file written for Larbin is taken "
    "unchanged; a wrong one stops the program before anything starts.",
    "Each setting is also taken from the environment, as LARBINPY_KEYWORD, and from the "
    "command line, as --set KEYWORD=VALUE, which comes before all others. What a file means, "
    "defaults included, is told by larbinpy check-config.",
)


@click.command()
@click.argument("name", metavar="[PAGE]", default="larbinpy", type=click.Choice(list(PAGES)))
@click.pass_context
def man(context: click.Context, name: str) -> None:
    """Print a manual page.

    PAGE is larbinpy or larbin.conf. The output is input for man: larbinpy man larbin.conf |
    man -l -
    """
    with plain_errors():
        click.echo(page(name, all_commands(context)), nl=False)


def page(name: str, commands: click.Group) -> str:
    """The manual page `name` of `PAGES`, where `commands` are all there are."""
    body = _of_the_program(commands) if name == "larbinpy" else _of_the_file()
    head = f'.TH "{name.upper()}" {PAGES[name]} "" "larbinpy {__version__}"'
    return "\n".join([head, *body, ""])


def _of_the_program(commands: click.Group) -> Iterator[str]:
    context = click.Context(commands, info_name="larbinpy")
    helped = commands.help or ""
    yield from (".SH NAME", _text(f"larbinpy - {helped[:1].lower()}{helped[1:].rstrip('.')}"))
    yield ".SH SYNOPSIS"
    inner = [_inner(name, commands, context) for name in commands.list_commands(context)]
    yield "\n.br\n".join(_usage(f"larbinpy {each.info_name}", each) for each in inner)
    yield from (".SH DESCRIPTION", _text(helped))
    yield from _options(context)
    yield ".SH COMMANDS"
    for each in inner:
        yield from (f".SS {_usage(str(each.info_name), each)}", _text(each.command.help or ""))
        yield from _options(each)
    yield ".SH SIGNALS"
    for signal, what in _SIGNALS.items():
        yield from _entry(_bold(signal), what)
    yield ".SH EXIT STATUS"
    for code, reasons in sorted(_exit_statuses().items()):
        yield from _entry(_bold(str(code)), "; ".join(reasons))
    yield ".SH FILES"
    yield from _entry(_bold("larbin.conf"), "The configuration, where none is named.")
    yield from (".SH SEE ALSO", f"{_bold('larbin.conf')}(5)")


def _of_the_file() -> Iterator[str]:
    yield from (".SH NAME", "larbin.conf \\- configuration of the web crawler larbinpy")
    yield ".SH DESCRIPTION"
    yield "\n.PP\n".join(map(_text, _CONF))
    yield ".SH SETTINGS"
    for row in SETTINGS.values():
        what = f"{row.help[:1].upper()}{row.help[1:]}."
        yield from _entry(_keyword(row), what, _notes(row))
    yield from (".SH SEE ALSO", f"{_bold('larbinpy')}(1)")


def _keyword(row: Setting) -> str:
    usage = f" \\fI{_escaped(row.kind.usage)}\\fR" if row.kind.usage else ""
    return _bold(row.keyword) + usage


def _notes(row: Setting) -> str:
    live = " May be changed while a crawl runs." if row.live else ""
    return f"Default: {row.text(row.default) or 'none'}.{live}"


def _exit_statuses() -> dict[int, list[str]]:
    statuses: dict[int, list[str]] = {2: [_USAGE]}
    for ending in Ending:
        statuses.setdefault(ending.code, []).append(ending.reason)
    return statuses


def _inner(name: str, commands: click.Group, context: click.Context) -> click.Context:
    command = commands.get_command(context, name)
    assert command is not None, name
    return click.Context(command, context, info_name=name)


def _usage(name: str, context: click.Context) -> str:
    pieces = " ".join(context.command.collect_usage_pieces(context))
    return f"{_bold(name)} {_escaped(pieces)}"


def _options(context: click.Context) -> Iterator[str]:
    for parameter in context.command.get_params(context):
        record = parameter.get_help_record(context)
        if isinstance(parameter, click.Option) and record and "--help" not in parameter.opts:
            yield from _entry(_bold(record[0]), record[1])


def _entry(term: str, *texts: str) -> Iterator[str]:
    yield from (".TP", term)
    yield "\n.br\n".join(map(_text, filter(None, texts))) or "\\&"


def _bold(text: str) -> str:
    return f"\\fB{_escaped(text)}\\fR"


def _escaped(text: str) -> str:
    """`text`, so that a formatter prints it as it is, where it does not begin a line."""
    return text.replace("\\", "\\(rs").replace("-", "\\-").replace('"', "\\(dq")


def _text(text: str) -> str:
    """`text` in lines of 78; those that would be orders are none."""
    lines = wrap(_escaped(text), 78, break_long_words=False, break_on_hyphens=False)
    return "\n".join("\\&" + line if line[0] in ".'" else line for line in lines)
