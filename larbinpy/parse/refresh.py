"""The grammar of a refresh: HTML's "shared declarative refresh steps".

`<meta http-equiv=refresh content>` and the Refresh header share it.
"""

import re

#: The time (a lone "." counts as 0), then the end, or a separator with its blanks.
_TIME = re.compile(
    r"[ \t\n\f\r]*+(?:[0-9]++|(?=\.))[0-9.]*+"
    r"(?:\Z|(?=[ \t\n\f\r;,])[ \t\n\f\r]*+[;,]?[ \t\n\f\r]*+)"
)
_URL = re.compile(r"url[ \t\n\f\r]*+=[ \t\n\f\r]*+", re.ASCII | re.IGNORECASE)
_SEPARATORS = " \t\n\f\r;,"
_DROPPED = str.maketrans("", "", "\t\n\r")
_TRIMMED = "".join(map(chr, range(0x21)))


def meta_refresh(content: str) -> str | None:
    """Return the URL of a refresh, not yet resolved; None if `content` is no refresh.

    The empty string means the document itself, as it does when it is resolved. Blanks and line
    breaks that the URL parser would drop are dropped. The delay is ignored.
    """
    found = split_refresh(content)
    return found and found[1]


def split_refresh(content: str) -> tuple[str, str] | None:
    """Return the delay of a refresh as it is written, and its URL as `meta_refresh` does."""
    time = _TIME.match(content)
    if time is None:
        return None
    rest = content[time.end() :]
    prefix = _URL.match(rest)
    if prefix is not None:
        rest = rest[prefix.end() :]
    if rest.startswith(("'", '"')):
        rest = rest[1:].partition(rest[0])[0]
    return time[0].strip(_SEPARATORS), rest.translate(_DROPPED).strip(_TRIMMED)
