"""Names to addresses, in the crawler's own poll loop.

    wire        messages: bytes <-> values, no socket
    address     which addresses are on the public internet
    hosts       the system's hosts file and name servers
    cache       the name cache
    servers     which server is asked next, and which ones rest
    lookup      all decisions about one name on its way to an address
    awaited     questions that wait for their reply
    ports       the UDP sockets; stream: one question over TCP
    randomness  ids, ports and letter case, which a forger would have to guess
    questions   carries the decisions out: sends, waits, matches replies
    resolver    which names are asked for, and which are answered from the cache
    outage      messages to the user when no server answers, and when one answers again
    bulk        many names from a file, through one resolver

`wire`, `address`, `cache`, `servers`, `lookup`, `awaited` and `outage` decide without a socket;
the caller passes the time. `questions`, `ports` and `stream` do what they decide.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from larbinpy.dns.address import is_public
    from larbinpy.dns.cache import NameCache
    from larbinpy.dns.hosts import read_hosts, system_servers
    from larbinpy.dns.lookup import Answer
    from larbinpy.dns.outage import Outage
    from larbinpy.dns.resolver import Resolver

__all__ = [
    "Answer",
    "NameCache",
    "Outage",
    "Resolver",
    "is_public",
    "read_hosts",
    "system_servers",
]

_HOMES = {
    "Answer": "lookup",
    "NameCache": "cache",
    "Outage": "outage",
    "Resolver": "resolver",
    "is_public": "address",
    "read_hosts": "hosts",
    "system_servers": "hosts",
}


def __getattr__(name: str) -> Any:
    """Load the module of a public name on its first use.

    The frontier imports `larbinpy.dns.lookup`, and with it this module; that must not load
    sockets.
    """
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
