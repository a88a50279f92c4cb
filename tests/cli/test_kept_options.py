"""A later run goes on with the options of the first: `--resume`, `mirror` and `revisit`."""

import json
import signal
from collections.abc import Iterator

import pytest

from tests.support.crawling import Asked, Crawler, Web, World, html, missing, one_line
from tests.support.webserver import Act, Step

pytest_plugins = ["tests.support.crawlworld"]
pytestmark = pytest.mark.slow

PAGES = [f"/{number}" for number in range(8)]


class Site:
    """A start page that leads to all others; `hangs` are pages that are never sent."""

    def __init__(self) -> None:
        self.hangs: set[str] = set()
        self.asked: list[Asked] = []

    def __call__(self, asked: Asked) -> Iterator[Step]:
        self.asked.append(asked)
        if asked.path in self.hangs:
            yield Act.HANG
        if asked.path == "/":
            yield html(*PAGES)
        elif asked.path in PAGES:
            yield html(text=asked.path)
        else:
            yield missing()


@pytest.fixture
def site() -> Site:
    return Site()


@pytest.fixture
def web(world: World, site: Site) -> Web:
    return world.web(site, "a.test")


@pytest.fixture
def start(web: Web) -> str:
    return f"http://127.0.0.1:{web.port}/"


def run(world: World, *arguments: str) -> Crawler:
    return world.larbinpy("crawl", *arguments, "--progress", "none")


FEW = ("--allow-private", "--wait", "0", "--set", "limitPage=2")


def test_a_crawl_goes_on_as_it_began(world: World, start: str, site: Site) -> None:
    first = run(world, start, *FEW, "--set", "stay=host", "--set", "outputMode=none")
    assert (first.process.returncode, first.err) == (0, "")
    assert set(world.outcomes().values()) == {"success"}
    again = run(world, "--resume", "--set", "limitPage=")
    assert again.process.returncode == 0
    assert one_line(again) == (
        "larbinpy: given earlier: waitDuration 0, stay host, outputMode none, allowPrivate on;"
        " --set changes that\n"
    )
    assert world.outcomes() == dict.fromkeys(
        [start, *(f"{start[:-1]}{p}" for p in PAGES)], "success"
    )
    # What this run was given counts for the next one.
    third = run(world, "--reload", "--allow-private", "--wait", "0")
    assert third.err.splitlines()[0] == (
        "larbinpy: given earlier: limitPage (not set), stay host, outputMode none;"
        " --set changes that"
    )
    # --scratch forgets them.
    fresh = run(world, "--scratch", start, "--set", "outputMode=none", "--set", "stay=host")
    assert fresh.process.returncode == 4
    assert set(world.outcomes().values()) == {"privateAddress"}
    saved = json.loads((world.state / "options.json").read_text())
    assert saved["options"] == [["outputMode", "none"], ["stay", "host"]]


def test_auto_starts_with_its_options_and_goes_on_with_all(world: World, start: str) -> None:
    assert run(world, "--resume=auto", start, *FEW).process.returncode == 0
    assert len(world.outcomes()) == 2
    again = run(world, "--resume=auto", start, "--set", "limitPage=3")
    assert again.err.startswith("larbinpy: given earlier: waitDuration 0, allowPrivate on; ")
    assert list(world.outcomes().values()) == ["success"] * 5


def test_the_file_is_remembered_and_read_anew(world: World, start: str) -> None:
    file = world.folder / "my.conf"
    file.write_text("allowPrivate waitDuration 0 limitPage 2")
    assert run(world, start, "-c", "my.conf", "-o", "pages").process.returncode == 0
    file.write_text("allowPrivate waitDuration 0 stateDir elsewhere")
    again = run(world, "--resume")
    assert one_line(again) == (
        "larbinpy: given earlier: -c my.conf, outputDir pages, outputMode mirror;"
        " --set changes that\n"
    )
    assert len(world.outcomes()) == len(PAGES) + 1
    # -o alone keeps pages, and goes on with that.
    files = [path for path in (world.folder / "pages").rglob("*") if path.is_file()]
    assert len([path for path in files if path.name[0] != "."]) == len(PAGES) + 1
    assert not (world.folder / "elsewhere").exists()
    file.unlink()
    lost = run(world, "--resume")
    assert lost.process.returncode == 2
    assert "my.conf: cannot be read: No such file or directory" in lost.err


