"""The address of a crawl on Redis, and the text of commands and errors."""

import re
from pathlib import Path
from typing import NamedTuple, Self
from urllib.parse import unquote

import hiredis

from larbinpy.errors import UserError

PORT = 6379

#: Types of the arguments of a command.
Argument = str | bytes | int

_USAGE = "redis://[USER[:PASSWORD]@]HOST[:PORT][,HOST...]/NAME or unix:PATH?crawl=NAME"
_TCP = re.compile(
    r"redis://(?:(?P<login>[^/?#]*)@)?(?P<hosts>[^/?#@]+)/(?P<name>[^/?#@]*)"
    r"(?:\?passwordFile=(?P<file>.+))?"
).fullmatch
_UNIX = re.compile(
    r"unix:(?!:|//[^?]*@|[^/?]*@)(?P<path>[^?]+)\?crawl=(?P<name>[^?&]*)(?:&passwordFile=(?P<file>.+))?"
).fullmatch
_HOST = re.compile(
    r"(?P<host>[\w.-]+|\[[0-9a-fA-F:.]+\])(?::(?P<port>\d{1,5}))?", re.ASCII
).fullmatch
# Braces would move the hash tag of a key, and a colon would end the name within it.
_NAME = re.compile(r"[\w.-]{1,64}", re.ASCII).fullmatch


class Endpoint(NamedTuple):
    """A server at a TCP port, or at a socket file (then `port` is 0 and `host` its path)."""

    host: str
    port: int

    def __str__(self) -> str:
        if not self.port:
            return self.host
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


class CrawlAddress(NamedTuple):
    """The servers to ask first, the name of the crawl, and the login, which is never shown."""

    servers: tuple[Endpoint, ...]
    name: str
    user: str = ""
    password: str = ""

    @classmethod
    def of(cls, text: str) -> Self:
        """Parse `_USAGE`; `?passwordFile=PATH` (`&` with unix:) names a file with the password.

        User and password are percent-encoded. Raises UserError, which shows no password.
        """
        tcp, unix = _TCP(text), _UNIX(text)
        match = tcp or unix
        if match is None:
            shown = "the address of the crawl" if "@" in text else repr(text[:80])
            raise UserError(f"{shown} is not {_USAGE}")
        name = match["name"]
        if not _NAME(name):
            raise UserError(f"{name[:80]!r} is no name of a crawl: letters, digits, '.', '_', '-'")
        if unix:
            return cls((Endpoint(unix["path"], 0),), name, "", _read(unix["file"]))
        servers = tuple(_server(host) for host in match["hosts"].split(","))
        user, _, password = (match["login"] or "").partition(":")
        return cls(servers, name, unquote(user), unquote(password) or _read(match["file"]))

    def __str__(self) -> str:
        if not self.servers[0].port:
            return f"unix:{self.servers[0]}?crawl={self.name}"
        return f"redis://{','.join(map(str, self.servers))}/{self.name}"

    def __repr__(self) -> str:
        return f"<Address {self}>"

    @property
    def login(self) -> tuple[str, ...]:
        """The arguments of AUTH; empty without a login."""
        if self.user:
            return (self.user, self.password)
        return (self.password,) if self.password else ()


def _server(text: str) -> Endpoint:
    match = _HOST(text)
    port = int(match["port"] or PORT) if match else 0
    if match is None or not 0 < port < 1 << 16:
        raise UserError(f"{text[:80]!r} is not HOST[:PORT]")
    return Endpoint(match["host"].strip("[]"), port)


def _read(path: str | None) -> str:
    """The first line of the file, the password."""
    if not path:
        return ""
    try:
        return Path(path).read_text("utf-8").partition("\n")[0].strip()
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8"
        raise UserError(f"{path}: the password cannot be read: {reason}") from None


def pack(*arguments: Argument) -> bytes:
    """The octets of a command."""
    packed: bytes = hiredis.pack_command(arguments)  # type: ignore[arg-type]
    return packed


def keys_of(data: bytes) -> list[bytes]:
    """The keys of a packed command, or of the script that it calls."""
    reader = hiredis.Reader()
    reader.feed(data)
    word, *arguments = reader.gets()
    if word in (b"EVAL", b"EVALSHA"):
        return list(arguments[2 : 2 + int(arguments[1])])
    return list(arguments[:1])


def read_info(text: bytes) -> dict[str, str]:
    """The fields of the reply to INFO."""
    lines = text.decode("utf-8", "replace").splitlines()
    return dict(line.split(":", 1) for line in lines if ":" in line)
