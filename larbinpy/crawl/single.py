"""One URL, or one login, through resolver, fetcher and parser, and nothing else.

These are ``larbinpy fetch``, and ``larbinpy login``, which asks for one page behind the login.
"""

from collections.abc import Callable, Iterable
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from hashlib import sha1
from http import HTTPStatus
from io import StringIO
from tempfile import TemporaryDirectory
from typing import Any

from larbinpy.config import Config, ConfigError
from larbinpy.context import Context
from larbinpy.crawl.network import Names, Network, permitting
from larbinpy.crawl.parts import options_of
from larbinpy.crawl.requests import Logins, SiteConfigs, any_reply, of_login
from larbinpy.crawl.sessions import SiteSessions
from larbinpy.dns.lookup import Answer, is_public
from larbinpy.fetch.cookies import HTTP_ONLY
from larbinpy.fetch.fetcher import Fetcher
from larbinpy.fetch.options import Request
from larbinpy.frontier.lifecycle import Judgement
from larbinpy.login import file as login_file
from larbinpy.login.judge import Judge, Standing, has_html
from larbinpy.login.methods.form import password_form, user_form
from larbinpy.login.spec import Login, MethodTrait, next_of
from larbinpy.loop.clock import clock, wall
from larbinpy.loop.poller import Poller
from larbinpy.page import READABLE, Outcome, Page, cure, reason, timestamp
from larbinpy.parse import read, urls
from larbinpy.url import Aim, Purpose, Url, fault, masked_typed, port_of, site_of, typed


def fetch_one(text: str, config: Config) -> dict[str, object]:
    """Fetch one URL; the result as JSON-able values.

    No robots.txt is read, no redirect followed, and every type accepted. If the headers of a
    reply contradict its body, the page is requested again and these headers are ignored. `size`
    counts decoded bytes; `truncated` is None, "length" (cut at maxPageSize) or "disconnect".
    """
    href = typed(text)
    if href is None:
        return describe(Page(Url(masked_typed(text), 0), Outcome.BAD_URL))
    sites = SiteConfigs(config)
    config = sites.of(site_of(href)).config
    with ExitStack() as closing:
        context = Context.open(config, closing)
        logins = Logins(context.folder)
        logins.learn(text)
        network = Network(context, logins, sites)
        page = fetch(Url(href, 0, attempt=1), config, context.poller, network)
    if page.body and (page.outcome in READABLE or page.outcome is Outcome.EARLY_STOP):
        parsed = read(page, config.user_agent)
        page.charset = parsed.charset
        page.list_links = partial(urls, parsed.links)
    return describe(page)


class _Kept:
    """An output that keeps the last page, or the failure."""

    def __init__(self, href: str) -> None:
        self.page = Page(Url(href, 0), Outcome.BAD_URL)

    def loaded(self, page: Page) -> None:
        self.page = page

    def missed(self, page: Page) -> None:
        self.page = page

    def failed(self, url: Url, outcome: Outcome) -> None:
        pass

    def stats(self) -> dict[str, object]:
        return {}

    def close(self) -> None:
        pass


#: Seconds between the requests for a page and before it.
_MOST_WAIT = 1.0


def of_one_page(config: Config, folder: str) -> Config:
    """The configuration of a crawl of one page in a browser, which writes to `folder` alone."""
    changes: dict[str, Any] = {
        **dict.fromkeys(("state_dir", "output_dir"), folder),
        **dict.fromkeys(("output_mode", "start_url"), ()),
        **dict.fromkeys(("depth_in_site", "limit_kept", "http_port", "input_port"), 0),
        **dict.fromkeys(("guess_sitemap", "keep_links", "probe_soft_404", "check_links"), False),
        **dict.fromkeys(("fetch_info", "print_stats"), False),
        **dict.fromkeys(("items", "save_cookies"), None),
        **dict.fromkeys(("notify", "join", "plug"), ""),
        "revisit": "off",
        "render": ("**",),
        "limit_page": 1,
        "wait_duration": min(config.wait_duration, _MOST_WAIT),
    }
    return replace(config, **changes)


def render_one(text: str, config: Config) -> dict[str, object]:
    """As `fetch_one`, by a crawl of one page that a browser reads; robots.txt is obeyed.

    `rendered` has the milliseconds that it took, what was refused to the page, the URLs that it led
    to, and why it was not rendered, if so.
    """
    # Here, since only this needs a whole crawl.
    from larbinpy.crawl.crawl import Crawl

    href = typed(text, views=True)
    if href is None:
        return describe(Page(Url(masked_typed(text), 0), Outcome.BAD_URL))
    kept = _Kept(href)
    with TemporaryDirectory(prefix="larbinpy-") as folder:
        one = of_one_page(config, folder)
        Crawl(one, output=kept, seeds=[text], stderr=StringIO()).run()
    rendering = kept.page.rendering
    found = describe(kept.page)
    if rendering is not None:
        found["rendered"] = {**rendering.as_dict(), "leads": list(rendering.leads)}
    return found


