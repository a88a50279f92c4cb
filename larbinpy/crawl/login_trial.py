"""One login, and one page behind it: ``larbinpy login``."""

from collections.abc import Callable, Iterable
from contextlib import ExitStack
from http import HTTPStatus

from larbinpy.config import Config, ConfigError
from larbinpy.context import Context
from larbinpy.crawl.network import Network
from larbinpy.crawl.parts import options_of
from larbinpy.crawl.requests import Logins, SiteConfigs
from larbinpy.crawl.sessions import SiteSessions
from larbinpy.crawl.single import fetch, wait_until
from larbinpy.fetch.cookies import HTTP_ONLY
from larbinpy.frontier.lifecycle import Judgement
from larbinpy.login.exchange import next_of
from larbinpy.login.file import examine, explained, read
from larbinpy.login.judge import Judge, Standing, has_html
from larbinpy.login.methods.form import password_form, user_form
from larbinpy.login.spec import Login, MethodTrait
from larbinpy.loop.clock import clock, wall
from larbinpy.page import Page, cure, reason, timestamp
from larbinpy.url import Aim, Purpose, Url, fault, masked_typed, site_of, typed

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
    entries, wrong = examine(path)
    if wrong:
        raise wrong[0]
    sites = [entry.login.site for entry in entries]
    if site not in sites:
        raise ConfigError(f"{path}: it has no login for {site}, only for {', '.join(sites[:10])}")
    entry = entries[sites.index(site)]
    if entry.login.method.is_a(MethodTrait.PROGRAM):
        raise ConfigError(f"{path}: the login of {site} is made by a program of yours (hook)")
    say(explained(entry))
    [login] = read(path, only=site)
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
