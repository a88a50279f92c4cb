"""The expected result of a crawl of the demo web, and its differences from a real one.

It is computed from the description, not from bytes: nothing here parses a page or robots.txt,
so it cannot repeat the crawler's mistakes.
"""

import re
from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

from larbinpy.demo.site import LinkKind, Location, Web

#: Outcome -> the outcome in its place if the state of the site is known before the URL is queued.
TWINS = {"forbiddenRobots": "fastRobots", "noDNS": "fastNoDns", "noConnection": "fastNoConn"}

#: Paths that a mirror uses unchanged as file names.
_PLAIN_PATH = re.compile(r"(/[A-Za-z0-9_-][A-Za-z0-9_.-]{0,100})*/?")


@dataclass(frozen=True, slots=True)
class Expected:
    """The expected end of a URL."""

    outcome: str
    #: HTTP status; 0 if no request for it may be made or can be answered.
    status: int
    kind: LinkKind
    #: Links from the nearest seed.
    distance: int
    #: The mirror's file, relative to outputDir; None if there is none or if the mirror chooses
    #: its name (escapes, queries, collisions).
    file: str | None = None

    def allows(self, outcome: str) -> bool:
        return outcome in (self.outcome, TWINS.get(self.outcome))


@dataclass(frozen=True, slots=True)
class Truth:
    """The expected outcomes of all URLs, and the URLs that must not be requested."""

    expected: Mapping[str, Expected]
    #: URL prefixes of the endless parts, where any outcome is right.
    loose: tuple[str, ...]
    #: URLs that exist and must never be requested: no link leads there, or robots.txt forbids.
    hidden: frozenset[str]

    @property
    def fetched(self) -> list[str]:
        """The URLs whose outcome is success."""
        return [url for url, end in self.expected.items() if end.outcome == "success"]

    @property
    def files(self) -> dict[str, str]:
        """Mirror file -> URL, for known file names."""
        return {end.file: url for url, end in self.expected.items() if end.file is not None}

    def differences(self, fates: Iterable[tuple[str, str]]) -> list[str]:
        """One line for each difference between `fates`, pairs of URL and outcome, and the truth.

        robots.txt and loose URLs are ignored, and so are unexpected URLs that were not fetched.
        """
        seen: dict[str, str] = {}
        lines = []
        for url, outcome in fates:
            if url in seen and url in self.expected:
                lines.append(f"twice: {url} {seen[url]}, then {outcome}")
            seen[url] = outcome
        for url, end in self.expected.items():
            if url not in seen:
                lines.append(f"no fate: {url}, must be {end.outcome}")
            elif not end.allows(seen[url]):
                lines.append(f"wrong: {url} is {seen[url]}, must be {end.outcome}")
        lines += [f"unexpected: {url} {fate}" for url, fate in seen.items() if self._odd(url, fate)]
        return lines

    def trespasses(self, requests: Iterable[tuple[str, int]]) -> list[str]:
        """One line for each of `requests`, (URL, status), that is wrong.

        Wrong requests are for hidden URLs, for unknown URLs, and for URLs whose earlier request
        was answered with 200.
        """
        asked: Counter[str] = Counter()
        for url, status in requests:
            asked[url] += status == 200
        often = [url for url, n in asked.items() if n > 1 and not url.endswith("/robots.txt")]
        lines = [f"answered {asked[url]} times: {url}" for url in often]
        return lines + [f"must not be requested: {url}" for url in asked if self._foreign(url)]

    def _foreign(self, url: str) -> bool:
        if url.endswith("/robots.txt") or url.startswith(self.loose or ("\0",)):
            return False
        return url in self.hidden or url not in self.expected

    def _odd(self, url: str, fate: str) -> bool:
        return fate == "success" and self._foreign(url)


def truth(
    web: Web,
    seeds: Iterable[Location] | None = None,
    *,
    cgi: bool = True,
    images: bool = True,
    any_type: bool = False,
    sitemaps: bool = True,
    within: Callable[[Location], bool] = lambda location: True,
) -> Truth:
    """The truth for a crawl from `seeds` (default: those of the web) that obeys robots.txt.

    The switches are getCGI, getImage, anyType (which also fetches style sheets and other
    requisites), sitemaps, and a narrower scope (`within`). A mirror has the files of
    `Expected.file`, and one more for each other success.
    """
    wanted = {LinkKind.PAGE: True, LinkKind.IMAGE: images or any_type, LinkKind.REQUISITE: any_type}
    wanted[LinkKind.SITEMAP] = sitemaps
    ends: dict[Location, Expected] = {}
    seen: set[str] = set()
    queue = deque((LinkKind.PAGE, seed, 0) for seed in seeds or web.seeds)
    while queue:
        kind, location, distance = queue.popleft()
        if location in ends or not wanted[kind] or not within(location) or web.endless(location):
            continue
        if "?" in location.path and not cgi:
            continue
        host = web.hosts[location.host]
        if host.name not in seen:
            seen.add(host.name)
            queue.extend(
                (LinkKind.SITEMAP, host.location(path), distance) for path in host.sitemaps
            )
        ends[location] = end = _end(web, location, kind, distance, any_type)
        if end.outcome in ("success", "err30X"):
            links = web.find(location).links
            queue.extend((kind, target, distance + 1) for kind, target in links)
    return _report(web, ends)


def _end(web: Web, location: Location, kind: LinkKind, distance: int, any_type: bool) -> Expected:
    unreachable = web.hosts[location.host].fate
    resource = web.find(location)
    outcome = unreachable or resource.fate
    if any_type and outcome == "badType":
        outcome = "success"
    status = 0 if outcome in TWINS else resource.status
    file = None
    if outcome == "success" and resource.indexed and resource.body:
        file = f"{location.host}:{web.port}{location.path}"
        file += "index.html" if location.path.endswith("/") else ""
    return Expected(outcome, status, kind, distance, file)


def _report(web: Web, ends: dict[Location, Expected]) -> Truth:
    hidden = {location for location in web.locations() if location not in ends}
    hidden |= {location for location, end in ends.items() if end.outcome == "forbiddenRobots"}
    free = _settled([end.file for end in ends.values() if end.file is not None])
    expected = {}
    for location, end in ends.items():
        settled = end.file in free and _PLAIN_PATH.fullmatch(location.path)
        expected[web.url(location)] = end if settled else replace(end, file=None)
    loose = [
        web.url(Location(host.name, prefix))
        for host in web.hosts.values()
        for prefix in host.endless_prefixes
    ]
    return Truth(expected, tuple(loose), frozenset(web.url(location) for location in hidden))


def _settled(files: list[str]) -> set[str]:
    """The `files` that collide with no other file and no folder."""
    folders = {parent for file in files for parent in _parents(file)}
    clashes = {file for file in files if file in folders}
    counts = Counter(files)
    return {
        file for file in files if counts[file] == 1 and clashes.isdisjoint({file, *_parents(file)})
    }


def _parents(file: str) -> list[str]:
    parts = file.split("/")
    return ["/".join(parts[:n]) for n in range(1, len(parts))]
