"""Options of requests: none of one request is left over for the next."""

from dataclasses import replace
from typing import Any

import pycurl
import pytest

from larbinpy.fetch.options import (
    LENIENCY,
    FetchSettings,
    Request,
    RequestOptions,
    common,
    shared,
    single,
)
from larbinpy.url import Url
from tests.support.webserver import Loop, anything, once, reply

PROXY = "http://192.0.2.9:3128"


@pytest.mark.parametrize("proxy_url", ["", PROXY])
def test_nothing_of_one_request_is_left_for_the_next(proxy_url: str) -> None:
    """An option that one request sets, all set, and it is none of the others."""
    settings = FetchSettings(handles=1, use_cookies=True)
    chosen = RequestOptions(user_agent="us", proxy_url=proxy_url)
    conditions = ['If-None-Match: "1"']
    sets = []
    for leniency in (0, *LENIENCY):
        for headers in ((), conditions):
            options: dict[int, Any] = {}
            request = Request(Url("http://a.test/", 1), "192.0.2.1", anything, 9, chosen, headers)
            single(options.__setitem__, request, leniency)
            assert (conditions[0] in options[pycurl.HTTPHEADER]) == bool(headers)
            sets.append(options.keys())
    assert all(options == sets[0] for options in sets)
    once = [option for option, _ in (*common(settings), *shared(chosen))]
    assert len(set(once)) == len(once)
    assert not sets[0] & set(once)


def test_options_of_another_site_are_not_left_over() -> None:
    """One handle, one connection: a request with everything, then one with nothing."""
    plain = RequestOptions(user_agent="plain")
    rich = RequestOptions(
        user_agent="rich", sender="me@us.test", accept_language="de", headers=("X-Own: 1",)
    )
    loop = Loop(FetchSettings(handles=1, use_cookies=True), options=rich)
    script = [*once(reply(b"1", "Set-Cookie: a=b")), *once(reply(b"2")), *once(reply(b"3"))]
    server = loop.serve(script)
    for options in (rich, plain, rich):
        loop.options = options
        assert loop.fetch(server.url()).status == 200
    loop.close()
    first, second, third = (head(request) for request in server.requests)
    own = {"User-Agent: rich", "From: me@us.test", "Accept-Language: de", "X-Own: 1"}
    assert own <= first
    assert not (own - {"User-Agent: plain"}) & second
    assert "User-Agent: plain" in second
    # The jar is the crawl's: it outlives the change of options.
    assert "Cookie: a=b" in second
    assert third == first | {"Cookie: a=b"}


def test_a_handle_goes_from_a_site_to_a_proxy_and_back() -> None:
    """An address that is left over would make libcurl ask the proxy for a tunnel."""
    direct = RequestOptions(user_agent="us")
    loop = Loop(FetchSettings(handles=1), options=direct)
    site, proxy = (loop.serve(once(reply(b"1")), once(reply(b"2"))) for _ in range(2))
    proxied = RequestOptions(
        user_agent="us", proxy_url=f"http://127.0.0.1:{proxy.port}", proxy_address="127.0.0.1"
    )
    for options in (direct, proxied, direct):
        loop.options = options
        assert loop.fetch(site.url()).status == 200
    loop.close()
    assert [request.split()[1] for request in proxy.requests] == [site.url().encode()]
    assert [request.split()[1] for request in site.requests] == [b"/", b"/"]


def test_the_page_of_a_login_is_that_after_the_refusal() -> None:
    refusal = reply(b"who?", "WWW-Authenticate: Basic realm=x", "X-First: 1", status="401 No")
    loop = Loop(FetchSettings(handles=1, keep_requests=True))
    loop.options = RequestOptions(user_agent="us", login="me:secret")
    server = loop.serve([*once(refusal), *once(reply(b"page")), *once(refusal), *once(refusal)])
    page = loop.fetch(server.url())
    assert (page.status, page.body, page.header("x-first")) == (200, b"page", None)
    assert b"401" not in page.head
    assert b"GET / HTTP/1.1" in page.request and b"uthorization" not in page.request
    assert b"Authorization: Basic" in server.requests[1]
    refused = loop.fetch(server.url())
    assert (refused.status, refused.detail) == (401, "refuses the login")
    loop.close()


def head(request: bytes) -> set[str]:
    return set(request.decode("latin-1").split("\r\n"))


def test_a_header_replaces_the_usual_one() -> None:
    options = RequestOptions(user_agent="us", sender="me@us.test", headers=("accept: text/plain",))
    assert options.lines == ("From: me@us.test", "accept: text/plain")
    assert replace(options, headers=()).lines[0].startswith("Accept: text/html")


def test_credentials_are_not_printed() -> None:
    options = RequestOptions(
        user_agent="us", headers=("X-Key: secret",), login="u:secret", proxy_login="u:secret"
    )
    assert "secret" not in repr(options)


def test_paths_need_not_be_ascii() -> None:
    names = {"ca_file": "/c\udcff.pem", "client_cert": "/cü.pem", "client_key": "/kü.pem"}
    chosen = RequestOptions(user_agent="us", **names)  # type: ignore[arg-type]
    curl = pycurl.Curl()
    for option, value in shared(chosen):
        curl.setopt(option, value)
    curl.close()
    assert dict(shared(chosen))[pycurl.SSLCERT] == "/cü.pem".encode()


def test_headers_are_ascii() -> None:
    with pytest.raises(ValueError, match="characters that are not ASCII"):
        RequestOptions(user_agent="us", headers=("X-A: é",))


@pytest.mark.parametrize("by_proxy", [False, True])
def test_a_url_is_asked_for_as_its_server_spells_it(by_proxy: bool) -> None:
    loop = Loop(FetchSettings(handles=1), options=RequestOptions(user_agent="us"))
    server = loop.serve([*once(reply(b"1")), *once(reply(b"2")), *once(reply(b"3"))])
    origin = server.url().rstrip("/")
    if by_proxy:
        loop.options = RequestOptions(user_agent="us", proxy_url=origin, proxy_address="127.0.0.1")
    for spelling in ("", f"{origin}/%d0%7Ex?", ""):
        url = Url(f"{origin}/%D0~x", 1, spelling=spelling)
        loop.fetcher.start(Request(url, "127.0.0.1", anything, 99, loop.options), loop.now)
        assert loop.finish()[0].status == 200
    loop.close()
    start = origin if by_proxy else ""
    assert [request.split()[1].decode() for request in server.requests] == [
        f"{start}/%D0~x",
        f"{start}/%d0%7Ex?",
        f"{start}/%D0~x",
    ]
