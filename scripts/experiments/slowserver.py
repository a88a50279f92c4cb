"""A name server that answers late, and for some names never.

    python -m experiments.slowserver PORT [--delays]

It prints the port that it has on 127.0.0.1, then answers every question with one address.
Names that begin with "dead" get no answer. With --delays each name has its own delay, always
the same, as the crawlers' papers found them: 98 % between 10 and 100 ms, 2 % between 1 and
3 s. A question that is repeated while its answer is under way is answered together with it,
as a recursive server does; afterwards nothing is remembered, as that would be a second cache.
"""

import argparse
import socket
import struct
import time
from contextlib import suppress
from heapq import heappop, heappush
from select import EPOLLIN, epoll
from zlib import crc32

_SLOW_SHARE = 0.02

# From the id to the question: an answer without error, recursion available, one record.
_ANSWER = struct.pack("!HHHHH", 0x8180, 1, 1, 0, 0)
# The name in the question, A, IN, one hour, four octets.
_RECORD = struct.pack("!HHHIH", 0xC00C, 1, 1, 3600, 4)
_NETWORK_10 = b"\x0a"

_BUFFER = 1 << 23
# Linux: a buffer beyond the system's limit, for those who may.
_SO_RCVBUFFORCE = 33
_BATCH = 256

Source = tuple[str, int]


def question(name: str) -> bytes:
    """The question section that asks for the address of `name`."""
    labels = b"".join(bytes([len(label)]) + label.encode() for label in name.split("."))
    return labels + b"\0\0\1\0\1"


def delay(section: bytes) -> float:
    """Seconds until the question `section` is answered; the same in any case."""
    code = crc32(section.lower())
    share, place = (code & 0xFFFF) / 0x10000, (code >> 16) / 0x10000
    return 1 + 2 * place if share < _SLOW_SHARE else 0.01 + 0.09 * place


def answer(packet: bytes, section: bytes) -> bytes:
    address = _NETWORK_10 + crc32(section.lower()).to_bytes(4, "big")[1:]
    return b"".join((packet[:2], _ANSWER, section, _RECORD, address))


class SlowServer:
    """Answers at once, or after `delay`: then each answer that is under way is in a heap."""

    def __init__(self, port: int, *, delays: bool) -> None:
        self._udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK)
        try:
            self._udp.setsockopt(socket.SOL_SOCKET, _SO_RCVBUFFORCE, _BUFFER)
        except PermissionError:
            self._udp.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _BUFFER)
        self._udp.bind(("127.0.0.1", port))
        self.port: int = self._udp.getsockname()[1]
        self._take = self._schedule if delays else self._reply
        self._due: list[tuple[float, bytes, bytes, Source]] = []
        self._dues: dict[bytes, float] = {}

    def serve(self) -> None:
        """For ever."""
        ready = epoll()
        ready.register(self._udp.fileno(), EPOLLIN)
        while True:
            now = time.monotonic()
            self._answer_due(now)
            wait = max(self._due[0][0] - now, 0) if self._due else None
            if ready.poll(wait):
                self._receive(time.monotonic())

    def _receive(self, now: float) -> None:
        take, receive = self._take, self._udp.recvfrom
        for _ in range(_BATCH):
            try:
                packet, source = receive(512)
            except BlockingIOError:
                return
            # The name ends with the first zero octet; type and class follow.
            end = packet.find(0, 12) + 5
            if end < 17 or packet[13:17].lower() == b"dead":
                continue
            take(packet, packet[12:end], source, now)

    def _reply(self, packet: bytes, section: bytes, source: Source, _now: float) -> None:
        self._send(answer(packet, section), source)

    def _schedule(self, packet: bytes, section: bytes, source: Source, now: float) -> None:
        key = section.lower()
        due = self._dues.get(key)
        if due is None:
            due = self._dues[key] = now + delay(section)
        heappush(self._due, (due, key, packet[:2] + section, source))

    def _answer_due(self, now: float) -> None:
        due = self._due
        while due and due[0][0] <= now:
            _, key, question, source = heappop(due)
            self._dues.pop(key, None)
            self._send(answer(question, question[2:]), source)

    def _send(self, packet: bytes, source: Source) -> None:
        with suppress(OSError):  # a full buffer: lost, as on any network
            self._udp.sendto(packet, source)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("port", type=int)
    parser.add_argument("--delays", action="store_true")
    options = parser.parse_args()
    server = SlowServer(options.port, delays=options.delays)
    print(server.port, flush=True)
    server.serve()


if __name__ == "__main__":
    main()
