"""A crawl with a browser, in a network of its own, of pages that try every way out of it.

``python -m tests.support.waysweb FOLDER`` runs as root in new network and mount namespaces, and
prints what `Watched` has, as JSON. The servers have addresses that count as public there, so that
the crawl has no need of allowPrivate. `tests/render/waysout/ways.js` has the ways.
"""

import json
import re
import socket
import ssl
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from urllib.parse import quote, unquote, urlsplit

from larbinpy.loop.poller import READ
from tests.support.certificates import self_signed
from tests.support.checkout import ROOT
from tests.support.crawling import Answer, Asked, World, moved, ok
from tests.support.webserver import Step, reply

FOLDER = ROOT / "tests" / "render" / "waysout"
SITE, SECOND, OUTSIDE = "ways.example", "second.ways.example", "outside.example"
PRIVATE = "private.example"
#: Global addresses, which exist in the namespace alone.
PUBLIC, OTHER = "45.90.4.1", "45.90.4.2"
INSIDE = "10.9.8.7"
#: Seconds: waitDuration and renderWait.
WAIT, PART_WAIT = 0.12, 0.04
ROBOTS = b"User-agent: *\nDisallow: /forbidden/\n"


def ways(kind: str = "WAYS") -> list[str]:
    """The names of the ways: `WAYS`, or `MOVES`, of which a page survives only one."""
    text = (FOLDER / "ways.js").read_text()
    table = re.search(rf"const {kind} = \{{\n(.*?)\n\}};", text, re.DOTALL)
    assert table is not None
    return re.findall(r'^  "([a-z0-9-]+)":', table[1], re.MULTILINE)


@dataclass(frozen=True)
class Seen:
    """A request to the servers, and when it came, in seconds. All are answered at once."""

    at: float
    address: str
    host: str
    path: str


@dataclass
class Watched:
    """All that went over the network of the namespace."""

    requests: list[Seen] = field(default_factory=list)
    #: Connections and packets to others, the probe's among them, than the
    #: servers, as "protocol address:port".
    strangers: list[str] = field(default_factory=list)
    #: Connections to each server: those that it accepted.
    accepted: dict[str, int] = field(default_factory=dict)
    fates: list[dict[str, object]] = field(default_factory=list)
    code: int | None = None
    said: str = ""


#: Is spoken to before the crawl: what sees this sees all.
PROBED = ("udp", "45.90.4.3", 9)


class Sniffer:
    """Notes who is spoken to over loopback."""

    def __init__(self) -> None:
        self.socket = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(3))
        self.socket.bind(("lo", 3))
        self.socket.setblocking(False)
        self.targets: set[tuple[str, str, int]] = set()

    def read(self, _fd: int, _events: int) -> None:
        while True:
            try:
                packet, (_, _, direction, *_) = self.socket.recvfrom(1 << 16)
            except BlockingIOError:
                return
            if direction == socket.PACKET_OUTGOING:
                self._note(packet)

    def _note(self, packet: bytes) -> None:
        six = packet[0] >> 4 == 6
        kind = packet[6] if six else packet[9]
        start = 40 if six else (packet[0] & 15) * 4
        to = packet[24:40] if six else packet[16:20]
        address = socket.inet_ntop(socket.AF_INET6 if six else socket.AF_INET, to)
        port = int.from_bytes(packet[start + 2 : start + 4])
        if kind == socket.IPPROTO_UDP:
            self.targets.add(("udp", address, port))
        elif kind == socket.IPPROTO_TCP and packet[start + 13] & 0x12 == 2:
            self.targets.add(("tcp", address, port))


