"""Replies of the name servers in this folder and in `benchmarks`, and the socket they use."""

import socket
import struct
from collections.abc import Callable

# Flags of a reply without error, recursion available (RFC 1035, section 4.1.1); one question;
# one answer or none.
_ONE_RECORD = struct.pack("!HHHHH", 0x8180, 1, 1, 0, 0)
_NO_RECORD = struct.pack("!HHHHH", 0x8180, 1, 0, 0, 0)
_A = b"\0\x01"
# A pointer to the name in the question; A, IN, TTL of one hour, four octets.
_RECORD = struct.pack("!HHHIH", 0xC00C, 1, 1, 3600, 4)

# Large, because many questions arrive at once and the servers must not lose any.
_BUFFER = 1 << 23
# Linux: sets a buffer above the system's limit, if the process may.
_SO_RCVBUFFORCE = 33


def question(query: bytes) -> bytes | None:
    """The question section of a query; None if it has none."""
    # The name ends with the first zero octet; type and class follow.
    end = query.find(0, 12) + 5
    return query[12:end] if 17 <= end <= len(query) else None


def reply(query_id: bytes, section: bytes, address: bytes | None) -> bytes:
    """A reply with the packed IPv4 `address`, or without a record."""
    if address is None:
        return b"".join((query_id, _NO_RECORD, section))
    return b"".join((query_id, _ONE_RECORD, section, _RECORD, address))


def reply_to(query: bytes, address_of: Callable[[str], str | None]) -> bytes | None:
    """The reply to a query, None for a name without an address by `address_of`.

    Questions for other types than A get a reply without a record.
    """
    section = question(query)
    address = None if section is None else address_of(_name(section))
    if section is None or address is None:
        return None
    packed = socket.inet_aton(address) if section[-4:-2] == _A else None
    return reply(query[:2], section, packed)


def _name(section: bytes) -> str:
    labels, place = [], 0
    while section[place]:
        end = place + 1 + section[place]
        labels.append(section[place + 1 : end].decode("latin-1"))
        place = end
    return ".".join(labels)


def udp_socket(address: str, port: int = 0) -> socket.socket:
    """A socket bound to `address`, at any port for 0, with a large receive buffer."""
    udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    try:
        udp.setsockopt(socket.SOL_SOCKET, _SO_RCVBUFFORCE, _BUFFER)
    except PermissionError:
        udp.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _BUFFER)
    udp.bind((address, port))
    return udp
