"""The keywords of what a crawl leaves on disk and says on the terminal."""

import json
import re
import zipfile
from pathlib import Path

import pytest

from larbinpy import Plug, Start
from larbinpy.output.links import LinkReader
from larbinpy.page import Page
from larbinpy.storage.queues import owed_urls
from larbinpy.storage.state import State
from tests.support.keywords import effect_of
from tests.support.smallweb import Web
from tests.support.smallworld import World, Worlds
from tests.support.warcs import records, warcs

pytest_plugins = ["tests.support.smallcrawls"]
pytestmark = pytest.mark.slow

SAVED = {"d00000/index", "d00000/f00000", "d00000/f00001"}
MIRRORED = {"a.test/index.html", "a.test/page.html"}


class Paths(Plug):
    """Makes an item of each page."""

    def loaded(self, page: Page) -> None:
        self.emit({"url": page.url.href})


@pytest.fixture
def two_pages(web: Web) -> Web:
    web.page("a.test/", "/page.html")
    web.pages("a.test/page.html")
    return web


@effect_of("outputMode")
@pytest.mark.parametrize(
    ("mode", "files"),
    [
        ("0", set()),
        ("none", set()),
        ("1", SAVED),
        ("save", SAVED),
        ("2", MIRRORED),
        ("mirror", MIRRORED),
        ("3", set()),
        ("stats", set()),
        ("1,2", SAVED | MIRRORED),
        ("stats,save", SAVED),
        ("save,mirror,stats", SAVED | MIRRORED),
    ],
)
def test_output_mode_is_what_becomes_of_pages(
    two_pages: Web, crawl: Worlds, mode: str, files: set[str]
) -> None:
    world = crawl(f"outputMode {mode}")
    assert len(world.fetched) == 2
    assert world.files("out") == files
    plugs = world.snapshot("output")
    assert ("stats" in plugs) == (mode in "3" or "stats" in mode)
    assert plugs.get("stats", {"pages": 2})["pages"] == 2


@effect_of("keepLinks")
@pytest.mark.parametrize("line", ["", "keepLinks off"])
def test_the_links_of_all_pages_are_noted_unless_keep_links_is_off(
    two_pages: Web, crawl: Worlds, line: str
) -> None:
    world = crawl(line)
    path = world.folder / "state" / "links.bin"
    if line:
        assert not path.exists()
    else:
        record = LinkReader(path)
        to = record.hash.one(two_pages.url("a.test/page.html"))
        found = [(url, list(hashes)) for url, hashes in record.pages()]
        assert found == [(two_pages.url("a.test/"), [to])]


@effect_of("outputMode")
def test_an_archive_becomes_one_file_when_the_crawl_has_ended(
    two_pages: Web, crawl: Worlds
) -> None:
    world = crawl("outputMode warc,wacz", "warcSize 1")
    assert set(world.snapshot("output")) == {"wacz", "own"}
    out = world.folder / "out"
    [packed] = out.glob("*.wacz")
    with zipfile.ZipFile(packed) as file:
        inside = {name for name in file.namelist() if name.startswith("archive/")}
        pages = file.read("pages/pages.jsonl").splitlines()
    assert inside == {f"archive/{path.name}" for path in warcs(out)}
    assert len(inside) == 3 and len(pages) == 1 + 2
    assert f"{packed}: 4 captures, 2 of them pages, of 3 WARC files" in world.stderr.getvalue()
    stopped = crawl("outputMode wacz", watch=lambda world: world.crawl.stop())
    assert stopped.code == 11 and not list((stopped.folder / "out").glob("*.wacz"))


@effect_of("plug", "items")
def test_a_plug_by_its_name_makes_items(two_pages: Web, crawl: Worlds, tmp_path: Path) -> None:
    file = tmp_path / "items.jsonl"
    crawl("plug tests.keywords.test_output:Paths", f"items {file}", output=None)
    items = [json.loads(line) for line in file.read_text().splitlines()]
    assert items == [{"url": two_pages.url(place)} for place in ("a.test/", "a.test/page.html")]


@effect_of("warcSize", "warcPrefix")
def test_the_size_and_the_names_of_archives(two_pages: Web, crawl: Worlds) -> None:
    usual = crawl("outputMode warc")
    assert len(warcs(usual.folder / "out")) == 1
    small = crawl("outputMode warc", "warcSize 1", "warcPrefix My-crawl_2")
    found = warcs(small.folder / "out")
    assert len(found) == 3  # robots.txt and two pages
    assert all(file.name.startswith("My-crawl_2_") for file in found)


@effect_of("warcDedup")
def test_what_an_earlier_archive_has_is_referred_to(two_pages: Web, crawl: Worlds) -> None:
    first = crawl("outputMode warc")
    [index] = (first.folder / "out").glob("*.cdxj")
    again = crawl("outputMode warc", f"warcDedup {index}")
    kinds = [r.kind for r in records(*warcs(again.folder / "out"))]
    assert kinds.count("revisit") == 2
    assert again.snapshot("output")["warc"]["revisits"] == 2


