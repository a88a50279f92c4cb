"""Names to addresses, in the crawler's own poll loop.

    wire        messages: bytes <-> values, no socket
    cache       the name cache
    servers     which server is asked next, and which ones rest
    lookup      all decisions about one name on its way to an address; public addresses
    questions   carries the decisions out: random ports and ids, waits, matches replies
    resolver    which names are asked for, and which are answered from the cache; the hosts file,
                messages about servers that do not answer
    bulk        many names from a file, through one resolver

`wire`, `cache`, `servers` and `lookup` decide without a socket; the caller passes the
time.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from larbinpy.dns.cache import NameCache
    from larbinpy.dns.lookup import Answer, is_public
    from larbinpy.dns.resolver import Outage, Resolver, read_hosts, system_servers

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
    "Outage": "resolver",
    "Resolver": "resolver",
    "is_public": "lookup",
    "read_hosts": "resolver",
    "system_servers": "resolver",
}


def __getattr__(name: str) -> Any:
    """Load the module of a public name on its first use.

    The frontier imports `larbinpy.dns.lookup`, and with it this module; that must not load
    sockets.
    """
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
