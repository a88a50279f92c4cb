"""Name servers for the experiments: nsd for speed, `slowserver` for delays and silence."""

import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import dns.exception
import dns.message
import dns.query

from experiments import names
from experiments.runs import PYTHON, SERVER, in_background, serving

_CONF = """\
server:
  ip-address: 127.0.0.1@{port}
  server-count: 1
  username: ""
  zonesdir: "{folder}"
  database: ""
  pidfile: "{folder}/nsd.pid"
  xfrdfile: "{folder}/xfrd.state"
  zonelistfile: "{folder}/zone.list"
  logfile: "{folder}/nsd.log"
  minimal-responses: yes
  refuse-any: yes
  rrl-ratelimit: 0
remote-control:
  control-enable: no
zone:
  name: bench
  zonefile: bench.zone
"""

# nsd reads a million names in some seconds.
_LONGEST_START = 120.0


@contextmanager
def nsd(hosts: int) -> Iterator[int]:
    """Run nsd with one serving process and the first `hosts` hosts; gives its port."""
    with TemporaryDirectory(prefix="nsd-") as name:
        folder, port = Path(name), _free_port()
        names.write_zone(folder / "bench.zone", hosts)
        (folder / "nsd.conf").write_text(_CONF.format(port=port, folder=folder))
        with in_background(["/usr/sbin/nsd", "-d", "-c", folder / "nsd.conf"], SERVER):
            _await_answer(port)
            yield port


@contextmanager
def slow_server(*, delays: bool, port: int = 0) -> Iterator[int]:
    """Run `slowserver` in its own process; gives its port."""
    command = [PYTHON, "-m", "experiments.slowserver", str(port)]
    with serving([*command, "--delays"] if delays else command) as (line, _):
        yield int(line)


def _free_port() -> int:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp:
        udp.bind(("127.0.0.1", 0))
        return int(udp.getsockname()[1])


def _await_answer(port: int) -> None:
    query = dns.message.make_query("ns.bench.", "A")
    end = time.monotonic() + _LONGEST_START
    while time.monotonic() < end:
        try:
            dns.query.udp(query, "127.0.0.1", timeout=0.5, port=port)
        except (dns.exception.Timeout, OSError):
            time.sleep(0.1)
        else:
            return
    raise RuntimeError(f"nsd does not answer at port {port}")
