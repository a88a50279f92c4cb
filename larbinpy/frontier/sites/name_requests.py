"""Host names that sites need looked up: one request for each name, one answer for all its sites."""

from collections import deque
from collections.abc import Iterator

from larbinpy.dns.lookup import Answer
from larbinpy.frontier.sites.named_site import NamedSite
from larbinpy.frontier.sizes import DEFAULT_SIZES, FrontierSizes


class NameRequests:
    """Sites in the state RESOLVING, each in exactly one of three places.

    `put` queues a site; `next_name` makes it wait for the answer to its host's name; `answered`
    returns the first sites of that name, and `arrivals` the others in later turns.
    """

    def __init__(self, sizes: FrontierSizes = DEFAULT_SIZES) -> None:
        self._at_once = sizes.arrivals
        self._unresolved: deque[NamedSite] = deque()
        self._asking: dict[str, list[NamedSite]] = {}
        self._arriving: deque[tuple[NamedSite, Answer]] = deque()

    def __repr__(self) -> str:
        return f"<NameRequests {len(self._asking)} under way>"

    @property
    def has_names(self) -> bool:
        """Whether there is a name to look up."""
        return bool(self._unresolved)

    @property
    def has_arrivals(self) -> bool:
        """Whether sites of an answered name still wait for their turn."""
        return bool(self._arriving)

    @property
    def asked(self) -> str | None:
        """The name that has been asked for longest; None if no answer is awaited."""
        return next(iter(self._asking), None)

    def put(self, site: NamedSite) -> None:
        """Queue `site` for a lookup of its host."""
        self._unresolved.append(site)

    def next_name(self) -> tuple[str, bool] | None:
        """A host name to look up, and whether the answer must be fresh; None if there is none."""
        while self._unresolved:
            site = self._unresolved.popleft()
            host = site.host
            sites = self._asking.setdefault(host, [])
            sites.append(site)
            if len(sites) == 1:
                return host, site.refresh
        return None

    def answered(self, answer: Answer) -> list[NamedSite]:
        """The sites that `answer` is given to at once; `arrivals` returns the others later."""
        sites = self._asking.pop(answer.name, [])
        self._arriving.extend((site, answer) for site in sites[self._at_once :])
        return sites[: self._at_once]

    def arrivals(self, most: int) -> Iterator[tuple[NamedSite, Answer]]:
        """At most `most` of the sites that wait for their turn, each with the answer."""
        for _ in range(min(most, len(self._arriving))):
            yield self._arriving.popleft()
