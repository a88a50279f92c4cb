"""`larbinpy mirror`: a first run, a refresh, and an interrupted run."""

import gzip
import json
import shutil
import signal
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from larbinpy.cli.mirror import configuration, given_by
from larbinpy.cli.mirror import mirror as mirror_command
from larbinpy.config import MOST_DEPTH, Config
from larbinpy.output.mirror.catalog import Catalog
from tests.support.checkout import ROOT
from tests.support.crawling import Asked, World, html, missing, ok, one_line
from tests.support.webserver import Act, Step, reply

pytestmark = pytest.mark.slow

PAGES = 40

#: Called with options; returns the messages of `mirror` and its settings.
Configured = Callable[..., tuple[str, Config]]


class Site:
    """A page with many links, a style sheet and a dead link; it answers conditional requests."""

    def __init__(self) -> None:
        self.hangs_at = ""
        self.asked: list[Asked] = []

    def __call__(self, asked: Asked) -> Iterable[Step]:
        if asked.path == self.hangs_at:
            return [Act.HANG]
        self.asked.append(asked)
        if asked.headers.get("if-none-match") == '"1"':
            return [reply(b"", status="304 Not Modified")]
        return [self._body(asked.path)]

    def _body(self, path: str) -> bytes:
        if path == "/":
            return html(*(f"/p{number}" for number in range(PAGES)), "/gone")
        if path.startswith("/large"):
            return ok(path.encode() * (1 << 18), "video/mp4", 'ETag: "1"')
        if path == "/s.css":
            return ok(b"a { }", "text/css", 'ETag: "1"')
        if path.startswith("/p"):
            return ok(b'<title>p</title><link rel=stylesheet href=/s.css><a href="/">up</a>')
        return missing()


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = World(tmp_path)
    yield made
    made.close()


def mirror(world: World, *urls: str) -> list[str]:
    """The command line, with settings that make it work on loopback, without delays."""
    host, port = world.names.address
    wanted = [f"dnsServer={host}:{port}", "waitBy=site", "retryWait=0.1", "fetchInfo"]
    more = [word for setting in wanted for word in ("--set", setting)]
    return ["mirror", *urls, "site", "--wait", "0", "--allow-private", "--progress", "none", *more]


def files(world: World) -> dict[str, str]:
    root = world.folder / "site"
    found = (path for path in root.rglob("*") if path.is_file())
    return {
        str(path.relative_to(root)).partition("/")[2]: path.read_text()
        for path in found
        if path.relative_to(root).parts[0][0] != "." and path != root / "index.html"
    }


def test_a_site_is_mirrored_and_then_refreshed(world: World) -> None:
    site = Site()
    web = world.web(site, "a.test")
    first = world.larbinpy(*mirror(world, web.url()))
    assert first.process.returncode == 0, first.err
    assert len(files(world)) == PAGES + 2
    assert '<a href="p7.html">' in files(world)["index.html"]
    assert '<link rel=stylesheet href="s.css">' in files(world)["p7.html"]
    assert "1 could not be fetched:" in first.out
    assert f"{web.url('/gone')} (on {web.url()}): the server refused it or lacks it" in first.out
    before = files(world)
    site.asked.clear()
    second = world.larbinpy(*mirror(world, web.url()))
    assert second.process.returncode == 0, second.err
    assert "42 pages and files of 1 site," in second.out
    assert "0 new, 0 changed, 42 unchanged, 0 gone\n" in second.out
    assert len(site.asked) == PAGES + 4  # with robots.txt and the dead link
    assert files(world) == before


def test_unchanged_large_files_are_not_duplicates_of_each_other(world: World) -> None:
    """Their bodies are not read, so they have no digests to compare."""
    web = world.web(Site(), "a.test")
    command = [*mirror(world, web.url("/large1")), "--set", "pageNoDuplicate"]
    command += ["--set", f"startUrl={web.url('/large2')}"]
    assert "2 pages and files" in world.larbinpy(*command).out
    assert "0 new, 0 changed, 2 unchanged, 0 gone\n" in world.larbinpy(*command).out


