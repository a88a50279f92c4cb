"""The crawl that `seed`, `console` and `status` connect to when no port is given."""

import json
import socket
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from larbinpy.cli import main
from larbinpy.cli.common import place_of
from larbinpy.console.terminal.client import NoAnswer
from tests.support.console_loop import Background, FakeCrawl
from tests.support.snapshots import snapshot


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory, with nothing in it."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, arguments)


def found(
    kind: str, config_file: str | None = None, host: str | None = None, port: int | None = None
) -> tuple[str, int]:
    with place_of(kind, config_file, None, host, port) as address:
        return address


def test_ports_are_those_of_the_configuration(folder: Path) -> None:
    (folder / "larbin.conf").write_text("inputPort 1 httpPort 2")
    (folder / "b.conf").write_text("inputPort 3 inputHost ::1 httpPort 4 httpHost 0.0.0.0")
    assert (found("input"), found("http")) == (("127.0.0.1", 1), ("127.0.0.1", 2))
    assert (found("input", "b.conf"), found("http", "b.conf")) == (("::1", 3), ("127.0.0.1", 4))


def test_each_command_connects_to_its_port(folder: Path) -> None:
    """Ports below 10 are closed on loopback; the error names the one that was tried."""
    (folder / "b.conf").write_text("inputPort 1 httpPort 2")
    for command, port in ((["seed", "http://a.test/"], 1), (["console"], 1), (["status"], 2)):
        result = run(*command, "-c", "b.conf")
        assert result.exit_code == 2
        assert f"no crawl answers at 127.0.0.1:{port} " in result.stderr
    for command in (["seed", "http://a.test/", "--port", "3"], ["console", "--port", "3"]):
        assert "no crawl answers at 127.0.0.1:3 " in run(*command).stderr
    result = run("status", "--url", "http://127.0.0.1:3/")
    assert "no crawl answers at 127.0.0.1:3 " in result.stderr


def test_the_command_line_wins(folder: Path) -> None:
    (folder / "larbin.conf").write_text("inputPort 1 httpPort 2")
    assert found("input", None, None, 7) == ("127.0.0.1", 7)
    assert found("input", "larbin.conf", "h") == ("h", 1)
    assert found("http", None, "::1", 8) == ("::1", 8)
    # A configuration that is not needed is not read.
    (folder / "larbin.conf").write_text("nonsense")
    assert found("input", None, None, 7) == ("127.0.0.1", 7)
    assert run("console").exit_code == 2
    assert "unknown keyword" in run("console").stderr


@pytest.mark.parametrize(("options", "depth"), [((), None), (("--depth", "0"), 0),
                                                (("--depth", "7"), 7)])  # fmt: skip
def test_a_seed_has_the_depth_given_or_that_of_the_crawl(
    options: tuple[str, ...], depth: int | None
) -> None:
    crawl = FakeCrawl()
    with Background() as loop:
        port = loop.serve_input(crawl).port
        result = run("seed", "http://a.test/", "--port", str(port), *options)
    assert (result.exit_code, result.output) == (0, "1 of 1 URLs accepted\n")
    assert crawl.seeds == [("http://a.test/", depth, False, False)]


@pytest.mark.parametrize("wrong", ["-1", "10000000000", "x"])
def test_a_wrong_depth_is_a_usage_error(wrong: str) -> None:
    result = run("seed", "http://a.test/", "--depth", wrong, "--port", "1")
    assert result.exit_code == 2
    assert "--depth" in result.stderr
    assert "no crawl" not in result.stderr


def test_the_default_ports_are_larbins() -> None:
    assert (found("input"), found("http")) == (("127.0.0.1", 1976), ("127.0.0.1", 8081))


def test_an_error_at_a_default_port_says_that_none_was_given() -> None:
    with pytest.raises(NoAnswer) as raised, place_of("input", None):
        raise NoAnswer("nobody there.")
    assert str(raised.value) == (
        "no crawl runs in state; nobody there. Give its stateDir (--state) or inputPort, or "
        "-c FILE with it"
    )
    with pytest.raises(NoAnswer) as raised, place_of("input", None, None, None, 7):
        raise NoAnswer("nobody there.")
    assert str(raised.value) == "nobody there."


def test_a_crawl_is_found_by_its_folder(folder: Path) -> None:
    """Also by a path that is longer than those of sockets."""
    long = Path("f" * 120)
    for state in (Path("state"), long):
        state.mkdir()
    crawl = FakeCrawl()
    with Background() as loop:
        for state in (Path("state"), long):
            loop.serve_input(crawl, str(state / "control"))
            assert (state / "control").stat().st_mode & 0o777 == 0o600
        for where in ([], ["--state", str(long)], ["--state", str(folder / "state")]):
            assert run("seed", "http://a.test/", *where).output == "1 of 1 URLs accepted\n"
            assert json.loads(run("status", "--json", *where).output)["state"] == "running"
    assert len(crawl.seeds) == 3
    assert not (long / "control").exists(), "it goes with the crawl"
    assert found("input") == ("127.0.0.1", 1976)
    result = run("seed", "http://a.test/", "--state", "other")
    assert (result.exit_code, result.stderr) == (
        2,
        "larbinpy: other: no crawl runs there (No such file or directory)\n",
    )


def test_the_socket_of_a_crawl_that_was_killed_is_replaced(folder: Path) -> None:
    Path("state").mkdir()
    path = "state/control"
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(path)
    assert found("input") == ("127.0.0.1", 1976)
    with Background() as loop:
        loop.serve_input(FakeCrawl(), path)
        assert found("input") == (path, 0)


def test_status_prints_lines_until_the_crawl_has_ended() -> None:
    with Background() as loop:
        states = ["running", "finished", "finished"]
        server = loop.serve_status(lambda: snapshot(state=states.pop(0)))
        url = f"http://127.0.0.1:{server.port}/"
        for more in ([], ["--follow"]):
            [line] = run("status", "--url", url, *more).stdout.splitlines()
            assert line.startswith(f"0:44:39 {'finished' if more else 'running'}  pages 44,907 ")
        [line] = run("status", "--url", url, "--follow", "--json").stdout.splitlines()
        assert json.loads(line)["state"] == "finished"
