import io
import json
import os
import pty
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TextIO

import pytest

from larbinpy.console.ports.commands import COMMANDS
from larbinpy.console.ports.input_port import InputPort
from larbinpy.console.terminal.client import NoAnswer
from larbinpy.console.terminal.prompt import (
    Completer,
    Console,
    Prompt,
    Script,
    Session,
    converse,
    history_file,
    readable,
)
from larbinpy.page import Fate
from tests.support.console_loop import FakeCrawl, Loop
from tests.support.snapshots import fate, snapshot

#: Runs `watch` with lines and fates; returns the answers.
Watching = Callable[..., list[Any]]
#: Types lines at the prompt; returns the output.
Typing = Callable[..., str]


@pytest.fixture
def loop() -> Iterator[Loop]:
    loop = Loop()
    yield loop
    loop.close()


@pytest.fixture
def crawl() -> FakeCrawl:
    return FakeCrawl()


@pytest.fixture
def port(loop: Loop, crawl: FakeCrawl) -> int:
    return loop.add(InputPort(loop.poller, crawl, "127.0.0.1", 0)).port


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    return tmp_path


# A script


class Conversation:
    """`converse` with a loop that serves the crawl while the client waits."""

    def __init__(self, loop: Loop, port: int) -> None:
        self.loop = loop
        self.port = port

    def __call__(self, stdin: TextIO, **options: Any) -> str:
        out = io.StringIO()
        converse("127.0.0.1", self.port, stdin, out, wait=self.loop.wait, **options)
        return out.getvalue()


class Typist(io.StringIO):
    """A stream of the lines that a generator yields."""

    def __init__(self, lines: Iterator[str]) -> None:
        super().__init__()
        self._lines = lines

    def __iter__(self) -> Iterator[str]:  # type: ignore[override]
        return self._lines


@pytest.fixture
def converses(loop: Loop, port: int) -> Conversation:
    return Conversation(loop, port)


def test_a_script_gets_lines_of_json(crawl: FakeCrawl, converses: Conversation) -> None:
    lines = "status\n\n  set   waitDuration 3 \nadd http://a.example/\nquit\nstop\n"
    answers = [json.loads(line) for line in converses(io.StringIO(lines)).splitlines()]
    assert [answer["ok"] for answer in answers] == [True] * 4
    assert crawl.calls == [("set", "waitDuration", "3")]
    assert len(crawl.seeds) == 1


class Stranger(Session):
    """A session with another program."""

    def ask(self, command: str) -> bytes:
        return "{\x1b]0;title\x07\x9b31m\u202e}\r\n".encode()

    def interrupted(self) -> None:
        pass


@pytest.mark.parametrize("as_json", [False, True])
def test_nothing_of_another_program_acts_on_the_terminal(as_json: bool) -> None:
    out = io.StringIO()
    Stranger(out, as_json=as_json).run(Script(io.StringIO("status\n")))
    shown, end = out.getvalue()[:-1], out.getvalue()[-1:]
    assert shown.isprintable() and end == "\n"


def test_a_script_may_have_text(converses: Conversation) -> None:
    said = converses(io.StringIO("set waitDuration 3\nset nonsense 1\n"), as_json=False)
    first, second = said.splitlines()
    assert first == "ok"
    assert second.startswith("error: ")


@pytest.mark.parametrize(
    ("lines", "well"),
    [
        ("pause\nresume\n", True),
        ("", True),
        ("pause\nset nonsense 1\nresume\n", False),
        ("add http://a.example/ ftp://b.example/\n", False),
        ("pasue\n", False),
    ],
)
def test_a_script_fails_if_one_of_its_commands_does(
    loop: Loop, port: int, lines: str, well: bool
) -> None:
    """The commands after it are executed."""
    out = io.StringIO()
    assert converse("127.0.0.1", port, io.StringIO(lines), out, wait=loop.wait) is well
    assert out.getvalue().count("\n") == lines.count("\n")


def test_an_answer_may_take_many_turns(crawl: FakeCrawl, converses: Conversation) -> None:
    crawl.steps = 500
    said = converses(io.StringIO("explain http://a.example/\npause\n"))
    assert [json.loads(line)["ok"] for line in said.splitlines()] == [True, True]
    assert crawl.calls == [("pause",)]


