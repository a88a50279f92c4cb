import io
import json
import os
import pty
import stat

import pytest

from larbinpy.console.ports.commands import COMMANDS
from larbinpy.console.ports.input_port import InputPort
from larbinpy.console.terminal import client, prompt
from larbinpy.console.terminal.client import NoAnswer
from larbinpy.console.terminal.prompt import Completer, Console, Script, converse, history_file
from larbinpy.page import Fate
from tests.support.console_loop import FakeCrawl, Loop
from tests.support.snapshots import fate, snapshot


@pytest.fixture
def loop(monkeypatch):
    loop = Loop()
    monkeypatch.setattr(client, "_wait", loop.wait)
    yield loop
    loop.close()


@pytest.fixture
def crawl():
    return FakeCrawl()


@pytest.fixture
def port(loop, crawl):
    return loop.add(InputPort(loop.poller, crawl, "127.0.0.1", 0)).port


@pytest.fixture
def state(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    return tmp_path


# A script


def test_a_script_gets_lines_of_json(crawl, port):
    out = io.StringIO()
    lines = "status\n\n  set   waitDuration 3 \nadd http://a.example/\nquit\nstop\n"
    converse("127.0.0.1", port, io.StringIO(lines), out)
    answers = [json.loads(line) for line in out.getvalue().splitlines()]
    assert [answer["ok"] for answer in answers] == [True] * 4
    assert crawl.calls == [("set", "waitDuration", "3")]
    assert len(crawl.seeds) == 1


def test_an_answer_that_takes_many_turns_is_waited_for(crawl, port):
    crawl.steps = 500
    out = io.StringIO()
    converse("127.0.0.1", port, io.StringIO("explain http://a.example/\npause\n"), out)
    assert [json.loads(line)["ok"] for line in out.getvalue().splitlines()] == [True, True]
    assert crawl.calls == [("pause",)]


def test_it_comes_back_after_idleness(loop, crawl, port):
    def lines():
        yield "pause\n"
        loop.later(700)
        yield "resume\n"

    class Typist(io.StringIO):
        def __iter__(self):
            return lines()

    out = io.StringIO()
    converse("127.0.0.1", port, Typist(), out)
    assert crawl.calls == [("pause",), ("resume",)]
    assert out.getvalue() == '{"ok":true}\n' * 2


def test_it_says_when_the_crawl_is_gone(loop, port):
    class Typist(io.StringIO):
        def __iter__(self):
            loop.servers[0].close()
            yield "status\n"

    with pytest.raises(NoAnswer):
        converse("127.0.0.1", port, Typist(), io.StringIO())


def test_one_may_leave_a_crawl_that_is_over(loop, port):
    class Typist(io.StringIO):
        def __iter__(self):
            loop.servers[0].close()
            yield "quit\n"

    converse("127.0.0.1", port, Typist(), io.StringIO())


def test_nobody_there(loop):
    with pytest.raises(NoAnswer, match="no crawl answers"):
        converse("127.0.0.1", 1, io.StringIO(), io.StringIO())


def test_lines_of_a_pipe_and_what_is_left_of_them():
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
def watching(loop, crawl, port, monkeypatch):
    """A function that watches while fates come, one a look; what was shown, and the looks."""

    def watch(lines, fates, typed_at=None):
        looks = 0
        out = io.StringIO()

        def readable(sock, source):
            nonlocal looks
            looks += 1
            if looks <= len(fates):
                crawl.watchers.write(Fate(**fates[looks - 1]))
            elif looks == len(fates) + 1:
                loop.servers[0].close()
            loop.turn(3)
            return looks == typed_at

        monkeypatch.setattr(prompt, "_readable", readable)
        reading, writing = os.pipe()
        os.write(writing, lines)
        os.close(writing)
        with open(reading) as stdin:
            converse("127.0.0.1", port, stdin, out)
        return [json.loads(line) for line in out.getvalue().splitlines()]

    return watch


def test_watch_until_the_crawl_is_over(watching, crawl):
    fates = [fate(n) for n in range(3)]
    said = watching(b"watch\n", fates, typed_at=1)
    assert said == [{"ok": True, "watching": ""}, *fates]
    assert len(crawl.watchers) == 0


def test_watch_until_a_line_is_typed_and_go_on(watching, crawl):
    fates = [fate(n, url=f"http://a.example/{n % 2}") for n in range(4)]
    said = watching(b"watch /1\n\npause\n", fates)
    assert said[0] == {"ok": True, "watching": "/1"}
    assert said[-2:] == [{"ok": True, "watched": 0, "lost": 0}, {"ok": True}]
    assert crawl.calls == [("pause",)]


# A terminal


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def typing(monkeypatch, state, port):
    """A function that types lines at the prompt; what is on the screen then."""

    def type_in(*lines, **more):
        typed = iter([*lines, EOFError()])

        def read(shown):
            assert shown == "larbinpy> "
            line = next(typed)
            if isinstance(line, str):
                return line
            raise line

        monkeypatch.setattr("builtins.input", read)
        out = io.StringIO()
        converse("127.0.0.1", port, Terminal(), out, **more)
        return out.getvalue()

    return type_in


def test_a_terminal_gets_answers_for_people(typing, crawl):
    assert typing("pause", "", "nonsense") == (
        f"ok\nerror: unknown command 'nonsense'; known: {', '.join(COMMANDS)}\n\n"
    )
    crawl.shown = snapshot()
    assert "pages      48,213, 18.4/s" in typing("status")


def test_a_terminal_may_have_json_too(typing, crawl):
    crawl.shown = {"title": "\x7f\x9b\u202e"}
    assert typing("status", as_json=True) == '{"ok":true,"title":"\\u007f\\u009b\\u202e"}\n\n'


def test_an_interrupt_drops_the_line_and_says_how_to_leave(typing, crawl, monkeypatch):
    monkeypatch.setattr(prompt, "_typed", lambda: False)
    assert typing(KeyboardInterrupt(), "pause") == "\nCtrl-D or quit leaves\nok\n\n"
    monkeypatch.setattr(prompt, "_typed", lambda: True)
    assert typing(KeyboardInterrupt(), "pause") == "\nok\n\n"
    assert crawl.calls == [("pause",)] * 2


def test_an_interrupt_ends_what_is_being_done(typing, crawl, monkeypatch):
    def interrupted(sock, source):
        raise KeyboardInterrupt

    monkeypatch.setattr(prompt, "_readable", interrupted)
    monkeypatch.setattr(Terminal, "fileno", lambda self: 0)
    said = typing("watch", "pause")
    assert said.endswith("Enter ends it\n\nok\n\n")
    assert crawl.calls == [("pause",)]


def test_an_interrupt_ends_a_script(port, monkeypatch):
    class Typist(io.StringIO):
        def __iter__(self):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        converse("127.0.0.1", port, Typist(), io.StringIO())


def test_quit_leaves_the_prompt(typing, crawl):
    assert typing("quit", "stop") == "ok\n"
    assert crawl.calls == []


def test_history_is_kept_for_the_next_time_and_for_nobody_else(typing, state):
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


def test_a_history_that_cannot_be_kept_is_no_matter(typing, state):
    (state / "larbinpy").write_text("in the way")
    assert typing("pause") == "ok\n\n"


def test_history_is_below_home_where_xdg_says_nothing(monkeypatch):
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
def test_completion(crawl, port, line, found):
    crawl.shown = snapshot()
    console = Console("127.0.0.1", port, io.StringIO(), plainly=True)
    text = line.rpartition(" ")[2]
    assert Completer(console).candidates(line, text) == found
    console.close()


def test_completion_where_the_crawl_is_gone_finds_nothing(loop, port):
    console = Console("127.0.0.1", port, io.StringIO(), plainly=True)
    loop.servers[0].close()
    completer = Completer(console)
    assert completer.candidates("explain ", "") == []
    console.close()


def test_a_real_terminal_is_read_line_by_line():
    ours, theirs = pty.openpty()
    with open(theirs) as stdin, open(ours, "wb", buffering=0) as keys:
        typed = prompt.Prompt(stdin, io.StringIO(), None)
        keys.write(b"\n")
        assert prompt._readable(theirs, theirs)
        assert typed.skip()
