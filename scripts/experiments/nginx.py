"""nginx as a process, for those benchmarks and experiments that serve files."""

import os
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_TEMPORARY = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
_LONGEST_START = 10.0


def temporary_paths(folder: Path) -> str:
    """Directives for the `http` block that keep nginx's temporary files in `folder`."""
    return " ".join(f"{name}_temp_path {folder}/{name};" for name in _TEMPORARY)


@contextmanager
def running(configuration: str, folder: Path, port: int) -> Iterator[None]:
    """Run nginx while the block lasts; `configuration` must contain "daemon off;".

    The block begins when 127.0.0.1 accepts connections at `port`. `folder` is for nginx's own
    files. Raises RuntimeError if nginx does not start.
    """
    file = folder / "nginx.conf"
    file.write_text(configuration)
    command = ["nginx", "-p", str(folder), "-c", str(file), "-e", "stderr"]
    # Debian installs it in /usr/sbin, which only root has in its path.
    path = f"{os.environ.get('PATH', '')}:/usr/sbin"
    with subprocess.Popen(command, env={**os.environ, "PATH": path}) as process:
        try:
            _await(process, port)
            yield
        finally:
            process.terminate()


def _await(process: subprocess.Popen[bytes], port: int) -> None:
    deadline = time.monotonic() + _LONGEST_START
    while time.monotonic() < deadline and process.poll() is None:
        with suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        time.sleep(0.02)
    raise RuntimeError("nginx does not run; its messages above say why")
