"""Checking links (checkLinks): pages near the seeds are fetched, all else is only asked for.

Near is what `stay` allows, by default the hosts of the seeds. A link to elsewhere, or to a file
that pages need, is asked for by HEAD. Many servers refuse HEAD, redirect it or answer it wrongly:
then it is asked for by GET, for its first byte; and as some do not know ranges, at last by a GET
as browsers send it. The links of what is only asked for are not followed. If links name parts of it
(``#name``), it is asked for by GET at once, and its parts are noted.
"""

import re
from collections.abc import Generator, Iterable, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from mimetypes import MimeTypes
from typing import Any

from larbinpy.crawl.intake import Intake, Judge
from larbinpy.crawl.requests import RequestMaker, any_reply
from larbinpy.fetch.options import Accept, Refusal, Request
from larbinpy.frontier.frontier import Frontier
from larbinpy.frontier.lifecycle import Judgement
from larbinpy.frontier.scope import SeedArea
from larbinpy.page import READABLE, Outcome, Page, asks_for_less, malformed_detail
from larbinpy.parse import Link, Parsed, read, read_in_steps, redirect_target, urls
from larbinpy.parse.link import Checked
from larbinpy.url import SITEMAP, Url, fingerprint

#: A server that does not know HEAD may close the connection, or never answer.
_UNANSWERED = frozenset({Outcome.EARLY_STOP, Outcome.TIMEOUT})
#: The page is not there.
_ABSENT = frozenset({404, 410})
_FIRST_BYTE = ("Range: bytes=0-0",)
#: Bytes that are read if the server does not know ranges.
_ONE = 1

#: Answers in a row by which a site asks for fewer requests: they take two minutes.
_MOST_REFUSALS = 6
#: URLs that `LinkCheck` remembers as text: some megabytes.
_MOST_NAMED = 20_000
#: Words that a page has between quotes: values of its attributes, and of its scripts.
_NAMED = re.compile(rb"[\"'#]([^\"'\\\s<>&#]{1,100})[\\\"']").findall
_LOGIN = re.compile(rb"<input\b[^>]{0,200}\btype=[\"']?password", re.IGNORECASE).search
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
        # URLs of parts that links have named lately.
        self._named: set[str] = set()
        # Fingerprints of URLs elsewhere whose parts links name, of those among them that are asked
        # for as pages, and of others that were asked for.
        self._wanted: set[int] = set()
        self._whole: set[int] = set()
        self._asked: set[int] = set()
        #: Sites that have asked for fewer requests, perhaps as they refuse HEAD so: the number of
        #: such answers in a row.
        self.refusing: dict[str, int] = {}

    def want_parts(self, href: str) -> bool:
        """Note that a link names a part of `href`; whether that was asked for without them."""
        if href in self._named:
            return False
        if len(self._named) >= _MOST_NAMED:
            self._named.clear()
        self._named.add(href)
        key = fingerprint(href)
        if key in self._wanted or self._area.has(href):
            return False
        self._wanted.add(key)
        return key in self._asked

    def asks_for_parts(self, url: Url) -> bool:
        """Whether `url`, which is only asked for, is asked for as a page, from now on."""
        key = fingerprint(url.href)
        if key in self._wanted:
            self._whole.add(key)
        return key in self._whole

    def has_parts(self, url: Url) -> bool:
        """Whether the reply to `url` may show its parts."""
        return fingerprint(url.href) in self._whole

    def lacks_parts(self, url: Url) -> bool:
        """Note the end of `url`; whether it has to be asked for again, for its parts."""
        key = fingerprint(url.href)
        self._asked.add(key)
        return key in self._wanted and key not in self._whole

    def only_asks(self, url: Url) -> bool:
        """Whether the reply to `url` is not read."""
        if url.purpose.owner is not None:
            return False
        # A sitemap belongs to the site whose robots.txt names it.
        named = url.via if url.purpose is SITEMAP else None
        if not self._area.has(named or url.href):
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
        if self._check.only_asks(url) and not self._check.asks_for_parts(url):
            request.accept, request.max_size, request.most_beyond = any_reply, _ONE, 0
            if url.attempt == 0 and url.site not in self._check.refusing:
                request.options = self._by_head(request.options)
            elif url.attempt <= 1:
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
        #: Shared by requests, judge and intake.
        self.check = LinkCheck(frontier.scope.area)

    def _of_page(self, page: Page) -> Judgement:
        url = page.url
        if self.check.only_asks(url):
            misleads = not self.check.has_parts(url) and _may_mislead(page)
            if misleads or self.check.lacks_parts(url):
                self._frontier.admission.detours.note_cookies(page)
                return Judgement.AGAIN
            if page.outcome in READABLE:
                page.outcome = Outcome.CHECKED
        return super()._of_page(page)


