"""A hostile web: host -> its replies, and the expected outcome of each URL.

One crawl visits all hosts, so no host may keep the others from being crawled.
"""

import gzip
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from random import Random

from tests.support.crawling import Asked, html, missing, moved, ok
from tests.support.webserver import Act, Endless, Step, Until, reply

#: Settings that limit the effect of hostile hosts (bytes, s, tries).
MAX_SIZE = 500_000
TIMEOUT = 1.5
RETRIES = 1

OK = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"

Page = Iterable[Step] | bytes


def pause(seconds: float) -> Until:
    """Send nothing for `seconds`; other connections continue."""
    end = time.monotonic() + seconds
    return Until(lambda: time.monotonic() >= end)


def drip(data: bytes, every: float) -> Iterator[Step]:
    for byte in data:
        yield bytes((byte,))
        yield pause(every)


@dataclass
class Host:
    """`pages`: path -> bytes, steps, or a function for them. `ends`: path -> outcome."""

    pages: Mapping[str, Page | Callable[[], Page]]
    ends: dict[str, str] = field(default_factory=dict)
    #: Paths where the crawl begins.
    seeds: tuple[str, ...] = ("/",)

    def answer(self, path: str) -> Iterable[Step]:
        page = self.pages.get(path, missing)
        page = page() if callable(page) else page
        return [page] if isinstance(page, bytes) else page


def _alone(*steps: Step, outcome: str) -> Host:
    """A host with one page, sent by `steps`."""
    return Host({"/": steps}, {"/": outcome})


BOMB = gzip.compress(bytes(64 << 20))
CONTROLS = "".join(map(chr, (*range(0x20), *range(0x7F, 0xA0), 0x202E, 0x2066)))

BODIES = {
    "endless": _alone(OK + b"\r\n", Endless(b'<a href="/x">x</a> ' * 1000), outcome="tooBig"),
    "endless-chunks": _alone(CHUNKED, Endless(b"5\r\n<a b=\r\n" * 1000), outcome="tooBig"),
    "bomb": _alone(ok(BOMB, "text/html", "Content-Encoding: gzip"), outcome="tooBig"),
    "bombs": _alone(
        ok(gzip.compress(BOMB), "text/html", "Content-Encoding: gzip, gzip"), outcome="tooBig"
    ),
    "flood": _alone(OK, Endless(b"Set-Cookie: a=b\r\n" * 1000), outcome="tooBig"),
    "long-header": _alone(OK + b"X: ", Endless(b"y" * 10_000), outcome="tooBig"),
    "interim": _alone(Endless(b"HTTP/1.1 103 Early Hints\r\n\r\n" * 100), outcome="tooBig"),
    "drip": Host({"/": lambda: [OK + b"\r\n", *drip(b"x" * 100, 0.1)]}, {"/": "timeout"}),
    "drip-head": Host({"/": lambda: drip(OK * 9, 0.1)}, {"/": "timeout"}),
    "silent": _alone(Act.HANG, outcome="timeout"),
    "cut": _alone(CHUNKED + b"5\r\nhe", Act.CLOSE, outcome="success"),
    "reset": _alone(OK, Act.RESET, outcome="earlyStop"),
    "longer": _alone(OK + b"Content-Length: 3\r\n\r\n<p>longer", Act.CLOSE, outcome="success"),
    "shorter": _alone(OK + b"Content-Length: 900\r\n\r\n<p>", Act.CLOSE, outcome="success"),
    "huge": _alone(
        OK + b"Content-Length: 99999999999999999999\r\n\r\n<p>", Act.CLOSE, outcome="success"
    ),
    "negative": _alone(OK + b"Content-Length: -1\r\n\r\n<p>", Act.CLOSE, outcome="success"),
    # A reply without a head is HTTP/0.9.
    "not-http": _alone(b"SSH-2.0-OpenSSH_9.2p1\r\n", Act.CLOSE, outcome="noConnection"),
}

# The robots.txt of a host may also be a drip of headers or body.
ROBOTS = {
    "robots-endless": Host(
        {"/robots.txt": [OK + b"\r\n", Endless(b"Disallow: /x\n" * 999)], "/": html()},
        {"/": "success"},
    ),
    "robots-bomb": Host(
        {"/robots.txt": ok(BOMB, "text/plain", "Content-Encoding: gzip"), "/": html()},
        {"/": "success"},
    ),
    "robots-loop": Host({"/robots.txt": moved("/robots.txt"), "/": html()}, {"/": "success"}),
    "robots-file": Host(
        {"/robots.txt": moved("file:///etc/passwd"), "/": html()}, {"/": "success"}
    ),
    "robots-slow": Host(
        {"/robots.txt": lambda: drip(OK * 9, 0.1), "/": html()}, {"/": "forbiddenRobots"}
    ),
}

_EVIL_TARGETS = {
    "/file": "file:///etc/passwd",
    "/ftp": "ftp://ftp.test/",
    "/script": "javascript:alert(1)",
    "/data": "data:text/html,x",
    "/gopher": "gopher://127.0.0.1:6379/_FLUSHALL",
    "/smtp": "http://127.0.0.1:25/",
    "/redis": "http://127.0.0.1:6379/",
    "/long": "/" + "x" * 100_000,
    "/nothing": "",
    "/controls": "/\x1b[31m\x07",
}
REDIRECTS = {
    "loop": Host(
        {"/": moved("/a"), "/a": moved("/b"), "/b": moved("/")},
        {"/": "err30X", "/a": "err30X", "/b": "err30X"},
    ),
    "self": Host({"/": moved("/")}, {"/": "err30X"}),
    "chain": Host(
        {"/": moved("/1")} | {f"/{n}": moved(f"/{n + 1}") for n in range(1, 50)},
        dict.fromkeys(("/", *(f"/{n}" for n in range(1, 11))), "err30X"),
    ),
    "redirects": Host(
        {"/": html(*_EVIL_TARGETS)} | {path: moved(to) for path, to in _EVIL_TARGETS.items()},
        {"/": "success"} | dict.fromkeys(_EVIL_TARGETS, "err30X"),
    ),
}

