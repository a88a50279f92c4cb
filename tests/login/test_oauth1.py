"""Signatures of OAuth 1, with the examples of RFC 5849."""

import base64
import hmac
import re
from urllib.parse import unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st
from oauthlib.oauth1.rfc5849 import signature

from larbinpy.login.exchange import Grant
from larbinpy.login.methods import request_headers
from larbinpy.login.methods.oauth import header, signable
from larbinpy.login.spec import Login, Method
from larbinpy.url import resolve

#: Section 1.2 of the RFC.
PHOTOS = Login(
    "http://photos.example.net",
    Method.OAUTH1,
    client_id="dpf43f3p2l4k3l03",
    client_secret="kd94hf93k423kf44",
    token="nnch734d00sl2jdk",
    token_secret="pfkkdhi9sl3r4s00",
)


def values(line: str) -> dict[str, str]:
    assert line.startswith("Authorization: OAuth ")
    return {name: unquote(value) for name, value in re.findall(r'(\w+)="([^"]*)"', line)}


def test_the_request_for_a_photo_of_section_1_2() -> None:
    href = "http://photos.example.net/photos?file=vacation.jpg&size=original"
    assert values(header(PHOTOS, href, 137131202.9, "chapoH")) == {
        "oauth_consumer_key": "dpf43f3p2l4k3l03",
        "oauth_token": "nnch734d00sl2jdk",
        "oauth_signature_method": "HMAC-SHA1",
        "oauth_timestamp": "137131202",
        "oauth_nonce": "chapoH",
        "oauth_version": "1.0",
        "oauth_signature": signed(href, "137131202", "chapoH"),
    }


def signed(href: str, timestamp: str, nonce: str) -> str:
    """The signature with the version, which the RFC's example leaves out (section 3.1)."""
    parameters = [
        *signature.collect_parameters(href.partition("?")[2]),
        ("oauth_consumer_key", PHOTOS.client_id),
        ("oauth_token", PHOTOS.token),
        ("oauth_signature_method", "HMAC-SHA1"),
        ("oauth_timestamp", timestamp),
        ("oauth_nonce", nonce),
        ("oauth_version", "1.0"),
    ]
    base = base_string(href.partition("?")[0], parameters)
    return by_hmac(base)


def by_hmac(base: str) -> str:
    """Section 3.4.2."""
    key = f"{PHOTOS.client_secret}&{PHOTOS.token_secret}"
    return base64.b64encode(hmac.digest(key.encode(), base.encode(), "sha1")).decode()


def base_string(href: str, parameters: list[tuple[str, str]], method: str = "GET") -> str:
    normal = signature.normalize_parameters(parameters)
    where = signature.base_string_uri(href)
    return str(signature.signature_base_string(method, where, normal))


def test_the_signature_of_section_1_2() -> None:
    """Without oauth_version, as the RFC has it."""
    parameters = [
        ("file", "vacation.jpg"),
        ("size", "original"),
        ("oauth_consumer_key", PHOTOS.client_id),
        ("oauth_token", PHOTOS.token),
        ("oauth_signature_method", "HMAC-SHA1"),
        ("oauth_timestamp", "137131202"),
        ("oauth_nonce", "chapoH"),
    ]
    base = base_string("http://photos.example.net/photos", parameters)
    assert by_hmac(base) == "MdpQcU8iPSUjWoN/UDMsK2sui9I="


def test_the_base_string_of_section_3_4_1_1() -> None:
    href = "http://example.com/request?b5=%3D%253D&a3=a&c%40=&a2=r%20b"
    assert signable(href) == href
    parameters = [
        *signature.collect_parameters(href.partition("?")[2], "c2&a3=2+q"),
        ("oauth_consumer_key", "9djdj82h48djs9d2"),
        ("oauth_token", "kkk9d7dh3k39sjv7"),
        ("oauth_signature_method", "HMAC-SHA1"),
        ("oauth_timestamp", "137131201"),
        ("oauth_nonce", "7d8f3e4a"),
    ]
    assert base_string("http://EXAMPLE.COM:80/request", parameters, "POST") == (
        "POST&http%3A%2F%2Fexample.com%2Frequest&a2%3Dr%2520b%26a3%3D2%2520q%26a3%3Da%26b5%3D%253D"
        "%25253D%26c%2540%3D%26c2%3D%26oauth_consumer_key%3D9djdj82h48djs9d2%26oauth_nonce%3D7d8f3e"
        "4a%26oauth_signature_method%3DHMAC-SHA1%26oauth_timestamp%3D137131201%26oauth_token%3Dkkk9"
        "d7dh3k39sjv7"
    )


def test_no_nonce_is_used_twice() -> None:
    lines = [request_headers(PHOTOS, Grant(), f"{PHOTOS.site}/a", 1e9) for _ in range(20)]
    assert len({values(line)["oauth_nonce"] for (line,) in lines}) == 20


def test_a_consumer_without_a_token() -> None:
    login = Login(PHOTOS.site, Method.OAUTH1, client_id="c", client_secret="s")
    assert "oauth_token" not in values(header(login, f"{PHOTOS.site}/a", 1e9))


@pytest.mark.parametrize("query", ["a[]=1", "x={y}|z^`\\", "p=100%", "p=%zz&q=%4", "a=b'c", "q"])
def test_queries_that_oauthlib_refuses_are_signed(query: str) -> None:
    href = f"{PHOTOS.site}/a?{query}"
    assert values(header(PHOTOS, href, 1e9, "n"))["oauth_signature"]


def test_an_escape_has_the_signature_of_the_character() -> None:
    plain, escaped = f"{PHOTOS.site}/a?b[]=1", f"{PHOTOS.site}/a?b%5B%5D=1"
    assert header(PHOTOS, plain, 1e9, "n") == header(PHOTOS, escaped, 1e9, "n")


@given(st.text(max_size=40))
def test_any_url_is_signed(text: str) -> None:
    href = resolve(f"/{text}", PHOTOS.site)
    if href is not None and href.startswith(f"{PHOTOS.site}/"):
        assert header(PHOTOS, href, 1e9).isascii()
