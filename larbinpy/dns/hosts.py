"""The system's own configuration of names: its hosts file and its name servers."""

from ipaddress import ip_address
from pathlib import Path

from larbinpy.dns.wire import host_name

#: The server to use if the system names none (resolv.conf(5)).
_DEFAULT_SERVERS = [("127.0.0.1", 53)]


def read_hosts(path: str | Path = "/etc/hosts") -> dict[str, tuple[str, ...]]:
    """Names of a hosts(5) file with their addresses, IPv4 first; empty without a file.

    Invalid lines are ignored, as the system's own resolver ignores them.
    """
    found: dict[str, list[str]] = {}
    for address, *names in _lines(path):
        if not _is_plain_address(address):
            continue
        for name in filter(None, map(host_name, names)):
            addresses = found.setdefault(name, [])
            if address not in addresses:
                addresses.append(address)
    return {name: tuple(sorted(known, key=_is_v6)) for name, known in found.items()}


def system_servers(path: str | Path = "/etc/resolv.conf") -> list[tuple[str, int]]:
    """The name servers of a resolv.conf(5), as (address, port); if it names none, the local one.

    Addresses with a zone (``fe80::1%eth0``) are left out.
    """
    servers = [
        (words[1], 53)
        for words in _lines(path)
        if words[0] == "nameserver" and len(words) > 1 and _is_plain_address(words[1])
    ]
    return list(dict.fromkeys(servers)) or list(_DEFAULT_SERVERS)


def _lines(path: str | Path) -> list[list[str]]:
    """The words of each line that is not empty, without comments."""
    try:
        text = Path(path).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return []
    lines = (line.partition("#")[0].partition(";")[0].split() for line in text.splitlines())
    return [words for words in lines if words]


def _is_plain_address(text: str) -> bool:
    try:
        ip_address(text)
    except ValueError:
        return False
    return "%" not in text


def _is_v6(address: str) -> bool:
    return ":" in address