def test_a_stopped_mirror_can_be_browsed_and_continued(world: World) -> None:
    site = Site()
    site.hangs_at = "/p20"
    web = world.web(site, "a.test")
    # Long enough that the crawl still waits for this page when the rival has come and gone.
    crawler = world.start(*mirror(world, web.url()), "--set", "timeoutPage=4s")
    world.until(lambda: any(asked.path == "/p19" for asked in site.asked))
    rival = world.larbinpy(*mirror(world, web.url()))
    assert rival.process.returncode == 2
    assert "in use by process" in one_line(rival)
    crawler.signal(signal.SIGTERM)
    assert world.finish(crawler) == 11
    assert "run the same command to continue" in crawler.out
    some = files(world)
    assert 2 < len(some) < PAGES
    assert '<a href="p7.html">' in some["index.html"]
    assert f'<a href="{web.url("/p30")}">' in some["index.html"]
    site.hangs_at = ""
    site.asked.clear()
    again = world.larbinpy(*mirror(world, web.url()))
    assert again.process.returncode == 0
    assert "continuing the unfinished mirror" in again.err
    assert len(site.asked) < PAGES
    assert len(files(world)) == PAGES + 2
    assert '<a href="p30.html">' in files(world)["index.html"]


def test_a_stopped_mirror_without_its_catalog_is_refused(world: World) -> None:
    """Only the catalog knows the URLs of its files."""
    site = Site()
    site.hangs_at = "/p20"
    web = world.web(site, "a.test")
    crawler = world.start(*mirror(world, web.url()), "--set", "timeoutPage=1s")
    world.until(lambda: any(asked.path == "/p19" for asked in site.asked))
    crawler.signal(signal.SIGTERM)
    assert world.finish(crawler) == 11
    site.hangs_at = ""
    for file in (world.folder / "site").glob(".larbinpy-catalog*"):
        file.unlink()
    (world.folder / "site" / "mine").write_text("mine")
    before = files(world)
    refused = world.larbinpy(*mirror(world, web.url()))
    assert refused.process.returncode == 2
    assert "remove site/.larbinpy to fetch everything again" in refused.err
    assert "--scratch" not in refused.err
    assert refused.err.count("\n") == 1
    assert files(world) == before
    # The remedy in the message works.
    shutil.rmtree(world.folder / "site" / ".larbinpy")
    assert world.larbinpy(*mirror(world, web.url())).process.returncode == 0
    assert len(files(world)) == PAGES + 3
    assert (world.folder / "site" / "mine").read_text() == "mine"


def test_an_unknown_host_is_an_error(world: World) -> None:
    crawler = world.larbinpy(*mirror(world, "http://nowhere.test/"))
    assert crawler.process.returncode == 4
    said = "no page could be fetched: http://nowhere.test/: its host has no address: no such name\n"
    assert crawler.err == f"larbinpy: {said}"
    assert "no page" not in crawler.out
    assert "  http://nowhere.test/: its host has no address: no such name\n" in crawler.out


def test_the_summary_counts_urls_that_robots_txt_forbids(world: World) -> None:
    def site(asked: Asked) -> Iterable[Step]:
        if asked.path == "/robots.txt":
            return [ok(b"User-agent: *\nDisallow: /secret", "text/plain")]
        return [html("/secret")]

    web = world.web(site, "a.test")
    crawler = world.larbinpy(*mirror(world, web.url()))
    lines = crawler.out.splitlines()
    assert lines[lines.index("Left out:") + 1] == "           1  by robots.txt"
    assert "could not be fetched" not in crawler.out


def test_the_summary_counts_pages_whose_scripts_ask_the_site(world: World) -> None:
    page = ok(b"<h1>Prices</h1><script>fetch('/api/prices').then(show)</script>", "text/html")
    web = world.web(lambda asked: [missing() if asked.path == "/robots.txt" else page], "a.test")
    lines = world.larbinpy(*mirror(world, web.url())).out.splitlines()
    why = "their scripts ask the site for data, as only it has; --render keeps what they draw"
    assert lines[lines.index("Left out:") + 1] == f"           1  pages: {why}"


