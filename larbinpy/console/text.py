"""Text for terminals, logs, pages and JSON lines: crawled text made harmless, and numbers in words.

Crawled text may contain escape sequences, line breaks and characters that change the reading
direction. These are replaced by Python's escape sequences: the user sees them, and no terminal or
browser acts on them. `reader_may_leave` bears readers that exit: ``larbinpy crawl | head``.
"""

import json
import os
import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from io import TextIOWrapper
from typing import TextIO

# Controls (C0, DEL, C1); characters that change the direction or are invisible; line and
# paragraph separators; surrogates, which cannot be encoded; non-characters; tags.
_UNSAFE = re.compile(
    r"[\x00-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f"
    r"\ud800-\udfff\ufeff\ufff9-\ufffb\ufffe\uffff\U000e0000-\U000e007f]"
)

#: Media types of replies to clients.
TEXT = "text/plain; charset=utf-8"
HTML = "text/html; charset=utf-8"
JSON = "application/json"

#: The unsafe characters that separate words, and all but the joiners, which spell words of
#: Persian and of Indic languages, and emoji.
_BREAKS = re.compile(r"[\t-\r\x85\u2028\u2029]+")
_IN_TEXT = re.compile(_UNSAFE.pattern.replace(r"\u200b-\u200f", r"\u200b\u200e\u200f"))


def _spell(match: re.Match[str]) -> str:
    code = ord(match[0])
    if code <= 0xFF:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"


def printable(text: str, limit: int | None = None) -> str:
    """Return `text` with every unsafe character escaped.

    The result has no character below U+0020 or in U+007F-009F, so no line break, and no
    bidirectional control. Text longer than `limit` characters is cut and ends in three dots.
    """
    if limit is not None and len(text) > limit:
        text = text[: limit - 3] + "..."
    return _UNSAFE.sub(_spell, text)


def readable(text: str) -> str:
    """Return stored text as a line for readers: unsafe characters are left out, not escaped.

    Line breaks and tabs become blanks; joiners (U+200C, U+200D) stay.
    """
    return _IN_TEXT.sub("", _BREAKS.sub(" ", text))


def json_line(value: Mapping[str, object]) -> bytes:
    """`value` as one line of JSON, in ASCII, without control characters but its newline."""
    # json escapes all that is not ASCII, but not DEL, the one control above 0x1f.
    text = json.dumps(value, separators=(",", ":")).replace("\x7f", "\\u007f")
    return text.encode() + b"\n"


def grouped(number: float) -> str:
    """A count with thousands separators; numbers below 100 keep one digit of a fraction."""
    if isinstance(number, int) or abs(number) >= 100:
        return f"{number:,.0f}"
    return f"{number:.1f}"


def counted(number: int, noun: str) -> str:
    """The number with its noun, in the plural unless it is 1."""
    return f"{grouped(number)} {noun}{'' if number == 1 else 's'}"


def size(count: float) -> str:
    """A number of bytes in decimal units: ``1.2 MB``."""
    for unit in ("B", "kB", "MB", "GB"):
        if abs(count) < 1000:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1000
    return f"{count:,.1f} TB"


def roughly(seconds: float) -> str:
    """A duration in one unit: ``40 ms``, ``2.5 s``, ``12 min``, ``3.1 h``, ``9.0 d``."""
    if seconds < 0.9995:
        return f"{seconds * 1000:.3g} ms"
    for unit, length in (("s", 60), ("min", 60), ("h", 48)):
        if seconds < length:
            return f"{seconds:.0f} {unit}" if seconds >= 10 else f"{seconds:.2g} {unit}"
        seconds /= 24 if unit == "h" else 60
    return f"{seconds:.1f} d"


def estimate(seconds: float | None) -> str:
    """The estimate of a time; empty if there is none, or if it is over."""
    return "" if seconds is None or seconds < 1 else f"about {roughly(seconds)}"


def duration(seconds: float) -> str:
    """A duration as ``H:MM:SS``, after the days if there are any."""
    minutes, second = divmod(int(seconds), 60)
    hours, minute = divmod(minutes, 60)
    days, hour = divmod(hours, 24)
    return f"{days} d {hour}:{minute:02}:{second:02}" if days else f"{hour}:{minute:02}:{second:02}"


def open_all() -> None:
    """Open standard streams that were closed at the start (``>&-``) as /dev/null.

    Otherwise the next file that is opened gets the descriptor of such a stream, and output for
    the terminal is written to that file. Characters of pages that the encoding of the output lacks
    are escaped, as Python does on standard error.
    """
    for fd, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        if getattr(sys, name) is None:
            nowhere = os.open(os.devnull, os.O_RDWR)
            if nowhere != fd:
                os.dup2(nowhere, fd)
                os.close(nowhere)
            setattr(sys, name, os.fdopen(fd, mode, closefd=False))
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")


@contextmanager
def reader_may_leave(stream: TextIO) -> Iterator[None]:
    """Ignores errors of writing to `stream` in the body; drops all further output to it.

    The descriptor itself is redirected to /dev/null: writing the rest of the buffer would fail
    again, at last in the interpreter, which would then change the exit status.
    """
    try:
        yield
    except OSError:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)
