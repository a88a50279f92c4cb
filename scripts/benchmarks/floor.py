"""The least cost of a crawl: the same URLs through libcurl, optionally with an HTML parser.

    python -m benchmarks.floor PLAN          (a JSON file; prints the result)

A loop over one epoll, as in larbinpy, without queues, rules, names or log. Each handle fetches
one host after another, page after page on one connection, which is the cheapest order. With
"parse", turbohtml makes the tree of each page, and its links are collected without resolving.
"""

import json
import os
import select
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from resource import RUSAGE_SELF, getrusage

import pycurl
import turbohtml

from benchmarks.plans import FloorPlan

_AGENT = "bench-floor/1"


class Floor:
    """The loop and its counts."""

    def __init__(self, plan: FloorPlan) -> None:
        self._plan = plan
        self._hosts = iter(plan.hosts)
        self._left: dict[pycurl.Curl, Iterator[str]] = {}
        self._bodies: dict[pycurl.Curl, list[bytes]] = {}
        self._epoll = select.epoll()
        self._multi = pycurl.CurlMulti()
        self._multi.setopt(pycurl.M_SOCKETFUNCTION, self._on_socket)
        self._multi.setopt(pycurl.M_TIMERFUNCTION, self._on_timer)
        self._multi.setopt(pycurl.M_MAXCONNECTS, 4 * plan.parallel)
        self._timeout: float | None = None
        self.pages = self.failed = self.links = self.bytes = 0

    def run(self) -> None:
        for _ in range(self._plan.parallel):
            self._next_host(pycurl.Curl())
        while self._left:
            ready = self._epoll.poll(self._timeout, 512)
            if not ready:
                self._timeout = None
                self._multi.socket_action(pycurl.SOCKET_TIMEOUT, 0)
            for fd, events in ready:
                mask = pycurl.CSELECT_IN if events & ~select.EPOLLOUT else 0
                mask |= pycurl.CSELECT_OUT if events & select.EPOLLOUT else 0
                self._multi.socket_action(fd, mask)
            self._collect()

    def _on_socket(self, what: int, fd: int, *_rest: object) -> None:
        if what == pycurl.POLL_REMOVE:
            with suppress(OSError):
                self._epoll.unregister(fd)
            return
        events = (select.EPOLLIN if what & pycurl.POLL_IN else 0) | (
            select.EPOLLOUT if what & pycurl.POLL_OUT else 0
        )
        try:
            self._epoll.register(fd, events)
        except FileExistsError:
            self._epoll.modify(fd, events)

    def _on_timer(self, milliseconds: int, *_rest: object) -> None:
        self._timeout = milliseconds / 1000 if milliseconds >= 0 else None

    def _next_host(self, curl: pycurl.Curl) -> None:
        host = next(self._hosts, None)
        if host is None:
            self._left.pop(curl, None)
            return
        self._left[curl] = (host.base + path for path in ["robots.txt", *host.paths])
        curl.setopt(pycurl.NOSIGNAL, 1)
        curl.setopt(pycurl.USERAGENT, _AGENT)
        curl.setopt(pycurl.CONNECT_TO, [f"::{host.address}:"] if host.address else [])
        if self._plan.ca_file:
            curl.setopt(pycurl.CAINFO, self._plan.ca_file)
        self._next_page(curl)

    def _next_page(self, curl: pycurl.Curl) -> None:
        url = next(self._left[curl], None)
        if url is None:
            self._next_host(curl)
            return
        body = self._bodies[curl] = []
        curl.setopt(pycurl.URL, url)
        curl.setopt(pycurl.WRITEFUNCTION, body.append)
        self._multi.add_handle(curl)

    def _collect(self) -> None:
        left = 1
        while left:
            left, done, failed = self._multi.info_read()
            self.failed += len(failed)
            for curl in (*done, *(curl for curl, _, _ in failed)):
                self._multi.remove_handle(curl)
                self._take(curl)
                self._next_page(curl)

    def _take(self, curl: pycurl.Curl) -> None:
        body = b"".join(self._bodies[curl])
        if curl.getinfo(pycurl.RESPONSE_CODE) != 200 or body.startswith(b"User-agent"):
            return
        self.pages += 1
        self.bytes += len(body)
        if self._plan.parse:
            tree = turbohtml.parse(body, positions=False)
            found = {e.attr("href") or e.attr("src") for e in tree.select("[href],[src]")}
            self.links += len(found)


def main(path: Path) -> None:
    floor = Floor(FloorPlan.read(path))
    began, before = time.perf_counter(), getrusage(RUSAGE_SELF)
    floor.run()
    seconds, after = time.perf_counter() - began, getrusage(RUSAGE_SELF)
    user, system = after.ru_utime - before.ru_utime, after.ru_stime - before.ru_stime
    values = {name: getattr(floor, name) for name in ("pages", "failed", "links", "bytes")}
    values |= {"seconds": seconds, "user": user, "system": system}
    print(json.dumps(values), flush=True)
    # The system closes all files; closing them here is no part of the measurement.
    os._exit(0)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