def test_an_archive_ends_with_what_it_lacks_whatever_progress_is_shown(world: World) -> None:
    def site(asked: Asked) -> Iterable[Step]:
        if asked.path == "/robots.txt":
            return [ok(b"User-agent: *\nDisallow: /secret", "text/plain")]
        return [html("/secret", "/lost")] if asked.path == "/" else [missing()]

    web = world.web(site, "a.test")
    _, _, _, *options = mirror(world, web.url())
    options += ["--scratch", "--set", "stay=host", "--set", "outputMode=warc"]
    crawler = world.larbinpy("crawl", web.url(), *options)
    assert crawler.err.splitlines() == [
        "larbinpy: 1 URL could not be fetched: larbinpy report state",
        "Left out:",
        "           1  by robots.txt",
    ]


def changing(pages: dict[str, bytes]) -> Callable[[Asked], Iterable[Step]]:
    """A site with these pages, which the test may change."""

    def site(asked: Asked) -> Iterable[Step]:
        return [pages.get(asked.path, missing())]

    return site


def test_several_sites_are_in_one_mirror(world: World) -> None:
    one = world.web(changing({"/": html("/x"), "/x": html("/")}), "a.test")
    two = world.web(changing({"/start": html("/y", one.url("/x")), "/y": html()}), "b.test")
    crawler = world.larbinpy(*mirror(world, one.url(), two.url("/start")))
    assert crawler.process.returncode == 0, crawler.err
    assert set(files(world)) == {"index.html", "x.html", "start.html", "y.html"}
    assert f'<a href="../a.test%3A{one.port}/x.html">' in files(world)["start.html"]
    front = (world.folder / "site/index.html").read_text()
    assert f'href="a.test%3A{one.port}/index.html"' in front
    assert f'href="b.test%3A{two.port}/start.html"' in front


def test_no_parent_takes_the_folder_and_what_its_pages_need(world: World) -> None:
    far = world.web(changing({"/far.gif": ok(b"GIF", "image/gif"), "/x": html()}), "b.test")
    images = f'<img src=/top.gif><img src="{far.url("/far.gif")}"><link rel=stylesheet href=/s.css>'
    links = f'<a href=2>2</a><a href=/>up</a><a href=/other/>o</a><a href="{far.url("/x")}">x</a>'
    pages = {
        "/guide/": ok((images + links).encode()),
        "/guide/2": html("/guide/deep/3"),
        "/guide/deep/3": html("/guide/", "/guide2"),
        "/s.css": ok(b"a { background: url(/css.gif) }", "text/css"),
        "/top.gif": ok(b"GIF1", "image/gif"),
        "/css.gif": ok(b"GIF2", "image/gif"),
        "/": html("/guide/"),
        "/other/": html("/guide/"),
        "/guide2": html(),
    }
    web = world.web(changing(pages), "a.test")
    crawler = world.larbinpy(*mirror(world, web.url("/guide/")), "--no-parent")
    assert crawler.process.returncode == 0, crawler.err
    found = files(world)
    pages_and_needs = {"guide/index.html", "guide/2.html", "guide/deep/3.html", "s.css", "far.gif"}
    assert set(found) == pages_and_needs | {"top.gif", "css.gif"}
    assert f'<a href="{web.url()}">' in found["guide/index.html"]
    assert '<a href="2.html">' in found["guide/index.html"]


def test_no_parent_is_for_each_of_several_urls(world: World) -> None:
    pages = {"/a/": html("/a/1", "/b/1", "/c/1"), "/b/": html("/b/1", "/c/1")}
    pages |= {f"/{name}/1": html() for name in "abc"}
    web = world.web(changing(pages), "a.test")
    command = mirror(world, web.url("/a/"), web.url("/b/"))
    assert world.larbinpy(*command, "--no-parent").process.returncode == 0
    expected = {"a/index.html", "a/1.html", "b/index.html", "b/1.html"}
    assert set(files(world)) == expected
    # Files of a larger mirror are not gone when it is refreshed in part.
    world.larbinpy(*command)
    assert set(files(world)) == expected | {"c/1.html"}
    again = world.larbinpy(*command, "--no-parent", "--purge")
    assert "4 unchanged, 0 gone\n" in again.out
    assert set(files(world)) == expected | {"c/1.html"}


