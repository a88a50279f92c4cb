"""A reader that crashes or stalls at some pages: the first word of the body says how.

Its arguments are the folder, or "broken": it ends at once; and a file with a letter for each start,
of which only each third does not end at once.
"""

import os
import signal
import sys
from pathlib import Path

from larbinpy.database.indexer import reader
from larbinpy.database.indexer.reader import ReadOptions
from larbinpy.database.preparation import Visit
from larbinpy.storage.spool import Spooled


def frail(spooled: Spooled) -> Visit:
    word, _, mark = spooled.page.body.decode().partition(" ")
    if word == "crash":
        os.kill(os.getpid(), signal.SIGSEGV)
    if word == "kills" and len(Path(mark).read_bytes()) < 4:
        with Path(mark).open("ab") as file:
            file.write(b"x")
        os.kill(os.getpid(), signal.SIGKILL)
    if word == "takes":
        bytearray(int(mark))
    if word == "aborts":
        os.abort()
    if word == "stall":
        signal.setitimer(signal.ITIMER_REAL, 0.01)
        while True:
            signal.pause()
    return reader.read_page(spooled, ReadOptions())


def _fails(starts: Path) -> bool:
    with starts.open("a+") as file:
        file.write("x")
        return file.tell() % 3 != 0


if __name__ == "__main__":
    if sys.argv[1] == "broken" or any(map(_fails, map(Path, sys.argv[2:]))):
        sys.exit(1)
    sys.exit(reader.run(Path(sys.argv[1]), frail))
