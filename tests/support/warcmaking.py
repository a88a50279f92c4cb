"""WARC files made record by record, as other programs make them."""

import gzip
from pathlib import Path


class Archive:
    """A WARC file made record by record."""

    def __init__(self, path: Path, *, plain: bool = False) -> None:
        self.path = path
        self._plain = plain
        self._records: list[bytes] = []

    def add(
        self,
        kind: str,
        url: str,
        body: bytes = b"",
        status: str = "200 OK",
        headers: tuple[str, ...] = ("Content-Type: text/html",),
        **fields: str,
    ) -> None:
        http = kind in ("response", "request", "revisit")
        head = "\r\n".join((f"HTTP/1.1 {status}", *headers, "", "")).encode() if http else b""
        named = {
            "WARC-Type": kind,
            "WARC-Target-URI": url,
            "WARC-Date": "2020-01-01T00:00:00Z",
            "Content-Type": "application/http" if http else "text/html",
            "Content-Length": str(len(head + body)),
            **{name.replace("_", "-"): value for name, value in fields.items()},
        }
        lines = "".join(f"{name}: {value}\r\n" for name, value in named.items())
        record = f"WARC/1.0\r\n{lines}\r\n".encode() + head + body + b"\r\n\r\n"
        self._records.append(record if self._plain else gzip.compress(record, mtime=0))

    def close(self) -> str:
        self.path.write_bytes(b"".join(self._records))
        return str(self.path)