def test_a_refresh_says_what_it_found_and_purges_on_request(world: World) -> None:
    pages = {"/": html("/a", "/b", "/c", "/d"), "/a": ok(b"<p>a"), "/b": ok(b"<p>b")}
    pages |= {"/c": ok(b"<p>c"), "/d": ok(b"<p>d")}
    web = world.web(changing(pages), "a.test")
    first = world.larbinpy(*mirror(world, web.url()), "--report", "report.json")
    assert "unchanged" not in first.out
    assert json.loads((world.folder / "report.json").read_text())["mirror"]["new"] == 5
    pages |= {"/": html("/a", "/b", "/d", "/e"), "/b": ok(b"<p>new"), "/e": ok(b"<p>e")}
    pages["/d"] = b"HTTP/1.1 503 Busy\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
    del pages["/a"]
    quick = ("--set", "retries=1", "--set", "maxWait=0")
    second = world.larbinpy(*mirror(world, web.url()), *quick)
    assert second.process.returncode == 0
    lines = second.out.splitlines()
    assert "1 new, 2 changed, 0 unchanged, 2 gone; --purge removes them" in lines
    named = lines[lines.index("changed:") + 1 :][:2]
    assert all(line.startswith("  http://a.test") for line in named)
    assert "2 could not be fetched:" in lines
    refused = f"  {web.url('/a')} (on {web.url()}): the server refused it or lacks it: 404"
    assert f"{refused}; old copy kept" in lines
    busy = f"  {web.url('/d')} (on {web.url()}): the server had an error: 503 after 2 tries"
    assert f"{busy}; old copy kept" in lines
    assert {"a.html", "c.html", "d.html"} < set(files(world))
    third = world.larbinpy(*mirror(world, web.url()), *quick, "--purge", "--report", "report.json")
    assert "0 new, 0 changed, 3 unchanged, 2 gone and removed\n" in third.out
    assert f"{refused}; old copy removed\n" in third.out
    assert set(files(world)) == {"index.html", "b.html", "d.html", "e.html"}
    report = json.loads((world.folder / "report.json").read_text())
    assert report["exit_code"] == 0
    assert report["mirror"]["urls"]["gone"] == [web.url("/a"), web.url("/c")]
    copies = {each["url"]: each["old_copy"] for each in report["mirror"]["failures"]}
    assert copies == {web.url("/a"): "removed", web.url("/d"): "kept"}


def test_a_killed_purge_is_completed(world: World) -> None:
    """Wherever the kill comes: the catalog has only files that are there."""
    names = [f"/p{number:03}" for number in range(300)]
    pages = {"/": html(*names)} | {name: ok(name.encode()) for name in names}
    web = world.web(changing(pages), "a.test")
    world.larbinpy(*mirror(world, web.url()))
    pages["/"] = html(*names[140:])
    root = world.folder / "site"
    crawler = world.start(*mirror(world, web.url()), "--purge")
    world.until(lambda: not (root / f"a.test:{web.port}/p000.html").exists())
    crawler.signal(signal.SIGKILL)
    world.finish(crawler)
    with closing(Catalog(root)) as catalog:
        assert all((root / entry.path).exists() for entry in catalog.pages(linking=False))
    again = world.larbinpy(*mirror(world, web.url()), "--purge")
    assert "160 unchanged, 140 gone and removed\n" in again.out
    assert set(files(world)) == {"index.html", *(f"{name[1:]}.html" for name in names[140:])}


