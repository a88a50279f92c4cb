"""The saved parts of the frontier: digests; and the area of the seeds, waits, counts, rules."""

from collections import Counter
from collections.abc import Callable, Generator, Sequence
from itertools import chain
from typing import Any

from larbinpy.frontier.addresses.registry import IPSiteRegistry
from larbinpy.frontier.scope.live_rules import LiveRules
from larbinpy.frontier.scope.seed_area import SeedArea
from larbinpy.frontier.scope.traps import Traps
from larbinpy.frontier.sites.evicted import DistinctCounter
from larbinpy.frontier.sites.registry import SiteRegistry
from larbinpy.storage.seen import Mark, Seen
from larbinpy.storage.state import SavedPart, SavedValue


class SavedDigests(SavedPart):
    """The digests of pages, sites and addresses; `counters` add theirs in batches."""

    def __init__(self, digests: Seen, counters: Sequence[DistinctCounter]) -> None:
        self._digests = digests
        self._counters = counters

    def cut(self) -> Mark:
        for counter in self._counters:
            counter.compare()
        return self._digests.cut()

    def sync(self) -> None:
        self._digests.sync()

    def load(self, mark: Mark) -> None:
        self._digests.load(mark)

    def tidy(self, mark: Mark) -> None:
        self._digests.tidy(mark)

    def clear(self) -> None:
        self._digests.clear()


class SavedSeedArea(SavedValue):
    """The area that lockSite and `stay` keep to: its hosts, or with places a table of both.

    Earlier versions have a list of places.
    """

    def __init__(self, area: SeedArea) -> None:
        self._area = area

    def cut(self, now: float, *, ended: bool) -> list[str] | dict[str, Any]:
        hosts = list(self._area.hosts)
        return {"hosts": hosts, "places": dict(self._area.places)} if self._area.places else hosts

    def load(self, value: list[str] | dict[str, Any], now: float) -> None:
        table = value if isinstance(value, dict) else {"hosts": value, "places": {}}
        places = {str(place): int(count) for place, count in Counter(table["places"]).items()}
        self._area.load(map(str, table["hosts"]), places)


class SavedWaits(SavedValue):
    """Seconds for which sites and addresses must still be left alone, by their keys.

    A crawl that resumes after a kill first leaves all addresses alone for waitDuration. So only
    longer waits are saved, unless the crawl has ended.
    """

    def __init__(self, sites: SiteRegistry, addresses: IPSiteRegistry) -> None:
        self._sites = sites
        self._addresses = addresses

    def cut(self, now: float, *, ended: bool) -> Generator[None, None, dict[str, float]]:
        after = now if ended else now + self._addresses.wait_duration
        waits: dict[str, float] = {}
        for some in chain(self._sites.pauses(after), self._addresses.pauses(after)):
            # With waitBy "site", a site and its address have the same key.
            for key, time in some.items():
                waits[key] = max(round(time - now, 3), waits.get(key, 0.0))
            yield
        return waits

    def load(self, value: dict[str, float], now: float) -> None:
        until = {key: now + float(wait) for key, wait in dict(value).items()}
        self._sites.leave_alone(until)
        self._addresses.leave_alone(until)


class SavedTraps(SavedValue):
    """URLs taken, by shape."""

    def __init__(self, traps: Traps) -> None:
        self._traps = traps

    def cut(self, now: float, *, ended: bool) -> dict[str, int]:
        return self._traps.counts()

    def load(self, value: dict[str, int], now: float) -> None:
        self._traps.count_from(dict(value))


class SavedRules(SavedValue):
    """Changes of the rules; `changed` is called after loading if there were any, ever."""

    def __init__(self, rules: LiveRules, changed: Callable[[], object]) -> None:
        self._rules = rules
        self._changed = changed

    def cut(self, now: float, *, ended: bool) -> dict[str, Any]:
        return self._rules.cut()

    def load(self, value: dict[str, Any], now: float) -> None:
        self._rules.load(value)
        if self._rules.were_others:
            self._changed()