#: Links that try to leave the mirror's folder; all lead to pages.
_DOTS = [
    *("/../../../../../../tmp/evil", "/%2e%2e/%2e%2e/%2E%2E/evil", "/..%2f..%2f..%2fevil"),
    *("/..\\..\\..\\evil", "/..%5c..%5cevil", "/a%00b", "/%00", "//", "///etc/passwd", "/~root"),
    *("/.larbinpy-names", "/.larbinpy-part", "/./.", "/a/../..", "/%2e", "/a//b", "/-rf"),
    *("/" + "n" * 300, "/" + "d/" * 40, "/CON", "/aux.html", "/a:b", "/x?../../../evil"),
]
PATHS = {
    "dots": Host({"/": html(*_DOTS)}, {"/": "success"}),
    "named": Host(
        {
            "/": ok(b"<a href='/go'>x</a>", "text/html", "Content-Disposition: a; filename=../e"),
            "/go": moved("/.wgetrc"),
            "/.wgetrc": ok(b"evil", "text/html", "Content-Location: ../../evil"),
        },
        {"/": "success", "/go": "err30X", "/.wgetrc": "success"},
    ),
}

LINKS = {
    "many": Host(
        {
            "/robots.txt": ok(b"User-agent: *\nDisallow: /no/\n", "text/plain"),
            "/": html(*(f"/no/{n}" for n in range(10_000))),
        },
        {"/": "success"} | {f"/no/{n}": "fastRobots" for n in range(10_000)},
    ),
    "long": Host(
        {"/": html("/" + "x" * 100_000, "http://" + "h" * 100_000 + "/", "/fine"), "/fine": html()},
        {"/": "success", "/fine": "success"},
    ),
    "split": Host(
        {
            "/": html(
                *("/a\r\nX-Evil: 1", "/b&#13;&#10;X-Evil: 2", "/c%0d%0aX-Evil: 3", "/d\0e"),
                *("/e HTTP/1.1%0AX-Evil: 4", "/f?%0d%0a%0d%0aGET /evil", f"/g{CONTROLS}h"),
                *("http://split.test%0d%0aX-Evil:5/", "http://x\x1b[31m.test/", "http://a\u202eb/"),
            )
        },
        {"/": "success"},
    ),
    "schemes": Host(
        {"/": html(*_EVIL_TARGETS.values(), "mailto:a@b.test", "http://[::1", "http://%zz/")},
        {"/": "success"},
    ),
    "shout": Host(
        {
            "/": reply(
                f'<title>{CONTROLS}</title><a href="/{CONTROLS}">{CONTROLS}</a>'.encode(),
                "Content-Type: text/html; x=\x1b[31m\x9b",
                "X-Shout: \x1b]0;evil\x07",
                status="200 \x1b[31mRED\x9b",
            )
        },
        {"/": "success"},
    ),
}

_RANDOM = Random(7)
NO_HTML = {
    "noise": Host({"/": ok(_RANDOM.randbytes(100_000))}, {"/": "success"}),
    "nul": Host({"/": ok(bytes(50_000) + b"<a href='/found'>", "TEXT/HTML")}, {"/": "success"}),
    "deep": Host({"/": ok(b"<div>" * 30_000 + b"<a href=/in>")}, {"/": "success"}),
    "open": Host({"/": ok(b"<a " * 60_000)}, {"/": "success"}),
    "attributes": Host(
        {"/": ok(b"<a " + b" ".join(b"a%d=x" % n for n in range(15_000)) + b" href=/x>")},
        {"/": "success"},
    ),
    "styles": Host({"/": ok(b"<style>" + b"url((" * 30_000)}, {"/": "success"}),
    "srcset": Host({"/": ok(b'<img srcset="' + b",( " * 50_000)}, {"/": "success"}),
    "utf7": Host({"/": ok(b"+ADw-a href=/evil+AD4-", "text/html; charset=utf-7")}),
    "charset": Host({"/": ok(b"<p>", "text/html; charset=\x1b" + "x" * 9000)}, {"/": "success"}),
    "laughs": Host(
        {
            "/": ok(
                b'<?xml version="1.0"?><!DOCTYPE u [<!ENTITY a "ha">'
                + b"".join(b'<!ENTITY %c "%s">' % (c + 1, b"&%c;" % c * 10) for c in range(97, 110))
                + b'<!ENTITY f SYSTEM "file:///etc/passwd">]>'
                b"<urlset><url><loc>/&f;&n;</loc></url></urlset>",
                "application/xml",
            )
        },
    ),
}

HOSTS: dict[str, Host] = {
    f"{name}.test": host
    for group in (BODIES, ROBOTS, REDIRECTS, PATHS, LINKS, NO_HTML)
    for name, host in group.items()
}
#: dots.test sends a page for every path.
_ANY_PATH = {"dots.test", "split.test", "shout.test"}


def answer(asked: Asked) -> Iterable[Step]:
    """The reply of the hostile web."""
    host = HOSTS[asked.host]
    if asked.host in _ANY_PATH and asked.path not in ("/", "/robots.txt"):
        return [html(text="caught")]
    return host.answer(asked.path)
