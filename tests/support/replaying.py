"""pywb over archives of the tests, and other programs that read them."""

import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.support.ports import free_port
from tests.support.warcs import warcs

#: For pywb to start (s).
PATIENCE = 30


def tool(name: str) -> str:
    """A command of another package, beside this Python or on the PATH."""
    found = shutil.which(name, path=f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    if found is None:
        pytest.skip(f"{name} is not installed (pip install warcio cdxj-indexer pywb)")
    return found


def run(*command: str | Path, **options: Any) -> str:
    done = subprocess.run(command, capture_output=True, text=True, timeout=100, **options)
    assert done.returncode == 0, done.stdout + done.stderr
    said: str = done.stdout
    return said


def index_lines(folder: Path) -> list[str]:
    """Those of all indexes, sorted."""
    return sorted(line for file in folder.glob("*.cdxj") for line in file.read_text().splitlines())


@contextmanager
def replayed(out: Path, folder: Path) -> Iterator[str]:
    """pywb over the files and the indexes in `out`: where it serves them."""
    # Pages as they are, without a frame around them.
    (folder / "config.yaml").write_text("framed_replay: false\nbanner_html: false\n")
    run(tool("wb-manager"), "init", "c", cwd=folder)
    for file in warcs(out):
        shutil.copy(file, folder / "collections/c/archive")
    index = folder / "collections/c/indexes/index.cdxj"
    index.write_text("".join(f"{line}\n" for line in index_lines(out)))
    port = free_port()
    with (folder / "log").open("w") as log:
        command = [tool("wayback"), "-b", "127.0.0.1", "-p", str(port)]
        process = subprocess.Popen(command, cwd=folder, stdout=log, stderr=log)
        try:
            late = time.monotonic() + PATIENCE
            while not _answers(port) and time.monotonic() < late:
                time.sleep(0.1)
            yield f"http://127.0.0.1:{port}/c"
        finally:
            process.terminate()
            process.wait()


def _answers(port: int) -> bool:
    with socket.socket() as sock:
        return not sock.connect_ex(("127.0.0.1", port))
