"""Which crawl `seed`, `console` and `status` talk to, where they are not told its port."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from larbinpy.cli import main, talk
from larbinpy.console.terminal.client import NoAnswer

Place = tuple[str, int]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory, with nothing in it."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def called(monkeypatch: pytest.MonkeyPatch) -> list[Place]:
    """The places where the commands looked for a crawl."""
    places: list[Place] = []

    def note(answer: object) -> Callable[..., Any]:
        return lambda host, port, *more, **options: (places.append((host, port)), answer)[1]

    monkeypatch.setattr(talk.client, "seed", note([]))
    monkeypatch.setattr(talk.client, "read_status", note({}))
    monkeypatch.setattr(talk, "converse", note(None))
    return places


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, arguments)


def all_three(*options: str) -> None:
    for command in (["seed", "http://a.test/"], ["console"], ["status"]):
        assert run(*command, *options).exit_code == 0


def test_ports_are_those_of_the_configuration(called: list[Place], folder: Path) -> None:
    (folder / "larbin.conf").write_text("inputPort 1 httpPort 2")
    (folder / "b.conf").write_text("inputPort 3 inputHost ::1 httpPort 4 httpHost 0.0.0.0")
    all_three()
    assert called == [("127.0.0.1", 1)] * 2 + [("127.0.0.1", 2)]
    called.clear()
    all_three("-c", "b.conf")
    assert called == [("::1", 3)] * 2 + [("127.0.0.1", 4)]


def test_what_is_said_on_the_command_line_wins(called: list[Place], folder: Path) -> None:
    (folder / "larbin.conf").write_text("inputPort 1 httpPort 2")
    run("console", "--port", "7")
    run("console", "--host", "h", "-c", "larbin.conf")
    run("status", "--url", "http://127.0.0.1:8/")
    assert called == [("127.0.0.1", 7), ("h", 1), ("127.0.0.1", 8)]
    # A configuration that is not wanted may be as wrong as it likes.
    (folder / "larbin.conf").write_text("nonsense")
    run("console", "--port", "7")
    assert called[3:] == [("127.0.0.1", 7)]
    assert run("console").exit_code == 2


def test_a_seed_has_the_depth_that_is_said_or_that_of_the_crawl(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    depths: list[object] = []

    def seed(host: str, port: int, urls: object, priority: bool, depth: object, again: bool) -> Any:
        depths.append(depth)
        return []

    monkeypatch.setattr(talk.client, "seed", seed)
    for options in ((), ("--depth", "0"), ("--depth", "7")):
        assert run("seed", "http://a.test/", *options).exit_code == 0
    assert depths == [None, 0, 7]
    for wrong in ("-1", "10000000000", "x"):
        told = run("seed", "http://a.test/", "--depth", wrong)
        assert told.exit_code == 2
        assert "--depth" in told.stderr
    assert len(depths) == 3


def test_where_nothing_says_a_port_it_is_the_usual_one(
    called: list[Place], monkeypatch: pytest.MonkeyPatch
) -> None:
    all_three()
    assert called == [("127.0.0.1", 1976)] * 2 + [("127.0.0.1", 8081)]

    def nobody(host: str, port: int, *more: object, **options: object) -> None:
        raise NoAnswer("nobody there")

    monkeypatch.setattr(talk, "converse", nobody)
    told = run("console")
    assert told.exit_code == 2
    assert told.stderr == "larbinpy: nobody there No inputPort was given, nor -c FILE with one\n"
    assert run("console", "--port", "7").stderr == "larbinpy: nobody there\n"
