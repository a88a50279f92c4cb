"""Whole crawls under test: `larbinpy` as a process, web and name server in the test's poll loop.

`World` is that loop. Its web is one function from a request to the steps of a reply (see
`webserver`), so a test can send any broken page and wait as long as it likes.
"""

import json
import os
import re
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from larbinpy import Crawl, Start
from larbinpy.config import load
from larbinpy.demo import Serving
from larbinpy.loop.poller import READ, Poller
from tests.support.checkout import ROOT
from tests.support.loaded import Process
from tests.support.nameserver import NameServer
from tests.support.webserver import Act, Step, WebServer, reply

#: Time limit for events (s). They come within milliseconds unless the machine is stuck.
PATIENCE = 30.0

Fate = dict[str, Any]


def read_log(path: Path) -> list[Fate]:
    """The whole lines of a crawl.jsonl, which may be growing; empty if there is no file."""
    text = path.read_text() if path.exists() else ""
    return [json.loads(line) for line in text[: text.rfind("\n") + 1].splitlines()]


class Asked(NamedTuple):
    """A request as the web saw it; header names in lower case."""

    host: str
    path: str
    headers: dict[str, str]

    @classmethod
    def read(cls, head: bytes) -> "Asked":
        line, *fields = head.decode("latin-1").rstrip("\r\n").split("\r\n")
        pairs = (field.partition(":") for field in fields)
        headers = {name.strip().lower(): value.strip() for name, _, value in pairs}
        return cls(headers.get("host", "").partition(":")[0], line.split(" ")[1], headers)


Answer = Callable[[Asked], Iterable[Step]]


def html(*links: str, text: str = "") -> bytes:
    """A reply with a page that has `links`."""
    items = "".join(f'<a href="{link}">x</a>\n' for link in links)
    return ok(f"<!DOCTYPE html><title>t</title><p>{text}</p>\n{items}".encode())


def ok(body: bytes, type_: str = "text/html", *headers: str) -> bytes:
    return reply(body, f"Content-Type: {type_}", *headers)


def missing() -> bytes:
    return reply(b"", status="404 Not Found")


def moved(location: str, status: str = "302 Found") -> bytes:
    return reply(b"", f"Location: {location}", status=status)


class _Dialogue:
    """The script of each connection of a `Web`: answers one request after another."""

    def __init__(self, web: "Web", answer: Answer) -> None:
        self._web = web
        self._answer = answer

    def __iter__(self) -> Iterator[Step]:
        while True:
            yield Act.REQUEST
            asked = Asked.read(self._web.requests[-1])
            self._web.asked.append(asked)
            yield from self._answer(asked)


class Web(WebServer):
    """A web server whose replies come from `answer`."""

    def __init__(self, poller: Poller, answer: Answer, **where: Any) -> None:
        self.asked: list[Asked] = []
        #: The host of `url`.
        self.host = "site.test"
        super().__init__(poller, _Dialogue(self, answer), **where)

    def url(self, path: str = "/", host: str | None = None) -> str:
        return super().url(path, self.host if host is None else host)

    def count(self, path: str) -> int:
        """The number of requests for `path`."""
        return sum(asked.path == path for asked in self.asked)


LARBINPY = (sys.executable, "-m", "larbinpy")


class Crawler:
    """A `larbinpy` process, whose output the loop reads as it comes.

    `streams` replace its pipes, as arguments of `Popen`.
    """

    def __init__(
        self, poller: Poller, command: Sequence[str], folder: Path, **streams: int
    ) -> None:
        pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        given: dict[str, Any] = {"cwd": folder, "env": _environment(), **pipes, **streams}
        start = len(LARBINPY)
        self.process: subprocess.Popen[bytes] | Process = (
            Process(command[start:], **given)
            if tuple(command[:start]) == LARBINPY
            else subprocess.Popen(command, start_new_session=True, **given)
        )
        self._said = {"stdout": bytearray(), "stderr": bytearray()}
        self._open: set[int] = set()
        for name, said in self._said.items():
            pipe = getattr(self.process, name)
            if pipe is not None:
                self._watch(poller, pipe, said)

    def _watch(self, poller: Poller, pipe: Any, said: bytearray) -> None:
        def read(fd: int, _events: int) -> None:
            data = os.read(fd, 1 << 16)
            said.extend(data)
            if not data:
                poller.unregister(fd)
                self._open.discard(fd)

        self._open.add(pipe.fileno())
        poller.register(pipe.fileno(), READ, read)

    @property
    def out(self) -> str:
        return self._said["stdout"].decode()

    @property
    def err(self) -> str:
        return self._said["stderr"].decode()

    @property
    def ended(self) -> bool:
        return not self._open and self.process.poll() is not None

    def signal(self, number: int) -> None:
        self.process.send_signal(number)

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            if pipe is not None:
                pipe.close()


def _environment() -> dict[str, str]:
    """Unbuffered output, so that tests see it at once; warnings are errors.

    Tests count requests, so none is for a sitemap that no test has named.
    """
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    own = {"PYTHONPATH": path, "PYTHONUNBUFFERED": "1", "PYTHONWARNINGS": "error"}
    return {**os.environ, "LARBINPY_GUESSSITEMAP": "off", **own}