class WaysWeb:
    """The servers, and the crawl."""

    def __init__(self, folder: Path) -> None:
        self.watched = Watched()
        self.world = World(folder)
        self.sniffer = Sniffer()
        self.world.poller.register(self.sniffer.socket.fileno(), READ, self.sniffer.read)
        zone = self.world.names.zone
        zone[SITE], zone[SECOND] = [PUBLIC], [PUBLIC]
        zone[OUTSIDE], zone[PRIVATE] = [OTHER], [INSIDE]
        # A page with TLS may use all that a browser has.
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(*self_signed(folder, SITE))
        self.web = self.world.web(self._from(PUBLIC), host=PUBLIC, tls=tls)
        self.port = self.web.port
        addresses = (OTHER, INSIDE, "127.0.0.1", "::1")
        self.others = [
            self.world.web(self._from(address), host=address, port=self.port, tls=tls)
            for address in addresses
        ]
        self.addresses = (PUBLIC, *addresses)

    def run(self, *options: str) -> Watched:
        world, (host, port) = self.world, self.world.names.address
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            probe.sendto(b"x", PROBED[1:])
        lines = [
            f"From t@example.com UserAgent larbinpy dnsServer {host}:{port} dnsTimeout 0.5",
            f"waitDuration {WAIT} renderWait {PART_WAIT} maxWait 0 retryWait 0.1 depthInSite 1",
            "getCGI limitTime 3 timeoutPage 10 outputMode none insecureTLS render ** renderTime 2s",
            f"reject https://{OUTSIDE}:{self.port}/** reject https://{OUTSIDE}/**",
            f"startUrl https://{SITE}:{self.port}/",
        ]
        (world.folder / "larbin.conf").write_text("\n".join(lines) + "\n")
        crawler = world.crawl(*options)
        self.watched.code = world.finish(crawler, patience=200)
        # What is still on its way arrives.
        until = time.monotonic() + 0.5
        world.until(lambda: time.monotonic() > until)
        self.watched.said = crawler.out + crawler.err
        self.watched.fates = world.fates
        servers = [self.web, *self.others]
        for address, server in zip(self.addresses, servers, strict=True):
            self.watched.accepted[address] = server.accepted
        known = {("udp", host, port), ("tcp", PUBLIC, self.port)}
        # Answers of the name server go to ports that the resolver chose.
        strangers = {
            (kind, to, at)
            for kind, to, at in self.sniffer.targets - known
            if not (kind == "udp" and to == host and at >= 32768)
        }
        self.watched.strangers = sorted(f"{kind} {to}:{at}" for kind, to, at in strangers)
        return self.watched

    def close(self) -> None:
        self.sniffer.socket.close()
        self.world.close()

    def _from(self, address: str) -> Answer:
        def answer(asked: Asked) -> Iterator[Step]:
            # Before the reply: on a busy machine it is gone long before this goes on.
            seen = Seen(time.monotonic(), address, asked.host, asked.path)
            self.watched.requests.append(seen)
            yield self._reply(asked)

        return answer

    def _reply(self, asked: Asked) -> bytes:
        url = urlsplit(asked.path)
        page = _PAGES.get(url.path.split("/")[1])
        if url.path == "/robots.txt":
            return ok(ROBOTS, "text/plain")
        if url.path == "/ways.js":
            return ok((FOLDER / "ways.js").read_bytes(), "text/javascript")
        if url.path == "/":
            return _document("".join(f'<a href="{path}">{path}</a>' for path in self._paths()))
        if page is not None:
            return page(self, url.path, unquote(url.query))
        return ok(b"/* a reply */", "text/javascript")

    def _paths(self) -> list[str]:
        to = self.targets()
        parts = [f"/some/{part}" for part in range(PARTS)]
        moves = [f"/move/{name}?{MOVES_TO[n % 2]}" for n, name in enumerate(ways("MOVES"))]
        replies = [f"/{page}?{quote(to[kind] + page)}" for page in REPLIES for kind in MOVES_TO]
        return [*parts, "/private", *moves, *replies]

    def targets(self) -> dict[str, str]:
        at = f":{self.port}/"
        return {
            "allowed": f"https://{SITE}{at}allowed/",
            "forbidden": f"https://{SITE}{at}forbidden/",
            "outside": f"https://{OUTSIDE}{at}",
            "private": f"https://{PRIVATE}{at}",
        }

    def private(self) -> dict[str, str]:
        """Spellings of addresses that are not public; the last ones lead there by a name."""
        hosts = ("127.0.0.1", "2130706433", "0x7f.1", "0177.0.0.1", "127.1", "0", "[::1]")
        mapped = ("[::ffff:127.0.0.1]", "[::ffff:a09:807]", INSIDE, "169.254.169.254")
        names = ("localhost", "a.localhost", "%6c%6fcalhost", PRIVATE)
        return {name: f"https://{name}:{self.port}/private/" for name in (*hosts, *mapped, *names)}


