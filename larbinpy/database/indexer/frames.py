"""The answers of readers to the indexer: frames of a kind and a content."""

import struct

#: Kind, and length of the content.
FRAME = struct.Struct("<BI")
#: Contents: none; a packed page; a `Gone`, `Unchanged` and `Failed` as JSON; the reason in UTF-8.
READY, PAGE, GONE, UNCHANGED, FAILED, DAMAGED = range(6)

#: Exit status of a reader that the system refuses files or the disk, and of one whose page takes
#: more than `MOST_MEMORY`.
REFUSED, FULL = 3, 4

#: Seconds that a reader has for one page, and bytes of memory.
PATIENCE, MOST_MEMORY = 10.0, 600_000_000


def framed(kind: int, content: bytes = b"") -> bytes:
    return FRAME.pack(kind, len(content)) + content
