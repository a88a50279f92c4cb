"""`larbinpy login`: one login, tried against sites of which all pages are behind a door."""

from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from larbinpy.cli import main
from tests.support.doors.crawl import login_table
from tests.support.doors.door import Door, Kind
from tests.support.doors.forms import FormDoor, SsoDoor
from tests.support.doors.headers import BasicDoor, BearerDoor, DigestDoor
from tests.support.doors.oauth2 import OAuth2Door

pytestmark = pytest.mark.slow

Try = Callable[..., Result]


@pytest.fixture
def attempt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Try]:
    """Tries the login of a site; `changed` are keys of its login."""
    monkeypatch.chdir(tmp_path)
    doors: list[Door] = []

    def attempt(door: Door, path: str = "/p/3", *arguments: str, **changed: str) -> Result:
        doors.append(door)
        file = Path("logins.toml")
        file.touch(mode=0o600)
        file.write_text(login_table(door, **changed))
        options = ["--set", "allowPrivate", "--set", "waitDuration=0"]
        options += ["--set", "loginFile=logins.toml"]
        return CliRunner().invoke(main, ["login", door.url(path), *options, *arguments])

    yield attempt
    for door in doors:
        door.close()


def said(result: Result, door: Door, status: int) -> list[str]:
    """The lines after the first, with SITE for the site; nothing of them is a secret."""
    assert result.exit_code == status, result.output
    assert not any(secret in result.output for secret in door.secrets)
    first, *lines = result.stdout.splitlines()
    assert first.startswith(f"{door.site}: ")
    return [line.replace(door.site, "SITE") for line in lines]


@pytest.mark.parametrize("make", [BasicDoor, DigestDoor, BearerDoor])
def test_a_login_by_headers(attempt: Try, make: type[Door]) -> None:
    door = make()
    assert said(attempt(door), door, 0) == ["GET SITE/p/3: 200", "logged in", "cookies: none"]
    scheme = make.__name__.removesuffix("Door")
    changed = {"token": "wrong"} if make is BearerDoor else {"password": "wrong"}
    assert said(attempt(door, **changed), door, 6) == [
        "GET SITE/p/3: 401",
        f"not logged in: the site refuses it, with status 401; it asks for {scheme}",
        "cookies: none",
    ]
    assert Kind.ROBOTS not in {heard.kind for heard in door.log}


def test_a_page_that_is_not_there_shows_nothing(attempt: Try) -> None:
    door = BearerDoor()
    assert said(attempt(door, "/p/3?secret=1"), door, 6) == [
        "GET SITE/p/3?...: 404",
        "not certain, with status 404; give the URL of a page",
        "cookies: none",
    ]
    assert said(attempt(door, "/logout"), door, 6)[0] == (
        "not certain: this URL ends the session, or is the login page; give another one"
    )


_FORM = "form to SITE/login with csrfToken, next, tz, off, login, pass, do"


def test_a_form(attempt: Try) -> None:
    door = FormDoor()
    assert said(attempt(door), door, 0) == [
        f"GET SITE/login: 200, {_FORM}, loggedIn is not there",
        "POST SITE/login: 303 to SITE/",
        "GET SITE/: 200, loggedIn is there",
        "GET SITE/p/3: 200, loggedIn is there",
        "logged in",
        "cookies: sid (127.0.0.1, for this session)",
    ]
    assert said(attempt(door, password="wrong"), door, 6)[1:] == [
        f"POST SITE/login: 200, {_FORM}, loggedIn is not there",
        "not logged in: the site asks for the password again",
        "cookies: csrf (127.0.0.1, for this session)",
    ]
    assert Kind.ROBOTS not in {heard.kind for heard in door.log}


@pytest.mark.parametrize("host", ["127.0.0.2", "127.0.0.1"])
def test_a_login_on_another_origin_shows_no_query(attempt: Try, host: str) -> None:
    """On another port of the same host, too; no origin gets a cookie of the other."""
    door = SsoDoor(other=host)
    lines = said(attempt(door), door, 0)
    assert door.mixed == []
    assert lines[-2] == "logged in"
    assert not any("=" in line for line in lines)
    cookies = [each.split(" (")[0] for each in lines[-1].split(": ")[1].split("), ")]
    assert cookies == ["csrf", "idp", "sid", "start"]


def test_a_form_on_an_origin_that_the_login_does_not_name(attempt: Try) -> None:
    door = SsoDoor()
    lines = said(attempt(door, also=""), door, 6)
    provider = door.provider.url("")
    assert lines[-2] == (
        f"not logged in: the form goes to {provider}, another origin; if that is right, write "
        f'also = ["{provider}"] in loginFile'
    )
    assert {heard.method for heard in door.log} == {"GET"}


def test_the_end_of_a_token(attempt: Try) -> None:
    door = OAuth2Door()
    lines = said(attempt(door), door, 0)
    assert lines[0].startswith("POST http://127.0.0.3:") and lines[0].endswith("/token: 200")
    assert lines[1:4] == ["GET SITE/p/3: 200", "logged in", "cookies: none"]
    assert lines[4].startswith("the token is to be renewed at 2")


def test_requests_wait(attempt: Try) -> None:
    door = FormDoor()
    assert attempt(door, "/p/3", "--set", "waitDuration=0.2").exit_code == 0
    begins = [heard.began for heard in door.log]
    assert len(begins) == 4
    assert all(after - before >= 0.2 for before, after in pairwise(begins))


def test_fields_that_the_form_lacks_are_named(attempt: Try) -> None:
    door = FormDoor()
    file = Path("logins.toml")
    attempt(door, "/", "--set", "loginFile=")
    file.write_text(file.read_text() + 'fields = { tenant = "t" }\n')
    options = ["--allow-private", "--set", "loginFile=logins.toml", "--set", "waitDuration=0"]
    result = CliRunner().invoke(main, ["login", door.url(), *options])
    assert f"{_FORM}, without tenant of loginFile".replace("SITE", door.site) in result.stdout


def test_settings_are_obeyed(attempt: Try) -> None:
    door = BearerDoor()
    refused = attempt(door, "/", "--set", "allowPrivate=off")
    assert refused.exit_code == 6
    assert "its address is not a public one" in refused.stdout
    assert door.log == []


def test_wrong_usage(attempt: Try, monkeypatch: pytest.MonkeyPatch) -> None:
    door = BearerDoor()
    for result, line in [
        (attempt(door, "/", "--set", "loginFile="), "there is no loginFile; --set loginFile=FILE"),
        (attempt(door, "/", token=""), "logins.toml: login 1 "),
        (attempt(door, "/", method="hook", token="", user="me"), "logins.toml: the login of "),
        (
            attempt(door, "/", site="http://b.test"),
            f"logins.toml: it has no login for {door.site}, only for http://b.test",
        ),
        (CliRunner().invoke(main, ["login", "ftp://a.test"]), "ftp://a.test: not a URL that can"),
    ]:
        assert (result.exit_code, result.stdout) == (2, "")
        assert result.stderr.startswith(f"larbinpy: {line}")
        assert result.stderr.count("\n") == 1
    assert door.log == []
