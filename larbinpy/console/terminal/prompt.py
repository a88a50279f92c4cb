"""The console: a prompt to a running crawl, or a script's lines and their answers in JSON.

On a terminal lines are edited, completed and remembered where Python has readline, and
answers are laid out for people.
"""

import io
import json
import os
import select
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol, TextIO

from larbinpy.config import LIVE
from larbinpy.console.ports.commands import COMMANDS
from larbinpy.console.terminal.answers import laid_out
from larbinpy.console.terminal.client import TIMEOUT, NoAnswer, open_input
from larbinpy.outcome import Outcome

#: Seconds for what may have to look through gigabytes, or wait for the disk.
_LONG = 600.0
_SLOW = ("explain", "save")
#: Lines of history that are kept.
_HISTORY = 1000


class Typed(Protocol):
    """Where commands come from."""

    def lines(self) -> Iterator[str]: ...

    def fileno(self) -> int | None:
        """What becomes readable with the next line; None where that cannot be said."""

    @property
    def has_line(self) -> bool:
        """Whether the next line was read already, with the one before."""

    def skip(self) -> bool:
        """Take in the next line, which is there; False at the end of all."""

    @property
    def interrupts_end_it(self) -> bool:
        """Whether Ctrl-C means all of it, and not only what is being done."""


class Console:
    """A conversation with the crawl at `host`:`port`, which comes back after a silence."""

    def __init__(self, host: str, port: int, stdout: TextIO, *, plainly: bool) -> None:
        self._where = (host, port)
        self._stdout = stdout
        #: Answers as they come, one line of JSON each.
        self._plainly = plainly
        self._wire = open_input(host, port, "console")

    def close(self) -> None:
        self._wire.close()

    def run(self, typed: Typed) -> None:
        """Obey the lines of `typed` until their end or ``quit``. Raises NoAnswer."""
        for line in typed.lines():
            command = " ".join(line.split())
            if command == "quit":
                with suppress(NoAnswer):  # one may leave a crawl that is over
                    self._show(command, self.ask(command))
                return
            try:
                if command:
                    self._obey(command, typed)
            except KeyboardInterrupt:
                if typed.interrupts_end_it:
                    raise
                self._stdout.write("\n")
                self._wire.close()  # nobody waits for what it may still say
                self._wire = open_input(*self._where, "console")

    def _obey(self, command: str, typed: Typed) -> None:
        reply = self.ask(command)
        self._show(command, reply)
        if command.split()[0] == "watch" and b'"watching":' in reply:
            self._watch(typed)

    def ask(self, command: str) -> bytes:
        """The answer to a command: a line of JSON."""
        reply = self._ask(command)
        if reply is None:  # closed for idleness, perhaps hours ago
            self._wire.close()
            self._wire = open_input(*self._where, "console")
            reply = self._ask(command)
        if reply is None:
            raise NoAnswer("{}:{} has closed the console".format(*self._where))
        return reply

    def _ask(self, command: str) -> bytes | None:
        wire = self._wire
        wire.patience = _LONG if command.startswith(_SLOW) else TIMEOUT
        if not wire.is_open() or not wire.send(command.encode(errors="replace") + b"\n"):
            return None
        return wire.read_until(b"\n")

    def _show(self, command: str, reply: bytes) -> None:
        text = reply.decode(errors="replace")
        self._stdout.write(text if self._plainly else laid_out(command, text))
        self._stdout.flush()

    def _watch(self, typed: Typed) -> None:
        """Show fates as they come, until the next line is typed or the crawl is over."""
        listening = True
        while True:
            line = self._wire.line_at_hand()
            if line is not None:
                self._show("watch", line)
                if line.startswith(b'{"ok":true,"watched":'):
                    return
            elif not self._wire.is_open():
                return
            elif self._has_typed(typed if listening else None):
                listening = False
                if typed.skip():
                    self._wire.send(b"\n")

    def _has_typed(self, typed: Typed | None) -> bool:
        """Wait for fates or for a line of `typed`; is there one?"""
        if typed is not None and typed.has_line:
            return True
        return _readable(self._wire.fileno(), None if typed is None else typed.fileno())


def _readable(sock: int, source: int | None) -> bool:
    """Wait for either; whether it is `source` that can be read."""
    ready = select.select([sock] if source is None else [sock, source], [], [])[0]
    return source is not None and source in ready


