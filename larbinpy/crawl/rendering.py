"""Pages that a browser reads (render): how they leave the crawl's way, and come back to it.

A page is fetched as any other. When it has arrived, its request ends, and a browser gets its bytes;
the document that it becomes is then read as the page. Until then it is owed: after a kill it is
fetched again.
"""

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from larbinpy.config import Config
from larbinpy.config.rule import AUTO, parse_rule
from larbinpy.context import Context
from larbinpy.crawl.intake import Intake
from larbinpy.crawl.link_check import CheckIntake
from larbinpy.crawl.mode import Mode
from larbinpy.crawl.network import Network
from larbinpy.crawl.requests import RequestMaker, SiteConfigs, any_reply
from larbinpy.fetch.options import Request
from larbinpy.frontier.frontier import Frontier
from larbinpy.frontier.rules import Rules
from larbinpy.frontier.site import NamedSite
from larbinpy.loop.clock import run_to_end
from larbinpy.page import Outcome, Page
from larbinpy.parse import Kind, Link, Parsed, is_filled_by_script, read_in_steps
from larbinpy.render.parts import POSTS, RequestDesk
from larbinpy.render.renderer import Renderer
from larbinpy.render.turns import PartStep, RenderingIPSites
from larbinpy.url import PAGE, Aim, Url, bare, has_control, with_view

#: The wait of parts, as a share of that of pages, and at least (s).
_SHARE, _LEAST = 20, 0.1
_HTML = frozenset({"text/html", "application/xhtml+xml"})
#: Cookies of scripts that are remembered.
_MOST_COOKIES = 10_000


def part_wait(config: Config) -> Callable[[NamedSite], float]:
    """The seconds between two requests of pages in the browser to one site."""
    if config.render_wait:
        return lambda site: config.render_wait
    return lambda site: max(site.pace.delay / _SHARE, _LEAST)


class Choice:
    """Which pages a browser reads (render)."""

    def __init__(self, config: Config) -> None:
        self.auto = AUTO in config.render
        patterns = [parse_rule(True, text) for text in config.render if text != AUTO]
        self._rules = Rules(patterns)

    def takes(self, page: Page, agent: str) -> bool:
        """Whether a page that was fetched is read by a browser; `agent` is our name."""
        if page.outcome is not Outcome.SUCCESS or page.url.purpose is not PAGE:
            return False
        if page.type not in _HTML or page.truncated or page.misread or page.url.requisite:
            return False
        if page.not_modified:
            return False
        if self._rules.decide(bare(page.url.href), None, None).rule is not None:
            return True
        if not self.auto or b"<script" not in page.body:
            return False
        parsed = run_to_end(read_in_steps(page, agent))
        return is_filled_by_script(page, parsed.links)


class PartRequests:
    """Makes the requests for parts of pages; `requests` makes all others."""

    def __init__(
        self,
        requests: RequestMaker,
        network: Network,
        most_bytes: Callable[[Url], int],
        login_headers: Callable[[Url], Sequence[str]] | None,
    ) -> None:
        self._requests = requests
        self._options = network.options.for_url
        self._most_bytes = most_bytes
        self._login_headers = login_headers

    def make(self, url: Url, address: str) -> Request:
        ask = url.purpose.ask
        if url.purpose.aim is not Aim.PART or ask is None:
            return self._requests.make(url, address)
        options = self._options(url)
        if ask.body is not None:
            options = replace(options, body=ask.body)
        login = () if self._login_headers is None else self._login_headers(url)
        headers = (*ask.headers, *login)
        return Request(url, address, any_reply, self._most_bytes(url), options, headers)


class ScriptCookies:
    """The cookies that scripts set for their own site, and those of its jar that they may read.

    Cookies of replies are in the jar already.
    """

    def __init__(self, network: Network) -> None:
        self._options = network.options.of
        self._jars = network.fetcher.jars
        self._known: dict[tuple[str, str], str] = {}

    def note(self, url: Url, header: str) -> None:
        """Take the Cookie header of a request by a page of `url` for its own site."""
        pairs = [pair.strip().partition("=") for pair in header.split(";")]
        new = {
            name: value
            for name, equals, value in pairs
            if equals and self._known.get((url.host, name)) != value
        }
        if not new:
            return
        if len(self._known) > _MOST_COOKIES:
            self._known.clear()
        self._known.update({(url.host, name): value for name, value in new.items()})
        jar = self._jars.find(self._options(url.site).jar)
        kept = {tuple(line.split(b"\t")[5:6]) for line in jar.lines() if _is_of(line, url.host)}
        lines = [
            "\t".join((url.host, "FALSE", "/", "FALSE", "0", name, value)).encode()
            for name, value in new.items()
            if (name.encode(),) not in kept and not has_control(name + value)
        ]
        if lines:
            jar.add(lines, over_given=False)

    def readable(self, url: Url) -> Sequence[Mapping[str, object]]:
        """The cookies of the jar for `url` that scripts may read, for Network.setCookies.

        None of a login, nor of cookieFile: a script of another host, which runs in the page, could
        tell them to others.
        """
        login = self._options(url.site).jar
        lines = [] if login else self._jars.find(login).set_by_sites()
        texts = (line.decode("utf-8", "replace") for line in lines if _is_of(line, url.host))
        return [
            {"name": name, "value": value, "path": path, "secure": secure == "TRUE"}
            | ({"domain": domain} if below == "TRUE" else {"url": url.href})
            for domain, below, path, secure, _, name, value in (text.split("\t") for text in texts)
            if not domain.startswith("#")
        ]


