"""The Redis of a crawl whose nodes are all on this machine, at a socket for its user alone."""

import os
import shutil
import signal
import socket
from collections.abc import Callable, Sequence
from pathlib import Path

from larbinpy.cli.nodes.node import Child, in_words
from larbinpy.errors import UserError
from larbinpy.loop.poller import Poller
from larbinpy.storage.files import make_folder

#: The name of the crawl there.
NAME = "crawl"
_PROGRAMS = ("redis-server", "valkey-server")
_MISSING = (
    "--nodes needs a Redis: redis-server is not installed (apt-get install redis-server); "
    "or give one with --join redis://HOST/NAME"
)
#: Bytes of the path of a socket (sun_path in unix(7), without the zero at its end).
_LONGEST_PATH = 107
#: Seconds that it may take to write its data when it ends.
_PATIENCE = 20.0


class RedisServer:
    """Runs in `folder`, which has its data, its socket and its log.

    Redis itself does not keep a second server from writing to the same files. It inherits the
    descriptors `holds`, among them that of a lock which its successor needs.
    """

    def __init__(self, poller: Poller, folder: Path, holds: Sequence[int] = ()) -> None:
        """Raises UserError if there is no program, or no socket can be made in `folder`."""
        self._poller = poller
        self._folder = folder
        self._holds = holds
        program = next(filter(None, map(shutil.which, _PROGRAMS)), None)
        if program is None:
            raise UserError(_MISSING)
        self._program = program
        self._path = _socket_in(folder)
        if len(os.fsencode(self._path)) > _LONGEST_PATH or "?" in self._path:
            path = folder / "socket"
            raise UserError(f"{path}: no path for a socket; set a shorter stateDir without ?")
        self._child: Child | None = None

    @property
    def name(self) -> str:
        """The name of the program."""
        return os.path.basename(self._program)

    @property
    def address(self) -> str:
        """The value of `join`."""
        return _address(self._path)

    @property
    def status(self) -> int | None:
        """Its exit status if it has ended."""
        return self._child.status if self._child is not None else None

    @property
    def pid(self) -> int:
        assert self._child is not None
        return self._child.pid

    def start(self) -> None:
        """Start it; its data are loaded before it answers. Raises OSError."""
        make_folder(self._folder)
        self._folder.chmod(0o700)
        options = {
            "port": "0",
            "unixsocket": "socket",
            "unixsocketperm": "700",
            "appendonly": "yes",
            "appendfsync": "everysec",
            "save": "",
            "maxmemory-policy": "noeviction",
            "loglevel": "notice",
        }
        arguments = [word for name, value in options.items() for word in (f"--{name}", value)]
        with (self._folder / "log").open("ab") as log:
            command = [self._program, *arguments]
            self._child = Child(
                self._poller,
                command,
                # It writes its data to the disk.
                at_death=signal.SIGTERM,
                holds=self._holds,
                folder=str(self._folder),
                log=log,
            )

    def wait(self, is_stopped: Callable[[], bool]) -> None:
        """Wait until it listens. Raises UserError if it ended, KeyboardInterrupt if stopped."""
        # The socket is there a moment before it takes connections.
        while not _listens(self._path):
            self.check()
            if is_stopped():
                raise KeyboardInterrupt
            self._poller.wait(0.02)

    def check(self) -> None:
        """Raise UserError if it has ended: it listens before it has read its data."""
        self._poller.wait(0.0)
        if self.status is not None:
            raise UserError(f"{self.name} did not start: {self.reason}")

    @property
    def reason(self) -> str:
        """Why it has ended, in one line."""
        assert self.status is not None
        path, how = self._folder / "log", in_words(self.status)
        if self.status < 0:
            # It wrote nothing about that.
            return f"it {how} ({path} has its log)"
        lines = path.read_text(errors="replace").splitlines() if path.exists() else []
        # A warning stands behind the number of the process, the date and this mark.
        last = [line.partition(" # ")[2] for line in lines if " # " in line][-1:] or lines[-1:]
        return f"it {how}: {''.join(last)[-200:]} ({path} has more)"

    def stop(self) -> None:
        """End it, with its data on the disk."""
        child = self._child
        if child is None:
            return
        child.signal(signal.SIGTERM)
        rounds = int(_PATIENCE / 0.1)
        while child.status is None and rounds:
            self._poller.wait(0.1)
            rounds -= 1
        child.signal(signal.SIGKILL)
        child.wait()


def running_in(folder: Path) -> str:
    """The value of `join` for a server that runs in `folder`; empty if none does."""
    path = _socket_in(folder)
    return _address(path) if _listens(path) else ""


def _socket_in(folder: Path) -> str:
    path = str(folder / "socket")
    return min(os.path.abspath(path), os.path.relpath(path), key=len)


def _address(path: str) -> str:
    return f"unix:{path}?crawl={NAME}"


def _listens(path: str) -> bool:
    with socket.socket(socket.AF_UNIX) as sock:
        sock.setblocking(False)
        try:
            return sock.connect_ex(path) == 0
        except OSError:  # the path is too long
            return False
