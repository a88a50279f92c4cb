"""Checking links (checkLinks): pages near the seeds are fetched, all else is only asked for.

Near is what `stay` allows, by default the hosts of the seeds. A link to elsewhere, or to a file
that pages need, is asked for by HEAD. Many servers refuse HEAD or answer it wrongly: then it is
asked for by GET, for its first byte. The links of what is only asked for are not followed.
"""

from collections.abc import Generator, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from http import HTTPStatus
from mimetypes import MimeTypes
from typing import Any

from larbinpy.crawl.intake import Intake, Judge
from larbinpy.crawl.request_options import any_reply
from larbinpy.crawl.requests import RequestMaker
from larbinpy.fetch.options import Accept, Refusal, Request
from larbinpy.frontier.frontier import Frontier
from larbinpy.frontier.lifecycle import Judgement
from larbinpy.frontier.scope import SeedArea
from larbinpy.page import READABLE, Outcome, Page, malformed_detail
from larbinpy.parse import Link, Parsed, read_in_steps
from larbinpy.url import Url

#: A server that does not know HEAD may close the connection, or never answer.
_UNANSWERED = frozenset({Outcome.EARLY_STOP, Outcome.TIMEOUT})
#: Failures that the same request by GET does not change. 429 and 503 ask for fewer requests.
_FINAL = frozenset({401, 407, 410, 429, 451, 503})
_FIRST_BYTE = ("Range: bytes=0-0",)
#: Bytes that are read if the server does not know ranges.
_ONE = 1

#: Types that have no links, as far as the ending of a URL tells them.
_FILES = (
    *("image/", "audio/", "video/", "font/", "application/octet-stream", "application/vnd."),
    *("application/pdf", "application/zip", "application/x-tar", "application/msword"),
)
_types_of_endings = MimeTypes()


class LinkCheck:
    """Decides which URLs are only asked for. Pages in the `area` of the seeds are read."""

    def __init__(self, area: SeedArea) -> None:
        self._area = area

    def only_asks(self, url: Url) -> bool:
        """Whether the reply to `url` is not read."""
        if url.purpose.owner is not None:
            return False
        if not self._area.has(url.href):
            return True
        path = url.href.partition("?")[0]
        if url.requisite:
            # Style sheets name images and fonts.
            return not path.endswith(".css")
        return (_types_of_endings.guess_type(path)[0] or "").startswith(_FILES)


class CheckRequests:
    """Makes the requests of a link check from ordinary ones."""

    def __init__(self, requests: RequestMaker, check: LinkCheck) -> None:
        self._requests = requests
        self._check = check
        # One object for each object, as handles are reset for others.
        self._by_head = lru_cache(1000)(partial(replace, head=True))

    def make(self, url: Url, address: str) -> Request:
        request = self._requests.make(url, address)
        if self._check.only_asks(url):
            request.accept, request.max_size, request.most_beyond = any_reply, _ONE, 0
            if url.attempt == 0:
                request.options = self._by_head(request.options)
            else:
                request.headers = (*request.headers, *_FIRST_BYTE)
        elif url.purpose.owner is None:
            request.accept = partial(_checked, request.accept)
        return request


def _checked(accept: Accept, media_type: str, size: int | None) -> Refusal | None:
    """A body without links, or a long one, is not read: the URL exists."""
    refusal = accept(media_type, size)
    if refusal is None or refusal.outcome not in (Outcome.BAD_TYPE, Outcome.TOO_BIG):
        return refusal
    return Refusal(Outcome.CHECKED)


class CheckJudge(Judge):
    """Judges the replies of a link check."""

    def __init__(self, frontier: Frontier, *more: Any) -> None:
        super().__init__(frontier, *more)
        self._check = LinkCheck(frontier.scope.area)

    def _of_page(self, page: Page) -> Judgement:
        url = page.url
        if self._check.only_asks(url):
            if url.attempt == 0 and _may_refuse_head(page):
                return Judgement.AGAIN
            # This was the first GET.
            if url.attempt == 1 and page.misread:
                return Judgement.AGAIN
            # An empty file has no first byte.
            if page.outcome in READABLE or (
                page.status == HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE
            ):
                page.outcome = Outcome.CHECKED
        return super()._of_page(page)


class CheckIntake(Intake):
    """Takes the replies of a link check; links to URLs that are refused count as left out."""

    def _read(self, page: Page) -> Generator[None, None, Parsed]:
        return read_in_steps(page, self._sites.agent(page.url), malformed=True)

    def _loaded(
        self, page: Page, parsed: Parsed, links: Sequence[Link], digests: list[int], now: float
    ) -> None:
        """In the log, the line of a page names its links that are no URLs."""
        if parsed.malformed:
            page.detail = malformed_detail(parsed.malformed)
        super()._loaded(page, parsed, links, digests, now)
        self._frontier.scope.left_out.update(parsed.refused)

    def _followed(self, parsed: Parsed, *, obeys: bool) -> Sequence[Link]:
        """Links with rel=nofollow may be broken, too."""
        return [] if parsed.nofollow and obeys else parsed.links


def _may_refuse_head(page: Page) -> bool:
    """Whether GET may have another result."""
    if page.outcome in _UNANSWERED:
        return True
    return page.status >= 400 and page.status not in _FINAL
