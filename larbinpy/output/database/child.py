"""The indexer's process, from the side of the crawl: started, watched, and started again."""

import os
import subprocess
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from larbinpy.database.indexer.messages import (
    Covered,
    Lines,
    Report,
    ask_line,
    due_of,
    encoded,
)
from larbinpy.database.indexer.options import ReadOptions
from larbinpy.errors import UserError
from larbinpy.loop.backoff import Backoff
from larbinpy.loop.child import collect, command, environment
from larbinpy.loop.clock import Clock
from larbinpy.loop.poller import READ, Poller
from larbinpy.revisit.due import DueAsk, DuePage
from larbinpy.revisit.schedule import ScheduleSettings

#: Seconds for its first message, which says whether the database can be used. It comes in half a
#: second; a crawl begins without it.
_START = 20.0
#: Seconds for its end, once it knows that the crawl ends. Then it is killed, which costs nothing.
_END = 5.0
#: Seconds for its end once its output has ended, which comes with it; the crawl stands still.
_LAST = 0.2
#: Starts at the beginning of the crawl, as long as a signal ends it.
_STARTS = 5
#: Ends in a row, without a page written, after which a crawl that ends does not wait for it.
_HOPELESS = 5


class Child:
    """Runs `command`, which speaks `larbinpy.database.indexer.messages`.

    A process that ends before all is done is started again, after growing waits. `changed` is
    called after each report.
    """

    def __init__(
        self,
        command: Sequence[str],
        poller: Poller,
        clock: Clock,
        changed: Callable[[Report], None],
    ) -> None:
        self._command = command
        self._poller = poller
        self._clock = clock
        self._changed = changed
        self._process: subprocess.Popen[bytes] | None = None
        self._lines = Lines()
        self._to_send = b""
        self._backoff = Backoff()
        self._error = ""
        self._covered: Covered | None = None
        # A question for pages that are due, until it is answered, and who takes the answer.
        self._asked: DueAsk | None = None
        self._take_due: Callable[[list[DuePage]], None] | None = None
        self._finishing = False
        # Whether the last process was ended by a signal.
        self._killed = False
        #: Ends in a row without a page written.
        self._failures = 0
        # Pages of the processes before this one.
        self._pages = self._gone = 0
        self.report = Report()
        #: Why there is no process; empty if there is one.
        self.down = ""

    def __repr__(self) -> str:
        return f"<Child {self.down or 'runs'}>"

    @property
    def pid(self) -> int | None:
        """The number of the process; None if there is none."""
        return None if self._process is None else self._process.pid

    @property
    def pages(self) -> int:
        """Pages written in this run of the crawl."""
        return self._pages + self.report.pages

    @property
    def gone(self) -> int:
        """Pages found to be gone in this run of the crawl."""
        return self._gone + self.report.gone

    @property
    def trouble(self) -> str:
        """One line about the thing that hinders it; empty if nothing does."""
        return self.down or self.report.trouble

    @property
    def hopeless(self) -> bool:
        """Whether it ends again and again, so that it is of no use to wait."""
        return self._failures >= _HOPELESS

    def open(self) -> None:
        """Start it, and wait until it knows the database. Raises UserError if that is of no use."""
        for _ in range(_STARTS):
            self._killed = False
            self._start()
            if self._process is not None:
                self._await_message(self._process)
            if not self._killed:
                break
        if self._error and self._process is not None:
            self._close(_END)
        if self._error or self.down:
            raise UserError(self._error or self.down)

    def _await_message(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stdout is not None
        poller = Poller()
        try:
            poller.register(process.stdout.fileno(), READ, lambda fd, _: self._readable(fd))
            poller.wait(_START)
        finally:
            poller.close()

    def cover(self, covered: Covered) -> None:
        """A checkpoint that covers so much of the spool is on the disk."""
        self._covered = covered
        self._send(covered.line())

    def ask(self, ask: DueAsk, take: Callable[[list[DuePage]], None]) -> None:
        """Ask for pages that are due; `take` is called once, with the answer."""
        self._asked, self._take_due = ask, take
        self._send(ask_line(ask))

    def finish(self) -> None:
        """Nothing more comes."""
        if not self._finishing:
            self._finishing = True
            self._send(encoded({"finish": True}))

    def second(self, now: float) -> None:
        """Start it again if it is time; called about once a second."""
        if self._process is not None:
            self._send(b"")
        elif not self.report.done and now >= self._backoff.due:
            self._start()
            if self._covered is not None:
                self.cover(self._covered)
            if self._asked is not None:
                self._send(ask_line(self._asked))
            if self._finishing:
                self._send(encoded({"finish": True}))

    def _start(self) -> None:
        self._lines, self._to_send, self._error = Lines(), b"", ""
        try:
            self._process = process = subprocess.Popen(
                self._command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                env=environment(),
                # Ctrl-C is for the crawl, which says what is to be done.
                start_new_session=True,
                bufsize=0,
            )
        except OSError as error:
            self._ended(f"the indexer cannot be started: {error.strerror}")
            return
        assert process.stdin is not None and process.stdout is not None
        self.down = ""
        for pipe in (process.stdin, process.stdout):
            os.set_blocking(pipe.fileno(), False)
        self._poller.register(process.stdout.fileno(), READ, lambda fd, _: self._readable(fd))

    def _send(self, line: bytes) -> None:
        """Send what its pipe has room for, the rest later."""
        self._to_send += line
        if self._process is None or not self._to_send:
            return
        assert self._process.stdin is not None
        # If it has ended, the end of its output says so.
        with suppress(BlockingIOError, BrokenPipeError):
            sent = os.write(self._process.stdin.fileno(), self._to_send)
            self._to_send = self._to_send[sent:]

    def _readable(self, fd: int) -> None:
        try:
            data = os.read(fd, 1 << 16)
        except BlockingIOError:
            return
        if not data:
            self._collect()
            return
        for message in self._lines.feed(data):
            if "error" in message:
                self._error = message["error"]
                continue
            if (due := due_of(message)) is not None:
                self._answered(due)
                continue
            self.report = Report(**message)
            if self.report.pages:
                self._failures = 0
                self._backoff.succeeded()
            self._changed(self.report)

    def _answered(self, due: list[DuePage]) -> None:
        take, self._asked, self._take_due = self._take_due, None, None
        if take is not None:
            take(due)

    def _collect(self) -> None:
        """Collect the process, whose output has ended."""
        status = self._close(_LAST)
        self._killed = status < 0
        if not self.report.done:
            end = f"was killed by signal {-status}" if status < 0 else f"ended with status {status}"
            self._ended(self._error or f"the indexer {end}")

    def _ended(self, why: str) -> None:
        self._failures += 1
        self._pages, self._gone = self.pages, self.gone
        taken, kept = self.report.taken, self.report.kept
        self.report = Report(taken=taken, kept=kept)
        wait = self._backoff.failed(self._clock())
        self.down = f"{why}; it is started again in {wait:.0f} s"

    def _close(self, patience: float) -> int:
        """Close the pipes and wait for the end; return the exit status."""
        process, self._process = self._process, None
        assert process is not None and process.stdin is not None and process.stdout is not None
        self._poller.unregister(process.stdout.fileno())
        process.stdin.close()
        status = collect(process, patience)
        process.stdout.close()
        return status

    def close(self) -> None:
        """Let it write what it has read already, and end it."""
        if self._process is not None:
            self._close(_END)


def indexer_command(
    database: str, folder: Path, options: ReadOptions, schedule: ScheduleSettings | None = None
) -> list[str]:
    """The command of the indexer of `database`, whose spool is in `folder`."""
    schedule = schedule or ScheduleSettings()
    arguments = [*options.arguments(), *schedule.arguments()]
    return command("larbinpy.database.indexer", database, str(folder), *arguments)
