"""What `crawl`, `demo`, `fetch` and `check-config` leave behind: words, files, an exit status."""

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from larbinpy.cli import crawl, main
from larbinpy.cli.crawl import summary
from larbinpy.outcome import Outcome
from tests.support.checkout import ROOT


def report(**values: Any) -> dict[str, Any]:
    outcomes = {outcome.value: 0 for outcome in Outcome} | values.pop("outcomes", {})
    return {
        "stop_reason": "finished",
        "exit_code": 0,
        "pages": 1234,
        "bytes_received": 5_000_000,
        "elapsed_s": 12.3,
        "urls_queued": 0,
        "outcomes": outcomes,
        "robots": {"fetched": 3, "denied": 2},
        **values,
    }


def test_a_crawl_sums_up_in_a_line() -> None:
    outcomes = {"success": 9, "err40X": 2, "noDNS": 1, "urlDup": 7, "outSite": 5, "err30X": 1}
    assert summary(report(outcomes=outcomes)) == (
        "finished: 1,234 pages, 5.0 MB in 12 s; 3 failed, 2 refused by robots.txt"
    )
    stopped = summary(report(stop_reason="stopped", exit_code=11, urls_queued=1500))
    assert stopped.endswith("; 1,500 still queued, --resume goes on")


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


def test_the_demo_leaves_nothing_behind_when_it_is_stopped(tmp_path: Path) -> None:
    begin_demo(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_the_demo_runs_again_where_it_ran(tmp_path: Path) -> None:
    folder = tmp_path / "demo"
    for _ in range(2):
        begin_demo(tmp_path, "-o", str(folder))
        assert (folder / "larbin.conf").exists()
        for kept in ("mirror", "state"):
            (folder / kept).mkdir(exist_ok=True)


@pytest.mark.parametrize("mine", ["larbin.conf", "state/state.json", "mirror/a.test"])
def test_the_demo_writes_over_nothing_but_its_own(
    mine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(crawl, "serve", pytest.fail)
    Path(mine).parent.mkdir(exist_ok=True)
    Path(mine).write_text("From me@a.test\n")
    told = CliRunner().invoke(main, ["demo", "-o", "."])
    assert told.exit_code == 2
    assert told.stderr.startswith(f"larbinpy: {mine.partition('/')[0]}: not the demo's")
    assert told.stderr.count("\n") == 1
    assert [str(path) for path in Path().rglob("*") if path.is_file()] == [mine]
    assert Path(mine).read_text() == "From me@a.test\n"


@pytest.mark.parametrize(
    ("url", "hint"),
    [
        ("http://127.0.0.1:81/", "its address is not a public one; --allow-private"),
        ("http://127.0.0.1:25/", "not a URL that can be crawled (port 25 is that of"),
        ("ftp://a.test/", "not a URL that can be crawled (http or https)"),
    ],
)
def test_fetch_says_what_it_does_not_fetch_and_why(url: str, hint: str) -> None:
    told = CliRunner().invoke(main, ["fetch", url, "--server", "127.0.0.1", "--json"])
    assert told.exit_code == 4
    assert told.stderr.startswith(f"larbinpy: {url}: {hint}")
    assert told.stderr.count("\n") == told.stdout.count("\n") == 1


def test_check_config_has_a_line_for_each_error(tmp_path: Path) -> None:
    conf = tmp_path / "t.conf"
    conf.write_text("retries x\nnonsense\n")
    told = CliRunner().invoke(main, ["check-config", str(conf)])
    assert (told.exit_code, told.stdout) == (2, "")
    assert [line.split(": ")[1] for line in told.stderr.splitlines()] == [f"{conf}:1", f"{conf}:2"]


def test_check_config_counts_what_a_crawl_would(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    conf = tmp_path / "t.conf"
    conf.write_text("retries 5\n")
    monkeypatch.setenv("LARBINPY_RETRIES", "6")
    told = CliRunner().invoke(main, ["check-config", str(conf), "--set", "limitPage=7"])
    changed = [line.split("#")[0].split() for line in told.stdout.splitlines() if "CHANGED" in line]
    assert changed == [["retries", "6"], ["limitPage", "7"]]
    assert told.stderr == "larbinpy: with LARBINPY_RETRIES of the environment\n"