class CheckIntake(Intake):
    """Takes the replies of a link check; links to URLs that are refused count as left out."""

    _judge: CheckJudge

    def _read(self, page: Page) -> Generator[None, None, Parsed]:
        return read_in_steps(page, self._sites.agent(page.url), checking=True)

    def _process(self, page: Page, now: float) -> None:
        """A redirect to some part leads there, whatever part a link to it names."""
        if 300 <= page.status < 400:
            if "#" in (page.header("location") or ""):
                self._link_notes.moved(page.url.href)
            elif self._judge.check.has_parts(page.url):
                self._want_parts(page.url, urls(redirect_target(page)))
        super()._process(page, now)
        if page.outcome is Outcome.CHECKED and page.body and self._judge.check.has_parts(page.url):
            self._note_parts(page)
        if page.status:
            self._count_refusal(page, now)

    def _count_refusal(self, page: Page, now: float) -> None:
        """Ask a site for nothing more that answers nothing else, each time after a longer wait."""
        site, refusing = page.url.site, self._judge.check.refusing
        if asks_for_less(page.status):
            refusing[site] = refusing.get(site, 0) + 1
        elif site in refusing:
            refusing[site] = 0
        if refusing.get(site, 0) >= _MOST_REFUSALS:
            self._frontier.lifecycle.give_up_refusing(site, page.status, now)

    def _want_parts(self, parent: Url, urls: Iterable[str]) -> None:
        """Ask for these URLs as pages, even if they were asked for in another way."""
        for href in filter(self._judge.check.want_parts, urls):
            self._frontier.queue_again(Url(href, 0, via=parent.href))

    def _note_parts(self, page: Page) -> None:
        """Note the parts of a page elsewhere, and what its scripts may make to be parts.

        A login stands for another page, whose parts nobody knows.
        """
        if _LOGIN(page.body):
            return
        found = read(page, self._sites.agent(page.url), checking=True).checked
        assert found is not None
        if found.parts is not None:
            found.parts.update(name.decode("utf-8", "replace") for name in _NAMED(page.body))
        noted = Checked(parts=found.parts, filled=found.filled)
        self._link_notes.checked(page.url.href, noted)

    def _loaded(
        self, page: Page, parsed: Parsed, links: Sequence[Link], digests: list[int], obeyed: str
    ) -> None:
        """In the log, the line of a page names its links that are no URLs."""
        checked = parsed.checked
        assert checked is not None
        if checked.malformed:
            page.detail = malformed_detail(tuple(checked.malformed))
        self._link_notes.checked(page.url.href, checked)
        self._want_parts(page.url, checked.linked)
        super()._loaded(page, parsed, links, digests, obeyed)
        self._frontier.scope.left_out.update(checked.refused)

    def _heeds(self, obeyed: str) -> bool:
        """Links may be broken whether robots are to follow them or not."""
        return False


def _may_mislead(page: Page) -> bool:
    """Whether the way in which it was asked for may be the reason for an answer.

    By the number of the try: HEAD; GET with a range; GET as browsers send it. 429 and 503 ask for
    fewer requests, and a second answer that there is no such page is enough. A coding that cannot
    be read is not offered again.
    """
    attempt, status = page.url.attempt, page.status
    if attempt == 0:
        return page.outcome in _UNANSWERED or (status >= 300 and not asks_for_less(status))
    if attempt > 1:
        return False
    is_refused = status >= 400 and status not in _ABSENT and not asks_for_less(status)
    return page.misread or page.outcome is Outcome.EARLY_STOP or is_refused