@effect_of("outputMode")
def test_without_output_mode_nothing_is_kept(two_pages: Web, crawl: Worlds) -> None:
    assert crawl().files("out") == set()


@effect_of("outputMode")
def test_saved_and_mirrored_pages_are_what_the_server_sent(two_pages: Web, crawl: Worlds) -> None:
    world = crawl("outputMode 1,2")
    body = two_pages.places["a.test/page.html"][0].body
    out = world.folder / "out"
    assert (out / "d00000/f00001").read_bytes() == body
    assert (out / f"a.test:{two_pages.port}/page.html").read_bytes() == body
    assert (out / "d00000/index").read_text().split() == [
        "0",
        two_pages.url("a.test/"),
        "1",
        two_pages.url("a.test/page.html"),
    ]


@effect_of("outputDir")
def test_output_dir_is_where_pages_go(two_pages: Web, crawl: Worlds, tmp_path: Path) -> None:
    world = crawl("outputMode 1", f'outputDir "{tmp_path}/a shelf"')
    assert (world.files("out"), world.files("../a shelf")) == (set(), SAVED)


@effect_of("stateDir")
def test_state_dir_is_where_the_crawl_keeps_its_log_and_queues(
    two_pages: Web, crawl: Worlds, tmp_path: Path
) -> None:
    world = crawl(f"stateDir {tmp_path}/drawer")
    assert world.files("state") == set()
    assert {"crawl.jsonl", "state.json", "seen.000001.log"} <= world.files("../drawer")


@effect_of("stateDir")
def test_a_crawl_goes_on_from_its_state_dir(web: Web, crawl: Worlds, tmp_path: Path) -> None:
    web.page("a.test/", *[f"/{n}" for n in range(9)])
    web.pages(*[f"a.test/{n}" for n in range(9)])
    keep = f"stateDir {tmp_path}/drawer"
    first = crawl(keep, "limitPage 4")
    second = crawl(keep, start=Start.RESUME)
    assert first.kept & second.kept == set()
    assert len(first.kept | second.kept) == 10


@effect_of("canReload")
def test_can_reload_saves_the_state_while_crawling(web: Web, crawl: Worlds) -> None:
    """The state that another process would resume, had this one been killed at the last page."""
    web.page("a.test/0", "/1", "/2", "/3")
    web.pages("a.test/1", "a.test/2", "a.test/3")

    def owed(*lines: str) -> set[str]:
        left: set[str] = set()

        def watch(world: World) -> None:
            if len(world.pages_asked) == 4 and not left:
                state = State(world.folder / "state")
                left.update(url.href for url in owed_urls(state))

        crawl("waitDuration 1.1", *lines, watch=watch, seeds=["a.test/0"])
        return left

    assert owed("canReload") == {web.url("a.test/3")}
    assert owed() == {web.url("a.test/0")}


# The terminal.


@effect_of("fetchInfo")
def test_fetch_info_is_a_line_for_each_url(web: Web, crawl: Worlds) -> None:
    web.page("a.test/", "/missing")
    lines = crawl("fetchInfo").stdout.getvalue().splitlines()
    assert lines == [
        f"[success] {web.url('a.test/')}",
        f"[err40X] {web.url('a.test/missing')}",
    ]
    assert crawl().stdout.getvalue() == ""


@effect_of("printStats")
def test_print_stats_is_a_block_every_eight_seconds(two_pages: Web, crawl: Worlds) -> None:
    said = crawl("printStats", "waitDuration 10").stdout.getvalue()
    assert said.count("success :") == 2
    assert "pages :   1\t" in said
    assert "Remaining Time" not in said
    limited = crawl("printStats", "waitDuration 10", "limitTime 1").stdout.getvalue()
    assert "Remaining Time: " in limited
    assert crawl("waitDuration 10").stdout.getvalue() == ""


@effect_of("debug")
def test_debug_says_what_the_crawler_is_about(two_pages: Web, crawl: Worlds) -> None:
    lines = crawl("debug", "waitDuration 10").stderr.getvalue().splitlines()
    assert len(lines) >= 15
    assert all(
        re.match(r"(running|finished|stopping): \d+ requests in flight, ", each) for each in lines
    )
    assert "<" not in "".join(lines)
    assert crawl("waitDuration 10").stderr.getvalue() == ""


@effect_of("notify")
def test_a_command_gets_the_report_and_what_changed(
    two_pages: Web, crawl: Worlds, tmp_path: Path
) -> None:
    file = tmp_path / "told.json"
    crawl("outputMode database", f'notify "cat > {file}"')
    told = json.loads(file.read_text())
    assert (told["success"], told["exit_code"], told["changes"]) == (2, 0, {"new": 2})
    assert {change["url"] for change in told["changed_pages"]} == {
        two_pages.url(place) for place in ("a.test/", "a.test/page.html")
    }
    world = crawl("notify false")
    assert (world.code, "notify false: exit status 1\n" in world.stderr.getvalue()) == (0, True)
