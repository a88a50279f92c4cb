"""The report of whole crawls: their broken links with all pages, and what else was found."""

import csv
import gzip
import io
import json
import os
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from larbinpy import Start
from larbinpy.cli import main
from larbinpy.observe.report.formats import Report, csv_pieces, json_pieces, whole
from tests.support.crawling import World as ProcessWorld
from tests.support.crawling import html, missing, one_line
from tests.support.ports import free_port
from tests.support.smallweb import Answer, Web
from tests.support.smallworld import Client, World, Worlds

pytest_plugins = ["tests.support.smallcrawls", "tests.support.crawlworld"]


@pytest.fixture
def site(web: Web) -> Web:
    """A site with links that are broken in each way."""
    web.page("a.test/", "/one", "/two", "/gone", "/old", "//none.test/x")
    web.page("a.test/one", "/", "/gone", "/old", "/far", "/secret/x")
    web.page("a.test/two", "/gone", "/circle", "/fine", "/nowhere", "/error")
    web.put("a.test/old", Answer(status=301, headers=("Location: /gone",)))
    web.put("a.test/far", Answer(status=301, headers=("Location: /farther",)))
    web.put("a.test/farther", Answer(status=302, headers=("Location: /lost",)))
    web.put("a.test/circle", Answer(status=302, headers=("Location: /elcric",)))
    web.put("a.test/elcric", Answer(status=302, headers=("Location: /circle",)))
    web.put("a.test/fine", Answer(status=308, headers=("Location: /two",)))
    web.put("a.test/nowhere", Answer(status=301, headers=("Location: mailto:me",)))
    web.put("a.test/error", Answer(status=500))
    web.robots("a.test", "User-agent: *", "Disallow: /secret/")
    return web


BROKEN = {
    "a.test/gone": (404, "err40X", [], ["a.test/", "a.test/one", "a.test/two"]),
    "a.test/old": (404, "err40X", ["a.test/gone"], ["a.test/", "a.test/one"]),
    "a.test/far": (404, "err40X", ["a.test/farther", "a.test/lost"], ["a.test/one"]),
    "a.test/circle": (302, "err30X", ["a.test/elcric"], ["a.test/two"]),
    "a.test/nowhere": (301, "err30X", [], ["a.test/two"]),
    "a.test/error": (500, "err50X", [], ["a.test/two"]),
    "none.test/x": (0, "noDNS", [], ["a.test/"]),
}


def broken(web: Web, report: Report) -> dict[str, tuple[Any, ...]]:
    """The broken links of a report with places in place of URLs."""
    value = json.loads("".join(json_pieces(report)))

    def place(url: str) -> str:
        return url.removeprefix("http://").replace(f":{web.port}", "")

    return {
        place(link["url"]): (
            link["status"],
            link["outcome"],
            [place(hop) for hop in link["hops"]],
            sorted(place(page) for page in link["pages"]),
        )
        for link in value["broken"]
    }


def test_broken_links_have_all_their_pages(site: Web, crawl: Worlds) -> None:
    world = crawl("retryWait 0")
    assert broken(site, Report(world.folder / "state")) == BROKEN


def test_broken_links_with_dropped_parameters_have_all_their_pages(web: Web, crawl: Worlds) -> None:
    web.page("a.test/", "/one", "/two", "/gone?utm_source=home", "/moved?gclid=1")
    web.page("a.test/one", "/gone?utm_source=one", "/moved;jsessionid=2")
    web.page("a.test/two", "/gone", "/x")
    web.put("a.test/moved", Answer(status=301, headers=("Location: /lost?utm_source=a",)))
    world = crawl()
    assert broken(web, Report(world.folder / "state")) == {
        "a.test/gone": (404, "err40X", [], ["a.test/", "a.test/one", "a.test/two"]),
        "a.test/moved": (404, "err40X", ["a.test/lost"], ["a.test/", "a.test/one"]),
        "a.test/x": (404, "err40X", [], ["a.test/two"]),
    }


@pytest.mark.slow
def test_broken_links_have_their_pages_after_other_parameters_are_dropped(
    web: Web, crawl: Worlds
) -> None:
    port = free_port()
    console = Client(crawl, port, "console", "set dropParameters from", "quit")
    web.page("a.test/", "/later")
    web.page("a.test/later", "/gone?from=later", "/more", until=console.done)
    web.page("a.test/more", "/gone?from=more")
    world = crawl("getCGI", "dropParameters none end", f"inputPort {port}")
    assert broken(web, Report(world.folder / "state")) == {
        "a.test/gone": (404, "err40X", [], ["a.test/later", "a.test/more"]),
    }


