"""Child processes that run a module of larbinpy: how they are started and ended."""

import os
import re
import select
import subprocess
import sys
from pathlib import Path

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
