"""Netscape's format of cookies, which curl, wget and extensions of browsers write and read.

A line is a cookie: seven fields, separated by tabs. The fifth is the Unix time of its end, 0 if it
ends with the session.
"""

from codecs import BOM_UTF8
from collections.abc import Iterable

from larbinpy.storage.files import write_atomic

#: Begins the line of a cookie that scripts may not read, which looks like a comment.
HTTP_ONLY = b"#HttpOnly_"
#: wget reads no file without it.
HEADER = b"# Netscape HTTP Cookie File\n"
_FIELDS = 7
#: The latest end that a number of any program can hold exactly.
_LATEST = 1 << 53


def cookie_lines(path: str) -> list[bytes]:
    """The lines of a file that are cookies, as libcurl understands them.

    It drops those that have expired, or whose value has a tab.
    """
    with open(path, "rb") as file:
        lines = (line.removeprefix(BOM_UTF8).strip(b"\r\n") for line in file)
        return [_plain(ln) for ln in lines if ln.startswith(HTTP_ONLY) or ln[:1] not in (b"#", b"")]


def _plain(line: bytes) -> bytes:
    """A line with the host and the end as libcurl writes them.

    Some exports have an IPv6 address in brackets, an end with a fraction, or -1 for a session.
    """
    mark = HTTP_ONLY if line.startswith(HTTP_ONLY) else b""
    fields = line.removeprefix(mark).split(b"\t")
    if len(fields) < _FIELDS - 1:
        return line
    fields[0] = fields[0].strip(b"[]")
    if not fields[4].isdigit() or len(fields[4]) > len(str(_LATEST)):
        fields[4] = b"%d" % _end(fields[4])
    return mark + b"\t".join(fields)


def _end(text: bytes) -> int:
    try:
        return round(min(max(float(text), 0), _LATEST))
    except ValueError:
        return 0


def has_tab(line: bytes) -> bool:
    """Whether the value of a cookie has a tab: no request carries it."""
    return line.count(b"\t") >= _FIELDS


def write(path: str, lines: Iterable[bytes]) -> None:
    """Replace a file, which only its owner may read, by one with these cookies."""
    write_atomic(path, [HEADER, *(line + b"\n" for line in lines)], mode=0o600)
