"""Crawls that leave WARC files: read, checked, indexed and replayed by other programs."""

import base64
import json
import urllib.error
import urllib.request
from collections.abc import Iterator
from datetime import datetime
from hashlib import sha1
from pathlib import Path
from typing import Any

import pytest

from larbinpy.config import load
from larbinpy.context import Tuning
from larbinpy.crawl.crawl import Crawl
from larbinpy.demo import Serving
from larbinpy.output.warc.warc import WarcOutput
from larbinpy.page import Page
from larbinpy.storage.sizes import FrontierSizes
from tests.support.crawling import Crawled, read_log
from tests.support.killing import KillTest
from tests.support.killweb import KnownWeb
from tests.support.replaying import index_lines, replayed, run, tool
from tests.support.smallweb import Answer, Web
from tests.support.smallworld import Worlds
from tests.support.warcs import Found, captures, records, warcs

pytest_plugins = ["tests.support.demoweb", "tests.support.smallcrawls"]
pytestmark = pytest.mark.slow

#: One URL at a time leaves the store.
NARROW = Tuning(frontier=FrontierSizes(ram_urls=1))


@pytest.fixture(scope="module")
def crawled(demo_process: Serving, tmp_path_factory: pytest.TempPathFactory) -> Crawled:
    """The demo web in several files."""
    demo_process.reset()
    folder = tmp_path_factory.mktemp("demo")
    conf, out, state = folder / "larbin.conf", folder / "out", folder / "state"
    conf.write_text(demo_process.conf(out, state, retry_wait=0.2))
    config = load(str(conf), {}, [("outputMode", "save,warc"), ("warcSize", "200000")])
    crawl = Crawl(config)
    return Crawled(crawl.run(), crawl, read_log(state / "crawl.jsonl"), out)


def test_every_page_is_there_as_it_was_saved(crawled: Crawled) -> None:
    files = warcs(crawled.out)
    assert len(files) > 2
    found = captures(*files)
    pages = 0
    for index in crawled.out.glob("d*/index"):
        for line in index.read_text().splitlines():
            number, url = line.split(" ")
            assert found[url][-1] == (index.parent / f"f{int(number):05}").read_bytes()
            pages += 1
    assert pages > 300


def test_failures_with_a_reply_redirects_and_robots_are_archived(
    crawled: Crawled,
) -> None:
    found = captures(*warcs(crawled.out)).keys()
    for outcome in ("err30X", "err40X", "err50X"):
        urls = {fate["url"] for fate in crawled.fates if fate["outcome"] == outcome}
        assert urls
        assert urls <= found
    assert sum(url.endswith("/robots.txt") for url in found) > 10
    assert not {fate["url"] for fate in crawled.fates if fate["outcome"] == "badType"} & found


def test_names_requests_and_links_are_there(crawled: Crawled) -> None:
    found = records(*warcs(crawled.out))
    kinds = [record.kind for record in found]
    assert kinds.count("request") == kinds.count("response") + kinds.count("revisit")
    assert kinds.count("metadata") == kinds.count("request")
    assert kinds.count("revisit") > 10
    resources = {record.url: record.lines[1:] for record in found if record.kind == "resource"}
    assert len(resources) > 20
    assert all(line.split(" ")[1:3] == ["IN", "A"] for rows in resources.values() for line in rows)
    links = [line for r in found if r.kind == "metadata" for line in r.lines if "outlink" in line]
    assert len(links) > 1000
    requests = [record for record in found if record.kind == "request"]
    assert {record.header("user-agent") for record in requests} == {"larbinpy"}


def test_warcio_finds_nothing_wrong(crawled: Crawled) -> None:
    assert run(tool("warcio"), "check", *warcs(crawled.out)) == ""


def test_the_index_is_that_of_cdxj_indexer(crawled: Crawled) -> None:
    theirs = run(tool("cdxj-indexer"), *warcs(crawled.out)).splitlines()
    assert index_lines(crawled.out) == sorted(theirs)


@pytest.fixture
def archive(crawled: Crawled, tmp_path: Path) -> Iterator[str]:
    with replayed(crawled.out, tmp_path) as where:
        yield where


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *arguments: Any) -> None:
        return None


@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_pywb_replays_it_as_it_was(crawled: Crawled, archive: str) -> None:
    opener = urllib.request.build_opener(_NoRedirects)
    keys = [line.split(" ")[0] for line in index_lines(crawled.out)]
    wrong = []
    for line in index_lines(crawled.out):
        key, stamp, fields = line.split(" ", 2)
        capture = json.loads(fields)
        # It tells apart neither /a from /A nor /a/, and does not follow a page to itself.
        if keys.count(key) > 1 or key.startswith("dns:") or key.endswith("/self"):
            continue
        try:
            reply = opener.open(f"{archive}/{stamp}id_/{capture['url']}", timeout=20)
        except urllib.error.HTTPError as error:
            reply = error
        with reply:
            digest = "sha1:" + base64.b32encode(sha1(reply.read()).digest()).decode()
        if (str(reply.status), digest) != (capture["status"], capture["digest"]):
            wrong.append(capture["url"])
    # A line break in a path is nothing that it can be asked for.
    assert [url for url in wrong if "%0A" not in url] == []


def test_killed_and_gone_on_with_each_page_is_there_once(tmp_path: Path) -> None:
    # Where the machine is busy, no page may be done between a checkpoint and its kill. The
    # crawl after that has nothing to take back, so another one is killed.
    for seed in range(7, 12):
        out, beyond = _killed(tmp_path / str(seed), seed)
        _check_whole(out, seed)
        if beyond:
            break
    else:
        pytest.fail("no page was done between a checkpoint and its kill")