def test_it_reconnects_after_idleness(
    loop: Loop, crawl: FakeCrawl, converses: Conversation
) -> None:
    def lines() -> Iterator[str]:
        yield "pause\n"
        loop.later(700)
        yield "resume\n"

    assert converses(Typist(lines())) == '{"ok":true}\n' * 2
    assert crawl.calls == [("pause",), ("resume",)]


def test_a_closed_crawl_is_an_error(loop: Loop, converses: Conversation) -> None:
    def lines() -> Iterator[str]:
        loop.servers[0].close()
        yield "status\n"

    with pytest.raises(NoAnswer):
        converses(Typist(lines()))


def test_quit_works_after_the_end_of_the_crawl(loop: Loop, converses: Conversation) -> None:
    def lines() -> Iterator[str]:
        loop.servers[0].close()
        yield "quit\n"

    converses(Typist(lines()))


def test_a_closed_port_is_an_error() -> None:
    with pytest.raises(NoAnswer, match="no crawl answers"):
        converse("127.0.0.1", 1, io.StringIO(), io.StringIO())


def test_a_script_buffers_the_lines_of_a_pipe() -> None:
    reading, writing = os.pipe()
    os.write(writing, b"watch\n\nstatus \xff")
    with open(reading) as stdin:
        script = Script(stdin)
        lines = script.lines()
        assert next(lines) == "watch"
        assert (script.has_line, script.fileno()) == (True, reading)
        assert script.skip()
        assert not script.has_line
        os.close(writing)
        assert list(lines) == ["status \\xff"]
        assert (script.skip(), script.fileno()) == (False, None)


# watch


@pytest.fixture
def watching(loop: Loop, crawl: FakeCrawl, converses: Conversation) -> Watching:
    """A function that runs `watch` while fates arrive, one each time it waits."""

    def watch(lines: bytes, fates: list[dict[str, Any]], typed_at: int | None = None) -> list[Any]:
        looks = 0

        def readable(sock: int, source: int | None) -> bool:
            nonlocal looks
            looks += 1
            if looks <= len(fates):
                crawl.watchers.write(Fate(**fates[looks - 1]))
            elif looks == len(fates) + 1:
                loop.servers[0].close()
            loop.turn(3)
            return looks == typed_at

        reading, writing = os.pipe()
        os.write(writing, lines)
        os.close(writing)
        with open(reading) as stdin:
            said = converses(stdin, readable=readable)
        return [json.loads(line) for line in said.splitlines()]

    return watch


def test_watch_until_the_crawl_is_over(watching: Watching, crawl: FakeCrawl) -> None:
    fates = [fate(n) for n in range(3)]
    said = watching(b"watch\n", fates, typed_at=1)
    assert said == [{"ok": True, "watching": ""}, *fates]
    assert len(crawl.watchers) == 0


def test_watch_until_a_line_is_typed_and_go_on(watching: Watching, crawl: FakeCrawl) -> None:
    fates = [fate(n, url=f"http://a.example/{n % 2}") for n in range(4)]
    said = watching(b"watch /1\n\npause\n", fates)
    assert said[0] == {"ok": True, "watching": "/1"}
    assert said[-2:] == [{"ok": True, "watched": 0, "lost": 0}, {"ok": True}]
    assert crawl.calls == [("pause",)]


# A terminal


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True

    def fileno(self) -> int:
        return 0


@pytest.fixture
def typing(monkeypatch: pytest.MonkeyPatch, state: Path, converses: Conversation) -> Typing:
    """A function that types lines at the prompt; returns the output."""

    def type_in(*lines: str | BaseException, **more: Any) -> str:
        typed = iter([*lines, EOFError()])

        def read(shown: str) -> str:
            assert shown == "larbinpy> "
            line = next(typed)
            if isinstance(line, str):
                return line
            raise line

        monkeypatch.setattr("builtins.input", read)
        return converses(Terminal(), **more)

    return type_in


def test_a_terminal_gets_formatted_answers(typing: Typing, crawl: FakeCrawl) -> None:
    assert typing("pause", "", "nonsense") == (
        f"ok\nerror: unknown command 'nonsense'; known: {', '.join(COMMANDS)}\n\n"
    )
    crawl.shown = snapshot()
    shown = typing("status")
    assert "pages      44,907, 17.1/s" in shown
    assert "replies    48,213, 18.4/s" in shown


