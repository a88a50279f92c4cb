"""A MariaDB server of the tests' own, which they may stop, kill and start again."""

import os
import shutil
import signal
import socket
import subprocess
import time
from contextlib import suppress
from pathlib import Path

#: Seconds for the server to start, or to end.
_PATIENCE = 30.0
_PATH = f"{os.environ.get('PATH', '')}:/usr/sbin"


def is_installed() -> bool:
    """Whether the programs of the server are there (Debian: mariadb-server)."""
    return all(shutil.which(name, path=_PATH) for name in ("mariadbd", "mariadb-install-db"))


class MariaDb:
    """A server with its data in `folder`, at a port of 127.0.0.1; root has no password."""

    def __init__(self, folder: Path, port: int) -> None:
        self.port = port
        self._folder = folder
        self._process: subprocess.Popen[bytes] | None = None

    def install(self) -> None:
        """Make the data folder."""
        self._folder.mkdir(parents=True, exist_ok=True)
        command = [
            *("mariadb-install-db", "--no-defaults", f"--datadir={self._folder / 'data'}"),
            *("--auth-root-authentication-method=normal", "--skip-test-db"),
            *_as_root(),
        ]
        made = subprocess.run(
            command,
            capture_output=True,
            text=True,
            # Two that are made at the same time would remove each other's tables in /tmp.
            env={**os.environ, "PATH": _PATH, "TMPDIR": str(self._folder)},
        )
        if made.returncode:
            raise RuntimeError(made.stdout[-2000:] + made.stderr[-2000:])

    def start(self) -> None:
        """Start it, and return when it accepts connections."""
        command = [
            *("mariadbd", "--no-defaults", f"--datadir={self._folder / 'data'}"),
            *(f"--socket={self._folder / 'socket'}", f"--pid-file={self._folder / 'pid'}"),
            *(f"--port={self.port}", "--bind-address=127.0.0.1", "--skip-name-resolve"),
            *("--innodb-buffer-pool-size=64M", "--innodb-log-file-size=32M"),
            # A commit outlives a kill of the server, not a power cut: nothing waits for the disk.
            "--innodb-flush-log-at-trx-commit=2",
            *_as_root(),
        ]
        with (self._folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                command, stdout=log, stderr=log, env={**os.environ, "PATH": _PATH}
            )
        deadline = time.monotonic() + _PATIENCE
        while time.monotonic() < deadline and self._process.poll() is None:
            with suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 1):
                return
            time.sleep(0.05)
        raise RuntimeError((self._folder / "log").read_text()[-2000:])

    def end(self, number: signal.Signals = signal.SIGTERM) -> None:
        """Stop it, or kill it with SIGKILL; its data stay."""
        if self._process is not None:
            process, self._process = self._process, None
            process.send_signal(number)
            process.wait(_PATIENCE)


def _as_root() -> list[str]:
    return ["--user=root"] if os.geteuid() == 0 else []
