"""The cookie jar as a part of the state."""

import os
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from larbinpy.fetch.cookies import Jar, Mark, NoJar, SavedCookies
from larbinpy.fetch.options import Request, RequestOptions
from larbinpy.fetch.transfer import Transfer
from larbinpy.url import Url
from tests.support.webserver import anything

URL = Url("http://a.test/", 5)
FAR = 2**31 - 1


def line(name: str, *, host: str = "a.test", expires: int = 0, value: str = "1") -> bytes:
    return "\t".join([host, "FALSE", "/", "FALSE", str(expires), name, value]).encode()


@contextmanager
def saved(folder: Path, *lines: bytes, most: int = 10**6) -> Iterator[tuple[SavedCookies, Jar]]:
    with closing(Jar(most)) as jar:
        jar.add(lines, over_given=True)
        yield SavedCookies(folder, jar), jar


def checkpoint(cookies: SavedCookies) -> Mark:
    mark = cookies.cut()
    cookies.sync()
    cookies.tidy(mark)
    return mark


def files(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def transfer() -> Transfer:
    options = RequestOptions(user_agent="us")
    return Transfer(Request(URL, "127.0.0.1", anything, 9, options), 0.0)


def test_all_cookies_are_loaded_again(tmp_path: Path) -> None:
    some = [line("session"), line("lasting", expires=FAR), b"#HttpOnly_" + line("hidden")]
    with saved(tmp_path, *some, line("odd", value="caf\xe9")) as (cookies, jar):
        mark, before = checkpoint(cookies), sorted(jar.lines())
    assert len(before) == 4
    [name] = files(tmp_path)
    assert (tmp_path / name).stat().st_mode & 0o777 == 0o600
    with saved(tmp_path) as (cookies, jar):
        cookies.load(mark)
        assert sorted(jar.lines()) == before


def test_a_file_is_written_only_if_cookies_have_changed(tmp_path: Path) -> None:
    with saved(tmp_path) as (cookies, jar):
        assert checkpoint(cookies)["number"] == 0
        jar.noting(transfer())(b"Content-Type: text/html\r\n")
        assert checkpoint(cookies)["number"] == 0
        jar.add([line("a")], over_given=True)
        assert [checkpoint(cookies)["number"] for _ in range(2)] == [1, 1]
        jar.noting(transfer())(b"Set-Cookie: b=1\r\n")
        assert checkpoint(cookies)["number"] == 2
    assert files(tmp_path) == ["cookies.000002.txt"]


def test_the_cookies_of_the_last_state_are_there_until_the_next_one_is(tmp_path: Path) -> None:
    with saved(tmp_path, line("a")) as (cookies, jar):
        mark = checkpoint(cookies)
        jar.add([line("b")], over_given=True)
        cookies.cut()
        cookies.sync()
        # Killed here: the manifest was not written.
    assert len(files(tmp_path)) == 2
    with saved(tmp_path) as (cookies, jar):
        cookies.load(mark)
        assert jar.lines() == [line("a")]
        jar.add([line("c")], over_given=True)
        mark = checkpoint(cookies)
    assert len(files(tmp_path)) == 1
    with saved(tmp_path) as (cookies, jar):
        cookies.load(mark)
        assert sorted(jar.lines()) == [line("a"), line("c")]


def test_cookies_that_have_expired_go(tmp_path: Path) -> None:
    (tmp_path / "cookies.000007.txt").write_bytes(line("old", expires=10**9) + b"\n")
    with saved(tmp_path) as (cookies, jar):
        cookies.load(Mark(number=7, given=jar.given))
        assert jar.lines() == []
        assert checkpoint(cookies)["number"] == 0
    assert files(tmp_path) == []


def test_loaded_cookies_count_for_the_bound_of_the_jar(tmp_path: Path) -> None:
    with saved(tmp_path, *(line(f"c{number}") for number in range(50))) as (cookies, _):
        mark = checkpoint(cookies)
    with saved(tmp_path, most=10_000) as (cookies, jar):
        cookies.load(mark)
        jar.tend()
        assert jar.lines() == []
        assert checkpoint(cookies)["number"] == 0


def test_a_jar_that_keeps_nothing_deletes_what_was_kept(tmp_path: Path) -> None:
    with saved(tmp_path, line("a")) as (cookies, _):
        mark = checkpoint(cookies)
    none = SavedCookies(tmp_path, NoJar())
    none.load(mark)
    assert checkpoint(none)["number"] == 0
    assert files(tmp_path) == []


def test_a_file_that_is_missing_is_an_error(tmp_path: Path) -> None:
    with saved(tmp_path) as (cookies, _), pytest.raises(FileNotFoundError):
        cookies.load(Mark(number=3, given=0))


def test_a_file_that_could_not_be_flushed_is_written_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The kernel takes bytes that an fsync failed to write for written."""
    with saved(tmp_path, line("a")) as (cookies, _):
        first = cookies.cut()["number"]

        def refuse(_fd: int) -> None:
            raise OSError("no such luck")

        with monkeypatch.context() as patch, pytest.raises(OSError, match="luck"):
            patch.setattr(os, "fsync", refuse)
            cookies.sync()
        assert checkpoint(cookies)["number"] == first + 1
    assert files(tmp_path) == ["cookies.000002.txt"]


def test_files_of_others_are_kept(tmp_path: Path) -> None:
    others = ["cookies.1.txt", "cookies.firefox.txt", "cookies.txt"]
    for name in others:
        (tmp_path / name).write_text("mine")
    with saved(tmp_path, line("a")) as (cookies, _):
        checkpoint(cookies)
        assert files(tmp_path) == sorted([*others, "cookies.000001.txt"])
        cookies.clear()
    assert files(tmp_path) == others
