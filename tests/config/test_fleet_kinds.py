"""The address of a crawl in Redis, and the name of a node."""

import pytest

from larbinpy.config import ConfigError, load, texts
from larbinpy.config.kinds import has_fleet_password


@pytest.mark.parametrize(
    "text",
    [
        "redis://127.0.0.1/news",
        "redis://a.test:6380,b.test:6380/news.2",
        "redis://me@[::1]:6379/news",
        "redis://:secret@a.test/news",
        "redis://a.test/news?passwordFile=/etc/x@y:z",
        "unix:/run/redis.sock?crawl=news",
        "unix:state/redis/socket?crawl=news&passwordFile=p",
    ],
)
def test_addresses(text: str) -> None:
    config = load("/dev/null", {"LARBINPY_JOIN": text}, ())
    assert config.join == text
    assert "secret" not in texts(config)["join"]


@pytest.mark.parametrize(
    "text",
    [
        "127.0.0.1",
        "redis://127.0.0.1",
        "redis://127.0.0.1/",
        "redis:///news",
        "redis://:sec/ret@a.test/news",
        "redis://a.test/news?crawl=x",
        "unix:/run/redis.sock",
        "http://a.test/news",
    ],
)
def test_what_is_no_address(text: str) -> None:
    with pytest.raises(ConfigError, match="is not redis://") as error:
        load("/dev/null", {"LARBINPY_JOIN": text}, ())
    assert "ret@" not in str(error.value)


@pytest.mark.parametrize(
    "text",
    ["redis://a.test/2", "redis://a.test/2/news", "redis://a.test/n?db=2", "unix:/s?crawl=2"],
)
def test_the_number_of_a_data_base_is_no_name_of_a_crawl(text: str) -> None:
    with pytest.raises(ConfigError, match="a crawl has a name, and is in data base 0"):
        load("/dev/null", {"LARBINPY_JOIN": text}, ())


def test_tls_to_redis_is_refused_with_a_way_out() -> None:
    with pytest.raises(ConfigError, match="TLS to Redis is not supported, a tunnel"):
        load("/dev/null", {"LARBINPY_JOIN": "rediss://a.test/news"}, ())


def test_signs_of_an_address_within_a_password_are_escaped() -> None:
    with pytest.raises(ConfigError, match="in a login, write / as %2F") as raised:
        load("/dev/null", {"LARBINPY_JOIN": "redis://:sec/ret=@a.test/news"}, ())
    assert "ret" not in str(raised.value)
    escaped = "redis://:sec%2Fret=@a.test/news"
    assert load("/dev/null", {"LARBINPY_JOIN": escaped}, ()).join == escaped


def test_which_have_a_password() -> None:
    for text in ("redis://:a@h/n", "redis://me:a@h:1/n", "redis://me:a@b@h/n"):
        assert has_fleet_password(text)
    plain = (
        "redis://me@h:1/n",
        "redis://h:1/n",
        "unix:a:b?crawl=n",
        "redis://h/n?passwordFile=a:b@c",
    )
    assert not any(map(has_fleet_password, plain))


def test_a_password_is_refused_on_the_command_line_only() -> None:
    text = "redis://:secret@a.test/news"
    with pytest.raises(ConfigError, match="command line, join: a password there could be seen"):
        load("/dev/null", {}, [("join", text)])
    assert load("/dev/null", {"LARBINPY_JOIN": text}, ()).join == text


@pytest.mark.parametrize("name", ["", "a b", "a/b", "..", ".", "ä", "x" * 65])
def test_what_is_no_name_of_a_node(name: str) -> None:
    with pytest.raises(ConfigError):
        load("/dev/null", {"LARBINPY_NODE": name or " "}, ())
