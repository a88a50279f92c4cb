"""A name server that answers late, and never for some names.

    python -m experiments.slowserver PORT [--delays]

Prints its port on 127.0.0.1, then answers every question with one address. Names that begin
with "dead" get no answer. With --delays each name has a fixed delay, as reported in papers on
crawlers: 10 to 100 ms for 98 % of the names, 1 to 3 s for 2 %. A question repeated before its
answer is due is answered at the same time, as by a recursive server. The server remembers
nothing after the answer, because that would be a second cache.
"""

import argparse
import time
from contextlib import suppress
from heapq import heappop, heappush
from select import EPOLLIN, epoll
from zlib import crc32

from experiments.dnsreplies import question, reply, udp_socket

_SLOW_SHARE = 0.02

_NETWORK_10 = b"\x0a"
_BATCH = 256

Source = tuple[str, int]


def delay(section: bytes) -> float:
    """Seconds until the question `section` is answered; independent of upper and lower case."""
    code = crc32(section.lower())
    share, place = (code & 0xFFFF) / 0x10000, (code >> 16) / 0x10000
    return 1 + 2 * place if share < _SLOW_SHARE else 0.01 + 0.09 * place


def answer(packet: bytes, section: bytes) -> bytes:
    address = _NETWORK_10 + crc32(section.lower()).to_bytes(4, "big")[1:]
    return reply(packet[:2], section, address)


class SlowServer:
    """Answers at once, or with `delays` after `delay`; answers that wait are in a heap."""

    def __init__(self, port: int, *, delays: bool) -> None:
        self._udp = udp_socket("127.0.0.1", port)
        self._udp.setblocking(False)
        self.port: int = self._udp.getsockname()[1]
        self._take = self._schedule if delays else self._reply
        self._due: list[tuple[float, bytes, bytes, Source]] = []
        self._dues: dict[bytes, float] = {}

    def serve(self) -> None:
        """Serve until the process is ended."""
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
            section = question(packet)
            if section is not None and section[1:5].lower() != b"dead":
                take(packet, section, source, now)

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
            _, key, query, source = heappop(due)
            self._dues.pop(key, None)
            self._send(answer(query, query[2:]), source)

    def _send(self, packet: bytes, source: Source) -> None:
        with suppress(OSError):  # The buffer is full: the packet is lost, as on any network.
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
