"""`larbinpy crawl` as a process: without a configuration, and with --resume=auto."""

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from larbinpy.cli import main
from larbinpy.cli.common import Defaults, defaults_of
from larbinpy.config import Config, Given
from larbinpy.storage.state import NOT_RESUMED
from tests.support.crawling import Asked, Crawler, Web, World, html, missing, one_line
from tests.support.revisits import all_due
from tests.support.webserver import Step, Until

pytest_plugins = ["tests.support.crawlworld"]


# Without a configuration.


@pytest.fixture
def two_sites(world: World) -> Web:
    """docs.test with a link to other.test."""

    def answer(asked: Asked) -> Iterator[Step]:
        if asked.path == "/":
            yield html("/below/page", other.url("/"))
        elif asked.path == "/below/page":
            yield html(text="below")
        else:
            yield missing()

    other = world.web(lambda asked: iter([html(text="other")]), "other.test")
    return world.web(answer, "docs.test")


def crawl(world: World, *arguments: str) -> Crawler:
    """A whole crawl in a folder without larbin.conf."""
    host, port = world.names.address
    options = ("--allow-private", "--wait", "0", "--set", f"dnsServer={host}:{port}")
    crawler = world.start("crawl", *arguments, *options, "--progress", "none")
    world.finish(crawler)
    return crawler


@pytest.mark.slow
def test_a_crawl_without_a_configuration_stays_and_keeps(world: World, two_sites: Web) -> None:
    host = f"docs.test:{two_sites.port}"
    crawler = crawl(world, host)
    assert crawler.process.returncode == 0
    assert crawler.err == (
        "larbinpy: staying on docs.test (--set stay=any follows all links); "
        "keeping pages in save/, a mirror (-o DIR or --set outputMode=none)\n"
        "Left out:\n           1  links: they are outside of what stay keeps to\n"
    )
    assert world.files() == {f"{host}/index.html", f"{host}/below/page"}
    assert set(world.outcomes().values()) == {"success"}
    assert len(world.outcomes()) == 2


@pytest.mark.slow
def test_what_was_assumed_holds_after_the_crawl(world: World) -> None:
    """A visit stays on the hosts of the seeds, and `explain` gives the reasons of the crawl."""
    other = world.web(lambda asked: iter([html(text="other")]), "other.test")
    asked_so_far: list[str] = []

    def answer(asked: Asked) -> Iterator[Step]:
        asked_so_far.append(asked.path)
        is_later = asked_so_far.count("/") > 1
        yield html(*([other.url("/")] if is_later else []), text=f"spider {is_later}")

    start = world.web(answer, "docs.test").url("/")
    soon = ("--set", "revisitMin=0.001", "--set", "revisitMax=0.001")
    crawl(world, start, "--set", "outputMode=database", "--set", "database=crawl.db", *soon)
    all_due(world.folder)
    visit = world.larbinpy("revisit")
    assert (visit.process.returncode, asked_so_far.count("/")) == (0, 2), visit.err
    assert {fate["url"] for fate in world.fates} == {start}
    explained = world.larbinpy("explain", other.url("/")).out
    assert "refused: stay host keeps to the hosts of the seeds" in explained
    settings = world.larbinpy("check-config", "--changed", "--state", "state").out
    (line,) = (line for line in settings.splitlines() if line.startswith("stay host "))
    assert line.endswith(" (from a default of this command)")


@pytest.mark.slow
def test_each_of_both_is_changed_by_an_option(world: World, two_sites: Web) -> None:
    start = two_sites.url("/")
    crawler = crawl(world, start, "--set", "stay=any", "--set", "outputMode=none")
    assert (crawler.process.returncode, crawler.err) == (0, "")
    assert len(world.outcomes()) == 3
    assert world.files() == set()
    crawler = crawl(world, "--scratch", start, "--depth", "0", "-o", "pages")
    assert crawler.err.startswith("larbinpy: staying on docs.test (")
    assert "keeping" not in crawler.err
    assert [path.name for path in (world.folder / "pages").rglob("*.html")] == ["index.html"]


@pytest.mark.slow
def test_a_configuration_is_obeyed(world: World, two_sites: Web) -> None:
    world.conf("outputMode none", f"startUrl {two_sites.url('/')}")
    crawler = world.run()
    assert crawler.err == ""
    assert len(world.outcomes()) == 3
    assert world.files() == set()


def defaults(given: set[str], file: str | None = None) -> Defaults:
    return defaults_of(Given(file, [(keyword, "") for keyword in given]))


def test_what_is_assumed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert defaults({"waitduration"}).config == Config(
        stay="host", output_mode=("mirror",), use_cookies=True
    )
    for keyword in ("stay", "noexternallinks", "limittodomain", "accept", "reject"):
        assert defaults({keyword}).config == Config(output_mode=("mirror",))
    assert defaults(set(), file="my.conf").config == Config()
    monkeypatch.setenv("LARBINPY_OUTPUTMODE", "save")
    assert defaults(set()).config == Config(stay="host", use_cookies=True)
    (tmp_path / "larbin.conf").touch()
    assert defaults(set()).config == Config()


