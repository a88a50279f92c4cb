"""Kinds of settings of nodes: the address of a crawl in Redis, and the name of a node."""

import re

from larbinpy.config.kinds import ValueKind, quote
from larbinpy.url import masked

_FLEET = re.compile(
    r"redis://(?:[^/?#\s]*@)?[^/?#@\s]+/[\w.-]{1,64}(?:\?passwordFile=.+)?"
    # A login before the path, as other programs have it, would be taken for a part of the path.
    r"|unix:(?!:|//[^?]*@|[^/?]*@)[^?]+\?crawl=[\w.-]{1,64}(?:&passwordFile=.+)?",
    re.ASCII,
).fullmatch
#: No name of a folder above or beside.
_NODE = re.compile(r"\w[\w.-]{0,63}", re.ASCII).fullmatch


def _fleet(text: str) -> str:
    """The address of a fleet; hosts and ports are checked when it is joined."""
    if text and not _FLEET(text):
        shown = "the address" if "@" in text else repr(text[:80])
        raise ValueError(f"{shown} is not redis://[USER@]HOST[:PORT]/NAME or unix:PATH?crawl=NAME")
    return text


def has_fleet_password(text: str) -> bool:
    """Whether the address of a fleet holds a password; that of a socket has no place for one."""
    if text.startswith("unix:"):
        return False
    login, at, _ = text.partition("?passwordFile=")[0].rpartition("@")
    return bool(at) and ":" in login.removeprefix("redis://")


def _node(text: str) -> str:
    if not _NODE(text):
        raise ValueError(f"{text[:80]!r} is no name of a node: letters, digits, '.', '_', '-'")
    return text


FLEET: ValueKind[str] = ValueKind(
    "redis://HOST[:PORT]/NAME", _fleet, lambda text: quote(masked(text)), spell=quote
)
NODE: ValueKind[str] = ValueKind("NAME", _node, quote)
