"""Makes the files of a large crawl, and times `larbinpy report` on them.

The crawl is a broad one: a hundred sites for each 2,000 URLs, 30 % pages with 80 links each, 2 %
broken links, 8 % redirects, some to others or to broken links, 15 % refused by robots.txt, the
rest images and other files.
"""

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random

from larbinpy.output.link_record import NAME, LinkRecord
from larbinpy.output.log import CrawlLog
from larbinpy.page import Fate
from larbinpy.parse import Kind
from larbinpy.parse.link import Link, PackedLinks

_LINKS = 80
_FORMS = ("", "--json", "--csv")


def make(folder: Path, urls: int) -> None:
    """Write the crawl log and the record of links of a crawl of `urls` URLs."""
    random = Random(1)
    log, record = CrawlLog(folder / "crawl.jsonl"), LinkRecord(folder / NAME)
    for number, fate in enumerate(_fates(urls, random)):
        log.write(fate)
        if fate.outcome == "success" and fate.type == "text/html":
            links = [Link(_url(n, urls), Kind.PAGE) for n in _targets(number, urls, random)]
            record.page(fate.url, PackedLinks.pack(links))
        if number % 1000 == 0:
            log.flush()
            record.flush()
    log.close()
    record.close()


def _targets(number: int, urls: int, random: Random) -> set[int]:
    """Half of the links stay near, as navigation does."""
    near = {(number + step) % urls for step in range(_LINKS // 2)}
    while len(near) < _LINKS:
        near.add(random.randrange(urls))
    return near


def _url(number: int, urls: int) -> str:
    sites = max(1, urls // 20)
    return f"http://www.site{number % sites}.example/section-{number % 7}/article-{number}.html"


def _fates(urls: int, random: Random) -> Iterator[Fate]:
    for number in range(urls):
        share = number * 7919 % 100
        outcome, status, type_, detail = "success", 200, "image/jpeg", ""
        if share < 30:
            type_ = "text/html"
        elif share < 32:
            outcome, status = "err40X", 404
        elif share < 40:
            outcome, status, detail = "err30X", 301, _url(random.randrange(urls), urls)
        elif share < 55:
            outcome, status = "forbiddenRobots", 0
        yield Fate(
            ts=f"2030-01-01T{number // 3600 % 24:02}:{number // 60 % 60:02}:{number % 60:02}.000Z",
            url=_url(number, urls),
            outcome=outcome,
            status=status,
            size=random.randrange(100_000) if status == 200 else 0,
            type=type_,
            depth=5,
            via=_url(random.randrange(urls), urls),
            ip="192.0.2.1",
            ms=random.randrange(2000),
            attempt=1,
            detail=detail,
        )


def measure(folder: Path) -> None:
    """Report in each form; print its time and its memory."""
    for form in _FORMS:
        command = [sys.executable, "-m", "larbinpy", "report", str(folder), *filter(None, [form])]
        began = time.monotonic()
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        _, status, usage = _wait(process)
        seconds = time.monotonic() - began
        print(
            f"report {form or 'as text':8}: {seconds:.1f} s, {usage.ru_utime:.1f} s of CPU, "
            f"{usage.ru_maxrss / 1000:.0f} MB, exit {status}"
        )


def _wait(process: "subprocess.Popen[bytes]") -> tuple[int, int, resource.struct_rusage]:
    pid, status, usage = os.wait4(process.pid, 0)
    process.returncode = status
    return pid, status, usage


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--urls", type=int, default=1_000_000, help="lines of the log [1000000]")
    parser.add_argument("--folder", help="keep the files there, and use them again")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as passing:
        folder = Path(options.folder or passing)
        folder.mkdir(parents=True, exist_ok=True)
        if not (folder / NAME).exists():
            make(folder, options.urls)
        sizes = {path.name: path.stat().st_size for path in folder.iterdir()}
        print(", ".join(f"{name}: {size / 1e6:.0f} MB" for name, size in sizes.items()))
        measure(folder)


if __name__ == "__main__":
    main()
