"""One URL alone: which address is asked, with values in place of sockets."""

from types import SimpleNamespace
from typing import Any

import pytest

from larbinpy import Config
from larbinpy.crawl.single import fetch, of_one_page
from larbinpy.dns.lookup import Answer
from larbinpy.fetch.options import Request
from larbinpy.page import Outcome, Page
from larbinpy.url import Url
from tests.support.webserver import OPTIONS

PUBLIC, PRIVATE = "8.8.8.8", "127.0.0.1"


class Fetcher:
    """Ends each request at once, with the next of `pages`."""

    deadline = None

    def __init__(self) -> None:
        self.requests: list[Request] = []
        self.pages: list[dict[str, Any]] = []

    def start(self, request: Request, now: float) -> None:
        self.requests.append(request)

    def step(self, now: float) -> list[Page]:
        given = self.pages.pop(0) if self.pages else {"outcome": Outcome.SUCCESS, "status": 200}
        return [Page(self.requests[-1].url, **given)]


class Case:
    def __init__(self, *addresses: str, reason: str | None = None) -> None:
        self.fetcher = Fetcher()
        answer = Answer("a.test", addresses, reason)
        resolver = SimpleNamespace(ask=lambda name, now: answer)
        self.network: Any = SimpleNamespace(
            names=resolver,
            fetcher=self.fetcher,
            options=SimpleNamespace(for_url=lambda url: OPTIONS),
        )
        self.poller: Any = None

    def fetch(self, **settings: Any) -> Page:
        url = Url("http://a.test/", 0, attempt=1)
        return fetch(url, Config(**settings), self.poller, self.network)

    @property
    def asked(self) -> list[str]:
        return [request.address for request in self.fetcher.requests]


def test_the_first_public_address_is_asked() -> None:
    case = Case(PRIVATE, PUBLIC, "8.8.4.4")
    assert case.fetch().outcome is Outcome.SUCCESS
    assert case.asked == [PUBLIC]


def test_private_addresses_are_refused() -> None:
    case = Case(PRIVATE, "::1")
    assert case.fetch().outcome is Outcome.PRIVATE_ADDRESS
    assert case.asked == []


def test_with_a_permission_the_first_address_is_asked() -> None:
    case = Case(PRIVATE, PUBLIC)
    case.fetch(allow_private=True)
    assert case.asked == [PRIVATE]


def test_a_name_without_an_address_says_why() -> None:
    case = Case(reason="nxdomain")
    page = case.fetch()
    assert (page.outcome, page.detail) == (Outcome.NO_DNS, "nxdomain")
    assert case.asked == []


@pytest.mark.parametrize(("status", "body", "tries"), [(200, b"", 2), (200, b"x", 1), (0, b"", 1)])
def test_a_reply_whose_headers_lie_is_asked_for_again(status: int, body: bytes, tries: int) -> None:
    case = Case(PUBLIC)
    case.fetcher.pages = [{"outcome": Outcome.EARLY_STOP, "status": status, "body": body}]
    page = case.fetch()
    assert (len(case.asked), page.url.attempt) == (tries, tries)


def test_one_page_in_a_browser_leaves_the_files_and_commands_of_the_user_alone() -> None:
    """`fetch --render` tries a page; it is no run of the crawl."""
    user = Config(
        notify="mail me", save_cookies="cookies.txt", items="items.csv", fetch_info=True, plug="a:B"
    )
    one = of_one_page(user, "/tmp/one")
    assert (one.notify, one.save_cookies, one.items, one.plug) == ("", None, None, "")
    assert (one.state_dir, one.output_dir) == ("/tmp/one", "/tmp/one")
    assert not (one.fetch_info or one.print_stats or one.http_port or one.input_port)
