"""Many transfers at once, by one loop or by a thread each.

    python -m experiments.transferring PLAN

Carries out PLAN (JSON) and prints one line of JSON. The loop is the crawl's: its `Fetcher` on
its `Poller`. The threads are as fast as possible: each has one libcurl handle for all its
transfers, sets constant options only once, and shares nothing. Both send the same requests and
collect the same parts of the replies.
"""

import json
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from threading import Thread
from typing import Any

import pycurl

from experiments.runs import CLIENT, PYTHON, in_background
from larbinpy.fetch import options as curl_options
from larbinpy.fetch.fetcher import Fetcher
from larbinpy.fetch.settings import FetchSettings, Request, RequestOptions
from larbinpy.fetch.transfer import Transfer
from larbinpy.loop.clock import clock
from larbinpy.loop.poller import Poller
from larbinpy.outcome import Outcome
from larbinpy.url import Url

#: Most transfers that a turn of the crawl opens.
_OPENED_AT_ONCE = 100
_LONGEST_TURN = 1.0
_MAX_SIZE = 1 << 20
_SETTINGS = FetchSettings(handles=1)
_OPTIONS = RequestOptions(user_agent="larbinpy-transfers", timeout_page=3600.0)


@dataclass(slots=True, frozen=True)
class Plan:
    """Work of a process. Each transfer sends requests to its own site, one after another."""

    #: "loop" or "threads".
    way: str
    port: int
    #: Transfers in flight.
    count: int
    #: Requests to each site; 0 for no limit but `seconds`.
    rounds: int = 0
    seconds: float = 0.0

    def over(self, began: float, now: float) -> bool:
        """Whether a reply at `now` is too late to count."""
        return not self.rounds and now >= began + self.seconds


@dataclass(slots=True)
class Tally:
    """Counts of replies."""

    pages: int = 0
    bytes: int = 0
    failed: int = 0

    def add(self, outcome: Outcome, size: int) -> None:
        if outcome is Outcome.SUCCESS:
            self.pages += 1
            self.bytes += size
        else:
            self.failed += 1


@dataclass(slots=True, frozen=True)
class Done:
    """Results of a plan."""

    pages: int
    bytes: int
    failed: int
    #: From the start of the first transfer, or thread, to the end of the last (s).
    elapsed: float
    #: CPU time of the process meanwhile, user and system (s).
    cpu: float
    #: Resident memory (bytes); 0 if not measured.
    resident: int = 0


def measure(plan: Plan, look_after: float = 0.0) -> Done:
    """Carry out `plan` in its own process.

    Its memory is read once, after `look_after` seconds (0 for never). Reading the memory of a
    process with thousands of threads takes long and stops all of them.
    """
    command = [PYTHON, "-m", "experiments.transferring", json.dumps(asdict(plan))]
    resident = 0
    with in_background(command, CLIENT) as process:
        assert process.stdout is not None
        if look_after:
            time.sleep(look_after)
            resident = resident_of(process.pid)
        line = process.stdout.readline()
        process.wait()
    if process.returncode or not line:
        raise RuntimeError(f"{plan.count} by {plan.way}: status {process.returncode}")
    return replace(Done(**json.loads(line)), resident=resident)


def resident_of(pid: int) -> int:
    """Bytes of memory that a process occupies; 0 if it has ended."""
    with suppress(OSError):
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Rss:"):
                return int(line.split()[1]) * 1024
    return 0


def carry_out(plan: Plan) -> Done:
    """As `measure`, in this process and without its memory."""
    ways: dict[str, Callable[[Plan, float], Tally]] = {"loop": by_loop, "threads": by_threads}
    spent, began = time.process_time(), clock()
    tally = ways[plan.way](plan, began)
    return Done(**asdict(tally), elapsed=clock() - began, cpu=time.process_time() - spent)


def requests(plan: Plan) -> Iterator[Request]:
    """A request for each site. Each site has its own address."""
    for number in range(plan.count):
        address = f"127.0.{1 + number // 250}.{1 + number % 250}"
        yield Request(Url(f"http://{address}:{plan.port}/", 0), address, _any, _MAX_SIZE, _OPTIONS)


def _any(_media_type: str, _size: int | None) -> None:
    return None


# -- one loop


def by_loop(plan: Plan, began: float) -> Tally:
    """Run turns as the crawl does, without its work on the pages."""
    poller = Poller()
    fetcher = Fetcher(poller, replace(_SETTINGS, handles=plan.count))
    due = deque(requests(plan))
    site = {request.url.href: request for request in due}
    left = dict.fromkeys(site, plan.rounds)
    tally = Tally()
    now = began
    while (due or fetcher.busy) and not plan.over(began, now):
        for _ in range(min(_OPENED_AT_ONCE, len(due))):
            request = due.popleft()
            left[request.url.href] -= 1
            fetcher.start(request, now)
        poller.wait(0.0 if due else min((fetcher.deadline or now) - now, _LONGEST_TURN))
        now = clock()
        for page in fetcher.step(now):
            if not plan.over(began, now):
                tally.add(page.outcome, len(page.body))
            if left[page.url.href]:  # Negative if the plan has no rounds.
                due.append(site[page.url.href])
    fetcher.close()
    poller.close()
    return tally


# -- a thread for each


def by_threads(plan: Plan, began: float) -> Tally:
    """Each thread waits for its own transfers; libcurl waits outside Python's lock."""
    tallies = [Tally() for _ in range(plan.count)]
    threads = [
        Thread(target=_fetch_all, args=(plan, began, request, tally), daemon=True)
        for request, tally in zip(requests(plan), tallies, strict=True)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    counts = [(tally.pages, tally.bytes, tally.failed) for tally in tallies]
    return Tally(*map(sum, zip(*counts, strict=True)))


def _fetch_all(plan: Plan, began: float, request: Request, tally: Tally) -> None:
    curl = pycurl.Curl()
    for option, value in (*curl_options.common(_SETTINGS), *curl_options.shared(_OPTIONS)):
        curl.setopt(option, value)
    left = plan.rounds
    now = clock()
    while not plan.over(began, now):
        outcome, size = _fetch(curl, request, now)
        now = clock()
        if not plan.over(began, now):
            tally.add(outcome, size)
        left -= 1
        if not left:
            break
    curl.close()


def _fetch(curl: Any, request: Request, now: float) -> tuple[Outcome, int]:
    transfer = Transfer(request, now)
    curl_options.single(curl.setopt, request, 0)
    curl.setopt(pycurl.HEADERFUNCTION, transfer.header)
    curl.setopt(pycurl.WRITEFUNCTION, transfer.write)
    failure = None
    try:
        curl.perform()
    except pycurl.error:
        failure = Outcome.NO_CONNECTION
    page = transfer.page(failure)
    return page.outcome, len(page.body)


if __name__ == "__main__":
    print(json.dumps(asdict(carry_out(Plan(**json.loads(sys.argv[1]))))), flush=True)
