"""The expensive steps of a crawl, measured one by one.

python -m benchmarks.micro PAGES ROUNDS FOLDER      (prints microseconds as JSON)
"""

import json
import random
import sys
import time
from array import array
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import dns.message
import dns.rrset

from larbinpy.dns import wire
from larbinpy.fetch.robots import Rules
from larbinpy.frontier.sequencer import Sequencer
from larbinpy.parse import links
from larbinpy.storage.queues import Store
from larbinpy.storage.seen import Seen
from larbinpy.url import Url, canonical, fingerprint, resolve

#: Links of a page, and how many of them are new.
_PAGE, _NEW = 100, 25
_SEEN = 200_000
_QUEUED = 50_000
_NAMES = 20_000
_AGENT = "bench"

Measure = tuple[int, Callable[[], object]]


def timed(count: int, work: Callable[[], object]) -> float:
    """Microseconds of CPU time for each of `count` operations."""
    began = time.process_time()
    work()
    return (time.process_time() - began) / count * 1e6


def measures(folder: Path, pages: Sequence[tuple[str, bytes]]) -> Iterator[tuple[str, Measure]]:
    """Name of each operation, the number of operations, and the function that runs them."""
    found = [links(body, url, "utf-8") for url, body in pages]
    count = sum(map(len, found))
    urls = list(dict.fromkeys(url for page in found for url in page))
    references = [f"../folder/page-{n}.html#part" for n in range(len(urls))]
    base = pages[1][0]
    yield "links of a page", (len(pages), lambda: [links(body, url) for url, body in pages])
    yield "links of a page, by link", (count, lambda: [links(body, url) for url, body in pages])
    yield "resolve a reference", (len(urls), lambda: [resolve(r, base) for r in references])
    yield "canonical spelling", (len(urls), lambda: [canonical(url) for url in urls])
    yield "fingerprint", (len(urls), lambda: [fingerprint(url) for url in urls])
    yield "seen, by link", (_SEEN, seen(folder))
    yield "queues, put and take", (_QUEUED, queues(folder))
    names = [f"www{n}.example.org" for n in range(_NAMES)]
    section, packet = answer_for(names[0])
    yield "name encoded", (_NAMES, lambda: [encoded(name) for name in names])
    yield "answer decoded", (_NAMES, lambda: [wire.plain(packet, section) for _ in names])
    yield "odd answer decoded", (_NAMES, lambda: [wire.decode(packet, section) for _ in names])
    rules = Rules.parse(b"User-agent: *\nDisallow: /closed/\nDisallow: /*/print-\nAllow: /\n")
    yield "robots.txt asked", (len(urls), lambda: [rules.allowed(_AGENT, url) for url in urls])


def seen(folder: Path) -> Callable[[], None]:
    """Batches of links, as a crawl adds them."""
    table = Seen(Path(folder), "seen")
    rng = random.Random(1)
    known = array("Q", rng.randbytes(8 * _SEEN))
    for start in range(0, _SEEN, _PAGE):
        table.add(known[start : start + _PAGE])
    batches = [
        [*rng.choices(known, k=_PAGE - _NEW), *array("Q", rng.randbytes(8 * _NEW))]
        for _ in range(_SEEN // _PAGE)
    ]

    def work() -> None:
        for batch in batches:
            table.add(batch)
            table.step()

    return work


def queues(folder: Path) -> Callable[[], None]:
    """URLs of a thousand sites, queued, taken and decided."""
    store = Store(folder)
    sequencer = Sequencer(store, 10_000)
    urls = [
        Url(f"http://www.site{n % 1000}.example/folder/page{n}.html", 3, "http://a.example/")
        for n in range(_QUEUED)
    ]

    def work() -> None:
        held: deque[Url] = deque()
        for n, url in enumerate(urls):
            sequencer.put(url)
            if not n % _PAGE:
                store.spill()
        left = _QUEUED
        while left:
            held.extend(sequencer.take(_PAGE))
            left -= len(held)
            while held:
                sequencer.done(held.popleft())

    return work


def encoded(name: str) -> bytes:
    return wire.encode(b"id", wire.question(name, wire.A))


def answer_for(name: str) -> tuple[bytes, bytes]:
    """The question section for a name, and a reply to it."""
    query = dns.message.make_query(f"{name}.", "A")
    reply = dns.message.make_response(query)
    reply.answer.append(dns.rrset.from_text(query.question[0].name, 300, "IN", "A", "192.0.2.1"))
    return wire.question(name, wire.A), reply.to_wire()


def main(file: Path, rounds: int, parent: Path) -> None:
    pages = [(url, Path(name).read_bytes()) for url, name in json.loads(file.read_text())]
    found: dict[str, list[float]] = {}
    for _ in range(rounds):
        with TemporaryDirectory(dir=parent) as folder:
            for name, (count, work) in measures(Path(folder), pages):
                found.setdefault(name, []).append(timed(count, work))
    print(json.dumps(found))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3]))
