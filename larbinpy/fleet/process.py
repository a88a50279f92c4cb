"""The process of a session, as its name tells: nodes of one machine see that another has ended.

A node that was killed can do nothing any more. Others on its machine need not watch for seconds
whether it is alive: the system tells them. Those on other machines have to watch.
"""

import os
import re
from functools import cache
from hashlib import blake2b
from pathlib import Path

from larbinpy.loop import child

_BOOT = Path("/proc/sys/kernel/random/boot_id")
_PROCESSES = Path("/proc/self/ns/pid")
#: Hexadecimal digits: of the machine, of the process, and of what tells its sessions apart.
_MARK = re.compile(r"(.{12})([0-9a-f]{6})[0-9a-f]{8}").fullmatch


@cache
def _machine() -> str:
    """Equal in all processes that see each other's numbers, and in no others."""
    try:
        name = _BOOT.read_bytes() + os.readlink(_PROCESSES).encode()
    except OSError:
        # It is not Linux: no other process is known.
        name = os.urandom(16)
    return blake2b(name, digest_size=6).hexdigest()


def new_mark() -> str:
    """26 hexadecimal digits that were never used: those of a session of this process."""
    return f"{_machine()}{os.getpid():06x}{os.urandom(4).hex()}"


def has_ended(mark: str) -> bool:
    """Whether the process that made a mark is known to have ended; False if it is elsewhere."""
    match = _MARK(mark)
    if match is None or match[1] != _machine():
        return False
    return child.has_ended(int(match[2], 16))
