"""Two networks on one machine (Linux), with a cable between them that loses packets.

Each is a network namespace, held by a process that ends with this one; the namespace ends with
it. Needs root, or a Linux that lets users make namespaces; iproute2; and one of netem (tc),
nftables and iptables.
"""

import os
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from experiments.runs import say

#: Device names of the cable's ends, the crawler's first.
_ENDS = ("lossy0", "lossy1")
#: Network of both sides, and the crawler's number in it.
NETWORK = "10.77.0."
_CRAWLER = 200

# The filters drop packets on arrival. A drop on departure would be reported to the sender.
_NETEM = "tc qdisc add dev {device} root netem loss {percent}%"
_NFT = [
    "nft add table inet lossy",
    "nft add chain inet lossy arriving {{ type filter hook input priority 0 ; }}",
    "nft add rule inet lossy arriving iifname {device} numgen random mod 10000 < {share} drop",
]
_IPTABLES = (
    "iptables -A INPUT -i {device} -m statistic --mode random --probability {fraction} -j DROP"
)
_WAYS = {"netem": [_NETEM], "nftables": _NFT, "iptables": [_IPTABLES]}


class NotPossible(Exception):
    """This machine cannot make such a network."""


@dataclass(frozen=True)
class Lossy:
    """Command prefixes that start a program on either side."""

    crawler: Sequence[str]
    server: Sequence[str]
    #: The means that drops the packets: "netem", "nftables" or "iptables".
    way: str


@contextmanager
def lossy(percent: float, addresses: int) -> Iterator[Lossy]:
    """Make both networks; the server's side has the first `addresses` addresses of `NETWORK`.

    `percent` of the packets get lost in each direction. Raises NotPossible.
    """
    with ExitStack() as closing:
        try:
            network = _connect(closing, percent, addresses)
        except FileNotFoundError as error:
            raise NotPossible(f"{error.filename} is missing") from error
        yield network


def _connect(closing: ExitStack, percent: float, addresses: int) -> Lossy:
    root = os.geteuid() == 0
    apart = ["unshare", "--net"] if root else ["unshare", "--user", "--map-root-user", "--net"]
    crawler = _enter(_hold(closing, apart), root)
    server_pid = _hold(closing, [*crawler, "unshare", "--net"])
    server = _enter(server_pid, root)
    one, other = _ENDS
    _do(crawler, f"ip link add {one} type veth peer name {other}")
    _do(crawler, f"ip link set {other} netns {server_pid}")
    sides = ((crawler, one, [_CRAWLER]), (server, other, range(1, addresses + 1)))
    for side, device, numbers in sides:
        for number in numbers:
            _do(side, f"ip address add {NETWORK}{number}/24 dev {device}")
        # One segment a packet; otherwise the kernel passes several, which get lost together.
        _do(side, f"ip link set {device} gso_max_segs 1 up")
        _do(side, "ip link set lo up")
    way = _lose([(crawler, one), (server, other)], percent)
    say(f"{percent:g} % of the packets get lost, by {way}")
    return Lossy(crawler, server, way)


def _hold(closing: ExitStack, apart: Sequence[str]) -> int:
    """Start a process in new namespaces that ends with its input; returns its process ID."""
    process = subprocess.Popen(
        [*apart, "sh", "-c", "echo; exec cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    closing.enter_context(process)
    assert process.stdout is not None
    if not process.stdout.readline():
        raise NotPossible("cannot make a separate network here (unshare)")
    return process.pid


def _enter(pid: int, root: bool) -> list[str]:
    users = [] if root else ["--user", "--preserve-credentials"]
    return ["nsenter", "--target", str(pid), *users, "--net", "--"]


def _lose(sides: Sequence[tuple[Sequence[str], str]], percent: float) -> str:
    """Make both sides lose packets by the first means that this kernel has; returns its name."""
    reasons = []
    numbers = {"percent": percent, "share": round(percent * 100), "fraction": percent / 100}
    for way, commands in _WAYS.items():
        try:
            for side, device in sides:
                for command in commands:
                    _do(side, command.format(device=device, **numbers))
        except (NotPossible, FileNotFoundError) as error:
            reasons.append(f"{way}: {error}")
        else:
            return way
    raise NotPossible("; ".join(reasons))


def _do(side: Sequence[str], command: str) -> None:
    done = subprocess.run([*side, *command.split()], stderr=subprocess.PIPE, text=True)
    if done.returncode:
        raise NotPossible(f"{command}: {done.stderr.strip()}")


def tcp_segments(pid: int) -> tuple[int, int]:
    """Segments sent, and retransmitted, so far in the network of the process `pid`."""
    lines = [line.split() for line in Path(f"/proc/{pid}/net/snmp").read_text().splitlines()]
    names, values = (line for line in lines if line[0] == "Tcp:")
    counts = dict(zip(names[1:], values[1:], strict=True))
    return int(counts["OutSegs"]), int(counts["RetransSegs"])
