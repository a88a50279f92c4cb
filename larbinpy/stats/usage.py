"""Processor time and memory of this process, and the memory that is left."""

import resource
from collections.abc import Iterator
from contextlib import suppress
from math import inf
from pathlib import Path

#: Files of a control group by the version of the interface: the limit, what is used, and the line
#: of "memory.stat" with what of that is only a cache of files.
_GROUPS = {
    "memory": ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
    "": ("memory.max", "memory.current", "inactive_file"),
}


def cpu_seconds() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def peak_rss_bytes() -> int:
    """Peak of the resident memory, from /proc; from getrusage if there is no /proc.

    Linux counts both in kibibytes. ru_maxrss includes the process before its exec, a copy of
    its parent.
    """
    try:
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    except (OSError, IndexError, ValueError):
        pass
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def rss_bytes() -> int:
    """Resident memory now, from /proc; the peak if there is no /proc."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except (OSError, IndexError, ValueError):
        return peak_rss_bytes()
    return pages * resource.getpagesize()


def mapped_bytes() -> int:
    """Address space that is in use, from /proc; 0 if there is no /proc."""
    with suppress(OSError, IndexError, ValueError):
        return int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    return 0


def available_bytes(root: Path = Path("/")) -> float:
    """Memory that is left, of the machine and of the control groups of this process.

    `root` has the folders proc and sys. Infinite if these do not say.
    """
    left: list[float] = []
    with suppress(OSError, LookupError, ValueError):
        left.append(_line(root / "proc/meminfo", "MemAvailable:") * 1024)
    for folder, names in _groups(root):
        # There is no limit, or "max".
        with suppress(OSError, LookupError, ValueError):
            limit, used = (int((folder / name).read_text()) for name in names[:2])
            left.append(limit - used + _line(folder / "memory.stat", names[2]))
    return min(left, default=inf)


def _groups(root: Path) -> Iterator[tuple[Path, tuple[str, str, str]]]:
    """The folders of the control groups of this process, with the names of their files.

    Seen from a container the path of its group may be that of the machine, with the folder at the
    top.
    """
    lines: list[str] = []
    with suppress(OSError):
        lines = (root / "proc/self/cgroup").read_text().splitlines()
    for line in lines:
        _, kinds, path = line.split(":", 2)
        for kind in _GROUPS.keys() & kinds.split(","):
            top = root / "sys/fs/cgroup" / kind
            folder = top / path.strip("/")
            yield from ((each, _GROUPS[kind]) for each in (folder, *folder.parents))


def _line(file: Path, name: str) -> int:
    """The number in the line of a file that begins with `name`. Raises `KeyError`."""
    lines = dict(line.split()[:2] for line in file.read_text().splitlines())
    return int(lines[name])
