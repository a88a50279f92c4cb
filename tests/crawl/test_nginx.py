"""The Python documentation, served by a real nginx under twenty addresses of this machine.

With some 550 files a host that takes half a minute; where QUICK is set, nginx has a part of
them only. What must be found there, wget2 says.
"""

import os
import select
import shutil
import subprocess
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import pytest

from larbinpy.config import load
from larbinpy.crawl.crawl import Crawl
from tests.support.ports import free_port

pytestmark = pytest.mark.slow

DOCS = Path("/usr/share/doc/python3-doc/html")
HOSTS = [f"127.1.0.{n}" for n in range(1, 21)]
#: The address that wget2 asks.
OTHER = "127.1.0.21"
#: Seconds; nginx starts in milliseconds.
PATIENCE = 20

_CONF = """\
daemon off;
master_process off;
pid nginx.pid;
error_log stderr notice;
events {{ worker_connections 1000; }}
http {{
  include /etc/nginx/mime.types;
  log_format seen '$msec $request_time $server_addr $status $request_uri';
  access_log access.log seen;
  client_body_temp_path .;
  proxy_temp_path .;
  fastcgi_temp_path .;
  uwsgi_temp_path .;
  scgi_temp_path .;
  keepalive_requests 100000;
  server {{
    {listen}
    root {root};
{part}
  }}
}}
"""

_PART = """\
    location / { return 404; }
    location /c-api/ { }
    location /_static/ { }
    location = / { return 302 /c-api/; }"""


class Seen(NamedTuple):
    """A line of nginx's log: when the request came (s), where, and what of it."""

    began: float
    address: str
    status: int
    path: str


@dataclass
class Nginx:
    folder: Path
    port: int

    def seen(self) -> list[Seen]:
        log = (self.folder / "access.log").read_text()
        lines = (line.split(" ", 4) for line in log.splitlines())
        return [
            Seen(float(at) - float(took), address, int(status), path)
            for at, took, address, status, path in lines
        ]

    def url(self, host: str) -> str:
        return f"http://{host}:{self.port}/"


def _program(name: str) -> str:
    found = shutil.which(name, path=os.environ.get("PATH", "") + ":/usr/sbin")
    if found is None:
        pytest.skip(f"{name} is not installed (scripts/test does that)")
    return found


@pytest.fixture
def nginx(tmp_path: Path) -> Iterator[Nginx]:
    if not (DOCS / "index.html").exists():
        pytest.skip("python3-doc is not installed (scripts/test does that)")
    program = _program("nginx")
    port = free_port()
    listen = "".join(f"listen {host}:{port};" for host in (*HOSTS, OTHER))
    part = _PART if os.environ.get("QUICK") else ""
    folder = tmp_path / "nginx"
    folder.mkdir()
    conf = folder / "nginx.conf"
    conf.write_text(_CONF.format(listen=listen, root=DOCS, part=part))
    process = subprocess.Popen(
        [program, "-e", "stderr", "-p", str(folder), "-c", str(conf)], stderr=subprocess.PIPE
    )
    try:
        _wait_until_it_listens(process)
        yield Nginx(folder, port)
    finally:
        process.terminate()
        process.communicate(timeout=PATIENCE)


def _wait_until_it_listens(process: "subprocess.Popen[bytes]") -> None:
    """nginx opens its sockets, then says which kernel it runs on."""
    assert process.stderr is not None
    said = b""
    while b"OS: " not in said:
        assert select.select([process.stderr], [], [], PATIENCE)[0], said
        data = os.read(process.stderr.fileno(), 4096)
        assert data, said
        said += data


def _crawl(nginx: Nginx, folder: Path, *lines: str) -> Crawl:
    conf = folder / "larbin.conf"
    text = [
        "UserAgent larbinpy allowPrivate lockSite depthInSite 1000 getCGI getImage anyType",
        f"stateDir {folder / 'state'}",
        *(f"startUrl {nginx.url(host)}" for host in HOSTS),
        *lines,
    ]
    conf.write_text("\n".join(text))
    crawl = Crawl(load(str(conf), {}, ()))
    assert crawl.run() == 0
    return crawl


def test_every_page_of_every_host_once(nginx: Nginx, tmp_path: Path) -> None:
    wget2 = _program("wget2")
    command = [wget2, "-q", "-r", "-l", "inf", "-P", str(tmp_path / "wget2"), nginx.url(OTHER)]
    # It exits with 8 because some links lead to a 404.
    assert subprocess.run(command, timeout=60).returncode in (0, 8)
    crawl = _crawl(nginx, tmp_path, "waitDuration 0")
    found: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for seen in nginx.seen():
        if seen.status == 200:
            found[seen.address][seen.path] += 1
    wanted = set(found.pop(OTHER))
    assert len(wanted) > 60
    assert found.keys() == set(HOSTS)
    for host, paths in found.items():
        assert set(paths) == wanted, host
        assert max(paths.values()) == 1, host
    assert crawl.report["success"] == len(wanted) * len(HOSTS)
    assert crawl.report["retries"] == 0


def test_no_address_is_asked_more_than_once_a_second(nginx: Nginx, tmp_path: Path) -> None:
    crawl = _crawl(nginx, tmp_path, "waitDuration 1 limitTime 6s")
    assert crawl.report["stop_reason"] == "limitTime"
    times = defaultdict(list)
    for seen in nginx.seen():
        times[seen.address].append(seen.began)
    assert times.keys() == set(HOSTS)
    for host, began in times.items():
        assert 4 <= len(began) <= 8, host
        # nginx counts milliseconds.
        assert min(b - a for a, b in pairwise(began)) >= 0.998, host
