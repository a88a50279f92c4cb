"""A reader: turns pages of a spool into what the writer takes, in a process of its own.

A page may be made to stall or crash whatever reads it. So a timer ends this process if a page
takes too long, its memory is limited, and the indexer starts another one.

Standard input has a line "SEGMENT OFFSET" for each page. Standard output has a frame for each, in
the same order, after one of the kind READY. A frame has a kind and a content.
"""

import json
import resource
import signal
import struct
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import BinaryIO, Self

from larbinpy.database.content import Content, read
from larbinpy.database.preparation import (
    Failed,
    Gone,
    Prepared,
    Unchanged,
    Visit,
    prepare,
    withheld,
)
from larbinpy.errors import DamagedError, what_failed
from larbinpy.page import Outcome, timestamp
from larbinpy.parse.body import announced, redirect_target
from larbinpy.stats import mapped_bytes
from larbinpy.storage import spool
from larbinpy.storage.spool import Position, Spooled

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


_NEAR = "--near-duplicates"


@dataclass(slots=True, frozen=True)
class ReadOptions:
    """A crawl decides itself which pages may be indexed; elsewhere readers `obey_noindex`."""

    #: The bodies of pages are stored, too.
    keep_bodies: bool = False
    #: A page that asks not to be indexed is taken for one that is gone.
    obey_noindex: bool = False
    #: The keyword nearDuplicates.
    near_duplicates: str = "off"

    @property
    def skip_near(self) -> bool:
        """Whether near copies are not in the index."""
        return self.near_duplicates == "skip"

    @classmethod
    def of(cls, arguments: Sequence[str]) -> Self:
        """The options among the arguments of a process."""
        near = [each.partition("=")[2] for each in arguments if each.startswith(f"{_NEAR}=")]
        return cls("--keep-bodies" in arguments, "--obey-noindex" in arguments, *near[-1:])

    def arguments(self) -> list[str]:
        """The arguments of a process with these options."""
        switches = ["--keep-bodies"] * self.keep_bodies + ["--obey-noindex"] * self.obey_noindex
        return [*switches, f"{_NEAR}={self.near_duplicates}"]


#: Bytes of `MOST_MEMORY` that a reader has before its first page, and of libraries that are loaded
#: for some pages. What is left is enough for a page of 8 MB, the default of maxPageSize: lists of
#: that size take 0.2 GB, tables 0.35 GB, scanned books in PDF 0.15 GB.
_OWN_MEMORY = 60_000_000

#: Kinds of frames by what they hold as JSON.
_KINDS = {Gone: GONE, Unchanged: UNCHANGED, Failed: FAILED}

#: Turns a page into what the writer takes; raises MemoryError alone.
ReadPage = Callable[[Spooled], Visit]


def read_page(spooled: Spooled, options: ReadOptions) -> Visit:
    """Turn a page into what the writer takes; raises MemoryError alone."""
    page = spooled.page
    url, fetched = page.url.href, timestamp(spooled.at)
    if page.outcome is spool.FAILED:
        return Failed(url, fetched)
    if page.outcome is Outcome.ERR_30X:
        target = next((link.url for link in redirect_target(page)), None)
        return Gone(url, fetched, page.status, target)
    if page.outcome is Outcome.SUCCESS and page.not_modified and not page.body:
        return Unchanged(url, fetched)
    try:
        if page.outcome is not Outcome.SUCCESS:
            return withheld(page, fetched, list(announced(page, fetched)))
        content = read(page, spooled.at)
        if content.noindex and options.obey_noindex:
            return withheld(page, fetched, content.announced)
        find_near = options.near_duplicates != "off"
        return prepare(page, fetched, content, options.keep_bodies, find_near)
    except MemoryError:
        # Earlier pages may have left too little: another process reads it again.
        raise
    except Exception as error:
        return unreadable(spooled, options.keep_bodies, f"cannot be read: {type(error).__name__}")


def unreadable(spooled: Spooled, keep_bodies: bool, trouble: str) -> Visit:
    """A page whose content is not known."""
    page, fetched = spooled.page, timestamp(spooled.at)
    if page.outcome is not Outcome.SUCCESS:
        return Gone(page.url.href, fetched, page.status)
    return prepare(page, fetched, Content(trouble=trouble), keep_bodies)


def frame(folder: Path, position: Position, read_page: ReadPage) -> bytes:
    """The answer for the page at `position`. Raises `OSError` if it cannot be read now."""
    try:
        result = read_page(spool.read(folder, position))
    except (DamagedError, FileNotFoundError) as error:
        return framed(DAMAGED, what_failed(error).encode())
    if isinstance(result, Prepared):
        return framed(PAGE, result.pack())
    return framed(_KINDS[type(result)], json.dumps(result).encode())


def serve(folder: Path, read_page: ReadPage, requests: BinaryIO, answers: BinaryIO) -> None:
    """Answer requests until there are no more."""
    answers.write(framed(READY))
    answers.flush()
    for line in requests:
        segment, offset = map(int, line.split())
        signal.setitimer(signal.ITIMER_REAL, PATIENCE)
        answer = frame(folder, Position(segment, offset), read_page)
        signal.setitimer(signal.ITIMER_REAL, 0)
        answers.write(answer)
        answers.flush()


def run(folder: Path, read_page: ReadPage) -> int:
    """Be a reader of the spool in `folder`; return the exit status."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    # More than what is mapped already: of a large file of locales, say, which takes no memory.
    most = mapped_bytes() + MOST_MEMORY - _OWN_MEMORY
    with suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    status = 0
    try:
        serve(folder, read_page, sys.stdin.buffer, sys.stdout.buffer)
    except BrokenPipeError:
        pass
    except MemoryError:
        status = FULL
    except OSError:
        status = REFUSED
    # The indexer may be gone, so what is left in the buffer has no reader.
    with suppress(BrokenPipeError):
        sys.stdout.close()
    return status


if __name__ == "__main__":
    options = ReadOptions.of(sys.argv[2:])
    sys.exit(run(Path(sys.argv[1]), partial(read_page, options=options)))