def _killed(folder: Path, seed: int) -> tuple[Path, int]:
    """A crawl killed three times; its folder, and the pages done after the last checkpoints."""
    folder.mkdir()
    conf = "canReload outputMode mirror,warc"
    test = KillTest(folder, 1500, ["early", "save", "late"], seed=seed, interval=1.0, conf=conf)
    checker = test.run()
    # Names that are not in this test.
    left = [finding for finding in checker.findings if " files were left behind: " in finding]
    assert checker.findings == left
    return folder / "mirror", sum(life.beyond for life in checker.lives)


def _check_whole(out: Path, seed: int) -> None:
    """Each page of the web is archived once, and each record is in an index."""
    files = warcs(out)
    assert {path.name for path in out.glob("larbinpy_*")} == {
        *(file.name for file in files),
        *(file.name.replace(".warc.gz", ".cdxj") for file in files),
    }
    found = captures(*files)
    web = KnownWeb(1500, seed, _port(found))
    for number in web.reachable():
        if web.outcome(number) != "forbiddenRobots":
            bodies = found[web.url(number)]
            assert bodies == [web.body(number) if web.outcome(number) == "success" else b""]
    indexed = [json.loads(line.split(" ", 2)[2])["url"] for line in index_lines(out)]
    assert sorted(indexed) == sorted(url for url, bodies in found.items() for _ in bodies)


def _port(found: dict[str, list[bytes]]) -> int:
    return int(next(iter(found)).split(":")[2].partition("/")[0])


def found_in(world: Any) -> list[Found]:
    return records(*warcs(world.folder / "out"))


def test_the_operator_and_the_policy_are_in_the_first_record(web: Web, crawl: Worlds) -> None:
    web.page("a.test/")
    [info, *_] = found_in(crawl("outputMode warc", "UserAgent bot/2", "ignoreRobots"))
    assert info.lines[0].startswith("software: larbinpy/")
    assert info.lines[1:5] == [
        "robots: ignore",
        "operator: me@larbinpy.invalid",
        "http-header-from: me@larbinpy.invalid",
        "http-header-user-agent: bot/2",
    ]


def test_each_try_that_had_a_reply_is_there(web: Web, crawl: Worlds) -> None:
    web.page("a.test/", "/broken")
    web.places["a.test/broken"] = [Answer(status=500), Answer(status=500), Answer(b"mended")]
    found = captures(*warcs(crawl("outputMode warc").folder / "out"))
    assert found[web.url("a.test/broken")] == [b"", b"", b"mended"]


def test_copies_are_there_as_revisits(web: Web, crawl: Worlds) -> None:
    web.page("a.test/", "/copy", "/other")
    web.places["a.test/copy"] = [Answer(b"the same")]
    web.places["a.test/other"] = [Answer(b"the same")]
    world = crawl("outputMode warc", "pageNoDuplicate")
    assert world.outcomes["a.test/other"] == "duplicate"
    kinds = [r.kind for r in found_in(world) if r.url == web.url("a.test/other")]
    assert kinds == ["revisit", "request", "metadata"]


def test_addresses_without_a_name_server_are_not_archived(web: Web, crawl: Worlds) -> None:
    web.page("a.test/", f"http://127.0.0.2:{web.port}/")
    found = found_in(crawl("outputMode warc"))
    assert [r.url for r in found if r.kind == "resource"] == ["dns:a.test"]


def test_addresses_have_the_date_of_the_answer(web: Web, crawl: Worlds) -> None:
    """Not of when they were wanted, which for names of links may be much later."""
    web.page("a.test/", "//slow.test/", "//b.test/", "//b.test/2")
    web.pages("slow.test/", delay=20)
    web.pages("b.test/", "b.test/2")
    world = crawl(
        "outputMode warc", "maxUrlsBySite 2", wall=lambda: crawl.world.elapsed, tuning=NARROW
    )
    found = found_in(world)
    dates = {r.url: r.fields["WARC-Date"] for r in found if r.kind in ("resource", "response")}
    # The date is that of the arrival, by this clock, less the time of the transfer, which is by
    # libcurl's own.
    began = datetime.fromisoformat(dates[web.url("b.test/")]).timestamp()
    assert began + world.fates["b.test/"]["ms"] / 1000 >= 19.99
    assert dates["dns:b.test"] < "1970-01-01T00:00:02"
    named = [str(r.url) for r in found if r.kind == "resource"]
    assert sorted(named) == ["dns:a.test", "dns:b.test", "dns:slow.test"]


def test_a_reply_that_cannot_be_written_is_owed(web: Web, crawl: Worlds) -> None:
    """The disk is full while a redirect is written: it waits, and all is there in the end."""
    web.page("a.test/", "/moved", "/end")
    web.places["a.test/moved"] = [Answer(status=302, headers=("Location: /end",))]
    web.pages("a.test/end")
    failures = iter([OSError(28, "No space left on device")] * 2)
    archive = WarcOutput._archive

    def full(self: WarcOutput, page: Page) -> None:
        if page.status == 302:
            for error in failures:
                raise error
        archive(self, page)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(WarcOutput, "_archive", full)
        world = crawl("outputMode warc", "retries 0")
    assert "there is room again" in world.stderr.getvalue()
    assert world.outcomes == {
        "a.test/": "success",
        "a.test/moved": "err30X",
        "a.test/end": "success",
    }
    found = captures(*warcs(world.folder / "out"))
    assert all(len(bodies) == 1 for bodies in found.values())
    assert web.url("a.test/moved") in found