def test_the_report_has_what_else_was_found(site: Web, crawl: Worlds) -> None:
    world = crawl("retryWait 0")
    report = Report(world.folder / "state")
    value = json.loads("".join(json_pieces(report)))
    assert value["urls"] == len(world.fates)
    assert value["outcomes"]["success"] == 3
    assert (value["left_out"]["robots"], value["left_out"]["rules"]) == (1, {})
    assert value["errors"] == []
    assert value["pages_unknown"] is None
    [own, none] = value["sites"]
    assert (own["site"], own["pages"], own["robots"]) == (site.url("a.test/")[:-1], 3, 1)
    assert (none["pages"], none["failures"]) == (0, 1)
    assert {entry["url"] for entry in value["slowest"]} == {
        site.url(place) for place in ("a.test/", "a.test/one", "a.test/two")
    }
    sizes = [entry["size"] for entry in value["largest"]]
    assert sizes == sorted(sizes, reverse=True) and all(sizes)
    redirects = {entry["url"]: entry for entry in value["redirects"]}
    assert set(redirects) == {
        site.url(f"a.test/{name}") for name in ("old", "far", "circle", "fine", "nowhere")
    }
    far, fine = redirects[site.url("a.test/far")], redirects[site.url("a.test/fine")]
    assert not far["permanent"]
    assert far["hops"] == [site.url("a.test/farther"), site.url("a.test/lost")]
    assert (fine["permanent"], fine["hops"]) == (True, [site.url("a.test/two")])


def test_each_redirect_that_a_page_links_to_is_listed(web: Web, crawl: Worlds) -> None:
    web.page("a.test/", "/a", "/2")
    web.page("a.test/2", "/b", "/a", "/c")
    web.put("a.test/a", Answer(status=301, headers=("Location: /t",)))
    web.put("a.test/b", Answer(status=301, headers=("Location: /a",)))
    web.put("a.test/c", Answer(status=301, headers=("Location: /d",)))
    web.put("a.test/d", Answer(status=301, headers=("Location: /t",)))
    web.page("a.test/t")
    world = crawl()
    hops = {"/a": ["/t"], "/b": ["/a", "/t"], "/c": ["/d", "/t"]}
    listed = {chain.url: list(chain.hops) for chain in Report(world.folder / "state").chains}
    assert listed == {
        web.url(f"a.test{path}"): [web.url(f"a.test{hop}") for hop in to]
        for path, to in hops.items()
    }


def test_a_redirect_that_was_found_by_a_redirect_first_is_listed(web: Web, crawl: Worlds) -> None:
    web.page("a.test/", "/b", "/deep")
    web.page("a.test/deep", "/deeper")
    web.page("a.test/deeper", "/a")
    web.put("a.test/b", Answer(status=301, headers=("Location: /a",)))
    web.put("a.test/a", Answer(status=301, headers=("Location: /t",)))
    web.page("a.test/t")
    state = crawl().folder / "state"
    both = {web.url("a.test/a"), web.url("a.test/b")}
    assert {chain.url for chain in Report(state).chains} == both


def test_csv_has_a_line_for_each_link_and_page(site: Web, crawl: Worlds) -> None:
    world = crawl("retryWait 0")
    text = "".join(csv_pieces(Report(world.folder / "state")))
    rows = list(csv.DictReader(io.StringIO(text)))
    assert len(rows) == sum(len(pages) for _, _, _, pages in BROKEN.values())
    [row] = [row for row in rows if row["url"] == site.url("a.test/far")]
    assert row == {
        "url": site.url("a.test/far"),
        "status": "404",
        "outcome": "err40X",
        "page": site.url("a.test/one"),
        "target": site.url("a.test/lost"),
        "group": "broken",
        "line": "",
        "text": "",
    }


def test_the_text_shows_each_broken_link_with_its_pages(site: Web, crawl: Worlds) -> None:
    world = crawl("retryWait 0")
    lines = list(whole(Report(world.folder / "state"), everything=False))
    at = lines.index(f"  404 Not Found: {site.url('a.test/old')}")
    assert lines[at + 1 : at + 4] == [
        f"      -> {site.url('a.test/gone')}",
        f"      on {site.url('a.test/')}",
        f"      on {site.url('a.test/one')}",
    ]
    assert "      its host has no address: no such name" in lines
    assert "      its redirects go in a circle: its URLs differ in the path" in lines
    assert "Broken links: 7, on 3 pages" in lines
    assert all(len(line) <= 80 for line in lines if "http" not in line and "/" not in line)


