"""One question over TCP, for replies that do not fit into a datagram (RFC 7766).

Each question has its own connection: they are rare, and a server may close an idle one at any
time.
"""

import socket
import struct

from larbinpy.dns.servers import Address, family_of
from larbinpy.loop.poller import READ, WRITE, Poller

_LENGTH = struct.Struct("!H")
_CHUNK = 65537


class Stream:
    """A connection that sends `message` and waits for one message back.

    Once `ended` is True, `reply` is that message, or None if the connection was refused, cut or
    broken. The caller gives up at `due`, and closes it in any case.
    """

    def __init__(self, poller: Poller, server: Address, message: bytes, due: float) -> None:
        self.due = due
        self.ended = False
        self.reply: bytes | None = None
        self._poller = poller
        self._unsent = _LENGTH.pack(len(message)) + message
        self._received = bytearray()
        self._tcp = socket.socket(family_of(server), socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
        self._connect(server)

    def __repr__(self) -> str:
        return f"<Stream {'ended' if self.ended else 'open'}, {len(self._received)} bytes>"

    def _connect(self, server: Address) -> None:
        try:
            self._tcp.connect(server)
        except BlockingIOError:
            pass  # the socket becomes writable once it is connected
        except OSError:
            self.ended = True
            return
        self._poller.register(self._tcp.fileno(), WRITE, self._ready)

    def _ready(self, fd: int, _events: int) -> None:
        try:
            if self._unsent:
                self._write(fd)
            else:
                self._read()
        except BlockingIOError:
            return
        except OSError:
            self.ended = True
        if self.ended:
            self._poller.unregister(fd)

    def _write(self, fd: int) -> None:
        self._unsent = self._unsent[self._tcp.send(self._unsent) :]
        if not self._unsent:
            self._poller.modify(fd, READ)

    def _read(self) -> None:
        chunk = self._tcp.recv(_CHUNK)
        self._received += chunk
        if len(self._received) >= _LENGTH.size:
            end = _LENGTH.size + _LENGTH.unpack_from(self._received)[0]
            if len(self._received) >= end:
                self.reply = bytes(self._received[_LENGTH.size : end])
        self.ended = self.reply is not None or not chunk

    def close(self) -> None:
        self._poller.unregister(self._tcp.fileno())
        self._tcp.close()