def languages_of(accepted: str) -> str:
    """The languages that a page sees, of an Accept-Language header."""
    return ",".join(filter(None, (each.partition(";")[0].strip() for each in accepted.split(","))))


def _is_of(line: bytes, host: str) -> bool:
    domain = line.partition(b"\t")[0].removeprefix(b"#HttpOnly_").lstrip(b".").decode("latin-1")
    return host == domain or host.endswith(f".{domain}")


class RenderIntake(Intake):
    """Takes pages to the browser before they are read."""

    def __init__(
        self, context: Context, sites: SiteConfigs, frontier: Frontier, *rest: Any
    ) -> None:
        super().__init__(context, sites, frontier, *rest)
        self._choice = Choice(context.config)
        #: Set before the first turn.
        self.renderer: Renderer

    @property
    def away(self) -> int:
        return self.renderer.away

    def _process(self, page: Page, now: float) -> None:
        if page.rendering is None and self._choice.takes(page, self._sites.agent(page.url)):
            turns = self._frontier.ip_sites
            assert isinstance(turns, RenderingIPSites)
            turns.land(page, now, self._wall())
            self.renderer.put(page)
        else:
            super()._process(page, now)

    def _read(self, page: Page) -> Generator[None, None, Parsed]:
        """The links of a page, and where it led by itself."""
        parsed = yield from super()._read(page)
        if page.rendering is not None and page.rendering.leads:
            found = filter(None, (with_view(href) for href in page.rendering.leads))
            more = [Link(href, Kind.PAGE, nofollow=False) for href in found]
            parsed = replace(parsed, links=[*parsed.links, *more])
        return parsed

    def back(self, page: Page) -> None:
        """Take a page from the browser."""
        self._landed.append(page)

    def _count_left_out(self, page: Page, parsed: Parsed, reason: str, obeyed: str) -> None:
        super()._count_left_out(page, parsed, reason, obeyed)
        if page.rendering is not None:
            if page.rendering.why:
                self._frontier.scope.left_out["rendering"] += 1
            if POSTS in page.rendering.refused:
                self._frontier.scope.left_out[POSTS] += 1

    def _is_filled_by_scripts(self, page: Page, parsed: Parsed) -> bool:
        if page.rendering is not None and not page.rendering.why:
            return False
        return super()._is_filled_by_scripts(page, parsed)


class CheckRenderIntake(RenderIntake, CheckIntake):
    """The same for a link check."""


def rendering(intake: type[Intake]) -> type[RenderIntake]:
    """The intake that takes pages to the browser instead of `intake`."""
    return CheckRenderIntake if issubclass(intake, CheckIntake) else RenderIntake


def make_renderer(
    context: Context,
    frontier: Frontier,
    network: Network,
    mode: Mode,
    requests: RequestMaker,
    intake: Intake,
) -> Renderer:
    """The renderer of a crawl, whose browser is started. Raises ConfigError."""
    config, turns = context.config, frontier.ip_sites
    assert isinstance(turns, RenderingIPSites) and isinstance(intake, RenderIntake)
    turns.part_wait = part_wait(config)
    step = PartStep(frontier.lifecycle, turns)
    frontier.lifecycle.serve(Aim.PART, step)
    fetcher = network.fetching

    def open_parts(now: float) -> float | None:
        desk.give_up(step.is_stuck, now)
        while not (mode.paused or mode.draining) and fetcher.free:
            due = step.take(now)
            if due is None:
                break
            fetcher.start(requests.make(*due), now)
        return turns.next_part

    cookies = ScriptCookies(network)
    desk = RequestDesk(frontier.scope, step.ask, lambda site: config.render_post, cookies.note)
    step.arrived = lambda page: desk.arrived(page, context.clock())

    def identity_of(page: Page) -> tuple[dict[str, str], Sequence[Mapping[str, object]]]:
        options = network.options.for_url(page.url)
        agent = {"userAgent": options.user_agent}
        if options.accept_language:
            agent["acceptLanguage"] = languages_of(options.accept_language)
        return agent, cookies.readable(page.url)

    renderer = Renderer(context, desk, intake.back, open_parts, identity_of)
    intake.renderer = renderer
    renderer.browser.open()
    return renderer