def test_long_lists_are_bounded_unless_all_is_asked_for(web: Web, crawl: Worlds) -> None:
    web.page("a.test/", *(f"/gone/{n}" for n in range(25)), *(f"/page/{n}" for n in range(7)))
    for n in range(7):
        # With the start page, eight and six pages. A line for one page would be no shorter.
        web.page(f"a.test/page/{n}", "/gone/0", *(["/gone/1"] if n < 5 else []))
    world = crawl("retryWait 0")
    report = Report(world.folder / "state")
    short, full = (list(whole(report, everything=each)) for each in (False, True))
    assert "  and 5 more; --all shows them" in short
    assert [line for line in short if line.startswith("      and ")] == [
        "      and 3 more; --all shows them"
    ]
    assert sum(line.startswith("  404") for line in short) == 20
    assert not any("more" in line for line in full)
    assert sum(line.startswith("  404") for line in full) == 25
    assert sum(line.startswith("      on ") for line in full) == 25 + 7 + 5


def test_a_list_is_not_cut_for_a_single_entry(web: Web, crawl: Worlds) -> None:
    web.page("a.test/", *(f"/old/{n}" for n in range(21)))
    for n in range(21):
        web.put(f"a.test/old/{n}", Answer(status=301, headers=("Location: /",)))
    lines = list(whole(Report(crawl().folder / "state"), everything=False))
    assert sum(line.startswith("  301") for line in lines) == 21
    assert not any("more" in line for line in lines)


def test_without_the_record_the_first_page_is_known(site: Web, crawl: Worlds) -> None:
    world = crawl("retryWait 0", "keepLinks off")
    report = Report(world.folder / "state")
    found = broken(site, report)
    assert found.keys() == BROKEN.keys()
    assert all(len(pages) == 1 for _, _, _, pages in found.values())
    text = "\n".join(whole(report, everything=False))
    assert "keepLinks was off, so only the first page of each is known" in text


def test_a_seed_is_broken_without_a_page(web: Web, crawl: Worlds) -> None:
    web.put("a.test/gone", Answer(status=404))
    world = crawl(seeds=["a.test/gone"])
    report = Report(world.folder / "state")
    assert broken(web, report) == {"a.test/gone": (404, "err40X", [], [])}
    assert "      it was given as a seed" in whole(report, everything=False)
    assert len(list(csv_pieces(report))) == 2


def test_a_mirror_is_named_by_its_folder(web: Web, crawl: Worlds) -> None:
    web.put("a.test/gone", Answer(status=404))
    world = crawl(seeds=["a.test/gone"])
    (world.folder / "mirror").mkdir()
    (world.folder / "state").rename(world.folder / "mirror" / ".larbinpy")
    assert broken(web, Report(world.folder / "mirror")).keys() == {"a.test/gone"}


@pytest.mark.parametrize("packed", [False, True])
def test_rotated_logs_are_read(site: Web, crawl: Worlds, packed: bool) -> None:
    """Whatever their names: logrotate's numbers fall with age, its dates rise."""
    world = crawl("retryWait 0")
    log = world.folder / "state" / "crawl.jsonl"
    lines = log.read_bytes().splitlines(keepends=True)
    third = len(lines) // 3
    log.write_bytes(b"".join(lines[2 * third :]))
    for name, part in {"2": lines[:third], "1": lines[third : 2 * third]}.items():
        path = log.with_name(f"crawl.jsonl.{name}.gz" if packed else f"crawl.jsonl.{name}")
        path.write_bytes(gzip.compress(b"".join(part)) if packed else b"".join(part))
    report = Report(world.folder / "state")
    assert broken(site, report) == BROKEN
    assert report.summary.urls == len(lines)
    assert report.summary.began == json.loads(lines[0])["ts"]


#: Values that no crawl writes.
NO_TEXTS: list[object] = [None, 1, [], "\ud800"]
ODD: list[tuple[str, object]] = [
    *(("url", url) for url in ("a", "http://a", "mailto:x", 1, None)),
    *(("size", size) for size in ("x", -1, None, 1.5, 2**70, True)),
    *(("detail", detail) for detail in NO_TEXTS),
    *(("via", 1), ("via", []), ("via", "\ud800"), ("outcome", 1), ("ts", []), ("depth", "1")),
    *(("ts", 1), ("outcome", None), ("status", "200"), ("ms", [])),
]


