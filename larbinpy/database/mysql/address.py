"""The address of a database on a server: mysql://[USER@]HOST[:PORT]/NAME."""

import re
from typing import NamedTuple, Self

from larbinpy.database.base import DatabaseError

PORT = 3306

_ADDRESS = re.compile(
    r"(?:mysql|mariadb)://(?:(?P<user>[^@/:]*)@)?(?P<host>[\w.-]+|\[[0-9a-f:.]+\])"
    r"(?::(?P<port>\d{1,5}))?/(?P<name>[\w$-]+)",
    re.ASCII | re.IGNORECASE,
).fullmatch


class Address(NamedTuple):
    user: str | None
    host: str
    #: None: that of the server's socket, or `PORT`.
    port: int | None
    name: str

    @classmethod
    def of(cls, text: str) -> Self:
        """Raises `DatabaseError`, which does not show a password."""
        match = _ADDRESS(text)
        if match is not None:
            port = int(match["port"]) if match["port"] else None
            return cls(match["user"] or None, match["host"].strip("[]"), port, match["name"])
        if "@" in text and ":" in text.partition("://")[2].rpartition("@")[0]:
            hint = "put it into ~/.my.cnf, under [client], as password=..."
            raise DatabaseError(f"a password in the URL of a database could be seen; {hint}")
        raise DatabaseError(f"{text[:60]!r} is not mysql://[USER@]HOST[:PORT]/NAME")

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        port = f":{self.port}" if self.port else ""
        return f"mysql://{host}{port}/{self.name}"
