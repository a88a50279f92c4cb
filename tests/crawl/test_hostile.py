"""Whole crawls of webs that mean harm: each URL has one fate, and nothing else happens."""

import json
import re
import shutil
import signal
import stat
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.crawling import (
    LARBINPY,
    Asked,
    Crawler,
    Web,
    World,
    html,
    missing,
    moved,
    ok,
    one_line,
)
from tests.support.hostileweb import HOSTS, MAX_SIZE, RETRIES, TIMEOUT, answer, pause
from tests.support.smalldisk import small_disk
from tests.support.webserver import Step, Until, reply

pytest_plugins = ["tests.support.crawlworld"]
pytestmark = pytest.mark.slow


class Hostile:
    """One crawl of all of `hostileweb`, and what it left."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.web: Web = world.web(answer, *HOSTS)
        seeds = [self.web.url("/", host=host) for host in HOSTS]
        # Nested, so that what climbs out of it is still in the test's own folder.
        world.out = world.folder / "a" / "b" / "c" / "save"
        world.conf(
            f"maxPageSize {MAX_SIZE} timeoutPage {TIMEOUT} retries {RETRIES}",
            f"outputDir {world.out} getImage anyType printStats debug",
            *(f"startUrl {seed}" for seed in seeds),
        )
        self.crawler: Crawler = world.crawl("--progress", "log")
        self.code = world.finish(self.crawler)
        self.outcomes = world.outcomes()
        self.report = world.reported()

    def ends(self, host: str) -> dict[str, str]:
        """Outcomes of `host`'s URLs by path."""
        prefix = self.web.url("", host=host)
        return {
            url.removeprefix(prefix): outcome
            for url, outcome in self.outcomes.items()
            if url.startswith(prefix + "/")
        }


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hostile]:
    world = World(tmp_path_factory.mktemp("hostile"))
    yield Hostile(world)
    world.close()


def test_it_ends_in_order(hostile: Hostile) -> None:
    assert hostile.code == 0
    assert "Traceback" not in hostile.crawler.err
    assert hostile.report["urls_queued"] == 0
    assert hostile.report["stop_reason"] == "finished"


def test_it_is_bounded(hostile: Hostile) -> None:
    assert hostile.report["peak_rss_bytes"] < 200 << 20
    assert hostile.report["elapsed_s"] < 15
    assert hostile.report["cpu_s"] < 10


@pytest.mark.parametrize("host", HOSTS)
def test_each_url_ends_as_it_must(hostile: Hostile, host: str) -> None:
    ends = hostile.ends(host)
    assert ends
    assert {path: ends.get(path) for path in HOSTS[host].ends} == HOSTS[host].ends


def test_nothing_is_asked_for_ever(hostile: Hostile) -> None:
    """A reply whose headers lie is asked for once more than others fail."""
    often = Counter((asked.host, asked.path) for asked in hostile.web.asked)
    del often["robots-loop.test", "/robots.txt"]
    assert max(often.values()) <= RETRIES + 1


def test_all_files_are_in_the_mirror(hostile: Hostile) -> None:
    """V1, V2: names come from the URL asked for, and stay below outputDir."""
    world = hostile.world
    outside = [
        path.relative_to(world.folder)
        for path in world.folder.rglob("*")
        if path.is_file() and not path.is_relative_to(world.out)
    ]
    own = {"larbin.conf", "report.json"}
    assert {str(path) for path in outside if path.parts[0] != "state"} == own
    pages = world.files()
    assert {path.split("/")[0].partition(":")[0] for path in pages} <= HOSTS.keys()
    assert "dots.test" in {path.partition(":")[0] for path in pages}
    assert not any(path.is_symlink() for path in world.folder.rglob("*"))
    assert (world.out / f"named.test:{hostile.web.port}" / ".wgetrc").read_bytes() == b"evil"
    assert not any("evil" in path for path in pages if path.startswith("named.test"))


def test_no_request_has_lines_of_others(hostile: Hostile) -> None:
    """V7: what a link or a header says stays on the request line, escaped."""
    line = re.compile(rb"GET /[!-~]* HTTP/1\.1")
    names = {"host", "user-agent", "accept", "accept-encoding", "from", "connection"}
    for head in hostile.web.requests:
        assert line.fullmatch(head.split(b"\r\n")[0]), head
        assert head.count(b"\r\n\r\n") == 1
    for asked in hostile.web.asked:
        assert asked.headers.keys() <= names
        assert asked.host in HOSTS
    assert len([a for a in hostile.web.asked if a.host == "split.test"]) == 9