def test_archives_beside_a_mirror_keep_every_version(world: World) -> None:
    pages = {"/": html("/a"), "/a": ok(b"<p>first")}
    web = world.web(changing(pages), "a.test")
    command = [*mirror(world, web.url()), "--purge", "--set", "outputMode=mirror,warc"]
    assert world.larbinpy(*command).process.returncode == 0
    first = set((world.folder / "site").glob("*.warc.gz"))
    pages["/"] = html()
    again = world.larbinpy(*command)
    assert "0 new, 1 changed, 0 unchanged, 1 gone and removed\n" in again.out
    assert not (world.folder / f"site/a.test:{web.port}/a.html").exists()
    both = set((world.folder / "site").glob("*.warc.gz"))
    assert first < both
    [old] = first
    assert b"<p>first" in gzip.decompress(old.read_bytes())


def test_a_purge_that_is_refused_says_why(world: World) -> None:
    pages = {"/": html("/a"), "/a": html()}
    web = world.web(changing(pages), "a.test")
    world.larbinpy(*mirror(world, web.url("/"), web.url("/a")))
    del pages["/a"]
    again = world.larbinpy(*mirror(world, web.url("/"), web.url("/a")), "--purge")
    assert f"1 gone and kept: {web.url('/a')} could not be fetched\n" in again.out
    assert "a.html" in files(world)


def test_a_purge_that_finds_nothing_gone_says_why_it_did_not_look(world: World) -> None:
    """A page that failed keeps all that it links to."""
    pages = {"/": html("/a"), "/a": html(), "/b": html()}
    web = world.web(changing(pages), "a.test")
    world.larbinpy(*mirror(world, web.url("/"), web.url("/b")))
    pages["/"] = reply(b"", status="403 Forbidden")
    for urls in ([web.url("/"), web.url("/b")], [web.url("/")]):
        again = world.larbinpy(*mirror(world, *urls), "--purge")
        assert f"nothing was purged: {web.url('/')} could not be fetched\n" in again.out
    assert "a.html" in files(world)


def test_a_start_page_that_is_missing_is_told_by_the_last_lines_and_the_exit_status(
    world: World,
) -> None:
    redirect = reply(b"", "Location: /none", status="302 Found")
    web = world.web(changing({"/": html(), "/moved": redirect}), "a.test")
    starts = [web.url("/"), "http://no.test/", web.url("/moved")]
    crawler = world.larbinpy(*mirror(world, *starts), "--report", "report.json")
    assert crawler.process.returncode == 8
    assert "a start page is missing: http://no.test/ could not be fetched\n" in crawler.out
    missing = f"{web.url('/moved')} redirects to {web.url('/none')}, which could not be fetched"
    assert f"a start page is missing: {missing}\n" in crawler.out
    assert json.loads((world.folder / "report.json").read_text())["exit_code"] == 8
    # It is not a start page of this run any more.
    assert world.larbinpy(*mirror(world, web.url("/"))).process.returncode == 0


def test_a_host_that_sends_nothing_that_pages_need_is_told_by_the_exit_status(
    world: World,
) -> None:
    far = world.web(changing({"/i": ok(b"GIF", "image/gif")}), "far.test")
    pages = {"/": ok(f'<img src="{far.url("/i")}"><img src="{far.url("/none")}">'.encode())}
    web = world.web(changing(pages), "a.test")
    assert world.larbinpy(*mirror(world, web.url())).process.returncode == 0
    pages["/"] = ok(f'<p><img src="{far.url("/none")}"><img src="http://no.test/i">'.encode())
    crawler = world.larbinpy(*mirror(world, web.url()), "--report", "report.json")
    assert crawler.process.returncode == 8
    assert "no file came from far.test, no.test; pages need files from there\n" in crawler.out
    assert json.loads((world.folder / "report.json").read_text())["exit_code"] == 8


def test_the_folder_comes_last(world: World) -> None:
    crawler = world.larbinpy("mirror", "http://a.test/")
    assert crawler.process.returncode == 2
    assert "give a URL and the folder of the mirror" in one_line(crawler)
    crawler = world.larbinpy("mirror", "http://a.test/", "http://b.test/")
    assert crawler.process.returncode == 2
    assert "http://b.test/: give the folder of the mirror as the last argument" in crawler.err
    assert not (world.folder / "http:").exists()


