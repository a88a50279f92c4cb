"""WARC files, read with warcio."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from warcio.archiveiterator import ArchiveIterator


@dataclass
class Found:
    """A record as it was read."""

    kind: str
    url: str | None
    fields: dict[str, str]
    #: Status line without its version, and header fields of an HTTP record.
    status: str
    headers: list[tuple[str, str]]
    content: bytes
    offset: int
    length: int

    def header(self, name: str) -> str | None:
        return next((value for key, value in self.headers if key.lower() == name.lower()), None)

    @property
    def lines(self) -> list[str]:
        return self.content.decode().splitlines()


def records(*files: Path) -> list[Found]:
    """Return all records; raises an error if a digest is wrong."""
    return [record for file in files for record in _read(file)]


def _read(file: Path) -> Iterator[Found]:
    with file.open("rb") as stream:
        iterator: Any = ArchiveIterator(stream, check_digests="raise")
        for record in iterator:
            http = record.http_headers
            yield Found(
                record.rec_type,
                record.rec_headers.get_header("WARC-Target-URI"),
                dict(record.rec_headers.headers),
                http.statusline if http else "",
                http.headers if http else [],
                record.content_stream().read(),
                iterator.get_record_offset(),
                iterator.get_record_length(),
            )


def captures(*files: Path) -> dict[str, list[bytes]]:
    """Return the payloads of each URL, those of revisits included."""
    found: dict[str, list[bytes]] = {}
    by_digest: dict[str, bytes] = {}
    for record in records(*files):
        digest = record.fields.get("WARC-Payload-Digest", "")
        if record.kind == "response":
            by_digest[digest] = record.content
        if record.kind in ("response", "revisit"):
            assert record.url
            found.setdefault(record.url, []).append(by_digest[digest])
    return found


def warcs(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.warc.gz"))
