"""The token: a client that can read it may control the crawl by HTTP.

A web page can make a browser send requests to this machine, but cannot read a file.
"""

import os
import secrets
from contextlib import suppress
from pathlib import Path

#: In stateDir.
NAME = "token"
_BYTES = 32


def issue(folder: Path) -> str:
    """Write a new token to a file that only its owner may read. Raises OSError."""
    token = secrets.token_urlsafe(_BYTES)
    path = folder / NAME
    # Remove the file of a killed crawl, or a planted link.
    path.unlink(missing_ok=True)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
    fd = os.open(path, flags, 0o600)
    try:
        os.write(fd, token.encode() + b"\n")
    finally:
        os.close(fd)
    return token


def withdraw(folder: Path) -> None:
    """Remove the file at the end of the crawl."""
    with suppress(OSError):
        os.unlink(folder / NAME)
