"""A folder as the site of a link check."""

from dataclasses import replace
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest

from larbinpy.cli.folder import folder_of, served, settings_of, url_of
from larbinpy.config import Config, ConfigError, Given
from larbinpy.crawl.network import permitting
from tests.support.crawling import World, one_line

pytest_plugins = ["tests.support.crawlworld"]


@pytest.fixture
def site(tmp_path: Path) -> Path:
    folder = tmp_path / "my site"
    (folder / "sub").mkdir(parents=True)
    (folder / "index.html").write_text(
        '<h1>t</h1><a href="/a%20b.html#no">x</a><a href="sub/">y</a>'
    )
    (folder / "a b.html").write_text("<h1 id=here>t</h1>")
    return folder


def test_arguments_that_name_a_folder(site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(site)
    (site / "sub" / "index.htm").touch()
    assert folder_of([str(site)]) == (str(site), "")
    assert folder_of(["sub"]) == ("sub", "")
    assert folder_of(["."]) == (".", "")
    assert folder_of(["a b.html"]) == (".", "a%20b.html")
    assert folder_of([site.as_uri()]) == (str(site), "")
    assert folder_of([f"{site.as_uri()}/index.html"]) == (str(site), "index.html")
    assert folder_of(["www.example.org", "http://a.test/sub"]) is None
    assert folder_of([]) is None


@pytest.mark.parametrize("wrong", [["./none"], ["file:///none/x.html"], [".", "http://a.test/"]])
def test_what_is_no_folder_is_refused(wrong: list[str]) -> None:
    with pytest.raises(ConfigError):
        folder_of(wrong)


def test_a_folder_without_a_first_page_is_refused(site: Path) -> None:
    with pytest.raises(ConfigError, match=r"sub: has no index\.html; give the page to begin with"):
        folder_of([str(site / "sub")])


def test_each_folder_has_an_address_of_its_own(site: Path) -> None:
    one, same, other = (
        Config(check_links=True, check_folder=str(path))
        for path in (site, f"{site}/", site / "sub")
    )
    assert one.check_place == same.check_place != other.check_place
    assert replace(one, check_links=False).check_place == Config().check_place == ("", 0)
    [block] = Given.by(None, (), False, [settings_of(one)]).config().site_blocks
    assert block.get("wait_duration") is not None
    host, port = one.check_place
    permits = permitting(one, lambda ip: False)
    assert [permits(host, port), permits(host, 80), permits("127.0.0.1", port)] == [
        True,
        False,
        False,
    ]


def test_the_files_of_the_folder_are_served_and_nothing_else(site: Path) -> None:
    config = Config(check_links=True, check_folder=str(site))
    with served(config):
        with urlopen(url_of(config, "a%20b.html")) as reply:
            assert b"id=here" in reply.read()
        with urlopen(url_of(config, "a%20b?x#y")) as reply:
            assert b"id=here" in reply.read() and reply.headers["Content-Type"] == "text/html"
        for path in ("sub/", "sub", "a%20b/", "none.html", "..%2F..%2Fetc%2Fpasswd"):
            with pytest.raises(HTTPError, match="404"):
                urlopen(url_of(config, path))
        with pytest.raises(ConfigError, match="cannot be served"), served(config):
            pass


def test_a_check_of_a_folder_names_its_files(site: Path, world: World) -> None:
    world.conf()
    crawler = world.run("--check-links", str(site))
    lines = [line for line in crawler.out.splitlines() if not line.startswith("[")]
    at = lines.index(f"  404 Not Found: {site}/sub/")
    assert lines[at + 1] == f'      on {site}/  (line 1, "y")'
    assert f"  --- {site}/a%20b.html#no" in lines
    assert crawler.process.returncode == 1
    assert f"{site}/sub/,404," in world.larbinpy("report", "--csv").out


def test_only_a_check_takes_a_folder(site: Path, world: World) -> None:
    world.conf()
    said = one_line(world.larbinpy("crawl", str(site / "index.html")))
    assert "a file, no URL" in said
