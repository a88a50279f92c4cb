"""An embedded web and name server on loopback, for `larbinpy demo` and for tests.

``with serve() as demo:`` runs both in a process of their own; `Serving` has their addresses and
the expected result of a crawl. `demo_conf` writes the larbin.conf for it.
"""

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from http.client import HTTPConnection
from pathlib import Path
from typing import Any, NamedTuple

from larbinpy.config.kinds import quote
from larbinpy.demo.hosts import build
from larbinpy.demo.server import Expected, Truth, truth
from larbinpy.demo.site import Location, Web
from larbinpy.loop.child import command, environment

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

#: The first line of a larbin.conf for the demo, which identifies one.
FIRST_LINE = "# Written by larbinpy demo; the next run in this folder overwrites it.\n"

#: Seconds that a stopped server may take to exit.
_PATIENCE = 5.0


class Logged(NamedTuple):
    """One request that the web server answered."""

    #: Monotonic clock, s.
    time: float
    #: The server address that received it.
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
    """A running demo web: its addresses, its description and its logs."""

    #: Address of the name server.
    dns: tuple[str, int]
    web_port: int
    control: tuple[str, int]
    seeds: tuple[str, ...]
    process: subprocess.Popen[str]

    @property
    def web(self) -> Web:
        """The description of the web."""
        return _web(self.web_port)

    def truth(self, **switches: Any) -> Truth:
        """`expectation.truth` of this web, with its switches."""
        return truth(self.web, **switches)

    def log(self) -> list[Logged]:
        """The requests answered so far, oldest first."""
        return [Logged(**line) for line in self._ask("/_log")]

    def requests(self) -> list[tuple[str, int]]:
        """The log as pairs of URL and status, the argument of `Truth.trespasses`."""
        return [(self.web.url(Location(r.host, r.path)), r.status) for r in self.log()]

    def names(self) -> list[tuple[str, str, str]]:
        """The DNS queries so far: name, type, and reply code or "lost"."""
        return [(name, type_, result) for name, type_, result in self._ask("/_names")]

    def reset(self) -> None:
        """Clear both logs and the record of first tries."""
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

    Raises OSError if it cannot start.
    """
    options = [f"--drop={drop}", f"--flaky={flaky}", f"--seed={seed}"]
    process = subprocess.Popen(
        command("larbinpy.demo", *options),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=environment(),
        # Ctrl-C at the terminal must not stop it: the crawler needs its web to stop cleanly.
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
    addresses = json.loads(line)
    return Serving(
        (addresses["dns"][0], addresses["dns"][1]),
        addresses["web_port"],
        (addresses["control"][0], addresses["control"][1]),
        tuple(addresses["seeds"]),
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
    modes: str = "mirror",
    extra: str = "",
) -> str:
    """The text of a larbin.conf that crawls the demo web.

    `out` and `state` are outputDir and stateDir, `modes` is outputMode; times are in seconds;
    `extra` is appended.
    """
    starts = "\n".join(f"startUrl {seed}" for seed in seeds)
    types = "\nanyType" if any_type else ""
    return f"""\
{FIRST_LINE}# The demo web: all its names and addresses are on this machine.
From demo@larbinpy.invalid
UserAgent larbinpy
dnsServer {dns[0]}:{dns[1]}
allowPrivate
{starts}

# Fetch everything, but limit the endless parts.
getCGI
getImage{types}
depthInSite {depth}
limitPage 2000
limitTime 10

# No wait is needed: the server is our own.
waitDuration {wait:g}
maxWait 2
retryWait {retry_wait:g}
timeoutPage 20
dnsTimeout 0.5

outputMode {modes}
outputDir {quote(str(out))}
stateDir {quote(str(state))}
{extra}"""
