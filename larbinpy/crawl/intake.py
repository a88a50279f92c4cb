"""Reads fetched pages and takes them to the outputs and the frontier."""

from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from functools import partial
from http import HTTPStatus
from typing import TYPE_CHECKING, Protocol

from larbinpy.context import Context
from larbinpy.crawl.requests import SiteConfigs, Types
from larbinpy.frontier.frontier import Frontier
from larbinpy.frontier.lifecycle import Judgement
from larbinpy.frontier.soft404.probes import Probes, is_home
from larbinpy.loop.clock import Slice
from larbinpy.output.links import LinkNotes
from larbinpy.output.plug import Outputs
from larbinpy.page import (
    LONG_SITEMAP,
    NOINDEX,
    READABLE,
    SCRIPTED,
    UNASKED,
    Fate,
    Outcome,
    Page,
    circle_of,
    part_detail,
    reason,
)
from larbinpy.parse import (
    Link,
    Parsed,
    asks_its_site,
    followed,
    is_filled_by_script,
    is_sitemap,
    is_sitemap_name,
    read_in_steps,
    redirect_part,
    redirect_target,
    reloaded,
    unfollowed,
    urls,
)
from larbinpy.url import GUESS, PAGE, SITEMAP, Aim, Purpose, Url, hash64, host_of

if TYPE_CHECKING:
    from larbinpy.crawl.sessions import SiteSessions

#: Most outcomes written to the log in one turn.
_FATES = 500
#: Most links of a page that are passed on at once, in some 5 ms.
_LINKS = 1000


#: Ways in which a seed ends that is there, or that leads elsewhere.
_SEED_IS_THERE = frozenset((Outcome.CHECKED, Outcome.DUPLICATE, Outcome.ERR_30X, Outcome.URL_DUP))


#: Links of a page that scripts fill, those to styles and scripts included; and those to pages.
_SHELL_LINKS = 40


class FateSink(Protocol):
    """A receiver of decided URLs: the crawl log, clients that watch, fetchInfo."""

    def write(self, fate: Fate) -> None: ...


class Judge:
    """Judges replies: sets their outcomes and details, and tells what each is for its URL.

    `sessions` are those of sites with logins, and `probes` the answers of sites to names that do
    not exist.
    """

    def __init__(
        self,
        frontier: Frontier,
        sessions: "SiteSessions | None" = None,
        probes: Probes | None = None,
    ) -> None:
        self._frontier = frontier
        self._sessions = sessions
        self._probes = probes
        # The last reply of a session, and the last redirect that led back; they come again if the
        # disk refuses them.
        self._judged: Page | None = None
        self._led_back: Page | None = None

    def judge(self, page: Page) -> Judgement:
        """Judge a reply; a page that is kept may still be a duplicate."""
        judgement = Judgement.KEEP
        if page.misread and not page.url.attempt and page.url.purpose.aim is not Aim.LOGIN:
            return Judgement.AGAIN
        if self._sessions is not None and page is not self._judged:
            judgement = self._of_session(page, self._sessions)
        if judgement is Judgement.KEEP and page.url.purpose.owner is None:
            return self._of_page(page)
        return judgement

    def _of_session(self, page: Page, sessions: "SiteSessions") -> Judgement:
        """Whether the session of a site with a login has ended."""
        url = page.url
        if url.purpose.aim is Aim.LOGIN or not sessions.has(url.site):
            return Judgement.KEEP
        # A sitemap that nothing names says nothing of the session.
        if url.is_named:
            last = self._frontier.undecided <= 1
            judgement, again = sessions.judge(page, last=last)
            if judgement is not Judgement.KEEP:
                for each in again:
                    self._frontier.queue_again(each)
                return judgement
        sessions.blank(page)
        self._judged = page
        return Judgement.KEEP

    def _of_page(self, page: Page) -> Judgement:
        """Whether a page, or a failure, is what it looks like."""
        if page.outcome is Outcome.ERR_30X and self._leads_back(page):
            return Judgement.AGAIN
        if page.new_cookies and page.outcome is Outcome.SUCCESS and self._reloads(page):
            return Judgement.AGAIN
        soft_404 = "" if self._probes is None else self._probes.judge(page)
        if soft_404:
            page.outcome, page.detail = Outcome.ERR_40X, soft_404
        if page.outcome is Outcome.ERR_30X:
            page.detail = self._target(page)
        return Judgement.KEEP

    def _leads_back(self, page: Page) -> bool:
        """Whether the URL of a redirect is asked for again."""
        if page is not self._led_back and self._frontier.admission.detours.again(page):
            self._led_back = page
        return page is self._led_back

    def _reloads(self, page: Page) -> bool:
        """Whether the URL of a page that sets a cookie and loads itself is asked for again."""
        target = reloaded(page)
        return target is not None and self._frontier.admission.detours.reloads(page, target)

    def _is_circle(self, page: Page, target: str) -> bool:
        """Whether a redirect leads back to its own URL or the one before it, for nothing."""
        if target == page.url.href:
            return True
        before = page.url.redirect and target == page.url.via
        return before and not self._frontier.admission.detours.may_return(page, target)

    def _target(self, page: Page) -> str:
        """The URL that a redirect leads to, or why it leads nowhere."""
        target = redirect_target(page)
        if target and self._is_circle(page, target[0].url):
            with_cookie = bool(page.header("set-cookie")) and page.url.hops < 2
            return circle_of({page.url.href, target[0].url}, with_cookie=with_cookie)
        if target:
            return self._frontier.admission.target(page.url.href, target[0].url)
        return "it names no URL that can be crawled"