def test_a_check_of_links_goes_on_as_one(world: World, start: str, site: Site) -> None:
    site.hangs = {"/7"}
    checked = world.start(
        "crawl", "--check-links", start, "--allow-private", "--wait", "0", "--progress", "none"
    )
    world.until(lambda: any(asked.path == "/7" for asked in site.asked))
    checked.signal(signal.SIGINT)
    checked.signal(signal.SIGTERM)
    assert world.finish(checked) == 13
    site.hangs = set()
    again = run(world, "--resume")
    assert again.process.returncode == 0
    assert "9 URLs checked" in again.out
    refused = run(world, "--resume", "-o", "pages")
    assert refused.process.returncode == 2
    assert "-o and --check-links cannot be used together" in refused.err


def test_no_secret_is_kept_and_it_must_be_given_again(world: World, start: str, site: Site) -> None:
    secret = ("--set", "header=X-Token: zebra")
    seed = start.replace("//", "//me:zebra@")
    assert run(world, seed, *FEW, *secret).process.returncode == 0
    files = [path for path in world.state.rglob("*") if path.is_file()]
    assert {path.name for path in files if b"zebra" in path.read_bytes()} == {"logins.json"}
    refused = run(world, "--resume")
    assert refused.process.returncode == 2
    assert one_line(refused) == (
        "larbinpy: header: an earlier run had it with a password or another secret, which is not"
        " kept; give it again, or --set header= to go on without it\n"
    )
    before = len(site.asked)
    assert run(world, "--resume", *secret).process.returncode == 0
    later = [asked.headers.get("x-token") for asked in site.asked[before:]]
    assert later and set(later) == {"zebra"}
    assert run(world, "--resume", "--set", "header=").process.returncode == 0


def test_a_stopped_mirror_goes_on_with_its_options(world: World, start: str, site: Site) -> None:
    site.hangs = {"/7"}
    crawler = world.start(
        *("mirror", start, "site", "--allow-private", "--wait", "0.01", "--no-parent"),
        *("--set", "retries=0", "--progress", "none"),
    )
    world.until(lambda: any(asked.path == "/7" for asked in site.asked))
    crawler.signal(signal.SIGINT)
    crawler.signal(signal.SIGTERM)
    assert world.finish(crawler) == 13
    site.hangs = set()
    again = world.larbinpy("mirror", start, "site", "--progress", "none")
    assert again.process.returncode == 0, again.err
    assert again.err == (
        "larbinpy: continuing the unfinished mirror in site\n"
        "larbinpy: given earlier: stay prefix, waitDuration 0.01, retries 0, allowPrivate on;"
        " --set changes that\n"
    )
    # A refresh is a mirror of its own.
    refreshed = world.larbinpy("mirror", start, "site", "--progress", "none")
    assert "given earlier" not in refreshed.err
    assert "not a public one" in refreshed.out + refreshed.err


def test_a_visit_goes_on_with_the_options_of_the_crawl(world: World, start: str) -> None:
    options = ("--allow-private", "--wait", "0", "--set", "outputMode=database")
    assert run(world, start, *options).process.returncode == 0
    kept = (world.state / "options.json").read_text()
    visit = world.larbinpy("revisit", "--set", "revisitMin=0.001", "--set", "revisitMax=0.001")
    assert visit.process.returncode == 0, visit.err
    assert visit.err.startswith(
        "larbinpy: given earlier: waitDuration 0, outputMode database, allowPrivate on; "
    )
    # It is no crawl of its own: what it was given does not count for others.
    assert (world.state / "options.json").read_text() == kept
