"""A name server for the hosts of the benchmarks, which have names only where TLS is spoken.

python -m benchmarks.names          (it prints its port on 127.0.0.1)
"""

import socket
import struct

from benchmarks.web import address, number_of

# An answer without error, recursion available: one record.
_FOUND = struct.pack("!HHHHH", 0x8180, 1, 1, 0, 0)
_NOTHING = struct.pack("!HHHHH", 0x8180, 1, 0, 0, 0)
_A = b"\0\x01"
# The name in the question, A, IN, one hour, four octets.
_RECORD = struct.pack("!HHHIH", 0xC00C, 1, 1, 3600, 4)
_BUFFER = 1 << 21


def answer(query: bytes) -> bytes | None:
    """The reply to a question; None where it is none of ours."""
    labels, place = [], 12
    while place < len(query) and query[place]:
        labels.append(query[place + 1 : place + 1 + query[place]].decode("latin-1"))
        place += 1 + query[place]
    end = place + 5
    number = number_of(".".join(labels))
    if number is None or len(query) < end:
        return None
    question = query[12:end]
    if query[place + 1 : place + 3] != _A:
        return query[:2] + _NOTHING + question
    return query[:2] + _FOUND + question + _RECORD + socket.inet_aton(address(number))


def main() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp:
        udp.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _BUFFER)
        udp.bind(("127.0.0.1", 0))
        print(udp.getsockname()[1], flush=True)
        while True:
            query, source = udp.recvfrom(512)
            reply = answer(query)
            if reply is not None:
                udp.sendto(reply, source)


if __name__ == "__main__":
    main()
