"""The links that logins leave out, for looks at a crawl that does not run."""

from collections.abc import Mapping

from larbinpy.frontier.login_step import NoLogins
from larbinpy.login.logout import ends_session
from larbinpy.login.pages import LoginPages
from larbinpy.url import site_of


class LoginLinks(NoLogins):
    """Stands for the sessions of `SiteSessions`, without any secret: nothing logs in.

    `pages` are the addresses of the login pages by site, empty for none. Links that only their
    texts tell are not known here.
    """

    def __init__(self, pages: Mapping[str, str]) -> None:
        self._pages = {site: LoginPages(page) for site, page in pages.items()}

    def __repr__(self) -> str:
        return f"<LoginLinks {len(self._pages)}>"

    def has(self, site: str) -> bool:
        return site in self._pages

    def avoids(self, href: str) -> bool:
        """Whether a link is not asked for, by its address: see `SiteSessions.avoids`."""
        pages = self._pages.get(site_of(href))
        return pages is not None and (ends_session(href) or pages.only(href))
