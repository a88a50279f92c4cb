"""The end of a crawl, and its reason."""

import errno
import json
import socket
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, HTTPServer
from math import inf
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import pytest

from larbinpy.config import Config
from larbinpy.crawl.crawl import unused_variables
from larbinpy.crawl.ending import Finishing, Stopping, notify
from larbinpy.crawl.mode import ROOM_WAIT, Mode
from larbinpy.errors import Ending
from larbinpy.output.plug import NO_REFRESH
from larbinpy.page import Outcome
from tests.support.contexts import make_context
from tests.support.fakefeeder import FakeFeeder

GRACE = 10.0


@dataclass
class Case:
    """A crawl with a URL in flight, and what is to be decided about it."""

    owed: int = 1
    visitors: bool | None = None
    limit_at: float = float("inf")
    had_work: bool = False
    outlives: bool = False

    def __post_init__(self) -> None:
        self.mode = Mode(limit_at=self.limit_at)
        engine: Any = SimpleNamespace(
            idle=False,
            out_of_work=False,
            limit_reached=False,
            kept_enough=False,
            has_work=self.owed > 0,
        )
        self.engine = engine
        self.port = SimpleNamespace(awaited=self.visitors)
        port = None if self.visitors is None else self.port
        ports: Any = SimpleNamespace(input=port, status="page" if self.outlives else None)
        self.feeder = FakeFeeder()
        self.feeder.done = True
        self.stopping = Stopping(
            make_context(Config(high_level_web_server=True), grace=GRACE),
            self.mode,
            engine,
            ports,
            Finishing(NO_REFRESH, lambda: 0.0, GRACE),
            self.feeder,
            lambda: False,
            had_work=self.had_work,
        )

    def finish(self) -> None:
        """The last URL is decided."""
        self.engine.has_work = False
        self.engine.idle = self.engine.out_of_work = True

    def step(self, now: float, *, stop: bool = False, at_once: bool = False) -> bool:
        return self.stopping.step(now, stop=stop, at_once=at_once)


def test_it_ends_when_all_work_is_done() -> None:
    case = Case()
    assert not case.step(1.0)
    case.finish()
    assert case.step(2.0)
    assert case.stopping.ending is Ending.FINISHED


def test_a_stop_of_a_crawl_that_is_done_finds_it_finished() -> None:
    done, idle = Case(), Case(owed=0)
    assert not done.step(0.0)
    for case in (done, idle):
        case.finish()
        assert case.step(1.0, stop=True)
    # An idle one never had anything to do.
    assert (done.stopping.ending, idle.stopping.ending) == (Ending.FINISHED, Ending.STOPPED)


def test_a_limit_lets_what_is_in_flight_come_home() -> None:
    for_pages, for_time = Case(), Case(limit_at=5.0)
    for_pages.engine.limit_reached = True
    for case, ending in ((for_pages, Ending.LIMIT_PAGE), (for_time, Ending.LIMIT_TIME)):
        assert not case.step(5.0)
        assert case.mode.draining
        case.engine.idle = True
        assert case.step(6.0)
        assert case.stopping.ending is ending


def test_transfers_that_hang_are_waited_for_some_seconds() -> None:
    case = Case()
    assert not case.step(0.0, stop=True)
    assert not case.step(GRACE - 0.1, stop=True)
    assert case.step(GRACE, stop=True)
    assert case.stopping.ending is Ending.STOPPED


def test_a_second_signal_does_not_wait() -> None:
    case = Case()
    assert case.step(0.0, stop=True, at_once=True)
    assert case.stopping.ending is Ending.FORCED


def test_a_crawl_with_an_input_port_waits_for_work_and_for_visitors() -> None:
    idle, visited = Case(owed=0, visitors=False), Case(visitors=True)
    assert not visited.step(0.0)
    for case in (idle, visited):
        case.finish()
        assert not case.step(1.0)
        assert case.mode.staying
    visited.port.awaited = False
    assert visited.step(2.0)
    assert idle.step(2.0, stop=True)
    assert (visited.stopping.ending, idle.stopping.ending) == (Ending.FINISHED, Ending.STOPPED)


def test_the_status_page_outlives_the_crawl() -> None:
    case = Case(outlives=True)
    case.engine.limit_reached = True
    assert not case.step(0.0)
    assert not case.mode.over
    case.finish()
    assert not case.step(1.0)
    assert case.mode.over
    assert case.step(2.0, stop=True)


def test_outputs_wait_for_room_on_the_disk() -> None:
    case = Case()
    case.step(0.0)
    case.finish()
    case.mode.disk_pause.begin(OSError(errno.ENOSPC, "full"), 1.0)
    assert not case.step(1.0)
    assert case.stopping.deadline == inf
    assert case.step(1.0 + ROOM_WAIT)


