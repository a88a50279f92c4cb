"""A web of known pages whose words and links scripts make, served by a process of its own.

``python -m tests.support.scriptweb PAGES`` prints its port as JSON, and ends with its standard
input. Page n has its words in ``/words/n.json``; it links to 10 n + 1 ... 10 n + 10.
"""

import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from tests.support.checkout import ROOT

_SCRIPT = b"""
const number = Number(location.pathname.slice(1));
const reply = await fetch(`/words/${number}.json`);
const { words, links } = await reply.json();
const list = document.createElement("ul");
const item = (link) => `<li><a href="/${link}">${link}</a>`;
for (const link of links) list.insertAdjacentHTML("beforeend", item(link));
document.body.append(words, list);
for (let n = 0; n < 200; n++) document.body.append(document.createElement("p"));
"""
_DOCUMENT = b"""<!DOCTYPE html><meta charset="utf-8"><title>t</title><body>
<script type="module" src="/script.js"></script>"""


def words(number: int) -> str:
    return f"These are the words of page {number}."


def links(number: int, pages: int) -> list[int]:
    return [link for link in range(10 * number + 1, 10 * number + 11) if link < pages]


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    pages = 0

    def handle(self) -> None:
        # Crawls that are killed reset their connections.
        with suppress(ConnectionError):
            super().handle()

    def do_GET(self) -> None:
        name = self.path.rpartition("/")[2].partition(".")[0]
        if self.path == "/script.js":
            self._reply(_SCRIPT, "text/javascript", "max-age=3600")
        elif self.path.startswith("/words/"):
            number = int(name)
            said = {"words": words(number), "links": links(number, self.pages)}
            self._reply(json.dumps(said).encode(), "application/json", "no-store")
        elif name.isdigit() and int(name) < self.pages:
            self._reply(_DOCUMENT, "text/html", "no-store")
        else:
            self.send_response(404)
            self.send_header("Content-Length", "0")
            self.end_headers()

    def _reply(self, body: bytes, kind: str, caching: str) -> None:
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Cache-Control", caching)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Nothing: standard error is for faults."""


@contextmanager
def served(pages: int) -> Iterator[int]:
    """Serve the web meanwhile; gives its port."""
    command = [sys.executable, "-m", "tests.support.scriptweb", str(pages)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(command, cwd=ROOT, **pipes) as process:  # type: ignore[call-overload]
        try:
            yield json.loads(process.stdout.readline())["port"]
        finally:
            process.stdin.close()


def main() -> None:
    _Handler.pages = int(sys.argv[1])
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(json.dumps({"port": server.server_port}), flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
