"""The cookie jars of a crawl: one for all requests, and one for each site with a login."""

from collections.abc import Callable, Iterator

import pycurl

from larbinpy.fetch.cookies import Jar, NoJar, has_domain

#: Jars of other origins with which a login begins; each may redirect to new ones.
_MOST_OTHERS = 20


def login_jar(site: str, origin: str) -> str:
    """The name of the jar of the requests to `origin` in a login to `site`."""
    return site if origin == site else f"{site} {origin}"


class Jars:
    """The jar of the crawl, and jars of their own by name.

    A jar of its own takes no part in the bound of the common one, which a crawl of many sites
    fills and empties; and no request that does not name it gets its cookies.
    """

    def __init__(self, common: NoJar, make: Callable[[], Jar]) -> None:
        self.common = common
        self._make = make
        self._own: dict[str, Jar] = {}
        # The handles that use a jar of its own, with its name.
        self._users: dict[pycurl.Curl, str] = {}

    def __repr__(self) -> str:
        return f"<Jars {self.common!r} and {len(self._own)} more>"

    def __iter__(self) -> Iterator[NoJar]:
        return iter((self.common, *self._own.values()))

    def own(self, name: str) -> Jar:
        """The jar called `name`, which is made when it is first used."""
        if name not in self._own:
            self._own[name] = self._make()
        return self._own[name]

    def find(self, name: str) -> NoJar:
        """The jar called `name`; the common one if that is empty."""
        return self.own(name) if name else self.common

    def hand(self, curl: pycurl.Curl, name: str) -> None:
        """Make `curl`, which used the common jar or has used others since, use `name`.

        A reset of the handle does not change its jar.
        """
        if self._users.get(curl, "") == name:
            return
        curl.unsetopt(pycurl.SHARE)
        self.find(name).hand(curl)
        if name:
            self._users[curl] = name
        else:
            del self._users[curl]

    def discard(self, name: str) -> None:
        """Close the jar called `name`, which no transfer uses."""
        for curl in [curl for curl, used in self._users.items() if used == name]:
            self.hand(curl, "")
        self._own.pop(name).close()

    def forget(self, curl: pycurl.Curl) -> None:
        """Note that `curl` is about to be closed."""
        self._users.pop(curl, None)

    def of_login(self, site: str) -> "LoginJars":
        """The jars of a login to `site`."""
        return LoginJars(self, site)

    def trim(self) -> None:
        """Empty the jars that are full. Must not be called from a callback of libcurl."""
        for jar in self:
            jar.trim()

    def close(self) -> None:
        """Close the jars, which no handle may use any more."""
        for jar in self:
            jar.close()


class LoginJars:
    """The jars of a login: one for its site, and one for each other origin that it leads to.

    There is a jar for each, as libcurl gives a cookie to all schemes and ports of its host. What
    the site sets stays in its own. What another origin sets for a Domain goes to all, of which each
    takes what is for its host: by that a single sign-on tells the site who has come.
    """

    def __init__(self, jars: Jars, site: str) -> None:
        self._jars = jars
        self._site = site
        #: The names of the jars of other origins.
        self._others: set[str] = set()
        # The cookies of the origin that is asked.
        self._before: set[bytes] = set()

    def __repr__(self) -> str:
        return f"<LoginJars of {self._site} and {len(self._others)} more>"

    def begin(self, *, anew: bool) -> None:
        """A login begins; `anew`: without any cookie."""
        if anew:
            self._jars.own(self._site).empty()
        if anew or len(self._others) > _MOST_OTHERS:
            for name in self._others:
                self._jars.discard(name)
            self._others.clear()

    def asks(self, origin: str) -> None:
        """A request to `origin` is about to be made."""
        name = login_jar(self._site, origin)
        jar = self._jars.own(name)
        if name != self._site and name not in self._others:
            found = [line for other in self._others for line in self._jars.own(other).lines()]
            jar.add([line for line in found if has_domain(line)], over_given=True)
            self._others.add(name)
        self._before = set(jar.lines())

    def replied(self, origin: str) -> None:
        """The reply of `origin` has come."""
        name = login_jar(self._site, origin)
        if name == self._site:
            return
        new = [line for line in self._jars.own(name).lines() if line not in self._before]
        common = [line for line in new if has_domain(line)]
        for other in {self._site, *self._others} - {name}:
            self._jars.own(other).add(common, over_given=True)
