"""`larbinpy demo`: the files it leaves, and those it does not overwrite."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from larbinpy.cli import main
from tests.support.checkout import ROOT


def begin_demo(tmp_path: Path, *options: str) -> None:
    """Run the demo until it has written something in `tmp_path`, and stop it."""
    environ = {**os.environ, "TMPDIR": str(tmp_path), "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "larbinpy", "demo", "--progress", "none", *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environ, text=True) as demo:
        assert demo.stdout is not None
        assert str(tmp_path) in demo.stdout.readline()
        assert list(tmp_path.iterdir())
        demo.send_signal(signal.SIGTERM)
        assert demo.wait(30) in (11, 130)


def test_a_stopped_demo_removes_its_files(tmp_path: Path) -> None:
    begin_demo(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_the_demo_can_run_again_in_its_folder(tmp_path: Path) -> None:
    folder = tmp_path / "demo"
    for _ in range(2):
        begin_demo(tmp_path, "-o", str(folder))
        assert (folder / "larbin.conf").exists()
        for kept in ("mirror", "state"):
            (folder / kept).mkdir(exist_ok=True)


@pytest.mark.parametrize("mine", ["larbin.conf", "state/state.json", "mirror/a.test"])
def test_the_demo_overwrites_only_its_own_files(
    mine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path(mine).parent.mkdir(exist_ok=True)
    Path(mine).write_text("From me@a.test\n")
    result = CliRunner().invoke(main, ["demo", "-o", "."])
    assert result.exit_code == 2
    assert result.stderr.startswith(f"larbinpy: {mine.partition('/')[0]}: not a file of the demo")
    assert result.stderr.count("\n") == 1
    assert [str(path) for path in Path().rglob("*") if path.is_file()] == [mine]
    assert Path(mine).read_text() == "From me@a.test\n"


@pytest.mark.slow
def test_the_demo_ends_by_searching_what_it_crawled(tmp_path: Path) -> None:
    folder = tmp_path / "demo"
    command = [sys.executable, "-m", "larbinpy", "demo", "--progress", "none", "-o", "demo"]
    environ = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONUTF8": "1"}
    done = subprocess.run(
        command, capture_output=True, text=True, env=environ, timeout=60, cwd=tmp_path
    )
    assert (done.returncode, done.stderr) == (0, "")
    asked = "larbinpy search -c demo/larbin.conf"
    _, english, chinese = done.stdout.split(f"\n{asked} -n 2 ")
    assert english.startswith("spider web\n1. ")
    assert "http://letters.demo:" in chinese
    assert done.stdout.endswith(f"search: {asked} WORDS\n")
    conf = str(folder / "larbin.conf")
    again = [sys.executable, "-m", "larbinpy", "search", "-c", conf, "spider"]
    assert subprocess.run(again, stdout=subprocess.DEVNULL, env=environ, cwd="/").returncode == 0