class Intake:
    """Pages that have arrived, until they are read, output and reported to the frontier.

    `expect` looks up names in advance. A page that takes long is read in several turns, and no
    other one meanwhile.

    Invariant: a page reaches the output before it changes anything else, except that all but the
    last of very many links were passed on. If the disk refuses it (OSError), it becomes the first
    in the queue again, and the next `step` continues with it.
    """

    @property
    def away(self) -> int:
        """Number of pages that are elsewhere, and come back to be read."""
        return 0

    def __init__(
        self,
        context: Context,
        sites: SiteConfigs,
        frontier: Frontier,
        judge: Judge,
        output: Outputs,
        link_notes: LinkNotes,
        sinks: Sequence[FateSink],
        expect: Callable[[Iterable[str], float], None],
    ) -> None:
        self._config = context.config
        self._clock = context.clock
        self._wall = context.wall
        self._stats = context.stats
        self._pages = context.tuning.pages_a_turn
        self._sites = sites
        self._frontier = frontier
        self._judge = judge
        self._output_plug = output
        self._refresher = output.refresher
        self._link_notes = link_notes
        self._sinks = sinks
        self._expect = expect
        self._types = Types(context.config)
        self._landed: deque[Page] = deque()
        # The work that remains for the page that is being read.
        self._reading: Iterator[None] | None = None
        # The time of this step.
        self._now = 0.0

    def __repr__(self) -> str:
        return f"<Intake {len(self._landed)} landed>"

    def land(self, pages: Sequence[Page]) -> None:
        """Queue pages that the fetcher has completed."""
        for page in pages:
            if page.url.purpose is GUESS and page.outcome in READABLE and not self._is_found(page):
                page.outcome = Outcome.BAD_TYPE
            elif page.rest and page.outcome in READABLE and not is_sitemap(page):
                page.outcome, page.rest = Outcome.TOO_BIG, b""
                page.detail = f"cut at {len(page.body)} bytes, as it is no sitemap"
            self._stats.received(page)
            self._landed.append(page)

    def _is_found(self, page: Page) -> bool:
        """Whether a sitemap was found where nothing names one; it may be a page "not found".

        If a link to it was met meanwhile, that is fetched as any other.
        """
        return is_sitemap(page) and not self._frontier.admission.is_seen(page.url.href)

    @property
    def busy(self) -> int:
        """Number of pages that have arrived and were not processed yet."""
        return len(self._landed) + (self._reading is not None)

    def step(self) -> None:
        """Process some pages, and log the URLs whose outcome is decided."""
        # Politeness waits from the end of a transfer, which may be later than the beginning of
        # the turn. Some pages are made to be expensive to read, and sockets must not wait.
        work = Slice(self._clock)
        self._now = now = work.began
        for done in range(self._pages):
            if not self.busy or (done and work.over):
                break
            if self._reading is None:
                self._process(self._landed.popleft(), now)
            self._read_on(work)
        for page in self._frontier.decided(_FATES):
            if page.vain:
                continue
            if page.outcome is not Outcome.SUCCESS:
                self._output_plug.missed(page)
                if page.url.seed and page.outcome not in _SEED_IS_THERE:
                    self._stats.lost_seed(_about_seed(page))
            self._write_down(page)

    def _process(self, page: Page, now: float) -> None:
        """Judge a reply, output it, report it to the frontier, and pass on where it leads.

        A page is read before the last three, see `_taken`.
        """
        judgement = self._judge.judge(page)
        if judgement is Judgement.KEEP and page.url.purpose.owner is None:
            self._note_refresh(page)
            if page.outcome is Outcome.SUCCESS or (page.rest and page.outcome is Outcome.TOO_BIG):
                digests = self._digests(page)
                if not self._frontier.is_duplicate(digests):
                    self._reading = self._taken(page, digests)
                    return
                page.outcome = Outcome.DUPLICATE
        if _is_shown(page, judgement):
            self._output_reply(page)
        if self._frontier.replied(page, now, self._wall(), judgement):
            for target in _targets(page):
                self._expect(self._frontier.redirect(page, target, now), now)

    def _note_refresh(self, page: Page) -> None:
        """Pass a 304 or a redirect to the refresher. This comes first, as the disk may refuse."""
        try:
            if page.not_modified:
                page.detail = ""
                self._refresher.unchanged(page)
                if page.outcome is Outcome.ERR_30X:
                    # Some caches take the request for one with a condition; another may pass.
                    page.outcome, page.detail = Outcome.ERR_50X, UNASKED
            elif page.outcome is Outcome.ERR_30X:
                for link in redirect_target(page):
                    self._refresher.moved(page.url.href, link.url + redirect_part(page))
        except OSError:
            self._landed.appendleft(page)
            raise

    def _digests(self, page: Page) -> list[int]:
        """The digest that identifies copies of a page; empty if not all of its body is there."""
        unread = page.not_modified and not page.body
        if not self._config.page_no_duplicate or page.rest or unread:
            return []
        return [hash64(page.body)]

    def _read_on(self, work: Slice) -> None:
        """Continue with the page that is being read, until it is done or the slice is over."""
        reading, self._reading = self._reading, None
        for _ in reading or ():
            if work.over:
                self._reading = reading
                return

    def _read(self, page: Page) -> Generator[None, None, Parsed]:
        """Find the links of a page in steps; this never raises."""
        return read_in_steps(page, self._sites.agent(page.url))

    def _taken(self, page: Page, digests: list[int]) -> Iterator[None]:
        """Read a page and complete it, in steps."""
        parsed = yield from self._read(page)
        if parsed.cut or page.outcome is not Outcome.SUCCESS:
            page.detail = part_detail(parsed.cut or page.detail)
        elif page.rest:
            page.detail = LONG_SITEMAP
        obeyed = self._sites.robots_meta(page.url)
        links = self._followed(parsed, obeyed)
        purpose = SITEMAP if parsed.is_index else PAGE
        while len(links) > _LINKS:
            self._admit(page.url, links[:_LINKS], self._now, parsed.spellings, purpose)
            links = links[_LINKS:]
            yield
        self._loaded(page, parsed, links, digests, obeyed)

    def _loaded(
        self, page: Page, parsed: Parsed, links: Sequence[Link], digests: list[int], obeyed: str
    ) -> None:
        """Complete a page that was read; `links` are those that were not passed on yet.

        Output comes first: if it fails, the page is still owed, and its digest is still new.
        """
        page.charset = parsed.charset
        page.list_links = partial(urls, parsed.links)
        reason = self._why_not_kept(page, parsed, obeyed)
        if page.rest:
            self._output_reply(page)
        elif not reason:
            self._output(page, self._output_plug.loaded)
            self._stats.kept += 1
        elif reason == "noindex":
            # It is a reply all the same, and an archive has all of them.
            reason = "" if self._config.only_archives else reason
            page.detail = page.detail or (reason and NOINDEX)
            self._output(page, self._output_plug.feeder.withheld)
            self._output_reply(page)
        self._count_left_out(page, parsed, reason, obeyed)
        self._link_notes.page(page.url.href, parsed.links)
        if digests:
            self._frontier.remember(digests)
        self._frontier.replied(page, self._now, self._wall())
        self._stats.links += len(parsed.links)
        purpose = SITEMAP if parsed.is_index else PAGE
        self._admit(page.url, links, self._now, parsed.spellings, purpose)

    def _why_not_kept(self, page: Page, parsed: Parsed, obeyed: str) -> str:
        """The reason why a page does not go to the outputs; empty if it does.

        One that has not changed was wanted before.
        """
        # A requisite belongs to the page that shows it.
        if parsed.noindex and obeyed == "on" and not page.url.requisite:
            return "noindex"
        if not self._config.specific_search or page.not_modified:
            return ""
        return "" if self._types.specific(page.type) else "specificSearch"

    def _heeds(self, obeyed: str) -> bool:
        """Whether the links of a page are followed as its directives say."""
        return obeyed != "off"

    def _followed(self, parsed: Parsed, obeyed: str) -> Sequence[Link]:
        """The links of a page that the crawl may follow."""
        if not self._heeds(obeyed):
            return parsed.links
        needed = self._config.requisites != "off"
        return followed(parsed.links, nofollow=parsed.nofollow, needed=needed)

    def _count_left_out(self, page: Page, parsed: Parsed, reason: str, obeyed: str) -> None:
        """Count a page that is not kept, or not wholly read, and its links that are not followed.

        Those to other hosts are most often left out in any case.
        """
        counted = self._frontier.scope.left_out
        if reason:
            counted[reason] += 1
        if len(parsed.links) <= _SHELL_LINKS:
            if self._is_filled_by_scripts(page, parsed):
                counted["scripts"] += 1
                page.detail = page.detail or SCRIPTED
            if self._config.rewrite_links and asks_its_site(page):
                counted["asking"] += 1
        if parsed.cut:
            counted["cut"] += 1
        left = unfollowed(parsed.links, nofollow=parsed.nofollow)
        if not left or not self._heeds(obeyed):
            return
        host, is_seen = page.url.host, self._frontier.admission.is_seen
        if number := sum(host_of(url) == host and not is_seen(url) for url in urls(left)):
            counted["nofollow"] += number

    def _is_filled_by_scripts(self, page: Page, parsed: Parsed) -> bool:
        if "html" not in page.type or page.rest:
            return False
        return is_filled_by_script(page, parsed.links)

    def _output_reply(self, page: Page) -> None:
        """Pass a reply that is not a page to keep to the outputs."""
        if page.status:
            self._output(page, self._output_plug.replied)

    def _output(self, page: Page, put: Callable[[Page], None]) -> None:
        """Call `put`; if the disk refuses, queue the page again, as the first."""
        try:
            put(page)
        except OSError:
            self._landed.appendleft(page)
            raise

    def _admit(
        self,
        parent: Url,
        links: Sequence[Link],
        now: float,
        spellings: Mapping[str, str],
        purpose: Purpose,
    ) -> None:
        """Pass links to the frontier; the names of new ones are looked up in advance."""
        admit = self._frontier.admit
        self._expect(admit(parent, links, now, purpose=purpose, spellings=spellings), now)

    def _write_down(self, page: Page) -> None:
        fate = Fate.of(page, self._wall())
        self._stats.decided(page.outcome, fate)
        for sink in self._sinks:
            sink.write(fate)


