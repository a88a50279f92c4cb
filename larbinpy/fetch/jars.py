"""The cookie jars of a crawl: one for all requests, and one for each site with a login."""

from collections.abc import Callable, Iterator

import pycurl

from larbinpy.fetch.cookies import Jar, NoJar


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

    def forget(self, curl: pycurl.Curl) -> None:
        """Note that `curl` is about to be closed."""
        self._users.pop(curl, None)

    def trim(self) -> None:
        """Empty the jars that are full. Must not be called from a callback of libcurl."""
        for jar in self:
            jar.trim()

    def close(self) -> None:
        """Close the jars, which no handle may use any more."""
        for jar in self:
            jar.close()
