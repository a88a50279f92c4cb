"""Processes of `larbinpy` as copies of one that has loaded its modules.

To start Python and to load the modules takes several times as long as a small crawl. So a process
loads them once, and forks for each command line that it is given. A copy is no child of this
process, and what /proc has as its command line is that of its original; tests for which this
matters start larbinpy by its command line.
"""

import atexit
import gc
import json
import os
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import IO, NoReturn

from larbinpy import __main__ as main

#: Most command lines of the tests need these.
_MODULES = ("larbinpy.cli.crawl", "larbinpy.cli.mirror", "larbinpy.crawl.crawl")
#: What Python and the modules read while they are loaded, so that a copy could not have it anew.
_AT_START = ("PYTHON", "LARBINPY_NO_SCAN", "LANG", "LC_", "LD_", "TZ")
#: Bytes of a command line with its environment.
_LONGEST = 1 << 20


class Process:
    """A copy with these arguments; its members are those of a `Popen`."""

    def __init__(
        self,
        arguments: Sequence[str],
        *,
        cwd: Path,
        env: Mapping[str, str],
        stdin: int,
        stdout: int,
        stderr: int,
    ) -> None:
        pairs = [_stream(stdin, "wb"), _stream(stdout, "rb"), _stream(stderr, "rb")]
        self.stdin, self.stdout, self.stderr = (own for _, own in pairs)
        status, told = os.pipe()
        self._status = os.fdopen(status, "rb")
        order = json.dumps([list(arguments), str(cwd), dict(env)]).encode()
        original = _original(tuple(it for it in sorted(env.items()) if it[0].startswith(_AT_START)))
        given = [*(stream for stream, _ in pairs), told]
        socket.send_fds(original, [order], given)
        for fd in given:
            os.close(fd)
        self.pid = int(self._status.readline())
        self.returncode: int | None = None

    def poll(self) -> int | None:
        if self.returncode is None and select.select([self._status], [], [], 0)[0]:
            self.wait()
        return self.returncode

    def wait(self) -> int:
        if self.returncode is None:
            with self._status:
                self.returncode = os.waitstatus_to_exitcode(int(self._status.readline()))
        return self.returncode

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


def _stream(given: int, mode: str) -> tuple[int, IO[bytes] | None]:
    """The stream that a copy gets, and the end of this process if it is a pipe."""
    if given == subprocess.PIPE:
        read, write = os.pipe()
        return (write, os.fdopen(read, mode)) if mode == "rb" else (read, os.fdopen(write, mode))
    return os.open(os.devnull, os.O_RDWR) if given == subprocess.DEVNULL else os.dup(given), None


@cache
def _original(environment: tuple[tuple[str, str], ...]) -> socket.socket:
    """The process that forks; it ends with this one."""
    ours, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with its:
        # Python finds out once whether a stream can seek, and those of most copies cannot. What
        # is written goes out at once, to a terminal or not: crawlers under test are unbuffered.
        process = subprocess.Popen(
            [sys.executable, "-m", __name__],
            env={**os.environ, **dict(environment)},
            stdin=its.fileno(),
            stdout=its.fileno(),
            stderr=its.fileno(),
            start_new_session=True,
        )
    atexit.register(process.wait)
    atexit.register(ours.close)
    return ours


def _serve(orders: socket.socket) -> None:
    """Fork for each order, and tell how each copy has ended."""
    for name in _MODULES:
        import_module(name)
    # Nothing of it becomes garbage, so no copy needs to look at it.
    gc.freeze()
    living: dict[int, tuple[int, int]] = {}
    poll = select.poll()
    poll.register(orders, select.POLLIN)
    while True:
        for fd, _ in poll.poll():
            if fd in living:
                pid, told = living.pop(fd)
                poll.unregister(fd)
                os.close(fd)
                status = os.waitpid(pid, 0)[1]
                # A test that failed may not ask.
                with suppress(BrokenPipeError):
                    os.write(told, b"%d\n" % status)
                os.close(told)
                continue
            order, given, _flags, _where = socket.recv_fds(orders, _LONGEST, 4)
            if not order:
                return
            *streams, told = given
            pid = os.fork()
            if not pid:
                _become(streams, *json.loads(order))
            os.write(told, b"%d\n" % pid)
            for stream in streams:
                os.close(stream)
            ended = os.pidfd_open(pid)
            living[ended] = pid, told
            poll.register(ended, select.POLLIN)


def _become(streams: list[int], arguments: list[str], cwd: str, env: dict[str, str]) -> NoReturn:
    """Run larbinpy as if it had just been started, to the end of this process."""
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
    os.closerange(3, 1 << 16)
    os.setsid()
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(env)
    sys.argv = [main.__file__, *arguments]
    sys.orig_argv = [sys.executable, "-m", "larbinpy", *arguments]
    code: object = 0
    try:
        main.main()
    except SystemExit as end:
        code = end.code
    except BaseException:
        sys.excepthook(*sys.exc_info())
        code = 1
    atexit._run_exitfuncs()
    sys.stdout.flush()
    os._exit(code if isinstance(code, int) else 0 if code is None else 1)


if __name__ == "__main__":
    with socket.socket(fileno=os.dup(0)) as given:
        _serve(given)
