"""The console: a prompt for commands to a running crawl, or a script with JSON answers.

On a terminal, lines are edited, completed and kept in a history if Python has readline, and
answers are formatted as text.
"""

import io
import json
import os
import select
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol, TextIO

from larbinpy.config import LIVE
from larbinpy.console.ports.commands import COMMANDS
from larbinpy.console.terminal.client import (
    TIMEOUT,
    NoAnswer,
    Waiter,
    Wire,
    open_input,
    spelled,
    wait_for,
)
from larbinpy.console.terminal.layout import laid_out
from larbinpy.console.text import printable
from larbinpy.page import Outcome

#: Timeout (s) of commands that may search gigabytes of log or wait for the disk.
_LONG = 600.0
_SLOW = ("explain", "save")
#: Waits until a socket or a source of commands (unless None) can be read; returns whether it is
#: the source.
Readable = Callable[[int, int | None], bool]
#: Lines of history that are kept.
_HISTORY = 1000


def readable(sock: int, source: int | None) -> bool:
    ready = select.select([sock] if source is None else [sock, source], [], [])[0]
    return source is not None and source in ready


class Source(Protocol):
    """Gives command lines."""

    def lines(self) -> Iterator[str]: ...

    def fileno(self) -> int | None:
        """The descriptor that becomes readable with the next line; None if there is none."""

    @property
    def has_line(self) -> bool:
        """Whether the next line is buffered already."""

    def skip(self) -> bool:
        """Read and drop the next line, which has arrived; False at the end of the input."""

    @property
    def interrupt_ends(self) -> bool:
        """Whether Ctrl-C ends the session, and not only the running command."""


class Session(ABC):
    """Commands and their answers, which are written to `stdout`.

    They are lines of JSON if `as_json`, else formatted text.
    """

    def __init__(self, stdout: TextIO, *, as_json: bool) -> None:
        self._stdout = stdout
        self._as_json = as_json
        #: Whether a command failed.
        self.failed = False

    @abstractmethod
    def ask(self, command: str) -> bytes:
        """The answer to a command: a line of JSON."""

    @abstractmethod
    def interrupted(self) -> None:
        """An interrupt has ended a command before its answer came."""

    def run(self, source: Source) -> None:
        """Execute the lines of `source` until their end or ``quit``. Raises NoAnswer."""
        for line in source.lines():
            command = " ".join(line.split())
            if command == "quit":
                with suppress(NoAnswer):  # the crawl may have ended
                    self._show(command, self.ask(command))
                return
            try:
                if command:
                    self._execute(command, source)
            except KeyboardInterrupt:
                if source.interrupt_ends:
                    raise
                self._stdout.write("\n")
                self.interrupted()

    def _execute(self, command: str, source: Source) -> None:
        self._show(command, self.ask(command))

    def _show(self, command: str, reply: bytes) -> None:
        self.failed = self.failed or reply.startswith(b'{"ok":false')
        text = reply.decode(errors="replace")
        # A crawl answers in ASCII, but the port may be that of another program.
        as_json = f"{printable(text.removesuffix(chr(10)))}\n"
        self._stdout.write(as_json if self._as_json else self._laid_out(command, text))
        self._stdout.flush()

    def _laid_out(self, command: str, text: str) -> str:
        return laid_out(command, text)


class Console(Session):
    """A session with the crawl at `host`:`port`; it reconnects if the port has closed it."""

    def __init__(
        self,
        host: str,
        port: int,
        stdout: TextIO,
        *,
        as_json: bool,
        wait: Waiter = wait_for,
        readable: Readable = readable,
    ) -> None:
        super().__init__(stdout, as_json=as_json)
        self._where = (host, port)
        self._wait = wait
        self._readable = readable
        self._wire = self._open()

    def _open(self) -> Wire:
        return open_input(*self._where, "console", wait=self._wait)

    def close(self) -> None:
        self._wire.close()

    def interrupted(self) -> None:
        # Its late answer would be taken for that of the next command.
        self._wire.close()
        self._wire = self._open()

    def _execute(self, command: str, source: Source) -> None:
        reply = self.ask(command)
        self._show(command, reply)
        if command.split()[0] == "watch" and b'"watching":' in reply:
            self._watch(source)

    def ask(self, command: str) -> bytes:
        reply = self._ask(command)
        if reply is None:  # the port closes idle connections
            self._wire.close()
            self._wire = self._open()
            reply = self._ask(command)
        if reply is None:
            raise NoAnswer(f"{spelled(*self._where)} has closed the console")
        return reply

    def _ask(self, command: str) -> bytes | None:
        wire = self._wire
        wire.timeout = _LONG if command.startswith(_SLOW) else TIMEOUT
        if not wire.is_open() or not wire.send(command.encode(errors="replace") + b"\n"):
            return None
        return wire.read_until(b"\n")

    def _watch(self, source: Source) -> None:
        """Show decided URLs until the next line of `source` or the end of the crawl."""
        listening = True
        while True:
            line = self._wire.line_at_hand()
            if line is not None:
                self._show("watch", line)
                if line.startswith(b'{"ok":true,"watched":'):
                    return
            elif not self._wire.is_open():
                return
            elif self._has_line(source if listening else None):
                listening = False
                if source.skip():
                    self._wire.send(b"\n")

    def _has_line(self, source: Source | None) -> bool:
        """Wait for a decided URL or for a line of `source`; return whether it is a line."""
        if source is not None and source.has_line:
            return True
        return self._readable(self._wire.fileno(), None if source is None else source.fileno())