def _about_seed(page: Page) -> str:
    """A line about a seed that was not fetched, or what it redirects to."""
    url = page.url
    seed = f"seed {url.via} leads to {url.href}" if url.redirect and url.via else f"seed {url.href}"
    return f"{seed}: {reason(page.outcome.value, page.status, page.detail)}"


def _is_shown(page: Page, judgement: Judgement) -> bool:
    """Whether the outputs get a reply that is not a page: it is kept, or asked for again."""
    is_again = judgement is Judgement.AGAIN and (page.misread or page.outcome is Outcome.ERR_30X)
    if judgement is not Judgement.KEEP and not is_again:
        return False
    return page.url.purpose.aim not in (Aim.LOGIN, Aim.PROBE) and not page.vain


def _targets(page: Page) -> Sequence[Link]:
    """The link of a redirect that is followed."""
    targets = redirect_target(page)
    if page.outcome is Outcome.ERR_30X:
        # One from a sitemap that is not there may lead to where it is.
        return [link for link in targets if is_sitemap_name(link.url)] if page.vain else targets
    if page.outcome is Outcome.ERR_40X and page.status < HTTPStatus.BAD_REQUEST and not page.vain:
        # Nothing else may lead to the home page.
        return [link for link in targets if is_home(link.url)]
    return []