def test_nothing_acts_on_who_reads_it(hostile: Hostile) -> None:
    """V15: no control character and no line of others on the terminal or in the log."""
    log = (hostile.world.state / "crawl.jsonl").read_text()
    for text in (hostile.crawler.out, hostile.crawler.err, log):
        lines = text.split("\n")
        assert [line for line in lines if not line.isprintable()] == []
    for line in hostile.crawler.out.splitlines():
        assert re.fullmatch(r"\[\w+\] http://\S+|", line) or line[:3] in DAYS or " : " in line


DAYS = {"Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"}


def test_no_other_scheme_and_no_bad_port(hostile: Hostile) -> None:
    """V10: what is not http, or speaks to another service, is no link at all."""
    urls = [fate["url"] for fate in hostile.world.fates]
    assert {url.partition("://")[0] for url in urls} == {"http"}
    assert not [url for url in urls if re.search(r":(25|6379)/", url)]


def test_deep_and_odd_markup_is_read(hostile: Hostile) -> None:
    for host, path in {"deep.test": "/in", "nul.test": "/found", "attributes.test": "/x"}.items():
        assert hostile.ends(host)[path] == "err40X"
    assert hostile.ends("utf7.test").keys() == {"/"}
    assert hostile.ends("laughs.test").keys() <= {"/", "/&n;"}


# Secrets and private addresses.


def test_credentials_go_nowhere(world: World) -> None:
    """V5: the login of a seed is for its origin alone, and in one file that only we may read."""

    def pages(asked: Asked) -> list[Step]:
        elsewhere = f"http://u:secret@other.test:{web.port}/landed"
        replies = {
            "/": moved("/here"),
            "/here": reply(b"", f"Location: {elsewhere}", "Set-Cookie: s=secret", status="302 F"),
            "/landed": moved(f"http://other.test:{second.port}/port"),
            "/port": moved(f"https://other.test:{second.port}/tls"),
        }
        return [replies.get(asked.path, missing())]

    web, second = world.web(pages, "first.test", "other.test"), world.web(pages)
    seed = f"http://user:secret@first.test:{web.port}/"
    world.conf("timeoutConnect 1 retries 0 debug")
    crawler = world.run(seed, "--progress", "log")
    assert "Traceback" not in crawler.err
    heads = web.requests + second.requests
    assert second.count("/port") == 1
    for word in (b"secret", b"user:", b"uthorization", b"ookie", b"eferer"):
        assert not any(word in head.partition(b"User-Agent")[2] for head in heads), word
    assert [fate["outcome"] for fate in world.fates][:4] == ["err30X"] * 4
    kept = world.folder / "state" / "logins.json"
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    assert json.loads(kept.read_bytes()) == {f"http://first.test:{web.port}": "user:secret"}
    for path in world.folder.rglob("*"):
        assert path == kept or path.is_dir() or b"secret" not in path.read_bytes(), path
    assert "secret" not in crawler.out + crawler.err


#: V8: spellings of loopback and other private addresses. The first
#: are all 127.0.0.1 or ::1, where the test listens.
_OURS = [
    *("127.0.0.1", "0x7f.1", "2130706433", "127.1", "0177.0.0.1", "localhost", "0", "0.0.0.0"),
    *("[::]", "[::1]", "[::ffff:7f00:1]", "[::ffff:127.0.0.1]", "[64:ff9b::7f00:1]"),
    *("[2002:7f00:1::]", "%31%32%37.0.0.1", "127.0.0.1.", "private.test", "mixed6.test"),
]
_OTHERS = [
    *("[fd00::1]", "[fe80::1]", "100.64.0.1", "169.254.169.254", "192.0.0.8", "198.18.0.1"),
    *("224.0.0.1", "240.0.0.1", "10.0.0.1", "172.16.0.1", "192.168.0.1", "255.255.255.255"),
]
#: An address of this machine that counts as public in this test.
_PUBLIC = "127.0.77.1"
_PERMITTING = f"""
import sys
from larbinpy import Crawl, load
from larbinpy.context import Tuning
from larbinpy.dns import is_public
tuning = Tuning(is_public=lambda address: address == {_PUBLIC!r} or is_public(address))
sys.exit(Crawl(load(None, {{}}, ()), seeds=sys.argv[1:], tuning=tuning).run())
"""