def test_damage_is_named_and_the_rest_is_read(site: Web, crawl: Worlds) -> None:
    world = crawl("retryWait 0")
    log = world.folder / "state" / "crawl.jsonl"
    lines = log.read_bytes().splitlines(keepends=True)
    log.with_name("crawl.jsonl.1.gz").write_bytes(gzip.compress(lines[0])[:-9])
    log.with_name("crawl.jsonl.2.xz").write_bytes(b"")
    log.with_name("crawl.jsonl.notes").write_bytes(b"not a log")
    first = json.loads(lines[0])
    odd = [{**first, key: value} for key, value in ODD]
    foreign = b"".join(json.dumps(each).encode() + b"\n" for each in ([1], {}, "x", None, *odd))
    nested = b"[" * 100_000 + b"\n"
    log.write_bytes(nested + foreign + b"\xff\n" + b"".join(lines) + lines[0][:-20])
    report = Report(world.folder / "state")
    assert broken(site, report) == BROKEN
    assert len(report.errors) == 3
    assert "crawl.jsonl.2.xz: left out, as only .gz can be read" in report.errors[0]
    assert "crawl.jsonl.1.gz: damaged" in report.errors[1]
    assert report.errors[2] == f"{6 + len(ODD)} damaged lines of the log were left out"


def test_a_later_line_about_a_url_counts(web: Web, crawl: Worlds) -> None:
    web.page("a.test/", "/flaky")
    web.put("a.test/flaky", Answer(status=404), Answer(b"fine"))
    world = crawl()
    assert broken(web, Report(world.folder / "state")).keys() == {"a.test/flaky"}
    log = world.folder / "state" / "crawl.jsonl"
    last = json.loads(log.read_bytes().splitlines()[-1])
    log.write_text(log.read_text() + json.dumps({**last, "outcome": "success"}) + "\n")
    assert broken(web, Report(world.folder / "state")) == {}


def test_a_crawl_that_was_killed_and_resumed_reports_each_page_once(world: ProcessWorld) -> None:
    """The record and the log go back to the checkpoint together."""
    held = True

    def answer(asked: Any) -> Any:
        if asked.path == "/":
            yield html(*(f"/{n}" for n in range(40)))
        elif asked.path in ("/robots.txt", "/gone"):
            yield missing()
        else:
            while held and int(asked.path[1:]) >= 20:
                yield 0.05
            yield html("/gone", "/")

    web = world.web(answer, "a.test")
    world.conf(f"startUrl {web.url()}", "canReload")
    crawler = world.crawl()
    world.until(lambda: len(world.fates) > 15)
    crawler.process.kill()
    world.finish(crawler)
    killed = Report(world.state)
    assert len(killed.broken) <= 1
    held = False
    world.run("--resume")
    report = Report(world.state)
    [link] = json.loads("".join(json_pieces(report)))["broken"]
    assert link["url"] == web.url("/gone")
    assert sorted(link["pages"]) == sorted(web.url(f"/{n}") for n in range(40))
    assert report.broken.count(0) == 40


def test_the_command_reads_a_running_crawl(world: ProcessWorld) -> None:
    held = True

    def answer(asked: Any) -> Any:
        if asked.path == "/":
            yield html("/gone", "/held")
        elif asked.path == "/held":
            while held:
                yield 0.05
            yield html()
        else:
            yield missing()

    web = world.web(answer, "a.test")
    world.conf(f"startUrl {web.url()}")
    crawler = world.crawl()
    world.until(lambda: len(world.fates) == 2)
    reported = world.larbinpy("report", "--csv")
    assert reported.out.splitlines() == [
        "url,status,outcome,page,target,group,line,text",
        f"{web.url('/gone')},404,err40X,{web.url()},,broken,,",
    ]
    held = False
    assert world.finish(crawler) == 0
    assert one_line(world.larbinpy("report", "nowhere")) == (
        "larbinpy: nowhere: no crawl log here; give the stateDir of a crawl\n"
    )
    assert "cannot be used together" in one_line(world.larbinpy("report", "--csv", "--json"))


