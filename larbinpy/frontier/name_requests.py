"""Host names that sites need looked up: one request for each name, one answer for all its sites."""

from collections import deque
from collections.abc import Iterator

from larbinpy.dns.lookup import Answer
from larbinpy.frontier.named_site import NamedSite
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
        """Is there a name to look up?"""
        return bool(self._unresolved)

    @property
    def has_arrivals(self) -> bool:
        """Are there sites of an answered name that have not gone on yet?"""
        return bool(self._arriving)

    def put(self, site: NamedSite) -> None:
        """`site` needs its name looked up."""
        self._unresolved.append(site)

    def next_name(self) -> tuple[str, bool] | None:
        """A host name to look up, and whether the answer must be fresh; None for none."""
        while self._unresolved:
            site = self._unresolved.popleft()
            host = site.host
            sites = self._asking.setdefault(host, [])
            sites.append(site)
            if len(sites) == 1:
                return host, site.refresh
        return None

    def answered(self, answer: Answer) -> list[NamedSite]:
        """The sites that go on at once with `answer`; the others follow by `arrivals`."""
        sites = self._asking.pop(answer.name, [])
        self._arriving.extend((site, answer) for site in sites[self._at_once :])
        return sites[: self._at_once]

    def arrivals(self, most: int) -> Iterator[tuple[NamedSite, Answer]]:
        """At most `most` sites that go on now, each with the answer to its name."""
        for _ in range(min(most, len(self._arriving))):
            yield self._arriving.popleft()
