"""The request for a URL: how much of its reply is read, which types, on which conditions."""

from collections.abc import Callable, Sequence
from functools import partial
from math import inf
from typing import Protocol

from larbinpy.crawl.own_plug import RequestChanger
from larbinpy.crawl.request_options import Types, any_reply, of_login
from larbinpy.fetch.options import Refusal, Request, RequestOptions
from larbinpy.fetch.robots import MAX_SIZE
from larbinpy.frontier.scope import Reason, Scope
from larbinpy.frontier.soft404.answers import COMPARED
from larbinpy.output.plug import NO_REFRESH, Refresher
from larbinpy.page import Outcome
from larbinpy.parse import LONGEST_SITEMAP, is_sitemap_name
from larbinpy.url import Aim, Url, site_of

#: RFC 9309, 2.5: at least 500 KiB of a robots.txt are read, whatever maxPageSize is. One byte more
#: than is used shows whether the file is longer, so that its last line may be incomplete.
ROBOTS_SIZE = MAX_SIZE + 1


#: Types that are no sitemaps; all others may be, as their bytes show.
_NO_TEXT = ("image/", "video/", "audio/", "font/")


class RequestMaker(Protocol):
    """Makes the request for a URL, at one of the addresses of its site."""

    def make(self, url: Url, address: str) -> Request: ...


class Requests:
    """Makes ordinary requests.

    `most_bytes` returns maxPageSize for a URL, `options` the options of its requests,
    `login_headers` the header lines of the login to its site, None if no site has one, and
    `names_referer` whether a request names the page that led to the URL.
    """

    def __init__(
        self,
        types: Types,
        scope: Scope,
        most_bytes: Callable[[Url], int],
        options: Callable[[Url], RequestOptions],
        refresher: Refresher = NO_REFRESH,
        login_headers: Callable[[Url], Sequence[str]] | None = None,
        names_referer: Callable[[Url], bool] = lambda url: False,
    ) -> None:
        self._types = types
        self._scope = scope
        self._most_bytes = most_bytes
        self._options = options
        self._refresher = refresher
        self._login_headers = login_headers
        self._names_referer = names_referer

    def make(self, url: Url, address: str) -> Request:
        """The request for `url` at `address`."""
        options = self._options(url)
        most = self._most_bytes(url)
        purpose = url.purpose
        if purpose.ask is not None:
            return Request(url, address, any_reply, most, of_login(options, url, purpose.ask))
        if purpose.aim is Aim.ROBOTS:
            return Request(url, address, any_reply, ROBOTS_SIZE, options)
        login = () if self._login_headers is None else self._login_headers(url)
        if purpose.aim is Aim.PROBE:
            return Request(url, address, any_reply, COMPARED, options, login)
        beyond = max(LONGEST_SITEMAP - most, 0) if _is_sitemap(url) else 0
        accept = partial(self._refuse, url, inf if beyond else most)
        headers = (*self._refresher.conditions(url.href), *login)
        if url.via is not None and self._names_referer(url) and not _has_referer(options):
            headers = (*headers, *referer(url.href, url.via))
        return Request(url, address, accept, most, options, headers, beyond)

    def _refuse(
        self, url: Url, max_size: float, media_type: str, size: int | None
    ) -> Refusal | None:
        """Why the body of a reply for `url` is not received; None if it is.

        A reply that declares more than `max_size` would be cut, and thus be of no use.
        """
        verdict = self._scope.at_headers(url, media_type, size)
        if isinstance(verdict, Reason):
            return Refusal(verdict.outcome, verdict.why)
        if size is not None and size > max_size:
            return Refusal(Outcome.TOO_BIG, f"{size} bytes, and maxPageSize is {max_size}")
        if url.requisite or (verdict is not None and verdict.has_type):
            return None
        if _is_sitemap(url) and not media_type.startswith(_NO_TEXT):
            return None
        outcome = self._types.refuse(url.href, media_type)
        return None if outcome is None else Refusal(outcome)


def referer(href: str, page: str) -> Sequence[str]:
    """The header line that names `page` in a request for `href`, as browsers do by default.

    Another site gets the origin alone, and one without TLS nothing of a page with TLS (Referrer
    Policy, strict-origin-when-cross-origin).
    """
    origin = site_of(page)
    if origin.startswith("https:") and not href.startswith("https:"):
        return ()
    named = page.partition("#")[0] if site_of(href) == origin else f"{origin}/"
    return (f"Referer: {named}",)


def _has_referer(options: RequestOptions) -> bool:
    return any(line.lower().startswith("referer:") for line in options.headers)


def _is_sitemap(url: Url) -> bool:
    """Whether a URL is that of a sitemap, before its reply is known."""
    return url.is_sitemap or (url.seed and is_sitemap_name(url.href))


class ChangedRequests:
    """Makes requests whose options the operator's plug may change."""

    def __init__(self, requests: RequestMaker, changer: RequestChanger) -> None:
        self._requests = requests
        self._changer = changer

    def make(self, url: Url, address: str) -> Request:
        request = self._requests.make(url, address)
        request.options = self._changer.request(url, request.options)
        return request
