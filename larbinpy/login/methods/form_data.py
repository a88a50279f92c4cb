"""Encodes the entries of a form as a browser does (HTML, "constructing the form data set")."""

import re
from collections.abc import Sequence
from urllib.parse import quote_from_bytes

from larbinpy.url import hash64

Entries = Sequence[tuple[str, str]]

_LINE_END = re.compile("\r\n|\r|\n")
#: Escapes of names in multipart/form-data.
_ESCAPES = {'"': "%22", "\r": "%0D", "\n": "%0A"}


def encoded(entries: Entries, enctype: str, codec: str) -> tuple[str, bytes]:
    """The Content-Type and the body of a POST with these entries."""
    if enctype == "multipart/form-data":
        return _multipart(entries, codec)
    lines = [(_crlf(name), _crlf(value)) for name, value in entries]
    if enctype == "text/plain":
        text = "".join(f"{name}={value}\r\n" for name, value in lines)
        return enctype, _bytes(text, codec)
    return "application/x-www-form-urlencoded", urlencoded(entries, codec).encode()


def urlencoded(entries: Entries, codec: str = "utf-8") -> str:
    """The entries as application/x-www-form-urlencoded (URL standard, section 5)."""
    return "&".join(f"{_escaped(name, codec)}={_escaped(value, codec)}" for name, value in entries)


def _escaped(text: str, codec: str) -> str:
    # quote never escapes "~", which this format does.
    quoted = quote_from_bytes(_bytes(_crlf(text), codec), safe=" *-._").replace("~", "%7E")
    return quoted.replace(" ", "+")


def _multipart(entries: Entries, codec: str) -> tuple[str, bytes]:
    """RFC 7578; a boundary that the values do not have."""
    parts = []
    for name, value in entries:
        escaped = "".join(_ESCAPES.get(char, char) for char in _crlf(name))
        head = f'Content-Disposition: form-data; name="{escaped}"\r\n\r\n'
        parts.append(_bytes(f"{head}{_crlf(value)}\r\n", codec))
    whole = b"".join(parts)
    boundary = f"----larbinpy{hash64(whole):016x}"
    line = f"--{boundary}\r\n".encode()
    body = b"".join(line + part for part in parts) + f"--{boundary}--\r\n".encode()
    return f"multipart/form-data; boundary={boundary}", body


def _crlf(text: str) -> str:
    return _LINE_END.sub("\r\n", text)


def _bytes(text: str, codec: str) -> bytes:
    return text.encode(codec, "xmlcharrefreplace")
