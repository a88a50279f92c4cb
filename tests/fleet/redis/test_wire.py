"""Addresses of crawls, and what of them is shown."""

from pathlib import Path

import pytest

from larbinpy.errors import UserError
from larbinpy.fleet.redis.wire import CrawlAddress, Endpoint, pack, read_info


@pytest.mark.parametrize(
    ("text", "servers", "login"),
    [
        ("redis://localhost/news", [("localhost", 6379)], ()),
        ("redis://10.0.0.5:7000/news", [("10.0.0.5", 7000)], ()),
        ("redis://a,b:7001,[::1]:7002/news", [("a", 6379), ("b", 7001), ("::1", 7002)], ()),
        ("redis://:p%40ss@a/news", [("a", 6379)], ("p@ss",)),
        ("redis://:p@w@a/news", [("a", 6379)], ("p@w",)),
        ("redis://me:p:w@a/news", [("a", 6379)], ("me", "p:w")),
        ("redis://me@a/news", [("a", 6379)], ("me", "")),
        ("unix:/run/redis.sock?crawl=news", [("/run/redis.sock", 0)], ()),
        ("unix:/run/redis@1.sock?crawl=news", [("/run/redis@1.sock", 0)], ()),
        ("unix:///run/redis.sock?crawl=news", [("///run/redis.sock", 0)], ()),
    ],
)
def test_an_address(text: str, servers: list[tuple[str, int]], login: tuple[str, ...]) -> None:
    address = CrawlAddress.of(text)
    assert address.servers == tuple(Endpoint(*each) for each in servers)
    assert (address.name, address.login) == ("news", login)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "localhost",
        "http://localhost/news",
        "redis://localhost",
        "redis://localhost/",
        "redis://localhost/a/b",
        "redis://localhost/{a}",
        "redis://localhost/a:b",
        "redis:///news",
        "redis://a,/news",
        "redis://a:0/news",
        "redis://a:65536/news",
        "redis://a b/news",
        "unix:/run/redis.sock",
        "unix:?crawl=a",
        "unix:/run/redis.sock?crawl=",
        f"redis://a/{'n' * 65}",
    ],
)
def test_what_is_no_address(text: str) -> None:
    with pytest.raises(UserError):
        CrawlAddress.of(text)


@pytest.mark.parametrize(
    "text",
    [
        "redis://me:s3cret@a:70000/news",
        "redis://me:s3cret@/news",
        "redis://me:s3cret/x@a/news",
        "redis://me:s3cret@a/ne ws",
        "redis://me:s3cret@a",
        "redis://a/s3cret@b/news",
        "unix://:s3cret@/run/redis.sock?crawl=news",
        "unix://me:s3c/s3cret@/run/redis.sock?crawl=news",
        "unix::s3cret@/run/redis.sock?crawl=news",
        "unix:me:s3cret@/run/redis.sock?crawl=news",
        "unix::/s3cret@/run/redis.sock?crawl=news",
    ],
)
def test_no_error_shows_a_password(text: str) -> None:
    with pytest.raises(UserError) as error:
        CrawlAddress.of(text)
    assert "s3cret" not in str(error.value)


def test_no_text_of_an_address_shows_a_password() -> None:
    address = CrawlAddress.of("redis://me:s3cret@a:1,[::1]/news")
    assert str(address) == "redis://a:1,[::1]:6379/news"
    assert "s3cret" not in f"{address!r} {address} {[address]}"
    assert CrawlAddress.of(str(address)) == address._replace(user="", password="")
    assert str(CrawlAddress.of("unix:/a?crawl=b")) == "unix:/a?crawl=b"


def test_a_password_from_a_file(tmp_path: Path) -> None:
    (tmp_path / "word").write_text("s3cret\n")
    assert CrawlAddress.of(f"redis://me@a/news?passwordFile={tmp_path}/word").login == (
        "me",
        "s3cret",
    )
    unix = CrawlAddress.of(f"unix:/a?crawl=news&passwordFile={tmp_path}/word")
    assert unix.login == ("s3cret",)
    with pytest.raises(UserError, match="none: the password cannot be read: No such file"):
        CrawlAddress.of(f"redis://a/news?passwordFile={tmp_path}/none")


def test_a_packed_command() -> None:
    assert pack("SET", b"k", 12) == b"*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$2\r\n12\r\n"


def test_fields_of_info() -> None:
    assert read_info(b"# Server\r\nrun_id:ab\r\n\r\nexecutable:/a:b\r\n") == {
        "run_id": "ab",
        "executable": "/a:b",
    }
