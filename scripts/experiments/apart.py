"""A separate network namespace, in which the system's resolver asks the experiment's server.

`socket.gethostbyname` asks only the servers of /etc/resolv.conf, at port 53. The program is
therefore run again in new namespaces (Linux), where it sees another resolv.conf, may bind port
53, and reaches only its own loopback.
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
# DNS only: no multicast, no cache of the system.
_NSSWITCH = "hosts: dns\n"

# netdevice(7): name and flags of a device; the request that sets the flags.
_IFREQ = struct.Struct("16sh22x")
_SIOCSIFFLAGS = 0x8914
_IFF_UP = 1


def is_apart() -> bool:
    return _MARK in os.environ


def go_apart(module: str, arguments: Sequence[str]) -> None:
    """Replace this process by `module` with `arguments` in a separate network.

    Returns, with a message, if the system does not allow that.
    """
    unshare = ["unshare", "--mount", "--net"]
    if os.geteuid() != 0:
        unshare += ["--user", "--map-root-user"]
    tried = shutil.which("unshare") and subprocess.run([*unshare, "true"], stderr=subprocess.PIPE)
    if tried and tried.returncode == 0:
        os.environ[_MARK] = "1"
        os.execvp("unshare", [*unshare, PYTHON, "-m", module, *arguments])
    say("cannot make a separate network here (unshare); continuing without gethostbyname")


def prepare(folder: Path) -> None:
    """Start loopback and set the resolver's files. Call it before the first use of the resolver."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, _SIOCSIFFLAGS, _IFREQ.pack(b"lo", _IFF_UP))
    for name, text in (("resolv.conf", _RESOLV_CONF), ("nsswitch.conf", _NSSWITCH)):
        (folder / name).write_text(text)
        subprocess.run(["mount", "--bind", folder / name, f"/etc/{name}"], check=True)
    say("running in a separate network")
