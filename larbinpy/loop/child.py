"""Child processes that run a module of larbinpy: how they are started and ended."""

import os
import select
import subprocess
import sys
from pathlib import Path

_HOME = str(Path(__file__).resolve().parents[2])


def command(module: str, *arguments: str) -> list[str]:
    """The command that runs `module`; it needs the `environment`."""
    # Without -P it would import from the working directory, where a crawl may put its files.
    return [sys.executable, "-P", "-m", module, *arguments]


def environment() -> dict[str, str]:
    """The environment of this process, with a path on which Python finds this larbinpy."""
    path = os.pathsep.join(filter(None, [_HOME, os.environ.get("PYTHONPATH")]))
    return {**os.environ, "PYTHONPATH": path}


def collect(process: "subprocess.Popen[bytes]", patience: float) -> int:
    """The exit status of a process that is about to end; after `patience` seconds it is killed."""
    try:
        return process.wait(patience)
    except subprocess.TimeoutExpired:
        process.kill()
        return process.wait()


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
