"""The probes of all sites: which names are asked for, and which pages are like the answers."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from larbinpy.page import Page
from larbinpy.reason import soft_404
from larbinpy.soft404.answers import Answer, answers_in, target_of
from larbinpy.soft404.names import Shape, commonest_shape, is_above, is_start
from larbinpy.storage.lru import LruBudget
from larbinpy.url import Url, site_of

#: Requests a site.
_MOST_PROBES = 2
#: Bytes of a site without answers to keep, which most are.
_SITE = 300
#: Most bytes of all answers: those of 10,000 sites.
MOST_BYTES = 40_000_000


class Probed(NamedTuple):
    """A site that was asked for names, and what it answered so far."""

    site: str
    #: Requests that it may still get.
    left: int
    #: The URLs of those names.
    probes: Sequence[str]
    answers: Sequence[Answer]


@dataclass(slots=True)
class _Site:
    #: Requests that it may still get; 0 from its end on.
    left: int = _MOST_PROBES
    #: The names that were asked for, and the URLs.
    names: list[str] = field(default_factory=list)
    probes: list[str] = field(default_factory=list)
    #: Pages and redirects, while it is being probed.
    replies: list[Page] = field(default_factory=list)
    answers: list[Answer] = field(default_factory=list)


class Probes:
    """Asks sites for names that do not exist, and compares their pages with the answers.

    A site is probed once, unless so many others were probed since that it was forgotten.
    `new_name` makes a name; `is_read` is whether the reply to a URL is read, so that its site is
    worth a probe. `report` is called with each change of a site, before a request that comes of it;
    `load` takes the latest such report of each site, in another run.
    """

    def __init__(
        self,
        new_name: Callable[[], str],
        is_read: Callable[[Url], bool] = lambda _url: True,
        most_bytes: int = MOST_BYTES,
    ) -> None:
        self._new_name = new_name
        self._is_read = is_read
        self._sites: dict[str, _Site] = {}
        self._budget: LruBudget[str] = LruBudget(most_bytes)
        self.report: Callable[[Probed], object] = lambda _site: None

    def __repr__(self) -> str:
        return f"<Probes {len(self._sites)} sites, {self._budget.total} bytes>"

    # Probing.

    def wants(self, url: Url) -> bool:
        """Whether `url` is a reason to probe its site, which has others."""
        named = not (url.requisite or url.sitemap or url.guess)
        state = self._sites.get(url.site) if named else None
        return named and (state is None or state.left > 0) and self._is_read(url)

    def next(self, site: str, waiting: Sequence[str]) -> str | None:
        """The next URL to ask `site` for, None if there is none; `waiting` are URLs of it.

        First a name in the top folder, then one in the place of most URLs that wait. If they are
        in the top folder, too, it is asked for a second name only if it answered to the first: two
        answers show what differs from one to the next.
        """
        state = self._sites.setdefault(site, _Site())
        if not state.probes:
            self._count(site, state)
        shape = self._next_shape(site, state, waiting)
        if shape is None:
            self.end(site)
            return None
        name = self._new_name()
        probe = shape.named(name)
        state.names.append(name)
        state.probes.append(probe)
        state.left -= 1
        self._report(site, state, answers_in(state.replies, state.names))
        return probe

    def _next_shape(self, site: str, state: _Site, waiting: Sequence[str]) -> Shape | None:
        if not state.left:
            return None
        if not state.probes:
            return Shape(f"{site}/", "")
        top, place = Shape(f"{site}/", ""), commonest_shape(waiting)
        led = self._led_to(site, state)
        if led is not None and (place is None or led.is_page):
            return led
        if place is not None and place != top:
            return place
        return top if answers_in(state.replies, state.names) else None

    @staticmethod
    def _led_to(site: str, state: _Site) -> Shape | None:
        """The place in `site` that its reply leads to by a redirect, with the name in it."""
        target = target_of(state.replies[-1]) if state.replies else None
        before, name, after = (target or "").partition(state.names[-1])
        return Shape(before, after) if name and site_of(before) == site else None

    def replied(self, site: str, page: Page) -> None:
        """Take the reply to the last probe of `site`."""
        state = self._sites.get(site)
        # Errors, which most sites answer with, would take memory until the second probe ends.
        if state is not None and 200 <= page.status < 400:
            state.replies.append(page)

    def end(self, site: str) -> None:
        """Send no further probe to `site`: of the replies, what pages are compared with is kept."""
        state = self._sites.get(site)
        if state is not None:
            state.answers = answers_in(state.replies, state.names)
            state.replies, state.left = [], 0
            self._count(site, state)
            self._report(site, state, state.answers)

    def _count(self, site: str, state: _Site) -> None:
        self._budget.use(site, _SITE + sum(answer.size for answer in state.answers))
        for old in self._budget.surplus():
            del self._sites[old]

    # The state of sites, as it is saved.

    def _report(self, site: str, state: _Site, answers: Sequence[Answer]) -> None:
        self.report(Probed(site, state.left, state.probes, answers))

    def load(self, probed: Probed) -> None:
        """Continue with a site of an earlier run.

        If its first probe was lost with that run, it is asked again for a name in the top folder.
        """
        site, left, probes, answers = probed
        state = _Site(left) if left else _Site(0, probes=list(probes), answers=list(answers))
        self._sites[site] = state
        self._count(site, state)

    # Judging.

    def judge(self, page: Page) -> str:
        """Why `page`, a page or a redirect, is a soft 404, as its detail; empty if it is none."""
        state = self._sites.get(page.url.site)
        if state is None or not state.answers:
            return ""
        href = page.url.href
        above = [probe for probe in state.probes if is_above(href, probe)]
        if any("?" in probe for probe in above):
            # A value that it does not know may count as none: lists show their first page.
            answers = [answer for answer in state.answers if not answer.is_like(page)]
            if len(answers) < len(state.answers):
                state.answers = answers
                self._report(page.url.site, state, answers)
        if above or is_start(href):
            return ""
        for answer in state.answers:
            if answer.is_like(page):
                return soft_404(answer.probe, target_of(page))
        return ""
