"""A network of its own, in which this machine's resolver asks a server of ours.

`socket.gethostbyname` asks the servers of /etc/resolv.conf at port 53 and nobody else. So the
program is run again in namespaces of its own (Linux), where it sees another resolv.conf, may
have port 53, and reaches nothing but its own loopback.
"""

import fcntl
import os
import shutil
import socket
import struct
import subprocess
from collections.abc import Sequence
from pathlib import Path

from experiments.runs import PYTHON, say

_MARK = "EXPERIMENTS_APART"
_RESOLV_CONF = "nameserver 127.0.0.1\noptions timeout:5 attempts:2\n"
# No multicast, no cache of the system's beside the name server.
_NSSWITCH = "hosts: dns\n"

# netdevice(7): name and flags; the request that sets them.
_IFREQ = struct.Struct("16sh22x")
_SIOCSIFFLAGS = 0x8914
_IFF_UP = 1


def is_apart() -> bool:
    return _MARK in os.environ


def go_apart(module: str, arguments: Sequence[str]) -> None:
    """Run `module` with `arguments` in a network of its own, in place of this process.

    Returns only where the system does not allow that, and says so.
    """
    unshare = ["unshare", "--mount", "--net"]
    if os.geteuid() != 0:
        unshare += ["--user", "--map-root-user"]
    tried = shutil.which("unshare") and subprocess.run([*unshare, "true"], stderr=subprocess.PIPE)
    if tried and tried.returncode == 0:
        os.environ[_MARK] = "1"
        os.execvp("unshare", [*unshare, PYTHON, "-m", module, *arguments])
    say("no network of its own to be had here (unshare); going on without gethostbyname")


def prepare(folder: Path) -> None:
    """Put up loopback, and what the system's resolver reads; to be done before it is used."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, _SIOCSIFFLAGS, _IFREQ.pack(b"lo", _IFF_UP))
    for name, text in (("resolv.conf", _RESOLV_CONF), ("nsswitch.conf", _NSSWITCH)):
        (folder / name).write_text(text)
        subprocess.run(["mount", "--bind", folder / name, f"/etc/{name}"], check=True)
    say("in a network of its own")