#: The pages among which the ways are dealt.
PARTS = 6
#: Kinds of targets of the pages that go away.
MOVES_TO = ("forbidden", "private")
#: Pages whose headers name addresses.
REPLIES = ("linked", "reports", "nel", "refresh", "xml")
#: The ways that try each spelling of a private address.
TO_PRIVATE = ("fetch", "image", "script", "iframe", "websocket", "worker-fetch", "redirect-fetch")


def _document(body: str, *headers: str) -> bytes:
    text = f'<!DOCTYPE html><meta charset="utf-8"><title>t</title><body>{body}</body>'
    return ok(text.encode(), "text/html", *headers)


def _tries(code: str, targets: dict[str, str]) -> bytes:
    return _document(
        f"""<script type="module">
        import {{ WAYS, MOVES, tryAll }} from "/ways.js";
        const only = (table, names) => Object.fromEntries(names.map((name) => [name, table[name]]));
        await tryAll({code}, {json.dumps(targets)});
        document.body.insertAdjacentHTML("beforeend", "<p>All tried.</p>");
        </script>"""
    )


_PAGES: dict[str, Callable[["WaysWeb", str, str], bytes]] = {
    "some": lambda web, path, _query: _tries(
        f"only(WAYS, {json.dumps(ways()[int(path.split('/')[2]) :: PARTS])})", web.targets()
    ),
    "private": lambda web, _path, _query: _tries(
        f"only(WAYS, {json.dumps(TO_PRIVATE)})", web.private()
    ),
    "move": lambda web, path, query: _tries(
        f"only(MOVES, {json.dumps([path.split('/')[2]])})", {query: web.targets()[query]}
    ),
    "to": lambda _web, _path, query: moved(query),
    "to307": lambda _web, _path, query: moved(query, "307 Temporary Redirect"),
    "refresh": lambda _web, _path, query: _document("x", f"Refresh: 0; url={query}"),
    "linked": lambda _web, _path, query: _document(
        "x", f"Link: <{query}>; rel=preload; as=script, <{query}>; rel=preconnect"
    ),
    "reports": lambda _web, _path, query: _document(
        '<img src="/x.png"><script>document.write(1)</script>',
        f"Content-Security-Policy: default-src 'none'; report-uri {query}; report-to e",
        f'Reporting-Endpoints: e="{query}", default="{query}"',
    ),
    "nel": lambda _web, _path, query: _document(
        "x",
        f'Report-To: {{"group":"n","max_age":9,"endpoints":[{{"url":"{query}"}}]}}',
        'NEL: {"report_to":"n","max_age":9,"success_fraction":1.0}',
    ),
    "xml": lambda _web, _path, query: ok(
        f'<?xml version="1.0"?><?xml-stylesheet type="text/xsl" href="{query}"?><a/>'.encode(),
        "text/xml",
    ),
    "frame": lambda _web, _path, query: _document(
        f'<img src="{query}"><script>fetch("{query}"); new WebSocket("wss://{OUTSIDE}")</script>'
    ),
    "service.js": lambda _web, _path, query: ok(
        f'addEventListener("install", (e) => e.waitUntil(fetch("{query}")));'
        f'addEventListener("fetch", (e) => e.respondWith(fetch("{query}")));'.encode(),
        "text/javascript",
    ),
    "download": lambda _web, _path, _query: reply(
        b"x", "Content-Type: application/zip", "Content-Disposition: attachment; filename=x.zip"
    ),
}


def _own_network(folder: Path) -> None:
    """Addresses for the servers, and a name server that the browser would ask."""
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    for address in (PUBLIC, OTHER, INSIDE, "169.254.169.254"):
        subprocess.run(["ip", "address", "add", f"{address}/32", "dev", "lo"], check=True)
    # All else would go over loopback, too, so that it is seen.
    subprocess.run(["ip", "route", "add", "local", "default", "dev", "lo"], check=True)
    resolv = folder / "resolv.conf"
    resolv.write_text("nameserver 127.0.0.53\n")
    subprocess.run(["mount", "--bind", str(resolv), "/etc/resolv.conf"], check=True)


def main() -> None:
    folder = Path(sys.argv[1])
    _own_network(folder)
    web = WaysWeb(folder)
    try:
        print(json.dumps(asdict(web.run(*sys.argv[2:]))))
    finally:
        web.close()


if __name__ == "__main__":
    main()
