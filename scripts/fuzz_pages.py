"""Long runs of a short test: `tests/support/pagefuzz.py` on the pages of `oddpages.py`."""

import argparse
import math
import multiprocessing
import os
import sys
import time
from collections.abc import Iterator
from multiprocessing.connection import Connection
from multiprocessing.sharedctypes import Synchronized
from pathlib import Path
from random import SystemRandom
from typing import Any

from larbinpy.parse.body import read_scan
from tests.support.oddpages import OddPages, Page
from tests.support.pagefuzz import Tally

_REAL = Path("/usr/share/doc/python3-doc/html")
_SHOWN = 20
_LARGEST = 1 << 20


def main() -> int:
    options = _options()
    seed = SystemRandom().getrandbits(32) if options.seed is None else options.seed
    real = _read(options.folder, options.files)
    print(f"seed {seed}, {len(real)} real pages from {options.folder}", flush=True)
    pages = OddPages(seed, real)
    started = time.monotonic()
    workers = [_Worker(pages, number, options) for number in range(options.processes)]
    tally = Tally()
    crashed = False
    for worker in workers:
        crashed |= not worker.finish(tally)
    _report(tally, time.monotonic() - started)
    return int(crashed or bool(tally.findings))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="fuzz-pages",
        description="Compares the compiled scan of odd pages with the tree, and times both.",
        epilog="Exits with 1 if they differ, if the scan is slower, or if it crashes.",
    )
    parser.add_argument(
        "folder", nargs="?", type=Path, default=_REAL, help="of real pages (%(default)s)"
    )
    parser.add_argument("--pages", type=int, default=300_000, help="(%(default)s)")
    parser.add_argument("--seed", type=int, help="to have the same again (chosen and printed)")
    parser.add_argument("--seconds", type=float, default=math.inf, help="the most it may take")
    parser.add_argument("--files", type=int, default=1000, help="real pages to use (%(default)s)")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--no-times", action="store_true", help="compare answers only")
    return parser.parse_args()


def _read(folder: Path, most: int) -> list[bytes]:
    paths = sorted(path for path in folder.rglob("*.htm*") if path.is_file())
    paths = paths[:: max(1, -(-len(paths) // most))] if most else []
    return [body for path in paths if (body := path.read_bytes()[:_LARGEST])]


class _Worker:
    """A process that compares each Nth page."""

    def __init__(self, pages: OddPages, number: int, options: argparse.Namespace) -> None:
        self._pages = pages
        self._seat = multiprocessing.Value("q", number)
        self._answer, theirs = multiprocessing.Pipe(duplex=False)
        self._process = multiprocessing.Process(
            target=_work, args=(pages, self._seat, theirs, options), daemon=True
        )
        self._process.start()
        theirs.close()

    def finish(self, tally: Tally) -> bool:
        """Wait for the process, and add its results; False if it crashed."""
        try:
            tally.add(self._answer.recv())
        except EOFError:
            self._process.join()
            number = self._seat.value
            print(f"process ended with {self._process.exitcode} at page {number}:")
            print(self._pages.page(number))
            return False
        self._process.join()
        return True


def _work(
    pages: OddPages, seat: "Synchronized[Any]", answer: Connection, options: argparse.Namespace
) -> None:
    """Compare pages; `seat` is the number of the page in hand, for the case of a crash."""
    tally = Tally()
    for page in _share(pages, seat, options):
        tally.judge(read_scan, page, timed=not options.no_times)
        if len(tally.findings) >= _SHOWN:
            break
    answer.send(tally)


def _share(
    pages: OddPages, seat: "Synchronized[Any]", options: argparse.Namespace
) -> Iterator[Page]:
    end = time.monotonic() + options.seconds
    for number in range(seat.value, options.pages, options.processes):
        seat.value = number
        yield pages.page(number)
        if time.monotonic() > end:
            return


def _report(tally: Tally, elapsed: float) -> None:
    count = tally.pages.total()
    for finding in tally.findings:
        print(finding)
    print(f"{count} pages in {elapsed:.0f} s, {count / elapsed:.0f}/s; left to the tree:")
    for kind, number in sorted(tally.pages.items()):
        print(f"  {kind:<11} {tally.left[kind] / number:6.1%} of {number}")
    print(f"slowest page: {tally.slowest:.2f} of the tree's time")
    print(f"{len(tally.findings)} differences", flush=True)


if __name__ == "__main__":
    sys.exit(main())