class Script:
    """Lines of a file or a pipe."""

    interrupts_end_it = True

    def __init__(self, stdin: TextIO) -> None:
        self._stdin = stdin
        self._fd: int | None = None
        with suppress(OSError, io.UnsupportedOperation):
            self._fd = stdin.fileno()
        self._rest = b""
        self._ended = False

    def lines(self) -> Iterator[str]:
        if self._fd is None:
            yield from self._stdin
            return
        while (line := self._next()) is not None:
            yield line

    def _next(self) -> str | None:
        """The next line; None at the end. Buffered here, so that `fileno` says what is left."""
        while b"\n" not in self._rest and not self._ended:
            assert self._fd is not None
            block = os.read(self._fd, 1 << 16)
            self._ended = not block
            self._rest += block
        line, newline, self._rest = self._rest.partition(b"\n")
        return line.decode(errors="backslashreplace") if line or newline else None

    def fileno(self) -> int | None:
        # Which is readable at its end for ever.
        return None if self._ended and not self._rest else self._fd

    @property
    def has_line(self) -> bool:
        return b"\n" in self._rest

    def skip(self) -> bool:
        return self._next() is not None


class Prompt:
    """Lines typed at a terminal."""

    has_line = False
    interrupts_end_it = False

    def __init__(self, stdin: TextIO, stdout: TextIO, console: Console) -> None:
        self._stdin = stdin
        self._stdout = stdout
        self._completer = Completer(console)

    def lines(self) -> Iterator[str]:
        """Until the end; an interrupt drops the line that is being typed."""
        with suppress(ImportError):  # Python may be built without readline
            _edit_lines(self._completer)
        try:
            while True:
                self._completer.forget()
                try:
                    line = input("larbinpy> ")
                except KeyboardInterrupt:
                    self._stdout.write("\n" if _typed() else "\nCtrl-D or quit leaves\n")
                    continue
                yield line
        except EOFError:
            self._stdout.write("\n")
        finally:
            _keep_history()

    def fileno(self) -> int | None:
        return self._stdin.fileno()

    def skip(self) -> bool:
        os.read(self._stdin.fileno(), 1 << 12)
        return True


class Completer:
    """What a word may be completed to: commands, settings, and URLs that the crawl tells of."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._places: list[str] | None = None

    def forget(self) -> None:
        """A new line is begun: by then the crawl is elsewhere."""
        self._places = None

    def candidates(self, line: str, text: str) -> list[str]:
        """What may stand for `text`, the last word of `line`."""
        before = line[: len(line) - len(text)].split()
        return [word for word in self._words(before) if word.startswith(text)]

    def _words(self, before: Sequence[str]) -> list[str]:
        match before:
            case []:
                return [f"{name} " if each.arguments else name for name, each in COMMANDS.items()]
            case ["set"]:
                return [f"{row.keyword} " for row in LIVE.values()]
            case ["add", *_] | ["explain"]:
                return self._known()
            case ["watch"]:
                return [outcome.value for outcome in Outcome] + self._known()
            case _:
                return []

    def _known(self) -> list[str]:
        """Sites and URLs that the crawl is or was at."""
        if self._places is None:
            self._places = []
            with suppress(NoAnswer, ValueError, OSError):
                self._places = sorted(_places(json.loads(self._console.ask("status"))))
        return self._places


def _places(status: Any) -> set[str]:
    sites = status["sites"]
    known = {f"{site['site']}/" for site in (*sites["busiest"], *sites["suspended"])}
    return known | {fate["url"] for fate in status["recent"]}


def _edit_lines(completer: Completer) -> None:
    import readline

    def complete(text: str, state: int) -> str | None:
        found = completer.candidates(readline.get_line_buffer()[: readline.get_endidx()], text)
        return found[state] if state < len(found) else None

    readline.set_completer(complete)
    readline.set_completer_delims(" \t")
    is_libedit = "libedit" in (readline.__doc__ or "")
    readline.parse_and_bind("bind ^I rl_complete" if is_libedit else "tab: complete")
    readline.set_history_length(_HISTORY)
    with suppress(OSError):
        readline.read_history_file(history_file())


def _typed() -> bool:
    """Whether something stands on the line, as far as can be told."""
    with suppress(ImportError):
        import readline

        return bool(readline.get_line_buffer())
    return False


def _keep_history() -> None:
    with suppress(ImportError, OSError):
        import readline

        path = history_file()
        path.parent.mkdir(parents=True, exist_ok=True)
        # Seeds may be nobody else's business.
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600))
        readline.write_history_file(path)


def history_file() -> Path:
    """Where the XDG base directories have it."""
    state = os.environ.get("XDG_STATE_HOME", "")
    folder = Path(state) if os.path.isabs(state) else Path.home() / ".local" / "state"
    return folder / "larbinpy" / "history"


def converse(host: str, port: int, stdin: TextIO, stdout: TextIO, *, as_json: bool = False) -> None:
    """Send command lines from `stdin` to the crawl, write its answers to `stdout`.

    On a terminal answers are laid out for people, unless `as_json`; else each is a line.
    Raises NoAnswer when the crawl is gone.
    """
    is_terminal = stdin.isatty()
    console = Console(host, port, stdout, plainly=as_json or not is_terminal)
    try:
        console.run(Prompt(stdin, stdout, console) if is_terminal else Script(stdin))
    finally:
        console.close()
