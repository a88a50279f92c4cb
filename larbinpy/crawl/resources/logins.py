"""The logins of loginFile. Their modules are loaded only by a crawl that has some."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from larbinpy.config import Config, ConfigError
from larbinpy.crawl.resources.network import Network
from larbinpy.fetch.settings import RequestOptions
from larbinpy.loop.clock import Clock
from larbinpy.output import Output

if TYPE_CHECKING:
    from larbinpy.crawl.sites.login_links import LoginLinks
    from larbinpy.crawl.sites.sessions import SiteSessions
    from larbinpy.login.spec import Login

#: Adds the login of a site, by its key, to the options of its requests.
WithLogin = Callable[[str, RequestOptions], RequestOptions]


def read_logins(config: Config) -> "Mapping[str, Login]":
    """The logins by site; none without loginFile. Raises ConfigError."""
    if config.login_file is None:
        return {}
    from larbinpy.login.login_file import read

    return {login.site: login for login in read(config.login_file)}


def read_login_links(config: Config) -> "LoginLinks | None":
    """The links that logins leave out; None without loginFile. Raises ConfigError."""
    if config.login_file is None:
        return None
    from larbinpy.crawl.sites.login_links import LoginLinks
    from larbinpy.login.login_file import login_pages

    return LoginLinks(login_pages(config.login_file))


def options_of(logins: "Mapping[str, Login]") -> WithLogin | None:
    """Adds the logins to the options of requests; None if there are none."""
    if not logins:
        return None
    from larbinpy.crawl.sites.login_options import with_login

    def added(site: str, options: RequestOptions) -> RequestOptions:
        return with_login(logins[site], options) if site in logins else options

    return added


def open_sessions(
    logins: "Mapping[str, Login]", network: Network, wall: Clock, own_output: Output | None
) -> "SiteSessions | None":
    """The sessions of the sites with a login; None if there are none.

    A login may be that of `own_output`, the plug of the operator; ConfigError if it has none.
    """
    if not logins:
        return None
    from larbinpy.crawl.sites.sessions import SiteSessions
    from larbinpy.login.spec import Method

    hook = getattr(own_output, "user_login", None)
    for login in logins.values() if hook is None else ():
        if login.method is Method.HOOK:
            raise ConfigError(
                f"loginFile: the login of {login.site} is made by a program of yours (method hook);"
                " start the crawl by it"
            )
    jars, forget = network.fetcher.jars, network.options.forget
    return SiteSessions(logins.values(), jars, forget, wall, hook)