def test_crawled_text_does_nothing_to_a_terminal(tmp_path: Path) -> None:
    line = {
        "ts": "2030-01-01T00:00:00Z\x1b[2J",
        "url": "http://a.test/\x1b[31m",
        "outcome": "err40X",
        "status": 404,
        "size": 0,
        "type": "",
        "depth": 1,
        "via": "http://b.test/\x9b\u202e",
        "ip": None,
        "ms": 1,
        "attempt": 1,
        "detail": "\x07",
    }
    (tmp_path / "crawl.jsonl").write_text(json.dumps(line) + "\n")
    for options in ((), ("--json",)):
        result = CliRunner().invoke(main, ["report", str(tmp_path), *options])
        assert result.exit_code == 0, result.output
        assert not {"\x1b", "\x9b", "\x07", "\u202e"} & set(result.stdout)


def test_resume_keeps_what_was_found(site: Web, crawl: Worlds) -> None:
    world = crawl("limitPage 2", "retryWait 0")
    again = crawl("retryWait 0", start=Start.RESUME, folder=world.folder)
    assert isinstance(again, World)
    assert broken(site, Report(world.folder / "state")) == BROKEN
    assert os.path.getsize(world.folder / "state" / "links.bin")


def test_what_rules_and_settings_left_out_is_counted(web: Web, crawl: Worlds) -> None:
    """Over all runs of a crawl, from its state."""
    web.page("a.test/", "/x.zip", "/y.zip", "/deep", "//b.test/", "/docs/1")
    web.page("a.test/deep", "/deeper", "/z.zip")
    web.page("a.test/deeper", "/deepest")
    web.pages("a.test/docs/1")
    lines = ("reject **.zip", "accept **/docs/*", "noExternalLinks", "depthInSite 2")
    world = crawl(*lines, "limitPage 1")
    crawl(*lines, start=Start.RESUME, folder=world.folder)
    report = Report(world.folder / "state")
    value = json.loads("".join(json_pieces(report)))
    assert value["left_out"] == {
        "robots": 0,
        "rules": {"reject **.zip": 3},
        "limits": {"noExternalLinks": 1, "depthInSite": 1},
        "parts": {},
        "links": {"outSite": 1, "tooDeep": 1},
    }
    text = list(whole(report, everything=False))
    assert "           3  by reject **.zip" in text
    assert "           1  links: they are further than depthInSite from the seeds" in text


def test_links_left_out_are_counted_by_the_limit_that_refused_them(web: Web, crawl: Worlds) -> None:
    deep = "/" + "/".join(map(str, range(41)))
    page = ("/?a=1", "/?a=2", "/x.zip", "//b.test/", deep, "/1")
    web.page("a.test/", *page)
    web.pages("a.test/1")
    snapshots = []
    world = crawl(
        *("stay host", "forbiddenExtensions .zip end"),
        watch=lambda world: snapshots.append(world.snapshot("left_out")),
    )
    counted = {"getCGI": 2, "forbiddenExtensions": 1, "stay": 1}
    assert snapshots[-1] == counted
    report = Report(world.folder / "state")
    value = json.loads("".join(json_pieces(report)))
    assert value["left_out"]["limits"] == {**counted, "repeats": 1}
    text = list(whole(report, everything=False))
    assert "           2  links: they have a query, and getCGI is off" in text
    assert not any("badURL" in line for line in text)


def test_the_logs_of_an_earlier_crawl_do_not_count(web: Web, crawl: Worlds) -> None:
    """--scratch leaves files that were rotated away."""
    web.page("a.test/", "/gone")
    world = crawl()
    log = world.folder / "state" / "crawl.jsonl"
    lines = [json.loads(line) for line in log.read_bytes().splitlines()]
    early = [{**line, "ts": "2001-01-01T00:00:00.000Z", "url": "http://old/"} for line in lines]
    log.with_name("crawl.jsonl.1").write_text("".join(f"{json.dumps(each)}\n" for each in early))
    report = Report(world.folder / "state")
    assert report.summary.urls == 2
    assert broken(web, report).keys() == {"a.test/gone"}


@pytest.mark.parametrize(
    "name",
    ["crawl.jsonl.1", "crawl.jsonl-20300101", "crawl-20300101.jsonl", "crawl.jsonl.2030-01-01"],
)
def test_names_of_rotated_logs(web: Web, crawl: Worlds, name: str) -> None:
    web.page("a.test/", "/gone")
    world = crawl()
    log = world.folder / "state" / "crawl.jsonl"
    log.rename(log.with_name(name))
    assert broken(web, Report(world.folder / "state")).keys() == {"a.test/gone"}