def test_names_stay_as_they_were_begun(world: World) -> None:
    web = world.web(changing({"/": html("/%C3%A9"), "/%C3%A9": html()}), "a.test")
    assert not world.larbinpy(*mirror(world, web.url())).err
    command = [*mirror(world, web.url()), "--set", "fileNames=unicode"]
    assert "site keeps its ascii file names" in world.larbinpy(*command).err
    assert set(files(world)) == {"index.html", "%C3%A9.html"}


# Settings


@pytest.fixture
def configured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Configured:
    """The messages and the settings of a mirror with `options` and a larbin.conf."""
    monkeypatch.chdir(tmp_path)

    def configured(*options: str, conf: str = "") -> tuple[str, Config]:
        (tmp_path / "larbin.conf").write_text(conf)
        arguments = ["http://a.test/", "site", *options]
        given = mirror_command.make_context("mirror", arguments).params
        del given["progress"], given["report"]
        config = configuration(given_by(**given), "site")
        return capsys.readouterr().err, config

    return configured


def pace(config: Config) -> tuple[float, int, int, int]:
    return config.wait_duration, config.depth_in_site, config.bond_width, config.max_page_size


def test_options_override_settings_and_those_override_defaults(
    configured: Configured, monkeypatch: pytest.MonkeyPatch
) -> None:
    conf = "waitDuration 7 depthInSite 8 bondWidth 9 maxPageSize 10 From me@a.test"
    assert pace(configured()[1]) == (1, MOST_DEPTH, 0, 64 << 20)
    said, config = configured(conf=conf)
    assert pace(config) == (7, 8, 9, 10)
    assert config.sender == "me@a.test"
    assert said == "larbinpy: using the settings in larbin.conf\n"
    monkeypatch.setenv("LARBINPY_DEPTHINSITE", "18")
    assert pace(configured(conf=conf)[1]) == (7, 18, 9, 10)
    options = ("--wait", "0", "--depth", "0", "--rate", "0", "--set", "maxPageSize=20")
    assert pace(configured(*options, conf=conf)[1]) == (0, 0, 0, 20)


def test_the_larbin_conf_of_the_program_leaves_a_mirror_complete(
    configured: Configured,
) -> None:
    said, config = configured(conf=(ROOT / "larbin.conf").read_text())
    assert config == configured()[1]
    assert said.splitlines()[1:] == [
        "larbinpy: ignored for a mirror, unless given with --set: "
        "httpPort, inputPort, forbiddenExtensions, limitPage"
    ]


def test_rules_apply_if_they_were_meant_for_the_mirror(configured: Configured) -> None:
    conf = "reject **.zip\nstay page"
    said, config = configured(conf=conf)
    assert (config.rules, config.stay) == ((), "any")
    assert "ignored for a mirror, unless given with --set: reject, stay" in said
    said, config = configured("-c", "larbin.conf", conf=conf)
    assert [rule.pattern for rule in config.rules] == ["**.zip"]
    assert "--set: stay\n" in said
    config = configured("--no-parent", "--set", "reject=**.gz", conf=conf)[1]
    assert [rule.pattern for rule in config.rules] == ["**.gz"]
    assert config.stay == "prefix"
    assert configured("--no-parent", "--set", "stay=host")[1].stay == "host"


def test_settings_of_what_to_fetch_and_when_to_stop_are_ignored(
    configured: Configured, monkeypatch: pytest.MonkeyPatch
) -> None:
    conf = (
        "startUrl http://b.test/ outputMode save outputDir b stateDir b/c pageNoDuplicate "
        "limitTime 1 limitToDomain b.test end noExternalLinks specificSearch"
    )
    monkeypatch.setenv("LARBINPY_LIMITPAGE", "3")
    whole = configured()[1]
    assert configured(conf=conf)[1] == whole
    assert (whole.limit_page, whole.output_dir) == (0, "site")
    said, config = configured("--set", "limitPage=4", "--set", "forbiddenExtensions=.zip")
    assert (config.limit_page, config.forbidden_extensions) == (4, (".zip",))
    assert "limitPage" not in said
