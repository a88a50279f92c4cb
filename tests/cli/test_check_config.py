"""`larbinpy check-config`."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from larbinpy.cli import main


def test_each_error_is_a_line(tmp_path: Path) -> None:
    conf = tmp_path / "t.conf"
    conf.write_text("retries x\nnonsense\n")
    result = CliRunner().invoke(main, ["check-config", str(conf)])
    assert (result.exit_code, result.stdout) == (2, "")
    assert [line.split(": ")[1] for line in result.stderr.splitlines()] == [
        f"{conf}:1",
        f"{conf}:2",
    ]


def test_set_and_environment_override_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    conf = tmp_path / "t.conf"
    conf.write_text("retries 5\n")
    monkeypatch.setenv("LARBINPY_RETRIES", "6")
    result = CliRunner().invoke(main, ["check-config", str(conf), "--set", "limitPage=7"])
    changed = [
        line.split("#")[0].split() for line in result.stdout.splitlines() if "CHANGED" in line
    ]
    assert changed == [["retries", "6"], ["limitPage", "7"]]
    assert result.stderr == "larbinpy: LARBINPY_RETRIES is set in the environment\n"