def test_the_line_names_few_hosts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assumed = defaults({"outputmode"})

    def hosts(*urls: str) -> str:
        return assumed.said("save", urls).removeprefix("staying on ").partition(" (")[0]

    assert hosts("a.test/1", "http://a.test/2") == "a.test"
    assert hosts("a.test", "b.test:8080") == "a.test and b.test"
    assert hosts("a.test", "b.test", "c.test") == hosts() == "the hosts of the seeds"
    assert defaults({"outputmode", "locksite"}).said("save", ()) == ""


# --resume=auto


@pytest.mark.slow
@pytest.mark.parametrize("option", ["--resume=auto", "--reload=auto"])
def test_one_command_starts_goes_on_after_a_kill_and_ends(world: World, option: str) -> None:
    is_open = False

    def answer(asked: Asked) -> Iterator[Step]:
        if asked.path == "/":
            yield html("/first", "/held")
        elif asked.path == "/held":
            yield Until(lambda: is_open)
            yield html(text="held")
        elif asked.path == "/first":
            yield html(text="first")
        else:
            yield missing()

    web = world.web(answer, "site.test")
    world.conf("canReload", f"startUrl {web.url('/')}")
    crawler = world.crawl(option)
    world.until(lambda: web.count("/held") == 1)
    second = world.crawl(option)
    assert world.finish(second) == 2
    assert f"{world.state.name}: in use by process {crawler.process.pid}" in one_line(second)
    crawler.signal(signal.SIGKILL)
    world.finish(crawler)
    is_open = True
    urls = {web.url(path) for path in ("/", "/first", "/held")}
    assert world.run(option).process.returncode == 0
    assert world.outcomes() == dict.fromkeys(urls, "success")
    assert world.reported()["success"] == 3

    asked = web.count("/")
    third = world.run(option)
    assert third.process.returncode == 0
    assert one_line(third) == "larbinpy: state: this crawl is finished; --scratch starts anew\n"
    assert web.count("/") == asked
    assert world.reported()["success"] == 3


def test_auto_needs_seeds_to_start(world: World) -> None:
    crawler = world.larbinpy("crawl", "--resume=auto")
    assert crawler.process.returncode == 2
    assert "nothing to crawl" in one_line(crawler)
    crawler = world.larbinpy("crawl", "--resume=maybe", "a.test")
    assert crawler.process.returncode == 2
    assert "'auto'" in crawler.err


@pytest.mark.parametrize(("name", "shown"), [("none.txt", "none.txt"), ("-", "standard input")])
def test_a_list_without_a_url_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, shown: str
) -> None:
    monkeypatch.chdir(tmp_path)
    text = "# nothing yet\n\n"
    Path("none.txt").write_text(text)
    result = CliRunner().invoke(main, ["crawl", "-i", name], input=text)
    assert result.exit_code == 2
    assert result.stderr == (
        f"larbinpy: {shown}: no URL in it, and nothing else to crawl: give a URL, startUrl or"
        " inputPort\n"
    )


@pytest.mark.slow
def test_a_list_without_a_url_is_said_beside_others(world: World) -> None:
    web = world.web(lambda asked: iter([html()]), "site.test")
    world.conf()
    (world.folder / "none.txt").touch()
    crawler = world.run(web.url("/"), "-i", "none.txt")
    assert (crawler.process.returncode, web.count("/")) == (0, 1)
    assert one_line(crawler) == "larbinpy: none.txt: no URL in it\n"


def test_resume_needs_a_crawl_and_leaves_nothing_behind(world: World) -> None:
    crawler = world.larbinpy("crawl", "--resume")
    assert crawler.process.returncode == 2
    assert one_line(crawler) == f"larbinpy: state: {NOT_RESUMED}\n"
    assert not world.state.exists()


def test_resume_takes_no_url_for_its_value(world: World) -> None:
    crawler = world.larbinpy("crawl", "--resume", "auto")
    assert "'auto' is not a URL that can be crawled" in one_line(crawler)
    crawler = world.larbinpy("crawl", "--", "--resume")
    assert "'--resume' is not a URL that can be crawled" in one_line(crawler)


def test_a_file_in_place_of_a_url_needs_an_option(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("urls.txt").write_text("http://a.test/\n")
    for command in ("crawl", "seed"):
        result = CliRunner().invoke(main, [command, "urls.txt"])
        assert result.exit_code == 2
        assert result.stderr == (
            "larbinpy: urls.txt: a file, no URL; -i urls.txt reads the URLs in it\n"
        )
    for arguments in (["crawl", "gone.txt"], ["mirror", "urls.txt", "there"]):
        result = CliRunner().invoke(main, arguments)
        assert result.exit_code == 2
        assert "http:// is missing if it is a host" in result.stderr and "-i" not in result.stderr
