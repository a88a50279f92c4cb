"""docs/service/: the unit, the container file and the log rotation, with the program itself."""

import json
import re
import shutil
import signal
import subprocess
from collections.abc import Iterator
from configparser import RawConfigParser
from pathlib import Path

import pytest

from larbinpy.cli.crawl import crawl
from larbinpy.errors import Ending
from tests.support.checkout import ROOT
from tests.support.crawling import Asked, World, html, missing
from tests.support.webserver import Step, Until

pytest_plugins = ["tests.support.crawlworld"]

FOLDER = ROOT / "docs/service"
UNIT = FOLDER / "larbinpy@.service"


@pytest.fixture
def unit() -> RawConfigParser:
    parser = RawConfigParser(strict=False)
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    parser.read_string(UNIT.read_text())
    return parser


def statuses(unit: RawConfigParser, key: str) -> set[int]:
    return {int(word) for word in unit["Service"][key].split()}


def test_the_unit_takes_a_stop_for_a_success(unit: RawConfigParser) -> None:
    assert statuses(unit, "SuccessExitStatus") == {Ending.STOPPED.code, Ending.FORCED.code}
    # A restart cannot help against them.
    assert {2, Ending.NOTHING.code} <= statuses(unit, "RestartPreventExitStatus")
    assert Ending.DISK.code not in statuses(unit, "RestartPreventExitStatus")


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not installed")
def test_systemd_accepts_the_unit(tmp_path: Path) -> None:
    # The program of the unit is not installed here.
    text = UNIT.read_text().replace("/opt/larbinpy/bin/larbinpy", "/bin/true")
    (tmp_path / UNIT.name).write_text(text)
    done = subprocess.run(
        ["systemd-analyze", "verify", str(tmp_path / "larbinpy@docs.service")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")


class Held:
    """A site of which /held is not answered before `open`."""

    def __init__(self, world: World, pages: int = 4) -> None:
        self.open = False
        self.pages = pages
        self.web = world.web(self._answer, "site.test")
        world.conf(f"startUrl {self.web.url('/')}")

    def _answer(self, asked: Asked) -> Iterator[Step]:
        number = asked.path[1:]
        if asked.path == "/":
            yield html("/0")
        elif number.isdecimal():
            # Pages in a row; before each of them, the test may act.
            yield Until(lambda: self.open or int(number) < 2)
            last = int(number) == self.pages - 1
            yield html(*([] if last else [f"/{int(number) + 1}"]))
        else:
            yield missing()

    @property
    def urls(self) -> set[str]:
        return {self.web.url(path) for path in ("/", *(f"/{n}" for n in range(self.pages)))}


@pytest.mark.slow
def test_the_command_of_the_unit_starts_stops_and_goes_on(
    world: World, unit: RawConfigParser
) -> None:
    held = Held(world)
    command = unit["Service"]["ExecStart"].replace("/etc/larbinpy/%i.conf", "larbin.conf").split()
    first = world.start(*command[1:])
    world.until(lambda: held.web.count("/2") == 1)
    first.signal(signal.SIGTERM)
    # The transfer in flight is finished.
    world.until(lambda: "stopping" in first.err or first.ended or _asks(first.signal))
    held.open = True
    assert world.finish(first) in statuses(unit, "SuccessExitStatus")
    assert set(world.outcomes()) < held.urls
    again = world.start(*command[1:])
    assert world.finish(again) == 0
    assert world.outcomes() == dict.fromkeys(held.urls, "success")
    assert world.finish(world.start(*command[1:])) == 0


def _asks(send: object) -> bool:
    """Ask for a status line; False, to be used in a condition."""
    send(signal.SIGUSR1)  # type: ignore[operator]
    return False


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("logrotate") is None, reason="logrotate is not installed")
def test_logrotate_loses_no_line(world: World) -> None:
    held = Held(world, pages=8)
    crawler = world.crawl()
    text = (FOLDER / "larbinpy.logrotate").read_text()
    text = text.replace("/var/lib/larbinpy/*/state", str(world.state))
    text = text.replace("    su larbinpy larbinpy\n", "")
    reload = "systemctl reload 'larbinpy@*.service'"
    assert reload in text
    text = text.replace(reload, _signal_by_lock(world))
    rotation = world.folder / "rotation.conf"
    rotation.write_text(text)
    rotation.chmod(0o644)
    log = world.state / "crawl.jsonl"
    world.until(lambda: held.web.count("/2") == 1 and log.read_text().count("\n") == 3)
    logrotate = shutil.which("logrotate") or ""
    done = subprocess.run(
        [logrotate, "-f", "-s", str(world.folder / "rotated"), str(rotation)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    world.until(log.exists)
    held.open = True
    assert world.finish(crawler) == 0
    files = sorted(world.state.glob("crawl.jsonl*"))
    assert len(files) == 2
    urls = [json.loads(line)["url"] for file in files for line in file.read_text().splitlines()]
    assert len(urls) == len(set(urls))
    assert set(urls) == held.urls
    # The report and the log include the rotated file, and explain finds what stands there.
    report = world.larbinpy("report", str(world.state), "--json")
    assert json.loads(report.out)["outcomes"] == {"success": len(urls)}
    assert world.larbinpy("log", str(world.state)).out.count("\n") == len(urls)
    explained = world.larbinpy("explain", held.web.url("/"), "-c", "larbin.conf")
    assert "decided" in explained.out


def _signal_by_lock(world: World) -> str:
    """The command of the documentation for a crawl without systemd."""
    [line] = re.findall(r"^ {4}(pkill .*)$", (ROOT / "docs/service.md").read_text(), re.MULTILINE)
    assert isinstance(line, str)
    return line.replace("/srv/crawl/state", str(world.state))


@pytest.mark.skipif(shutil.which("pkill") is None, reason="procps is not installed")
def test_the_number_in_a_lock_that_is_free_gets_no_signal(world: World) -> None:
    """A kill leaves it there, and it may be that of another process by now."""
    world.state.mkdir()
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE) as other:
        (world.state / "lock").write_text(str(other.pid))
        done = subprocess.run(["sh", "-c", _signal_by_lock(world)], timeout=20, check=False)
        assert other.stdin is not None
        other.stdin.close()
        assert (done.returncode, other.wait(20)) == (0, 0)


def test_the_container_file_fits_the_checkout() -> None:
    lines = (FOLDER / "Containerfile").read_text().splitlines()
    copied = [line.split()[1:-1] for line in lines if line.startswith("COPY") and "=" not in line]
    sources = [source for line in copied for source in line]
    assert {"setup.py", "setup.cfg", "pyproject.toml", "larbinpy"} <= set(sources)
    assert all((ROOT / source).exists() for source in sources)
    [command] = [json.loads(line[4:]) for line in lines if line.startswith("CMD ")]
    assert command[0] == "crawl"
    given = crawl.make_context("crawl", command[1:]).params
    assert (given["resume"], given["progress"]) == ("auto", "log")


def test_each_file_is_in_the_documentation() -> None:
    text = (ROOT / "docs/service.md").read_text()
    assert all(f"docs/service/{path.name}" in text for path in FOLDER.iterdir())
