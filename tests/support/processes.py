"""The processes of a crawl: which run beside it, and what they are."""

import os
import signal
from contextlib import suppress
from pathlib import Path


def children(pid: int) -> list[int]:
    """The child processes of `pid`."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            # The name in brackets may hold anything.
            fields = path.read_text(errors="replace").rpartition(")")[2].split()
            if int(fields[1]) == pid and fields[0] != "Z":
                found.append(int(path.parent.name))
    return found


def command(pid: int) -> str:
    """Its command line; empty if it has ended."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()
    except OSError:
        return ""


def cpu(pid: int) -> float:
    """Seconds of processor that a living process has taken."""
    fields = Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def indexer_of(crawl: int) -> int | None:
    """The indexer of the crawl with this number, while there is one."""
    found = [pid for pid in children(crawl) if "larbinpy.database.indexer" in command(pid)]
    return found[0] if found else None


def readers_of(crawl: int) -> list[int]:
    """The processes that read pages for the indexer of a crawl."""
    indexer = indexer_of(crawl)
    return [] if indexer is None else children(indexer)


def kill(pid: int | None) -> bool:
    """Kill the process `pid`, if there is one; return whether there was."""
    if pid is None:
        return False
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return False
    return True
