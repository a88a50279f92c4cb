"""Which addresses may be asked."""

from collections.abc import Callable

import pytest

from larbinpy.config import Config
from larbinpy.crawl.network import permitting
from larbinpy.url import port_of

ADDRESSES = ("127.0.0.1", "192.0.2.1")


def permitted(
    site: str, is_public: Callable[[str], bool], own: tuple[str, int] | None = None
) -> tuple[str, ...]:
    permits = permitting(Config(), is_public, lambda *place: place == own)
    return tuple(address for address in ADDRESSES if permits(address, port_of(site)))


def test_what_is_not_permitted_is_left_out() -> None:
    found = permitted("http://a.test", lambda address: address.startswith("192"))
    assert found == ("192.0.2.1",)


@pytest.mark.parametrize(
    ("site", "left"),
    [
        ("http://a.test:6379", ("192.0.2.1",)),
        ("https://a.test:6379", ("192.0.2.1",)),
        ("http://[::1]:6379", ("192.0.2.1",)),
        ("http://a.test:6380", ADDRESSES),
        ("http://a.test", ADDRESSES),
    ],
)
def test_a_server_of_the_crawl_itself_is_left_out(site: str, left: tuple[str, ...]) -> None:
    own = ("127.0.0.1", 6379)
    assert permitted(site, lambda address: True, own) == left


@pytest.mark.parametrize(
    ("site", "port"), [("http://a.test", 80), ("https://a.test", 443), ("https://[::1]", 443)]
)
def test_the_port_of_a_scheme(site: str, port: int) -> None:
    own = ("127.0.0.1", port)
    assert permitted(site, lambda address: True, own) == ("192.0.2.1",)
