"""The answers of readers to the indexer: frames of a kind and a content."""

import struct

#: Kind, and length of the content.
FRAME = struct.Struct("<BI")
#: Contents: none; a packed page; a `Gone`, `Unchanged` and `Failed` as JSON; the reason in UTF-8.
READY, PAGE, GONE, UNCHANGED, FAILED, DAMAGED = range(6)

#: Exit status of a reader that the system refuses memory, files or the disk.
REFUSED = 3

#: Seconds that a reader has for one page.
PATIENCE = 10.0


def framed(kind: int, content: bytes = b"") -> bytes:
    return FRAME.pack(kind, len(content)) + content