def test_its_deadline_is_when_the_crawl_may_end() -> None:
    case = Case(limit_at=5.0)
    case.step(1.0)
    assert case.stopping.deadline == 5.0
    case.step(2.0, stop=True)
    assert case.stopping.deadline == 2.0 + GRACE
    case.engine.idle = True
    case.step(3.0, stop=True)
    assert case.stopping.deadline == inf


def test_the_end_waits_for_the_process_that_takes_the_pages() -> None:
    case = Case()
    case.feeder.done = False
    assert not case.step(1.0)
    assert case.feeder.finishing == 0
    case.finish()
    assert not case.step(2.0)
    assert case.mode.settling and not case.mode.over
    # It says itself when it has news.
    assert case.stopping.deadline == inf
    assert not case.step(1000.0)
    case.feeder.done = True
    assert case.step(1001.0)
    assert case.mode.over and not case.mode.settling
    assert case.stopping.ending is Ending.FINISHED


def test_a_stop_waits_for_that_process_within_the_grace_of_the_transfers() -> None:
    case = Case()
    case.feeder.done = False
    assert not case.step(100.0, stop=True)
    case.engine.idle = True
    assert not case.step(104.0, stop=True)
    assert case.stopping.deadline == 100.0 + GRACE
    assert not case.step(109.9, stop=True)
    assert case.step(110.0, stop=True)
    assert case.stopping.ending is Ending.STOPPED


def test_a_stop_of_a_crawl_that_waits_for_that_process_alone() -> None:
    case = Case()
    case.feeder.done = False
    assert not case.step(1.0)
    case.finish()
    assert not case.step(2.0)
    assert not case.step(500.0, stop=True)
    case.feeder.done = True
    assert case.step(501.0, stop=True)
    assert case.stopping.ending is Ending.FINISHED


NO_NAME = Counter({Outcome.NO_DNS: 2})
BAD_TLS = Counter({Outcome.BAD_TLS: 1})


@pytest.mark.parametrize(
    ("outcomes", "proxy", "environ", "said"),
    [
        (NO_NAME, None, {"http_proxy": "http://p:3128"}, "not used: http_proxy of the environment"),
        (NO_NAME, None, {"HTTPS_PROXY": "p", "a": "b"}, "not used: HTTPS_PROXY of the environment"),
        (NO_NAME, None, {"http_proxy": ""}, ""),
        (NO_NAME, None, {"no_proxy": "x"}, ""),
        (NO_NAME, ("p", 3128), {"http_proxy": "http://p:3128"}, ""),
        (Counter({Outcome.ERR_40X: 1}), None, {"http_proxy": "http://p:3128"}, ""),
        (BAD_TLS, None, {"SSL_CERT_FILE": "ca.pem"}, "not used: SSL_CERT_FILE of the environment"),
        (BAD_TLS, None, {"http_proxy": "p", "SSL_CERT_DIR": ""}, ""),
        (NO_NAME, None, {"REQUESTS_CA_BUNDLE": "ca.pem"}, ""),
    ],
)
def test_what_the_environment_names_is_told_where_it_explains_a_failure(
    outcomes: Counter[Outcome], proxy: Any, environ: dict[str, str], said: str
) -> None:
    found = unused_variables(outcomes, Config(proxy=proxy), environ)
    assert found.partition(";")[0] == said


class Hook(BaseHTTPRequestHandler):
    """A web hook that refuses /no."""

    taken: ClassVar[list[bytes]] = []

    def do_POST(self) -> None:
        self.taken.append(self.rfile.read(int(self.headers["Content-Length"])))
        self.send_response(404 if self.path == "/no" else 204)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


def test_a_web_hook_gets_the_report() -> None:
    with HTTPServer(("127.0.0.1", 0), Hook) as server:
        address = f"http://127.0.0.1:{server.server_address[1]}"
        with ThreadPoolExecutor() as pool:
            for path, fault in (("/yes", ""), ("/no", "status 404")):
                answered = pool.submit(server.handle_request)
                assert notify(address + path, {"pages": 2}, None) == fault
                answered.result()
    assert [json.loads(body) for body in Hook.taken] == [{"pages": 2}] * 2
    assert "refused" in notify(address, {}, None)


def test_a_web_hook_that_is_no_web_server_is_told() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, ThreadPoolExecutor() as pool:

        def answer() -> None:
            peer, _ = server.accept()
            with peer:
                peer.recv(1 << 16)
                peer.sendall(b"SSH-2.0-OpenSSH_9.2\r\n")

        answered = pool.submit(answer)
        port = server.getsockname()[1]
        fault = notify(f"http://127.0.0.1:{port}/", {}, None)
        answered.result()
    assert fault == "no answer of a web server (BadStatusLine)"


def test_a_database_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    file = tmp_path / "told"
    assert notify(f"cat > {file}", {"started": "2026-01-01"}, str(tmp_path / "none.db")) == ""
    told = json.loads(file.read_text())
    assert told["changes"] is None and "none.db" in told["database_error"]