def fetch(
    url: Url,
    config: Config,
    poller: Poller,
    network: Network,
    headers: tuple[str, ...] = (),
) -> Page:
    """The page of `url`, from a public address of its host, unless allowPrivate permits all.

    `url` may be the request of a login; `headers` are further header lines.
    """
    answer = _resolve(url.host, poller, network.names)
    if answer.reason is not None:
        return Page(url, Outcome.NO_DNS, detail=answer.reason)
    permits, port = permitting(config, is_public), port_of(url.site)
    permitted = [address for address in answer.addresses if permits(address, port)]
    if not permitted:
        return Page(url, Outcome.PRIVATE_ADDRESS, detail=answer.addresses[0])
    options = network.options.for_url(url)
    if url.purpose.ask is not None:
        options = of_login(options, url, url.purpose.ask)
    request = Request(url, permitted[0], any_reply, config.max_page_size, options, headers)
    page = _request(request, poller, network.fetcher)
    if page.misread or (page.outcome is Outcome.EARLY_STOP and page.status and not page.body):
        url.attempt += 1
        page = _request(request, poller, network.fetcher)
    return page


def _request(request: Request, poller: Poller, fetcher: Fetcher) -> Page:
    fetcher.start(request, clock())
    while True:
        now = clock()
        pages = fetcher.step(now)
        if pages:
            return pages[0]
        _wait(poller, fetcher.deadline, now)


def _resolve(host: str, poller: Poller, names: Names) -> Answer:
    answer = names.ask(host, clock())
    while answer is None:
        now = clock()
        answer = next(iter(names.step(now, lambda _: None)), None)
        if answer is None:
            _wait(poller, names.deadline, now)
    return answer


def wait_until(time: float, poller: Poller) -> None:
    """Do nothing until the `time` of the clock."""
    while (now := clock()) < time:
        _wait(poller, time, now)


def _wait(poller: Poller, deadline: float | None, now: float) -> None:
    poller.wait(1.0 if deadline is None else min(deadline - now, 1.0))


def describe(page: Page) -> dict[str, object]:
    """`page` as ``larbinpy fetch --json`` prints it."""
    return {
        "url": page.url.href,
        "outcome": page.outcome.value,
        "status": page.status or None,
        "detail": page.detail or None,
        "location": page.header("location"),
        "size": len(page.body),
        "truncated": page.truncated,
        "type": page.type or None,
        "charset": page.charset,
        "sha1": sha1(page.body).hexdigest() if page.body else None,
        "ip": page.ip,
        "attempt": page.url.attempt,
        "ms": page.ms,
        "links": page.links,
    }


#: Fields of a form that are listed, and characters of each name.
_MOST_NAMES = 30
_LONGEST_NAME = 60

#: Prints a line, which may have texts of the web.
Say = Callable[[str], None]


def try_login(text: str, config: Config, say: Say) -> bool:
    """Log in to the site of the URL `text`, and ask for it; return whether it is logged in.

    `say` gets a line about each request. Nothing is kept. Raises ConfigError.
    """
    href = typed(text)
    if href is None:
        raise ConfigError(f"{masked_typed(text)}: {fault(text)}")
    login = _login_for(site_of(href), config, say)
    with ExitStack() as closing:
        context, sites = Context.open(config, closing), SiteConfigs(config)
        known, with_login = Logins(context.folder), options_of({login.site: login})
        network = Network(context, known, sites, with_login=with_login)
        return _Trial(context, login, sites, network, say).run(href)


def _login_for(site: str, config: Config, say: Say) -> Login:
    """The login of `site` in loginFile; only its secrets are asked for."""
    path = config.login_file
    if path is None:
        raise ConfigError("there is no loginFile; --set loginFile=FILE names one")
    entries, wrong = login_file.examine(path)
    if wrong:
        raise wrong[0]
    sites = [entry.login.site for entry in entries]
    if site not in sites:
        raise ConfigError(f"{path}: it has no login for {site}, only for {', '.join(sites[:10])}")
    entry = entries[sites.index(site)]
    if entry.login.method.is_a(MethodTrait.PROGRAM):
        raise ConfigError(f"{path}: the login of {site} is made by a program of yours (hook)")
    say(login_file.explained(entry))
    [login] = login_file.read(path, only=site)
    return login


