"""`larbinpy completion`: the scripts, and the words they complete."""

import shutil
import subprocess

import pytest
from click.testing import CliRunner

from larbinpy.cli import main


def said(*arguments: str, **environ: str) -> str:
    result = CliRunner().invoke(main, arguments, prog_name="larbinpy", env=environ)
    assert result.exit_code == 0, result.output
    return result.output


def test_an_unknown_shell_is_a_usage_error() -> None:
    result = CliRunner().invoke(main, ["completion", "csh"])
    assert result.exit_code == 2
    assert "is not one of" in result.output


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_shell_can_parse_its_script(shell: str) -> None:
    text = said("completion", shell)
    assert f"_LARBINPY_COMPLETE={shell}_complete" in text
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    subprocess.run([shell, "-n"], input=text, text=True, check=True)


def completed(*words: str) -> list[str]:
    """The completions of the last of `words` that bash gets, as kind,value."""
    environ = {
        "_LARBINPY_COMPLETE": "bash_complete",
        "COMP_WORDS": " ".join(["larbinpy", *words]),
        "COMP_CWORD": str(len(words)),
    }
    return said(**environ).splitlines()


def test_commands_options_and_keywords_are_completed() -> None:
    assert completed("cr") == ["plain,crawl"]
    assert "plain,--resume" in completed("crawl", "--res")
    assert completed("crawl", "--set", "waitd") == ["plain,waitDuration="]
    assert completed("crawl", "--set", "outputMode=wa") == [
        "plain,outputMode=warc",
        "plain,outputMode=wacz",
    ]
    assert completed("completion", "z") == ["plain,zsh"]


def test_the_shell_completes_paths_itself() -> None:
    assert completed("crawl", "-c", "lar") == ["file,lar"]
    assert completed("crawl", "-o", "o") == ["dir,o"]
    assert completed("mirror", "http://a.test/", "o") == ["dir,o"]
    assert completed("check-config", "x") == ["file,x"]
