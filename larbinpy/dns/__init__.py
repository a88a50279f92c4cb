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
