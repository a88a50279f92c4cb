"""An embedded web and name server on loopback: the crawler's first crawl, and its tests' world.

``with serve() as demo:`` runs both in a process of their own; `Serving` says where they
are and what a right crawl of them finds. `demo_conf` writes the larbin.conf for it.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from http.client import HTTPConnection
from pathlib import Path
from typing import Any, NamedTuple

from larbinpy.config.kinds import quote
from larbinpy.demo.expectation import Expected, Truth, truth
from larbinpy.demo.hosts import build
from larbinpy.demo.site import Location, Web

__all__ = [
    "FIRST_LINE",
    "Expected",
    "Location",
    "Logged",
    "Serving",
    "Truth",
    "build",
    "demo_conf",
    "serve",
    "truth",
]

#: Of a larbin.conf for the demo: by it people, and programs, know one.
FIRST_LINE = "# Written by larbinpy demo, and written anew where that runs again.\n"

#: How long (s) a stopped server may take to end.
_PATIENCE = 5.0


class Logged(NamedTuple):
    """One request that the web server answered."""

    #: Monotonic clock, s.
    time: float
    #: The server address that it came in at.
    address: str
    host: str
    path: str
    status: int
    #: Names in lower case.
    headers: dict[str, str]


@cache
def _web(port: int) -> Web:
    return build(port)


@dataclass(frozen=True, slots=True)
class Serving:
    """A running demo web, and the way to ask it what happened."""

    #: Address of the name server.
    dns: tuple[str, int]
    web_port: int
    control: tuple[str, int]
    seeds: tuple[str, ...]
    process: subprocess.Popen[str]

    @property
    def web(self) -> Web:
        """The description of what is served."""
        return _web(self.web_port)

    def truth(self, **switches: Any) -> Truth:
        """`expectation.truth` of this web; the switches are its own."""
        return truth(self.web, **switches)

    def log(self) -> list[Logged]:
        """The requests answered so far, oldest first."""
        return [Logged(**line) for line in self._ask("/_log")]

    def requests(self) -> list[tuple[str, int]]:
        """The log as (URL, status), as `Truth.trespasses` takes it."""
        return [(self.web.url(Location(r.host, r.path)), r.status) for r in self.log()]

    def names(self) -> list[tuple[str, str, str]]:
        """The questions asked so far: name, type, and reply code or "lost"."""
        return [(name, type_, result) for name, type_, result in self._ask("/_names")]

    def reset(self) -> None:
        """Forget both logs, and which pages were tried."""
        self._ask("/_reset")

    def conf(self, out: str | Path, state: str | Path, **settings: Any) -> str:
        """`demo_conf` for this server."""
        return demo_conf(self.dns, out, state, self.seeds, **settings)

    def _ask(self, path: str) -> Any:
        connection = HTTPConnection(*self.control, timeout=10)
        try:
            connection.request("GET", path)
            return json.load(connection.getresponse())
        finally:
            connection.close()


@contextmanager
def serve(*, drop: float = 0.0, flaky: float = 0.0, seed: int = 0) -> Iterator[Serving]:
    """Run the demo web in a process of its own, with the options of ``python -m larbinpy.demo``.

    Raises OSError where it cannot start.
    """
    options = [f"--drop={drop}", f"--flaky={flaky}", f"--seed={seed}"]
    home = str(Path(__file__).resolve().parents[2])
    path = os.pathsep.join(filter(None, [home, os.environ.get("PYTHONPATH")]))
    process = subprocess.Popen(
        [sys.executable, "-m", "larbinpy.demo", *options],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": path},
        # A Ctrl-C at the terminal is for the crawler, which still needs its web to stop well.
        start_new_session=True,
    )
    try:
        yield _where(process)
    finally:
        _end(process)


def _where(process: subprocess.Popen[str]) -> Serving:
    assert process.stdout is not None
    line = process.stdout.readline()
    if not line:
        raise OSError(f"the demo web did not start (exit status {process.wait()})")
    said = json.loads(line)
    return Serving(
        (said["dns"][0], said["dns"][1]),
        said["web_port"],
        (said["control"][0], said["control"][1]),
        tuple(said["seeds"]),
        process,
    )


def _end(process: subprocess.Popen[str]) -> None:
    assert process.stdin is not None and process.stdout is not None
    process.stdin.close()
    try:
        process.wait(_PATIENCE)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    process.stdout.close()


def demo_conf(
    dns: tuple[str, int],
    out: str | Path,
    state: str | Path,
    seeds: tuple[str, ...],
    *,
    wait: float = 0.0,
    retry_wait: float = 1.0,
    depth: int = 20,
    any_type: bool = False,
    extra: str = "",
) -> str:
    """The text of a larbin.conf that crawls and mirrors the demo web.

    `out` and `state` are outputDir and stateDir; times are in seconds; `extra` is put at
    the end.
    """
    starts = "\n".join(f"startUrl {seed}" for seed in seeds)
    types = "\nanyType" if any_type else ""
    return f"""\
{FIRST_LINE}# The demo web: every name and address in it is on this machine alone.
From demo@larbinpy.invalid
UserAgent larbinpy
dnsServer {dns[0]}:{dns[1]}
allowPrivate
{starts}

# All there is to see, and an end to what has none.
getCGI
getImage{types}
depthInSite {depth}
limitPage 2000
limitTime 10

# Its owner is in no need of patience.
waitDuration {wait:g}
maxWait 2
retryWait {retry_wait:g}
timeoutPage 20
dnsTimeout 0.5

outputMode mirror
outputDir {quote(str(out))}
stateDir {quote(str(state))}
{extra}"""
