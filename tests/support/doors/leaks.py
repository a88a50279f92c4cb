"""Searches for secrets, in each spelling that a file or a reply may have of them."""

import base64
import gzip
import json
import zlib
from collections.abc import Iterable
from html import escape
from pathlib import Path
from urllib.parse import quote, quote_plus


def spellings(secret: str) -> set[bytes]:
    """The ways to write `secret`."""
    texts = {secret, quote(secret, safe=""), quote_plus(secret), escape(secret)}
    texts |= {json.dumps(secret)[1:-1], json.dumps(secret, ensure_ascii=False)[1:-1]}
    texts.add(repr(secret)[1:-1])
    found = {text.encode() for text in texts}
    found.add(base64.b64encode(secret.encode()).rstrip(b"="))
    return found


def secrets_in(data: bytes, secrets: Iterable[str]) -> list[str]:
    """Those of `secrets` that `data` has."""
    return [secret for secret in secrets if any(each in data for each in spellings(secret))]


def content(path: Path) -> bytes:
    """The bytes of a file, and those that it has after it was decompressed."""
    data = path.read_bytes()
    if path.name.endswith((".gz", ".gz.open")):
        try:
            return data + gzip.decompress(data)
        except (EOFError, OSError, zlib.error):
            return data + _begun(data)
    return data


def _begun(data: bytes) -> bytes:
    """The content of a file of gzip members that ends too early."""
    whole = b""
    while data:
        member = zlib.decompressobj(wbits=31)
        try:
            whole += member.decompress(data)
        except zlib.error:
            break
        if not member.eof:
            break
        data = member.unused_data
    return whole


def command_lines() -> bytes:
    """Those of all processes of this machine."""
    lines = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            lines.append(path.read_bytes())
        except OSError:
            continue
    return b"\n".join(lines)