def test_a_terminal_may_have_json_too(typing: Typing, crawl: FakeCrawl) -> None:
    crawl.shown = {"title": "\x7f\x9b\u202e"}
    assert typing("status", as_json=True) == '{"ok":true,"title":"\\u007f\\u009b\\u202e"}\n\n'


def test_an_interrupt_drops_the_line(typing: Typing, crawl: FakeCrawl) -> None:
    said = typing(KeyboardInterrupt(), "pause", has_typed=lambda: False)
    assert said == "\nCtrl-D or quit leaves\nok\n\n"
    assert typing(KeyboardInterrupt(), "pause", has_typed=lambda: True) == "\nok\n\n"
    assert crawl.calls == [("pause",)] * 2


def test_an_interrupt_ends_the_running_command(typing: Typing, crawl: FakeCrawl) -> None:
    def interrupted(sock: int, source: int | None) -> None:
        raise KeyboardInterrupt

    said = typing("watch", "pause", readable=interrupted)
    assert said.endswith("press Enter to stop\n\nok\n\n")
    assert crawl.calls == [("pause",)]


def test_an_interrupt_ends_a_script(converses: Conversation) -> None:
    def lines() -> Iterator[str]:
        yield "pause\n"
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        converses(Typist(lines()))


def test_quit_leaves_the_prompt(typing: Typing, crawl: FakeCrawl) -> None:
    assert typing("quit", "stop") == "ok\n"
    assert crawl.calls == []


def test_history_is_kept_in_a_private_file(typing: Typing, state: Path) -> None:
    readline = pytest.importorskip("readline")
    readline.clear_history()
    readline.add_history("explain http://a.example/")
    typing("pause")
    assert history_file() == state / "larbinpy" / "history"
    assert "explain http://a.example/" in history_file().read_text()
    assert stat.S_IMODE(history_file().stat().st_mode) == 0o600
    readline.clear_history()
    typing()
    assert readline.get_history_item(1) == "explain http://a.example/"
    readline.clear_history()


def test_an_unwritable_history_is_ignored(typing: Typing, state: Path) -> None:
    (state / "larbinpy").write_text("in the way")
    assert typing("pause") == "ok\n\n"


def test_history_is_below_home_without_xdg(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/me")
    for value in ("", "relative"):
        monkeypatch.setenv("XDG_STATE_HOME", value)
        assert str(history_file()) == "/home/me/.local/state/larbinpy/history"


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("", [f"{name} " if COMMANDS[name].arguments else name for name in COMMANDS]),
        ("s", ["status", "set ", "save", "stop"]),
        ("set w", ["waitDuration "]),
        ("explain http://slow", ["http://slow.example/"]),
        ("add x http://site7", ["http://site7.example/"]),
        ("watch err4", ["err40X"]),
        ("pause ", []),
        ("frobnicate x", []),
    ],
)
def test_completion(loop: Loop, crawl: FakeCrawl, port: int, line: str, found: list[str]) -> None:
    crawl.shown = snapshot()
    console = Console("127.0.0.1", port, io.StringIO(), as_json=True, wait=loop.wait)
    text = line.rpartition(" ")[2]
    assert Completer(console).candidates(line, text) == found
    console.close()


def test_completion_where_the_crawl_is_gone_finds_nothing(loop: Loop, port: int) -> None:
    console = Console("127.0.0.1", port, io.StringIO(), as_json=True, wait=loop.wait)
    loop.servers[0].close()
    completer = Completer(console)
    assert completer.candidates("explain ", "") == []
    console.close()


def test_a_real_terminal_is_read_line_by_line(loop: Loop, port: int) -> None:
    console = Console("127.0.0.1", port, io.StringIO(), as_json=True, wait=loop.wait)
    ours, theirs = pty.openpty()
    with open(theirs) as stdin, open(ours, "wb", buffering=0) as keys:
        prompt = Prompt(stdin, io.StringIO(), Completer(console))
        keys.write(b"\n")
        assert readable(theirs, theirs)
        assert prompt.skip()
    console.close()
