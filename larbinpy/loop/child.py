"""Child processes that run a module of larbinpy: how they are started, heard and ended."""

import os
import re
import select
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from larbinpy.loop.poller import READ, WRITE, Poller

_HOME = str(Path(__file__).resolve().parents[2])


def command(module: str, *arguments: str) -> list[str]:
    """The command that runs `module`; it needs the `environment`."""
    # Without -P it would import from the working directory, where a crawl may put its files.
    return [sys.executable, "-P", "-m", module, *arguments]


#: Variables that the system, Python and its libraries read. All others may be secrets: those that
#: loginFile names, LARBINPY_JOIN, or what other programs keep there.
_NEEDED = re.compile(
    "PATH|HOME|USER|LOGNAME|SHELL|TERM|NO_COLOR|LANG|LANGUAGE|LC_[A-Z]+|TZ|TZDIR|TMPDIR|TEMP|TMP"
    "|XDG_(RUNTIME_DIR|[A-Z]+_HOME)|PYTHON[A-Z]+|VIRTUAL_ENV|COVERAGE_[A-Z_]+|LARBINPY_NO_SCAN"
    "|LD_[A-Z_]+|GLIBC_TUNABLES|MALLOC_[A-Z_]+|[A-Z]+SAN_OPTIONS|[A-Z]+_NUM_THREADS"
    "|SQLITE_TMPDIR|SSL_CERT_(FILE|DIR)|OPENSSL_CONF"
).fullmatch


def environment() -> dict[str, str]:
    """The environment of a child: without secrets, with a path where Python finds this larbinpy."""
    path = os.pathsep.join(filter(None, [_HOME, os.environ.get("PYTHONPATH")]))
    needed = {name: value for name, value in os.environ.items() if _NEEDED(name)}
    return needed | {"PYTHONPATH": path}


def collect(process: "subprocess.Popen[bytes]", patience: float) -> int:
    """The exit status of a process that is about to end; after `patience` seconds it is killed."""
    try:
        return process.wait(patience)
    except subprocess.TimeoutExpired:
        process.kill()
        return process.wait()


#: Bytes that are read at once.
_CHUNK = 1 << 20


class Piped:
    """Runs `command`, with pipes to its standard input and from its standard output.

    `heard` gets what it writes, and b"" when its output has ended. Raises OSError.
    """

    def __init__(
        self,
        poller: Poller,
        command: Sequence[str],
        heard: Callable[[bytes], None],
        *,
        stderr: int | None = None,
        start_new_session: bool = False,
        variables: Mapping[str, str] | None = None,
    ) -> None:
        """`variables` are added to its environment."""
        self._poller = poller
        self._heard = heard
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=stderr,
            env=environment() | dict(variables or {}),
            start_new_session=start_new_session,
            bufsize=0,
        )
        assert self.process.stdin is not None and self.process.stdout is not None
        self._input, self._output = self.process.stdin, self.process.stdout
        # What `write` could not send yet.
        self._unsent = bytearray()
        for pipe in (self._input, self._output):
            os.set_blocking(pipe.fileno(), False)
        self.listen(poller)

    @property
    def fd(self) -> int:
        """The end of the pipe from its standard output."""
        return self._output.fileno()

    def listen(self, poller: Poller) -> None:
        """Give `heard` what comes while `poller` waits."""
        poller.register(self.fd, READ, lambda fd, events: self._read())

    def send(self, data: bytes) -> int:
        """Send what its pipe has room for; the number of these bytes.

        If it has ended, that is none, and the end of its output says so.
        """
        with suppress(BlockingIOError, BrokenPipeError):
            return os.write(self._input.fileno(), data)
        return 0

    def write(self, data: bytes) -> None:
        """Send all of `data`, as soon as its pipe has room for it."""
        if self._unsent:
            self._unsent += data
            return
        sent = self.send(data)
        if sent < len(data):
            self._unsent += data[sent:]
            self._poller.register(self._input.fileno(), WRITE, lambda fd, events: self._write_on())

    def _write_on(self) -> None:
        sent = self.send(bytes(self._unsent[:_CHUNK]))
        del self._unsent[:sent]
        if not self._unsent or self.process.poll() is not None:
            self._poller.unregister(self._input.fileno())

    @property
    def unsent(self) -> int:
        """Bytes that wait for room in its pipe."""
        return len(self._unsent)

    def _read(self) -> None:
        try:
            data = os.read(self.fd, _CHUNK)
        except BlockingIOError:
            return
        self._heard(data)

    def _stop_listening(self) -> None:
        self._poller.unregister(self.fd)
        if self._unsent:
            self._poller.unregister(self._input.fileno())

    def close(self, patience: float) -> int:
        """Close its input and wait for its end, which comes in `patience` seconds; its status."""
        self._stop_listening()
        self._input.close()
        status = collect(self.process, patience)
        self._output.close()
        return status

    def kill(self) -> None:
        """Kill it, without waiting for its end."""
        self._stop_listening()
        self.process.kill()
        self._input.close()
        self._output.close()


def has_ended(pid: int) -> bool:
    """Whether no process has the number `pid`, or the one that had it has ended."""
    try:
        process = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    except OSError:
        return False
    try:
        # It is readable also while the parent has not asked how its child ended.
        ended = select.poll()
        ended.register(process, select.POLLIN)
        return bool(ended.poll(0))
    finally:
        os.close(process)