def has_typed() -> bool:
    """Whether the line being typed is not empty; False without readline."""
    with suppress(ImportError):
        import readline

        return bool(readline.get_line_buffer())
    return False


class Script:
    """Command lines from a file or a pipe."""

    interrupt_ends = True

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
        """The next line; None at the end. Buffered here, so that `has_line` knows the rest."""
        while b"\n" not in self._rest and not self._ended:
            assert self._fd is not None
            block = os.read(self._fd, 1 << 16)
            self._ended = not block
            self._rest += block
        line, newline, self._rest = self._rest.partition(b"\n")
        return line.decode(errors="backslashreplace") if line or newline else None

    def fileno(self) -> int | None:
        # At its end a descriptor stays readable.
        return None if self._ended and not self._rest else self._fd

    @property
    def has_line(self) -> bool:
        return b"\n" in self._rest

    def skip(self) -> bool:
        return self._next() is not None


class Prompt:
    """Command lines typed at a terminal; `has_typed` returns whether the line is not empty."""

    has_line = False
    interrupt_ends = False

    def __init__(
        self,
        stdin: TextIO,
        stdout: TextIO,
        completer: "Completer",
        has_typed: Callable[[], bool] = has_typed,
    ) -> None:
        self._stdin = stdin
        self._stdout = stdout
        self._completer = completer
        self._has_typed = has_typed

    def lines(self) -> Iterator[str]:
        """The lines until the end; an interrupt drops the line that is being typed."""
        with suppress(ImportError):  # Python may be built without readline
            _edit_lines(self._completer)
        try:
            while True:
                self._completer.forget()
                try:
                    line = input("larbinpy> ")
                except KeyboardInterrupt:
                    self._stdout.write("\n" if self._has_typed() else "\nCtrl-D or quit leaves\n")
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
    """Completes commands, settings, and URLs of the crawl's status."""

    def __init__(self, console: Session) -> None:
        self._console = console
        self._urls: list[str] | None = None

    def forget(self) -> None:
        """Forget the URLs, so that the status is read again for the next line."""
        self._urls = None

    def candidates(self, line: str, text: str) -> list[str]:
        """The completions of `text`, the last word of `line`."""
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
        """Sites and URLs in the status."""
        if self._urls is None:
            self._urls = []
            # The status of a fleet has no URLs.
            with suppress(NoAnswer, ValueError, OSError, LookupError, TypeError):
                self._urls = sorted(_urls(json.loads(self._console.ask("status"))))
        return self._urls


def _urls(status: Any) -> set[str]:
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


def _keep_history() -> None:
    with suppress(ImportError, OSError):
        import readline

        path = history_file()
        path.parent.mkdir(parents=True, exist_ok=True)
        # Seeds may be private.
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600))
        readline.write_history_file(path)


def history_file() -> Path:
    """The path by the XDG base directory specification."""
    state = os.environ.get("XDG_STATE_HOME", "")
    folder = Path(state) if os.path.isabs(state) else Path.home() / ".local" / "state"
    return folder / "larbinpy" / "history"


def converse(
    host: str,
    port: int,
    stdin: TextIO,
    stdout: TextIO,
    *,
    as_json: bool | None = None,
    wait: Waiter = wait_for,
    readable: Readable = readable,
    has_typed: Callable[[], bool] = has_typed,
) -> bool:
    """Send the command lines of `stdin` to the crawl, write its answers to `stdout`.

    Answers are lines of JSON if `as_json`, else text; None chooses text for a terminal. Returns
    False if a command of a script failed. Raises NoAnswer when the crawl is gone.
    """
    as_json = not stdin.isatty() if as_json is None else as_json
    console = Console(host, port, stdout, as_json=as_json, wait=wait, readable=readable)
    try:
        return hold(console, stdin, stdout, has_typed)
    finally:
        console.close()


def hold(
    session: Session,
    stdin: TextIO,
    stdout: TextIO,
    has_typed: Callable[[], bool] = has_typed,
) -> bool:
    """Run the command lines of `stdin`; return False if a command of a script failed."""
    if stdin.isatty():
        session.run(Prompt(stdin, stdout, Completer(session), has_typed))
        return True
    session.run(Script(stdin))
    return not session.failed