def test_private_addresses_are_not_asked(world: World) -> None:
    """V8, V10: neither seed, link, redirect, sitemap nor robots.txt leads to them."""
    hosts = _OURS + _OTHERS

    def pages(asked: Asked) -> list[Step]:
        kind, _, number = asked.path.strip("/").partition("-")
        if asked.host.startswith("robots"):
            number = asked.host.removeprefix("robots-").removesuffix(".test")
            inside = f"http://{hosts[int(number)]}:{port}/by-robots"
            return [moved(inside) if asked.path == "/robots.txt" else html()]
        if asked.path == "/robots.txt":
            maps = "".join(f"Sitemap: http://{host}:{port}/by-map\n" for host in hosts)
            return [ok(f"User-agent: *\nDisallow:\n{maps}".encode(), "text/plain")]
        if kind == "go":
            return [moved(f"http://{hosts[int(number)]}:{port}/by-redirect")]
        return [
            html(
                *(f"http://{host}:{port}/by-link" for host in hosts),
                *(f"/go-{n}" for n in range(len(hosts))),
                *(f"http://robots-{n}.test:{port}/" for n in range(len(hosts))),
            )
        ]

    web = world.web(pages, host=_PUBLIC)
    port = web.port
    inside = [world.web(lambda asked: [html()], host="127.0.0.1", port=port)]
    inside.append(world.web(lambda asked: [html()], host="::1", port=port))
    names = world.names.zone
    for name in ("public.test", *(f"robots-{n}.test" for n in range(len(hosts)))):
        names[name] = [_PUBLIC]
    names |= {"private.test": ["127.0.0.1"], "mixed6.test": ["::1"]}
    conf = world.conf("waitBy site retries 0").replace("allowPrivate", "")
    (world.folder / "larbin.conf").write_text(conf)
    seeds = [f"http://{host}:{port}/by-seed" for host in hosts]
    command = [sys.executable, "-c", _PERMITTING]
    crawler = world.start(f"http://public.test:{port}/", *seeds, command=command)
    world.finish(crawler)
    seeds = [line for line in crawler.err.splitlines() if "its address is not a public" in line]
    assert len(seeds) == 20 and crawler.err.endswith(
        "more seeds were not fetched; larbinpy log names all\n"
    )
    outcomes = world.outcomes()
    assert sum(server.accepted for server in inside) == 0
    refused = {url for url, outcome in outcomes.items() if outcome == "privateAddress"}
    for way in ("by-seed", "by-link", "by-redirect", "by-map"):
        assert len([url for url in refused if url.endswith(way)]) >= 20, way
    assert {url for url in outcomes if "/by-" in url} == refused
    # A robots.txt at a private address counts as unreachable.
    robots = {outcome for url, outcome in outcomes.items() if url.startswith("http://robots-")}
    assert robots == {"forbiddenRobots"}


# Machines that are full.


@pytest.fixture(name="small_disk")
def _small_disk(world: World) -> Iterator[Path]:
    with small_disk(world.folder / "disk", megabytes=8) as disk:
        yield disk
        world.end_crawlers()


