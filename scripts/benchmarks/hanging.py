"""The cost of hanging transfers for other transfers and for a turn of the loop.

    python -m benchmarks.hanging serve PLAN        serves the sites that hang; prints a line first
    python -m benchmarks.hanging crawl PLAN        crawls once; prints the cost of a page
    python -m benchmarks.hanging turn PLAN         prints the cost of an idle turn

Sites that hang answer only for robots.txt, because larbinpy limits its requests to sites that
never answered. One more page, the gate, is answered as soon as all the others hang. It links to
the pages that are measured.
"""

import json
import os
import resource
import socket
import sys
import time
from html import escape
from pathlib import Path
from select import EPOLLIN, epoll
from typing import Any, NoReturn

from benchmarks.plans import HangingPlan
from benchmarks.web import HANG_PORT
from larbinpy import Config, Crawl, Start
from larbinpy.context import Tuning
from larbinpy.loop.poller import Poller
from larbinpy.page import Outcome, Page
from larbinpy.url import Url

_GATE = "/gate"
_FILES = 20_000
#: Timeouts longer than any run (s).
_LONGEST = 900.0
#: Share of the pages before the measurement begins.
_WARM = 0.1
_TURNS = 2000


def seeds(plan: HangingPlan) -> list[str]:
    """The sites that hang, each at its own address, and the gate."""
    addresses = (divmod(number, 250) for number in range(plan.hanging))
    urls = [f"http://127.200.{third}.{fourth + 1}:{HANG_PORT}/" for third, fourth in addresses]
    return [*urls, f"http://127.201.0.1:{HANG_PORT}{_GATE}"]


# -- the server


class Server:
    """Answers for robots.txt and, in time, the gate; never for other pages."""

    def __init__(self, plan: HangingPlan) -> None:
        self._plan = plan
        self._listener = socket.create_server(("", HANG_PORT), backlog=8192)
        self._ready = epoll()
        self._ready.register(self._listener, EPOLLIN)
        self._open: dict[int, socket.socket] = {}
        self._hanging: set[int] = set()
        self._at_gate: set[int] = set()

    def serve(self) -> None:
        while True:
            for fd, _ in self._ready.poll():
                if fd == self._listener.fileno():
                    self._accept()
                else:
                    self._read(fd)

    def _accept(self) -> None:
        connection, _ = self._listener.accept()
        connection.setblocking(False)
        self._open[connection.fileno()] = connection
        self._ready.register(connection, EPOLLIN)

    def _read(self, fd: int) -> None:
        """Requests are short and arrive in one piece."""
        try:
            request = self._open[fd].recv(1 << 16)
        except OSError:
            request = b""
        if not request:
            self._close(fd)
            return
        path = request.split(b" ", 2)[1].decode()
        if path == "/robots.txt":
            self._reply(fd, "text/plain", "User-agent: *\nAllow: /\n")
            return
        (self._at_gate if path == _GATE else self._hanging).add(fd)
        if len(self._hanging) >= self._plan.hanging:
            self._open_gate()

    def _open_gate(self) -> None:
        links = "".join(f'<a href="{escape(url)}">on</a>\n' for url in self._plan.seeds)
        while self._at_gate:
            self._reply(self._at_gate.pop(), "text/html", f"<!DOCTYPE html>\n{links}")

    def _reply(self, fd: int, kind: str, body: str) -> None:
        head = f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n\r\n"
        self._open[fd].sendall((head + body).encode())

    def _close(self, fd: int) -> None:
        self._hanging.discard(fd)
        self._at_gate.discard(fd)
        self._ready.unregister(fd)
        self._open.pop(fd).close()


def _raise_limit() -> None:
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _FILES if most == resource.RLIM_INFINITY else min(_FILES, most)
    resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, most))


# -- the crawls


class Meter:
    """The crawl's output: measures the time of the pages, then ends the process."""

    def __init__(self, plan: HangingPlan) -> None:
        self._first = int(plan.pages * _WARM)
        self._last = plan.pages
        # The gate is the first page.
        self._pages = -1
        self._spent = self._began = 0.0

    @property
    def begun(self) -> bool:
        """Whether the gate is open, so that all others hang."""
        return self._pages >= 0

    def loaded(self, page: Page) -> None:
        self._pages += 1
        if self._pages == self._first:
            self._spent, self._began = time.process_time(), time.perf_counter()
        elif self._pages == self._last:
            cpu, seconds = time.process_time() - self._spent, time.perf_counter() - self._began
            finish({"pages": self._last - self._first, "cpu": cpu, "seconds": seconds})

    def failed(self, url: Url, outcome: Outcome) -> None:
        if not url.href.endswith("/gate"):
            return
        sys.exit(f"the gate failed: {outcome.value}")

    def stats(self) -> dict[str, object]:
        return {}

    def close(self) -> None:
        pass


class TurnPoller(Poller):
    """Measures idle turns, from wait to wait, from the moment when all transfers hang."""

    def __init__(self, meter: Meter) -> None:
        super().__init__()
        self._meter = meter
        self._calm = 0
        self._began = 0.0
        self._took: list[float] = []

    def wait(self, timeout: float) -> int:
        ready = super().wait(0.0 if self._meter.begun else timeout)
        self._calm = 0 if ready else self._calm + 1
        now = time.process_time()
        if self._meter.begun and self._calm > 1:
            self._took.append(now - self._began)
        self._began = now
        if len(self._took) == _TURNS:
            took = sorted(self._took)
            finish({"mean": sum(took) / _TURNS, "median": took[_TURNS // 2], "most": took[-1]})
        return ready


def finish(values: dict[str, float]) -> NoReturn:
    """Print `values` and end the process without finishing the crawl."""
    print(json.dumps(values), flush=True)
    os._exit(0)


def crawl(plan: HangingPlan, folder: Path, output: Any, poller: Poller) -> None:
    config = Config(
        start_url=tuple(seeds(plan)),
        wait_duration=0.0,
        depth_in_site=10**6,
        pages_connexions=plan.handles,
        timeout_page=_LONGEST,
        timeout_connect=_LONGEST,
        dns_server=(("127.0.0.1", 9),),
        state_dir=str(folder / "state"),
        output_dir=str(folder / "save"),
        allow_private=True,
    )
    Crawl(config, output=output, start=Start.SCRATCH, tuning=Tuning(poller=poller)).run()
    sys.exit("the crawl ended before the last page")


def main(what: str, file: Path) -> None:
    plan = HangingPlan.read(file)
    if what == "serve":
        _raise_limit()
        server = Server(plan)
        print("ready", flush=True)
        server.serve()
    meter = Meter(plan)
    poller = TurnPoller(meter) if what == "turn" else Poller()
    crawl(plan, file.parent, meter, poller)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
