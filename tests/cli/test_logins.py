"""Logins in the URLs that people type: `mirror` and `fetch` send them, and show them nowhere."""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from tests.support.crawling import Asked, World, html, ok
from tests.support.webserver import Step, reply

pytestmark = pytest.mark.slow

BASIC = "Basic bWU6cEBzcw=="


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = World(tmp_path)
    yield made
    made.close()


class Guarded:
    """Two pages for those who have the login."""

    def __init__(self) -> None:
        self.asked: list[Asked] = []

    def __call__(self, asked: Asked) -> Iterable[Step]:
        self.asked.append(asked)
        if asked.headers.get("authorization") != BASIC:
            return [reply(b"who?", "WWW-Authenticate: Basic realm=x", status="401 Unauthorized")]
        return [html("/two") if asked.path == "/" else ok(b"<title>two</title>")]


def flags(world: World) -> list[str]:
    host, port = world.names.address
    return ["--set", f"dnsServer={host}:{port}", "--allow-private"]


def test_a_site_with_a_login_is_mirrored(world: World) -> None:
    guarded = Guarded()
    web = world.web(guarded, "a.test")
    url = web.url().replace("://", "://me:p%40ss@")
    quiet = ["--wait", "0", "--progress", "none", *flags(world)]
    done = world.larbinpy("mirror", url, "site", *quiet)
    assert done.process.returncode == 0, done.err
    root = world.folder / "site" / f"a.test:{web.port}"
    assert {path.name for path in root.iterdir()} == {"index.html", "two.html"}
    assert "p%40ss" not in done.out + done.err and "p@ss" not in done.out + done.err
    holding = [
        path.name
        for path in (world.folder / "site").rglob("*")
        if path.is_file() and any(s in path.read_bytes() for s in (b"p%40ss", b"p@ss", b"me:"))
    ]
    assert holding == ["logins.json"]
    # A refresh needs the login again: the next crawl in a folder forgets the logins of the last.
    refused = world.larbinpy("mirror", web.url(), "site", *quiet)
    assert "needs a login" in refused.out + refused.err


def test_fetch_sends_a_login_and_says_where_one_is_needed(world: World) -> None:
    web = world.web(Guarded(), "a.test")
    lacking = world.larbinpy("fetch", web.url(), "--json", *flags(world))
    assert json.loads(lacking.out)["status"] == 401
    assert lacking.err.startswith(f"larbinpy: {web.url()}: 401 Unauthorized: needs a login; ")
    assert "http://USER:PASSWORD@HOST/" in lacking.err
    for login, status in (("me:p%40ss", 200), ("me:wrong", 401)):
        given = world.larbinpy(
            "fetch", web.url().replace("://", f"://{login}@"), "--json", *flags(world)
        )
        found = json.loads(given.out)
        assert (found["url"], found["status"]) == (web.url(), status)
        assert login not in given.out + given.err
    assert found["detail"] == "refuses the login"


def test_a_login_with_a_control_character_is_refused(world: World) -> None:
    """curl takes none; the seed is refused before anything is sent."""
    guarded = Guarded()
    url = world.web(guarded, "a.test").url().replace("://", "://us%00er:pw@")
    quiet = ["--progress", "none", *flags(world)]
    done = world.larbinpy("crawl", url, *quiet)
    assert done.process.returncode == 2
    assert "its user name or password has a control character" in done.err
    assert "Traceback" not in done.err and "us%00er" not in done.err
    fetched = world.larbinpy("fetch", url, *flags(world))
    assert "its user name or password has a control character" in fetched.err
    assert guarded.asked == []
