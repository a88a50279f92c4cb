"""The indexer beside a crawl: ``python -m larbinpy.database.indexer DATABASE FOLDER``.

It reads `messages` from standard input and writes them to standard output. When standard input
ends, the crawl is gone: it writes the pages that are read already, and ends.
"""

import os
import signal
import sys
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path

from larbinpy.database.base import DatabaseError
from larbinpy.database.indexer.indexer import Report, due_line, encoded
from larbinpy.database.indexer.offline import CrawlPipe, IndexerLoop, ReadersError
from larbinpy.database.indexer.reader import ReadOptions
from larbinpy.database.writer import Writer
from larbinpy.loop.clock import clock
from larbinpy.loop.poller import Poller
from larbinpy.revisit.plan import Schedule, ScheduleSettings
from larbinpy.revisit.round import DuePage

#: Its work can wait; that of the crawl and of the web server beside it cannot.
_NICE = 10
_FAILED = 1


def main(arguments: list[str]) -> int:
    database, folder = arguments[:2]
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        # The crawl gets them, too, and says what is to be done.
        signal.signal(number, signal.SIG_IGN)
    os.nice(_NICE)
    options = ReadOptions.of(arguments[2:])
    poller = Poller()
    loop = IndexerLoop(
        Path(folder),
        partial(
            Writer,
            database,
            Schedule(ScheduleSettings.of(arguments[2:])),
            skip_near=options.skip_near,
        ),
        _send,
        poller,
        options,
        clock,
        _hand_over,
    )
    crawl = CrawlPipe(poller, sys.stdin.fileno(), loop.indexer)
    try:
        while not loop.indexer.done and not crawl.gone:
            loop.turn()
        loop.close()
        loop.indexer.leave()
    except BrokenPipeError:
        # The crawl was killed; its successor takes the rest.
        return _FAILED
    except (DatabaseError, ReadersError) as error:
        return _fail(str(error))
    except Exception as error:
        return _fail(_in_a_line(error))
    finally:
        loop.close()
    return 0


def _send(report: Report) -> None:
    _write(report.line())


def _hand_over(pages: Sequence[DuePage]) -> None:
    _write(due_line(pages))


def _write(line: bytes) -> None:
    while line:
        line = line[os.write(sys.stdout.fileno(), line) :]


def _fail(why: str) -> int:
    with suppress(BrokenPipeError):
        _write(encoded({"error": why}))
    return _FAILED


def _in_a_line(error: Exception) -> str:
    """A bug in a line: what, and where."""
    traceback, where = error.__traceback__, ""
    while traceback is not None:
        code = traceback.tb_frame.f_code
        where = f" ({os.path.basename(code.co_filename)}:{traceback.tb_lineno})"
        traceback = traceback.tb_next
    return " ".join(f"{type(error).__name__}: {error}{where}".split())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
