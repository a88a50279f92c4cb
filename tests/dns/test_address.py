from ipaddress import IPv4Address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from larbinpy.dns.lookup import is_public


@pytest.mark.parametrize(
    "address",
    [
        "8.8.8.8",
        "1.1.1.1",
        "9.255.255.255",
        "11.0.0.0",
        "100.63.255.255",
        "100.128.0.0",
        "126.255.255.255",
        "128.0.0.1",
        "169.253.255.255",
        "172.15.255.255",
        "172.32.0.0",
        "192.0.1.1",
        "192.167.255.255",
        "198.17.255.255",
        "198.20.0.0",
        "223.255.255.255",
        "2001:4860:4860::8888",
        "2606:4700::1111",
        "2a00:1450:4001:80b::200e",
        "::ffff:8.8.8.8",
        "64:ff9b::808:808",
        "2002:808:808::1",
    ],
)
def test_public(address: str) -> None:
    assert is_public(address)


@pytest.mark.parametrize(
    "address",
    [
        "0.0.0.0",
        "0.1.2.3",
        "10.0.0.1",
        "100.64.0.1",
        "100.127.255.255",
        "127.0.0.1",
        "127.255.255.255",
        "169.254.169.254",
        "172.16.0.1",
        "172.31.255.255",
        "192.0.0.8",
        "192.0.0.170",
        "192.0.2.1",
        "192.88.99.1",
        "192.168.1.1",
        "198.18.0.1",
        "198.19.255.255",
        "198.51.100.1",
        "203.0.113.1",
        "224.0.0.1",
        "239.255.255.255",
        "240.0.0.1",
        "255.255.255.255",
        "::",
        "::1",
        "::127.0.0.1",
        "::8.8.8.8",
        "::ffff:7f00:1",
        "::ffff:127.0.0.1",
        "::ffff:10.0.0.1",
        "::ffff:169.254.169.254",
        "::ffff:0:7f00:1",
        "64:ff9b::7f00:1",
        "64:ff9b::a9fe:a9fe",
        "64:ff9b:1::808:808",
        "100::1",
        "2001::1",
        "2001:0:4136:e378:8000:63bf:3fff:fdd2",
        "2001:2::1",
        "2001:10::1",
        "2001:20::1",
        "2001:db8::1",
        "2002:7f00:1::",
        "2002:a00:1::1",
        "2002:a9fe:a9fe::1",
        "3fff::1",
        "4000::1",
        "5f00::1",
        "fc00::1",
        "fd00::1",
        "fe80::1",
        "fe80::1%eth0",
        "2606:4700::1111%eth0",
        "fec0::1",
        "ff02::1",
        "",
        "localhost",
        "2130706433",
        "0x7f.1",
        "127.1",
        "0127.0.0.1",
        "[::1]",
        "1.2.3.4 ",
    ],
)
def test_not_public(address: str) -> None:
    assert not is_public(address)


@given(st.ip_addresses(v=4))
def test_an_embedded_address_decides(address: IPv4Address) -> None:
    number = int(address)
    high, low = number >> 16, number & 0xFFFF
    for embedding in (f"::ffff:{address}", f"64:ff9b::{address}", f"2002:{high:x}:{low:x}::1"):
        assert is_public(embedding) == is_public(str(address))


@given(st.ip_addresses())
def test_nothing_is_public_that_python_calls_private(address: IPv4Address) -> None:
    assert not (is_public(str(address)) and (address.is_private or address.is_multicast))