class _Trial:
    """A login, from its first request to the page behind it."""

    def __init__(
        self,
        context: Context,
        login: Login,
        sites: SiteConfigs,
        network: Network,
        say: Say,
    ) -> None:
        self._login = login
        self._sites = sites
        self._network = network
        self._poller = context.poller
        self._say = say
        self._jars = network.fetcher.jars
        self._sessions = SiteSessions([login], self._jars, network.options.forget, wall)
        #: The time before which nothing is requested.
        self._next = clock()

    def run(self, href: str) -> bool:
        """Whether the login worked, and the page `href` is one of the session."""
        site = self._login.site
        ask = self._sessions.begin(site)
        while ask is not None:
            self._notices()
            self._next = max(self._next, clock() + ask.wait)
            url = Url(ask.href, 0, attempt=1, purpose=Purpose(Aim.LOGIN, site, ask))
            page = self._request(url)
            ask = self._sessions.replied(site, page)
        why = self._sessions.failure(site)
        doubt = f"not logged in: {why}" if why else self._doubt(href)
        self._say(doubt or "logged in")
        self._about_session()
        return not doubt

    def _doubt(self, href: str) -> str:
        """Why the page `href` does not show that the login has worked; empty if it does."""
        if self._sessions.avoids(href):
            return "not certain: this URL ends the session, or is the login page; give another one"
        url = Url(href, 0, attempt=1)
        page = self._request(url, self._sessions.headers(url))
        if not page.status:
            remedy = cure(page.outcome.value, page.detail)
            return f"not certain: no reply{f'; {remedy}' if remedy else ''}"
        if self._sessions.judge(page)[0] is not Judgement.KEEP:
            return f"not logged in: {_refusal(page)}"
        if page.status >= HTTPStatus.BAD_REQUEST:
            return f"not certain, with status {page.status}; give the URL of a page"
        return ""

    def _request(self, url: Url, headers: Iterable[str] = ()) -> Page:
        """The page of `url`, after the wait of its site."""
        wait_until(self._next, self._poller)
        config = self._sites.of(url.site).config
        page = fetch(url, config, self._poller, self._network, tuple(headers))
        self._next = clock() + config.wait_duration
        ask = url.purpose.ask
        method = "GET" if ask is None or ask.body is None else "POST"
        parts = [f"{method} {shown(url.href)}: {_result(page)}", *self._seen(page)]
        self._say(", ".join(parts))
        return page

    def _seen(self, page: Page) -> Iterable[str]:
        """The form of a page of the login, by the names of its fields; and the markers."""
        login = self._login
        is_form = login.method.is_a(MethodTrait.FORM) and page.url.purpose.ask is not None
        if is_form and has_html(page):
            form = password_form(page, login) or user_form(page, login)
            if form is not None:
                names = list(dict.fromkeys(filter(None, (each.name for each in form.controls))))
                target = shown(form.action) if form.action else "nowhere"
                yield f"form to {target} with {_listed(names)}"
                lacking = sorted(login.fields.keys() - set(names))
                if lacking and form.passwords:
                    yield f"without {_listed(lacking)} of loginFile"
        if page.url.site == login.site and page.status == HTTPStatus.OK and has_html(page):
            for text, is_in in ((login.logged_in, True), (login.logged_out, False)):
                if text:
                    alone = Login(login.site, login.method, logged_in=text)
                    found = Judge(alone).by_marker(page) is Standing.IN
                    name = "loggedIn" if is_in else "loggedOut"
                    yield f"{name} is {'there' if found else 'not there'}"

    def _notices(self) -> None:
        for line in self._sessions.take_notices():
            self._say(line)

    def _about_session(self) -> None:
        """Say the names of the cookies, and until when they and the login live."""
        cookies = sorted({_cookie(line) for jar in self._jars for line in jar.lines()})
        self._say(f"cookies: {', '.join(cookies) or 'none'}")
        lasts = self._sessions.lasts(self._login.site)
        if lasts is not None:
            self._say(f"the token is to be renewed at {timestamp(wall() + lasts)}")
        if self._login.grant == "refresh_token":
            self._say(
                "nothing is kept: if the server gives a new refresh token each time, that of "
                "loginFile is used up"
            )


def shown(href: str) -> str:
    """A URL without the values in its query, of which each may be a secret."""
    path, mark, _ = href.partition("?")
    return f"{path}{mark}..." if mark else path


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    return ", ".join(name[:_LONGEST_NAME] for name in names[:_MOST_NAMES]) + more


def _refusal(page: Page) -> str:
    """How the page of a visitor looks."""
    if page.status != HTTPStatus.UNAUTHORIZED:
        return "the site shows the page of a visitor"
    scheme = (page.header("www-authenticate") or "").partition(" ")[0]
    asks = f"; it asks for {scheme[:20]}" if scheme.isascii() and scheme.isalpha() else ""
    return f"the site refuses it, with status 401{asks}"


def _result(page: Page) -> str:
    if not page.status:
        return reason(page.outcome.value, None, page.detail)
    target = next_of(page)
    return f"{page.status} to {shown(target)}" if target else str(page.status)


def _cookie(line: bytes) -> str:
    """The name of a cookie, its host, and its end."""
    fields = line.removeprefix(HTTP_ONLY).decode("latin-1").split("\t")
    end = int(fields[4])
    until = f"until {timestamp(end)}" if end else "for this session"
    return f"{fields[5]} ({fields[0].removeprefix('.')}, {until})"
