"""The request for a URL: how much of its reply is read, which types, on which conditions."""

from collections.abc import Callable
from functools import partial

from larbinpy.crawl.media_types import Types, any_type
from larbinpy.crawl.own_plug import RequestChanger
from larbinpy.fetch.robots import MAX_SIZE
from larbinpy.fetch.settings import Request, RequestOptions
from larbinpy.output.plug import NO_REFRESH, Refresher
from larbinpy.url import Url

#: RFC 9309, 2.5: at least 500 KiB of a robots.txt are read, whatever maxPageSize is. One byte more
#: than is used shows whether the file is longer, so that its last line may be incomplete.
ROBOTS_SIZE = MAX_SIZE + 1


class Requests:
    """Makes requests. `max_page_size` in bytes; `options` returns those of a site key."""

    def __init__(
        self,
        types: Types,
        max_page_size: int,
        options: Callable[[str], RequestOptions],
        refresher: Refresher = NO_REFRESH,
    ) -> None:
        self._types = types
        self._max_page_size = max_page_size
        self._options = options
        self._refresher = refresher

    def make(self, url: Url, address: str) -> Request:
        """The request for `url` at `address`."""
        options = self._options(url.site)
        if url.robots_for is not None:
            return Request(url, address, any_type, ROBOTS_SIZE, options)
        accept = any_type if url.requisite else partial(self._types.refuse, url.href)
        conditions = self._refresher.conditions(url.href)
        return Request(url, address, accept, self._max_page_size, options, conditions)


class ChangedRequests(Requests):
    """Requests whose options the operator's plug may change."""

    def __init__(self, requests: Requests, changer: RequestChanger) -> None:
        self._requests = requests
        self._changer = changer

    def make(self, url: Url, address: str) -> Request:
        request = self._requests.make(url, address)
        request.options = self._changer.request(url, request.options)
        return request