class World:
    """One poll loop for the test: the web, the name server and the crawlers.

    All `names` have the address 127.0.0.1. Crawls wait by site, so each name counts as a server.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.poller = Poller()
        self.names = NameServer(poller=self.poller)
        self.state = folder / "state"
        self.out = folder / "save"
        self.report = folder / "report.json"
        self._crawlers: list[Crawler] = []
        self._closers: list[Callable[[], None]] = [self.names.close, self.poller.close]

    def web(self, answer: Answer, *names: str, **where: Any) -> Web:
        """Serve `answer` under `names`."""
        web = Web(self.poller, answer, **where)
        self._closers.insert(0, web.close)
        for name in names:
            self.names.zone[name] = ["127.0.0.1"]
            web.host = names[0]
        return web

    def conf(self, *lines: str) -> str:
        """Write larbin.conf with `lines` at the end; returns its text."""
        host, port = self.names.address
        text = [
            "From t@example.com UserAgent larbinpy allowPrivate",
            f"dnsServer {host}:{port} dnsTimeout 0.5",
            "waitDuration 0 waitBy site maxWait 0 retryWait 0.1 depthInSite 10 getCGI",
            "limitTime 1 timeoutPage 10 outputMode mirror fetchInfo",
            *lines,
        ]
        # In one step, since a crawler that was started before may be reading it.
        new = self.folder / "larbin.conf.new"
        new.write_text("\n".join(text) + "\n")
        new.replace(self.folder / "larbin.conf")
        return "\n".join(text)

    def start(self, *arguments: str, command: Sequence[str] = LARBINPY, **streams: int) -> Crawler:
        """Run `larbinpy` with `arguments` in the folder of this world."""
        crawler = Crawler(self.poller, [*command, *arguments], self.folder, **streams)
        self._crawlers.append(crawler)
        return crawler

    def crawl(self, *arguments: str, command: Sequence[str] = LARBINPY) -> Crawler:
        """Start a crawl that writes a report."""
        options = ("--progress", "none", "--report", str(self.report))
        return self.start("crawl", *arguments, *options, command=command)

    def until(self, condition: Callable[[], bool], patience: float = PATIENCE) -> None:
        """Serve until `condition` holds; it is checked after each turn."""
        late = time.monotonic() + patience
        while not condition():
            assert time.monotonic() < late, f"{self.__dict__}"
            self.poller.wait(0.05)

    def finish(self, crawler: Crawler, patience: float = PATIENCE) -> int:
        """Serve until `crawler` has ended; returns its exit status."""
        self.until(lambda: crawler.ended, patience)
        return crawler.process.wait()

    def run(self, *arguments: str, command: Sequence[str] = LARBINPY) -> Crawler:
        """Run a crawl to its end."""
        crawler = self.crawl(*arguments, command=command)
        self.finish(crawler)
        return crawler

    def larbinpy(self, *arguments: str) -> Crawler:
        """Run another command to its end."""
        crawler = self.start(*arguments)
        self.finish(crawler)
        return crawler

    @property
    def fates(self) -> list[Fate]:
        return read_log(self.state / "crawl.jsonl")

    def outcomes(self) -> dict[str, str]:
        """URL -> outcome; asserts that each URL has one fate."""
        fates = self.fates
        often = [url for url, n in Counter(fate["url"] for fate in fates).items() if n > 1]
        assert not often
        return {fate["url"]: fate["outcome"] for fate in fates}

    def reported(self) -> dict[str, Any]:
        report: dict[str, Any] = json.loads(self.report.read_text())
        return report

    def files(self) -> set[str]:
        """The files of the mirror, without hidden ones."""
        found = (path for path in self.out.rglob("*") if path.is_file())
        return {str(path.relative_to(self.out)) for path in found if path.name[0] != "."}

    def end_crawlers(self) -> None:
        """End all crawlers that still run."""
        while self._crawlers:
            self._crawlers.pop().close()

    def close(self) -> None:
        self.end_crawlers()
        for close in self._closers:
            close()


def one_line(crawler: Crawler) -> str:
    """The error message of a failed command: one line without a traceback."""
    assert re.fullmatch(r"larbinpy: [^\n]+\n", crawler.err), crawler.err
    return crawler.err


@dataclass
class Crawled:
    """A finished crawl of the demo web in this process, and its files."""

    code: int
    crawl: Crawl
    fates: list[Fate]
    out: Path

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """(URL, outcome) of each fate, as `Truth.differences` takes them."""
        return [(fate["url"], fate["outcome"]) for fate in self.fates]

    @property
    def files(self) -> dict[str, bytes]:
        """The mirror: file -> content."""
        found = (path for path in self.out.rglob("*") if path.is_file())
        return {
            str(path.relative_to(self.out)): path.read_bytes()
            for path in found
            if path.name != ".larbinpy-names"
        }


def crawl_demo(
    demo: Serving, folder: Path, *, start: Start = Start.SCRATCH, **settings: Any
) -> Crawled:
    """Crawl the demo web as ``larbinpy demo`` does, with `settings` of its larbin.conf."""
    folder.mkdir(parents=True, exist_ok=True)
    conf, out, state = folder / "larbin.conf", folder / "mirror", folder / "state"
    # Its tests count requests.
    conf.write_text(demo.conf(out, state, **settings) + "\nguessSitemap off\n")
    crawl = Crawl(load(str(conf), {}, ()), start=start)
    code = crawl.run()
    return Crawled(code, crawl, read_log(state / "crawl.jsonl"), out)
