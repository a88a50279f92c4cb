"""nginx on loopback with the web of the benchmarks, and its counts of requests."""

import getpass
import os
import re
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.request import urlopen

from experiments.nginx import running, temporary_paths

from benchmarks.web import DOMAIN, PORT, TLS_PORT

_STATUS_PORT = 18503
#: More than any program opens.
_CONNECTIONS = 16384
_CONF = """\
daemon off; pid {folder}/pid; error_log {folder}/error.log crit; {user}
worker_processes 2; worker_rlimit_nofile {files};
events {{ worker_connections {connections}; }}
http {{
    include /etc/nginx/mime.types; charset utf-8; {temporary}
    access_log off; sendfile on; tcp_nopush on; server_tokens off;
    keepalive_requests 1000000; keepalive_timeout 60s;
    open_file_cache max=8192 inactive=60s; open_file_cache_valid 600s;
    log_format line "$host $request_uri $status";
    map $status $lost {{ 200 0; 304 0; default 1; }}
    server {{
        listen {port} backlog=8192; {tls}
        allow 127.0.0.0/8; deny all;
        root {root}/$host;
        access_log {folder}/lost line if=$lost;
        location /closed/ {{ return 404; }}
    }}
    server {{
        listen 127.0.0.1:{status_port}; keepalive_timeout 0;
        location / {{ stub_status; }}
    }}
}}
"""
_TLS = """
        listen {port} ssl backlog=8192; ssl_certificate {folder}/bench.pem;
        ssl_certificate_key {folder}/bench.key; ssl_session_cache shared:bench:4m;"""
_REQUESTS = re.compile(r"^ *\d+ +\d+ +(\d+) *$", re.MULTILINE)


@dataclass(frozen=True)
class Nginx:
    """A running server."""

    folder: Path

    @property
    def certificate(self) -> Path:
        """Its self-signed certificate."""
        return self.folder / "bench.pem"

    def requests(self) -> int:
        """Requests answered so far."""
        with urlopen(f"http://127.0.0.1:{_STATUS_PORT}/") as reply:
            found = _REQUESTS.search(reply.read().decode())
        assert found is not None
        return int(found[1])

    def take_lost(self) -> list[str]:
        """Requests since the last call for missing URLs or URLs disallowed by robots.txt."""
        log = self.folder / "lost"
        with suppress(FileNotFoundError):
            lines = log.read_text(errors="replace").splitlines()
            os.truncate(log, 0)
            return lines
        return []


@contextmanager
def nginx(root: Path, folder: Path) -> Iterator[Nginx]:
    """Serve the hosts below `root`; `folder` is for the server's own files.

    The server runs as the calling user, because other users may not be able to read the files.
    """
    _check_ports()
    _make_certificate(folder)
    user = f"user {getpass.getuser()};" if os.geteuid() == 0 else ""
    text = _CONF.format(
        folder=folder,
        user=user,
        files=2 * _CONNECTIONS,
        connections=_CONNECTIONS,
        temporary=temporary_paths(folder),
        port=PORT,
        tls=_TLS.format(port=TLS_PORT, folder=folder),
        root=root,
        status_port=_STATUS_PORT,
    )
    with running(text, folder, _STATUS_PORT):
        yield Nginx(folder)


def _check_ports() -> None:
    """Raise RuntimeError if another server, perhaps of another benchmark, uses the ports."""
    for port in (PORT, TLS_PORT, _STATUS_PORT):
        try:
            socket.create_server(("", port)).close()
        except OSError as error:
            reason = f"port {port}: {error.strerror}; is another benchmark running?"
            raise RuntimeError(reason) from None


def _make_certificate(folder: Path) -> None:
    """Make a certificate for all names of the web, with an ECDSA key as on most sites."""
    names = f"subjectAltName=DNS:*.{DOMAIN},DNS:{DOMAIN}"
    kind = ["-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    files = ["-keyout", f"{folder}/bench.key", "-out", f"{folder}/bench.pem", "-days", "30"]
    command = ["openssl", "req", *kind, *files, "-subj", f"/CN=*.{DOMAIN}", "-addext", names]
    subprocess.run(command, check=True, capture_output=True)
