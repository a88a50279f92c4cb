"""Which addresses may be asked."""

import pytest

from larbinpy.frontier.addresses import AddressSettings

ADDRESSES = ("127.0.0.1", "192.0.2.1")


def test_what_is_not_permitted_is_left_out() -> None:
    settings = AddressSettings(60.0, lambda address: address.startswith("192"))
    assert settings.permitted(ADDRESSES, "http://a.test") == ("192.0.2.1",)


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
    settings = AddressSettings(60.0, lambda address: True, lambda *place: place == own)
    assert settings.permitted(ADDRESSES, site) == left


@pytest.mark.parametrize(
    ("site", "port"), [("http://a.test", 80), ("https://a.test", 443), ("https://[::1]", 443)]
)
def test_the_port_of_a_scheme(site: str, port: int) -> None:
    own = ("127.0.0.1", port)
    settings = AddressSettings(60.0, lambda address: True, lambda *place: place == own)
    assert settings.permitted(ADDRESSES, site) == ("192.0.2.1",)
