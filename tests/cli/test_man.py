"""`larbinpy man`: the manual pages."""

import shutil
import subprocess

import click
import pytest
from click.testing import CliRunner

from larbinpy.cli import main
from larbinpy.cli.man import PAGES, page
from larbinpy.config import SETTINGS
from larbinpy.errors import MEANINGS


def said(*arguments: str) -> str:
    result = CliRunner().invoke(main, arguments, prog_name="larbinpy")
    assert result.exit_code == 0, result.output
    return result.output


def formatted(name: str) -> str:
    """The formatted page; a warning of the formatter is an error."""
    if shutil.which("groff") is None:
        pytest.skip("groff is not installed")
    command = ["groff", "-ww", "-man", "-Tascii", "-P-cbou", "-rLL=200n"]
    text = said("man", name)
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    return done.stdout


@pytest.mark.parametrize("name", PAGES)
def test_formatters_accept_the_page(name: str) -> None:
    formatted(name)
    if shutil.which("mandoc") is None:
        pytest.skip("mandoc is not installed")
    done = subprocess.run(
        ["mandoc", "-T", "lint"], input=said("man", name), capture_output=True, text=True
    )
    # The page has no date, as the text does not depend on the day.
    found = [line for line in done.stdout.splitlines() if "missing date" not in line]
    assert found == []


def test_the_manual_has_every_command_and_option() -> None:
    text = formatted("larbinpy")
    context = click.Context(main, info_name="larbinpy")
    for name in main.list_commands(context):
        command = main.get_command(context, name)
        assert command is not None
        usage = " ".join(command.collect_usage_pieces(click.Context(command)))
        assert f"larbinpy {name} {usage}\n" in text
        for option in (p for p in command.params if isinstance(p, click.Option)):
            assert all(name in text for name in option.opts)
            assert " ".join((option.help or "").split()) in " ".join(text.split())
    lines = " ".join(text.split())
    for status, meaning in MEANINGS.items():
        assert f" {status} {meaning} " in lines


def test_the_manual_has_every_setting_with_its_default() -> None:
    text = " ".join(formatted("larbin.conf").split())
    for row in SETTINGS.values():
        usage = f" {row.kind.usage}" if row.kind.usage else ""
        what = row.help[0].upper() + row.help[1:]
        assert f"{row.keyword}{usage} {what}. Default: {row.text(row.default) or 'none'}." in text


def test_help_texts_cannot_be_taken_for_macros() -> None:
    odd = click.Group("odd", help="A group.")
    text = '.so /etc/passwd \\fBbold "x" \'y --z'
    odd.command("sub", help=f"{text}\n\n{text} " * 9)(lambda: None)
    lines = page("larbinpy", odd).splitlines()
    assert not [line for line in lines if line.startswith((".so", "'"))]
    assert "\\fBbold" not in "\n".join(lines)


def test_help_is_in_paragraphs_without_its_indent() -> None:
    odd = click.Group("odd", help="A group.")
    odd.command("sub", help="First line\n    goes on.\n\n    Second\n    paragraph.")(lambda: None)
    text = page("larbinpy", odd)
    assert "\nFirst line goes on.\n.PP\nSecond paragraph.\n" in text
    own = page("larbinpy", main).splitlines()[1:]
    assert not [line for line in own if "  " in line]


def test_an_unknown_page_is_a_usage_error() -> None:
    result = CliRunner().invoke(main, ["man", "ls"])
    assert result.exit_code == 2
    assert "is not one of" in result.output