class Library:
    """Fifty books of 200 kB each."""

    def __init__(self, world: World) -> None:
        self.books = {f"/{n}": f"<p>{n}".encode() * (200_000 // 5) for n in range(50)}
        #: A book that is not served yet.
        self.closed = ""
        self.web = world.web(self._answer, "library.test")
        self.site = f"library.test:{self.web.port}"

    def _answer(self, asked: Asked) -> list[Step]:
        if asked.path == "/":
            return [html(*self.books)]
        if asked.path not in self.books:
            return [missing()]
        return [Until(lambda: asked.path != self.closed), ok(self.books[asked.path])]

    def check_files(self, world: World) -> None:
        """All files are whole."""
        for file in world.files() - {f"{self.site}/index.html"}:
            path = file.removeprefix(self.site)
            assert (world.out / file).read_bytes() == self.books[path], file

    def check_all(self, world: World) -> None:
        """All is there, whole, and written down once."""
        wanted = {self.web.url(path) for path in ("/", *self.books)}
        assert world.outcomes() == dict.fromkeys(wanted, "success")
        assert len(world.files()) == len(wanted)
        self.check_files(world)


WAITS = "the crawl waits until there is room"


@pytest.mark.parametrize("pages", ["mirror", "save"])
@pytest.mark.parametrize("full", ["output", "both"])
def test_full_disk(world: World, small_disk: Path, full: str, pages: str) -> None:
    """Nothing is torn, lost or fetched again; with room it goes on by itself."""
    world.out = small_disk / "save"
    if full == "both":
        world.state = small_disk / "state"
    library = Library(world)
    world.conf(
        f"startUrl {library.web.url()} outputMode {pages} pageNoDuplicate",
        f"outputDir {world.out} stateDir {world.state}",
    )
    crawler = world.crawl()
    world.until(lambda: WAITS in crawler.err)
    assert "No space left" in crawler.err
    asked = len(library.web.asked)
    subprocess.run(["mount", "-o", "remount,size=30m", small_disk], check=True)
    assert world.finish(crawler) == 0
    assert len(library.web.asked) > asked
    assert crawler.err.count(WAITS) == crawler.err.count("there is room again") == 1
    paths = Counter(asked.path for asked in library.web.asked)
    assert set(paths.values()) == {1}
    if pages == "mirror":
        library.check_all(world)
    else:
        index = (world.out / "d00000" / "index").read_text().splitlines()
        assert len(index) == len(world.outcomes()) == 51
        written = {(world.out / "d00000" / f"f{n:05}").stat().st_size for n in range(1, 51)}
        assert written <= {len(book) for book in library.books.values()}


def test_a_stop_while_the_disk_is_full(world: World, small_disk: Path) -> None:
    """Exit 3 and one line more, and --resume with room brings the rest."""
    world.out = small_disk / "save"
    library = Library(world)
    world.conf(f"startUrl {library.web.url()} outputDir {world.out}")
    crawler = world.crawl()
    world.until(lambda: WAITS in crawler.err)
    crawler.signal(signal.SIGTERM)
    assert world.finish(crawler) == 3
    line = crawler.err.splitlines()[-1]
    for word in ("No space left", str(world.out), "stateDir state", "make room", "--resume"):
        assert word in line
    assert (world.reported()["stop_reason"], world.reported()["exit_code"]) == ("disk", 3)
    assert 10 < len(world.outcomes()) < 50
    library.check_files(world)
    subprocess.run(["mount", "-o", "remount,size=30m", small_disk], check=True)
    assert world.run("--resume").process.returncode == 0
    library.check_all(world)
    asked = Counter(asked.path for asked in library.web.asked)
    assert sum(n - 1 for path, n in asked.items() if path in library.books) <= 1


def _fill(disk: Path) -> None:
    """Leave no room, not even for a byte."""
    with (disk / "filler").open("wb", buffering=0) as filler, pytest.raises(OSError, match="space"):
        while True:
            filler.write(bytes(4096))


def test_disk_that_others_fill(world: World, small_disk: Path) -> None:
    """Room was reserved for the state: nothing is asked for or written down twice."""
    world.out, world.state = small_disk / "save", small_disk / "state"
    library = Library(world)
    world.conf(f"startUrl {library.web.url()} outputDir {world.out} stateDir {world.state}")
    library.closed = "/10"
    crawler = world.crawl()
    world.until(lambda: library.web.count("/10") == 1)
    _fill(small_disk)
    library.closed = ""
    world.until(lambda: WAITS in crawler.err)
    crawler.signal(signal.SIGTERM)
    assert world.finish(crawler) == 3
    assert "make room and continue with --resume\n" in crawler.err
    assert len(world.outcomes()) == 11
    subprocess.run(["mount", "-o", "remount,size=40m", small_disk], check=True)
    assert world.run("--resume").process.returncode == 0
    library.check_all(world)
    assert Counter(asked.path for asked in library.web.asked)["/9"] == 1


def test_full_disk_of_the_state(world: World, small_disk: Path) -> None:
    """Pages after the last saved state are fetched again."""
    world.state = small_disk / "state"
    library = Library(world)
    world.conf(f"startUrl {library.web.url()} stateDir {world.state}")
    world.state.mkdir()
    library.closed = "/10"
    crawler = world.crawl()
    world.until(lambda: library.web.count("/10") == 1)
    (world.state / "reserve").unlink()
    _fill(small_disk)
    library.closed = ""
    world.until(lambda: WAITS in crawler.err)
    crawler.signal(signal.SIGTERM)
    assert world.finish(crawler) == 3
    assert "could not be" in crawler.err.splitlines()[-1]
    (small_disk / "filler").unlink()
    assert world.run("--resume").process.returncode == 0
    library.check_files(world)
    assert len(world.files()) == 51
    assert {fate["outcome"] for fate in world.fates} == {"success"}


def test_the_end_of_the_time_while_the_disk_is_full(world: World, small_disk: Path) -> None:
    """A job of each night does not wait for room for the next ones, too."""
    world.out = small_disk / "save"
    library = Library(world)
    world.conf(f"startUrl {library.web.url()} outputDir {world.out} limitTime 2s")
    crawler = world.run()
    assert crawler.process.returncode == 3
    assert WAITS in crawler.err and "make room and continue" in crawler.err.splitlines()[-1]


def test_file_too_large_for_its_system(world: World) -> None:
    """As a full disk, without the rights to make one."""
    library = Library(world)
    world.conf(f"startUrl {library.web.url()}")
    limited = ["sh", "-c", 'ulimit -f 256; exec "$@"', "sh", *LARBINPY]
    crawler = world.run(command=limited)
    assert crawler.process.returncode == 3
    assert "File too large" in one_line(crawler) and "ulimit -f" in crawler.err
    assert world.files() == {f"{library.site}/index.html"}
    assert world.run("--resume").process.returncode == 0
    library.check_all(world)


def test_output_folder_that_goes_away(world: World) -> None:
    library = Library(world)
    world.conf(f"startUrl {library.web.url()}")
    crawler = world.crawl()
    world.until(lambda: library.web.count("/5") == 1)
    moved_away = world.folder / "moved"
    world.out.rename(moved_away)
    shutil.rmtree(moved_away)
    assert world.finish(crawler) == 3
    assert "No such file" in one_line(crawler)
    assert "--resume" in crawler.err
    known = len(world.outcomes())
    assert world.run("--resume").process.returncode == 0
    assert len(world.outcomes()) == 51
    assert len(world.files()) >= 51 - known
    library.check_files(world)


@pytest.mark.parametrize("key", ["outputDir", "stateDir"])
@pytest.mark.parametrize("folder", ["/proc/larbinpy", "/dev/null", "larbin.conf/x"])
def test_folder_that_cannot_be(world: World, key: str, folder: str) -> None:
    world.conf(f"{key} {folder}")
    crawler = world.run("http://site.test/")
    assert crawler.process.returncode == 2
    assert folder.split("/")[-1] in one_line(crawler)


@pytest.mark.parametrize("key", ["outputDir", "stateDir"])
def test_disk_that_is_read_only(world: World, small_disk: Path, key: str) -> None:
    world.conf(f"{key} {small_disk}")
    subprocess.run(["mount", "-o", "remount,ro", small_disk], check=True)
    crawler = world.run("http://site.test/")
    assert crawler.process.returncode == 2
    assert "Read-only" in one_line(crawler)


def test_few_files_may_be_open(world: World) -> None:
    """ulimit -n: fewer pages at a time, all of them in the end, and no spinning."""
    hosts = [f"h{n}.test" for n in range(60)]
    web = world.web(
        lambda asked: [missing()] if "robots" in asked.path else [pause(0.1), html()], *hosts
    )
    world.conf("pagesConnexions 100", *(f"startUrl {web.url(host=host)}" for host in hosts))
    limited = ["sh", "-c", 'ulimit -n 274; exec "$@"', "sh", *LARBINPY]
    crawler = world.run(command=limited)
    assert crawler.process.returncode == 0
    assert "pagesConnexions is 12, not 100" in one_line(crawler)
    assert set(world.outcomes().values()) == {"success"}
    assert len(world.outcomes()) == 60
    assert world.reported()["retries"] == 0
    assert world.reported()["cpu_s"] < 2
