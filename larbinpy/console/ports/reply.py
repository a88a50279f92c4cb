"""A reply of the status server, the policies of its pages, and the token that controls a crawl.

A client that can read the file of the token may control the crawl by HTTP. A web page can make a
browser send requests to this machine, but cannot read a file.
"""

import os
import secrets
from contextlib import suppress
from http import HTTPStatus
from pathlib import Path
from typing import NamedTuple

from larbinpy.console.status.markup import SCRIPT_HASH, STYLE_HASH
from larbinpy.console.text import TEXT

_ALWAYS = f"default-src 'none'; style-src {STYLE_HASH}; img-src 'self'; "
_ALWAYS += "base-uri 'none'; frame-ancestors 'none'; "

#: Content-Security-Policy of the status pages: their one script, and no form.
POLICY = f"{_ALWAYS}script-src {SCRIPT_HASH}; connect-src 'self'; form-action 'none'"
#: The policy of the search pages: a form, and no script at all.
SEARCH_POLICY = f"{_ALWAYS}form-action 'self'"


class HttpReply(NamedTuple):
    """A reply before it is serialized."""

    status: HTTPStatus
    body: str | bytes
    type: str = TEXT
    headers: tuple[tuple[str, str], ...] = ()
    policy: str = POLICY


def refusal(status: HTTPStatus, why: str, *headers: tuple[str, str]) -> HttpReply:
    return HttpReply(status, f"{status.value} {status.phrase}: {why}\n", headers=headers)


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
