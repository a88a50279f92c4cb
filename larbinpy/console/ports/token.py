"""The token: who can read it may steer the crawl by HTTP, as who owns the process may.

A browser can be made to ask this machine for anything by any page; it cannot be made to read
a file.
"""

import os
import secrets
from contextlib import suppress
from pathlib import Path

#: In stateDir.
NAME = "token"
_BYTES = 32


def issue(folder: Path) -> str:
    """A new token, in a file that its owner alone may read. OSError."""
    token = secrets.token_urlsafe(_BYTES)
    path = folder / NAME
    # What a crawl that was killed left behind, or a link that somebody planted.
    path.unlink(missing_ok=True)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
    fd = os.open(path, flags, 0o600)
    try:
        os.write(fd, token.encode() + b"\n")
    finally:
        os.close(fd)
    return token


def withdraw(folder: Path) -> None:
    """Remove the file, as the crawl ends."""
    with suppress(OSError):
        os.unlink(folder / NAME)
