"""``larbinpy man`` and ``larbinpy completion``.

Manual pages are made from the help of the commands and of the settings. They use the macros of
man(7), which both groff and mandoc format.
"""

import re
from collections.abc import Iterator
from inspect import cleandoc
from textwrap import wrap

import click
from click.shell_completion import get_completion_class

from larbinpy._version import __version__
from larbinpy.cli.common import all_commands, plain_errors
from larbinpy.config import SETTINGS
from larbinpy.config.kinds import Setting
from larbinpy.errors import MEANINGS

#: Page -> its section of the manual.
PAGES = {"larbinpy": 1, "larbin.conf": 5}

_SIGNALS = {
    "SIGINT, SIGTERM": "The first ends a crawl: transfers in flight get eight seconds, and "
    "everything is saved. The second ends it at once; the state saved last stays valid.",
    "SIGUSR1": "Prints a status line on standard error.",
    "SIGHUP": "Reopens the logs, for log rotation.",
}
_OTHER_COMMANDS = (
    "1 and 8 take the place of 0 only. seed exits with 2 if no URL was accepted, resolve with 4 if "
    "no name has an address, fetch with 4 if there was no reply. report exits with 0 whatever it "
    "finds. search, show and changes exit with 1 if there is nothing, as grep does; index exits "
    "with 3 if a file was damaged, or if --verify found trouble."
)
_CONF = (
    "White space separates words, # starts a comment, and a bare keyword turns a switch on. "
    "Lists end with end. Double quotes enclose a word with spaces. Keywords are "
    "case-insensitive. Durations take the units s, m, h and d, sizes K, M and G. A file written "
    "for Larbin works unchanged; an error in the file stops the program before it starts.",
    "A site block, site PATTERN KEYWORD VALUE... end, has settings for some hosts. PATTERN is a "
    "host with its subdomains, *.HOST for the subdomains alone, or a glob, and may end with :PORT. "
    "For each keyword, the first matching block that sets it decides.",
    "Rules, accept PATTERN and reject PATTERN, are tested in their order, and the first that "
    "matches a URL decides. A PATTERN is one condition, or several in double quotes that must all "
    "hold: a glob on the whole URL, in which * matches within a path segment, ** across segments "
    "and ? one character (**/old/**); a regular expression between slashes; host:NAME, with its "
    "subdomains; domain:NAME, a registered domain; depth:>3; hops:<=2; type:image/*; size:>10M. "
    "Rules can be added and dropped on the console while a crawl runs. docs/filtering.md in the "
    "source of larbinpy has recipes.",
    "The environment variable LARBINPY_KEYWORD overrides the file, and --set KEYWORD=VALUE on "
    "the command line overrides both. larbinpy check-config prints all settings of a file, "
    "defaults included.",
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
    """The manual page `name`, a key of `PAGES`, for the program with these `commands`."""
    body = _program_page(commands) if name == "larbinpy" else _file_page()
    head = f'.TH "{name.upper()}" {PAGES[name]} "" "larbinpy {__version__}"'
    return "\n".join([head, *body, ""])


def _program_page(commands: click.Group) -> Iterator[str]:
    context = click.Context(commands, info_name="larbinpy")
    helped = commands.help or ""
    yield from (".SH NAME", _text(f"larbinpy - {helped[:1].lower()}{helped[1:].rstrip('.')}"))
    yield ".SH SYNOPSIS"
    inner = [_inner(name, commands, context) for name in commands.list_commands(context)]
    yield "\n.br\n".join(_usage(f"larbinpy {each.info_name}", each) for each in inner)
    yield from (".SH DESCRIPTION", _paragraphs(helped))
    yield from _options(context)
    yield ".SH COMMANDS"
    for each in inner:
        yield from (f".SS {_usage(str(each.info_name), each)}", _paragraphs(each.command.help))
        yield from _options(each)
    yield ".SH SIGNALS"
    for signal, text in _SIGNALS.items():
        yield from _entry(_bold(signal), text)
    yield ".SH EXIT STATUS"
    for code, meaning in MEANINGS.items():
        yield from _entry(_bold(str(code)), meaning)
    yield from (".PP", _text(_OTHER_COMMANDS))
    yield ".SH FILES"
    yield from _entry(_bold("larbin.conf"), "The configuration, if no other file is named.")
    yield from (".SH SEE ALSO", f"{_bold('larbin.conf')}(5)")


def _file_page() -> Iterator[str]:
    yield from (".SH NAME", "larbin.conf \\- configuration of the web crawler larbinpy")
    yield ".SH DESCRIPTION"
    yield "\n.PP\n".join(map(_text, _CONF))
    yield ".SH SETTINGS"
    for row in SETTINGS.values():
        text = f"{row.help[:1].upper()}{row.help[1:]}."
        yield from _entry(_keyword(row), text, _notes(row))
    yield from (".SH SEE ALSO", f"{_bold('larbinpy')}(1)")


def _keyword(row: Setting) -> str:
    usage = f" \\fI{_escaped(row.kind.usage)}\\fR" if row.kind.usage else ""
    return _bold(row.keyword) + usage


def _notes(row: Setting) -> str:
    live = " Can change while a crawl runs." if row.live else ""
    by_site = " Can be set by site." if row.by_site else ""
    return f"Default: {row.text(row.default) or 'none'}.{live}{by_site}"


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
    """`text` escaped for a formatter, except at the start of a line."""
    return text.replace("\\", "\\(rs").replace("-", "\\-").replace('"', "\\(dq")


def _paragraphs(text: str | None) -> str:
    """The help of a command, which is indented as in the source."""
    return "\n.PP\n".join(_text(part) for part in re.split(r"\n\s*\n", cleandoc(text or "")))


def _text(text: str) -> str:
    """`text` in lines of at most 78 characters, none of which looks like a macro."""
    text = " ".join(text.split())
    lines = wrap(_escaped(text), 78, break_long_words=False, break_on_hyphens=False)
    return "\n".join("\\&" + line if line[0] in ".'" else line for line in lines)


#: The environment variable in which a shell asks for completions; click's own name for it.
_VARIABLE = "_LARBINPY_COMPLETE"


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Print a completion script.

    It lets the shell complete commands, options and keywords. For bash, in ~/.bashrc:
    eval "$(larbinpy completion bash)"
    """
    with plain_errors():
        maker = get_completion_class(shell)
        assert maker is not None, shell
        click.echo(maker(all_commands(context), {}, "larbinpy", _VARIABLE).source())
