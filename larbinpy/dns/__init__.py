"""Names to addresses, in the crawler's own poll loop.

    wire      messages: bytes <-> values, no socket
    address   which addresses are on the public internet
    hosts     the system's hosts file and name servers
    cache     what is known, and until when; bloom: which names do not exist
    servers   which server is asked next, and which ones rest
    lookup    one name's way to its address: all decisions about it
    awaited   whose answer is awaited, and until when
    ports     the UDP sockets; stream: one question over TCP
    dice      what a forger would have to guess
    questions carries the decisions out: sends, waits, matches answers
    resolver  which names are asked for, and what is known of them already
    outage    whether any server answers, for people
    bulk      many names from a file, through one resolver

`wire`, `address`, `cache`, `servers`, `lookup`, `awaited` and `outage` decide without a socket
and are told the time; `questions`, `ports` and `stream` do what they decide.
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
    """Load a public name's module on first use: importing `larbinpy.dns.wire` alone, as the
    frontier does through `lookup`, must not load sockets."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
