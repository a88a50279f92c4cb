"""The part of the web around the seeds, to which `stay` and lockSite bind a crawl."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Set

from larbinpy.config.registered_domain import registered_domain
from larbinpy.url import host_of


class SeedArea:
    """The hosts of the seeds and of what they redirect to; for `stay`, more of their URLs.

    `stay` is page, prefix, host, domain or any. Schemes and ports make no difference.
    """

    def __init__(self, stay: str) -> None:
        self._stay = stay
        #: In the order in which they came.
        self._hosts: dict[str, None] = {}
        self._domains: set[str] = set()
        #: With page, the seeds; with prefix, their folders; without scheme and port. Each with
        #: the number of seeds that are there.
        self._places: Counter[str] = Counter()
        #: The most slashes in the path of a place: deeper folders of a URL are not looked up, which
        #: would take the square of the length of its path.
        self._deepest = 0

    def __repr__(self) -> str:
        return f"<SeedArea {self._stay}: {len(self._hosts)} hosts, {len(self._places)} places>"

    @property
    def hosts(self) -> Set[str]:
        return self._hosts.keys()

    @property
    def places(self) -> Mapping[str, int]:
        return self._places

    def add(self, urls: Iterable[str], *, known: bool = False) -> None:
        """Widen the area by seeds; `known`: they may have been added before."""
        for url in urls:
            host = host_of(url)
            self.load([host], {})
            place = self._place(url)
            if place is not None and not (known and place in self._places):
                self._count(place, 1)

    def redirect(self, seed: str, targets: Iterable[str]) -> None:
        """Widen the area by what a seed redirects to.

        If ``/docs`` redirects to ``/docs/``, it is not a file in the folder ``/``, as it looked.
        """
        file = host_of(seed) + _path(seed)
        others = [url for url in targets if host_of(url) + _path(url) != file]
        if self._stay == "prefix" and any(_path(url) == _path(seed) + "/" for url in others):
            parent, folder = self._place(seed) or "", file + "/"
            if parent in self._places and folder not in self._places:
                self._places[parent] -= 1
                if not self._places[parent]:
                    del self._places[parent]
                self._count(folder, 1)
        self.add(others)

    def _count(self, place: str, seeds: int) -> None:
        self._places[place] += seeds
        self._deepest = max(self._deepest, place.count("/"))

    def _place(self, url: str) -> str | None:
        """The place of a seed in `places`; None if `stay` asks for hosts or domains."""
        if self._stay not in ("page", "prefix"):
            return None
        host, path = host_of(url), _path(url)
        if self._stay == "page":
            return host + path
        path = path.partition("?")[0]
        # It was redirected there.
        if f"{host}{path}/" in self._places:
            return f"{host}{path}/"
        return host + path[: path.rindex("/") + 1]

    def load(self, hosts: Iterable[str], places: Mapping[str, int]) -> None:
        """Widen the area by saved hosts and places."""
        for host in hosts:
            self._hosts[host] = None
            if self._stay == "domain":
                self._domains.add(registered_domain(host))
        for place, seeds in places.items():
            self._count(place, seeds)

    def has_host(self, url: str) -> bool:
        return host_of(url) in self._hosts

    def has(self, url: str) -> bool:
        """Whether `url` is within the area that `stay` allows."""
        match self._stay:
            case "page":
                return host_of(url) + _path(url) in self._places
            case "prefix":
                return any(folder in self._places for folder in _folders(url, self._deepest))
            case "host":
                return host_of(url) in self._hosts
            case "domain":
                return registered_domain(host_of(url)) in self._domains
            case _:
                return True


def _path(url: str) -> str:
    return url[url.index("/", 8) :]


def _folders(url: str, most: int) -> Iterator[str]:
    """The folders above a URL, from the top, `most` at most, each after its host."""
    host, path = host_of(url), _path(url).partition("?")[0]
    end = -1
    for _ in range(most):
        end = path.find("/", end + 1)
        if end < 0:
            break
        yield host + path[: end + 1]
