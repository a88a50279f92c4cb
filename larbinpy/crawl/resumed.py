"""A resumed crawl before its first request, and the cookies that a crawl gets and leaves.

`PutBack` queues URLs of earlier runs again, because what ended them has changed. They are read from
the crawl log: those that a limit by site ended, once a limit is raised or removed; those that a
failed login ended; and all URLs of a crawl that owes nothing and never got a reply, for instance
because allowPrivate was off. It is done before the first checkpoint of the run. That saves the
queues and the time up to which the log was read together, so after a kill no URL is lost or queued
twice.

`cookie_notes` tells which cookies of a file no site gets: of other hosts, expired, or with a tab.
`CookieExport` writes those of a crawl for other programs (saveCookies).
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

from larbinpy.config import Config
from larbinpy.console.text import counted
from larbinpy.context import Context
from larbinpy.fetch.cookies import HTTP_ONLY, NoJar, cookie_lines, has_tab, write
from larbinpy.frontier.frontier import Frontier
from larbinpy.observe.report.log import LogFiles, first_time, until_of
from larbinpy.observe.snapshot import Totals, unanswered
from larbinpy.page import Outcome, timestamp
from larbinpy.storage.state import SavedValue
from larbinpy.url import Url, typed

_LIMITS = ("limit_page_by_site", "limit_bytes_by_site")


class PutBack(SavedValue):
    """Queues URLs of the log again."""

    def __init__(self, context: Context, frontier: Frontier, totals: Totals) -> None:
        self._folder = context.folder
        self._frontier = frontier
        self._totals = totals
        self._wall = context.wall
        self._limits = _limits(context.config)
        self._logs_in = context.config.login_file is not None
        # The limits of the last run; None if they are not known.
        self._before: dict[str, Any] | None = None
        # Outcome -> the time before which all URLs with it were queued again.
        self._until: dict[str, str] = {}

    def run(self) -> list[str]:
        """Queue the URLs of a loaded crawl that may be fetched now; return lines about them."""
        outcomes = self._totals.outcomes
        if not self._frontier.owed and unanswered(self._totals.counts()):
            number = self._queue({outcome.value for outcome in Outcome})
            return [f"no URL got a reply before; tried again: {number}"] if number else []
        if outcomes[Outcome.SITE_LIMIT] and _raised(self._before, self._limits):
            number = self._queue({Outcome.SITE_LIMIT.value})
            return [f"limits by site have changed; URLs queued again: {number}"]
        if outcomes[Outcome.LOGIN_FAILED] and self._logs_in:
            number = self._queue({Outcome.LOGIN_FAILED.value})
            return [f"a login had failed; URLs queued again: {number}"]
        return []

    def _queue(self, outcomes: Collection[str]) -> int:
        now, number = timestamp(self._wall(), "milliseconds"), 0
        for fate in self._ended(outcomes):
            href, outcome, via = fate["url"], fate["outcome"], fate["via"]
            if typed(href, views=True) != href:
                # No crawl wrote this line.
                continue
            self._frontier.put_back(
                Url(
                    href,
                    fate["depth"],
                    via=via,
                    seed=via is None,
                    requisite=bool(fate.get("requisite")),
                )
            )
            self._totals.put_back(outcome)
            number += 1
        self._until |= dict.fromkeys(outcomes, now)
        return number

    def _ended(self, outcomes: Collection[str]) -> Iterator[Mapping[str, Any]]:
        """The lines of the log with one of `outcomes` that were not put back before."""
        began = first_time(self._totals.started)
        for fate in LogFiles(self._folder).lines():
            outcome = fate["outcome"]
            if outcome in outcomes and fate["ts"] >= self._until.get(outcome, began):
                yield fate

    # As a part of the state:

    def cut(self, now: float, *, ended: bool) -> dict[str, Any]:
        return {"limits": self._limits, "until": dict(self._until)}

    def load(self, value: Mapping[str, Any], now: float) -> None:
        self._before = _loaded(value["limits"])
        self._until = until_of(value)


def _limits(config: Config) -> dict[str, Any]:
    """The limits by site in a configuration, JSON-able: the crawl's own, and those of blocks."""
    return {
        "own": {name: getattr(config, name) for name in _LIMITS},
        "blocks": [
            [block.pattern.show(), each.row.keyword, each.value]
            for block in config.site_blocks
            for each in block.values
            if each.row.attribute in _LIMITS
        ],
    }


def _loaded(limits: Mapping[str, Any]) -> dict[str, Any]:
    """The saved limits. Raises ValueError, TypeError or LookupError."""
    own, blocks = limits["own"], limits["blocks"]
    if isinstance(own, list):
        # As states had them before they named the limits.
        own = dict(zip(_LIMITS, own, strict=True))
    numbers = own.values() if isinstance(own, dict) else [None]
    if not all(isinstance(number, int) for number in numbers) or not isinstance(blocks, list):
        raise ValueError("put_back: no limits")
    return {"own": own, "blocks": blocks}


def _raised(before: Mapping[str, Any] | None, limits: Mapping[str, Any]) -> bool:
    """Whether a limit may be higher than before, or gone."""
    if before is None or before["blocks"] != limits["blocks"]:
        return True
    pairs = ((old, limits["own"].get(name)) for name, old in before["own"].items())
    return any(old and (not new or new > old) for old, new in pairs)


def cookie_notes(path: str, hosts: Iterable[str], wall: float) -> list[str]:
    """Lines about the cookies of a cookies.txt that these `hosts` do not get.

    `wall` is the Unix time.
    """
    cookies = cookie_lines(path)
    tabs = sum(map(has_tab, cookies))
    left = [f"{path}: left out: {counted(tabs, 'cookie')} with a tab in the value"] if tabs else []
    return [*left, *filter(None, [_useless(path, cookies, hosts, wall)])]


def _useless(path: str, lines: list[bytes], hosts: Iterable[str], wall: float) -> str | None:
    """A line about cookies of which none of these `hosts` gets one; None if one does."""
    cookies = [line.removeprefix(HTTP_ONLY).split(b"\t") for line in lines]
    domains, expired = set(), 0
    for host, with_subdomains, _, _, expires, *_ in cookies:
        if 0 < _number(expires) <= wall:
            expired += 1
            continue
        domain = host.decode("latin-1").lower()
        domains.add(domain.lstrip("."))
        if domain.startswith(".") or with_subdomains.upper() == b"TRUE":
            domains.add("." + domain.lstrip("."))
    hosts = list(hosts)
    if not hosts or any(not domains.isdisjoint(_domains(host)) for host in hosts):
        return None
    more = f" and {len(hosts) - 1} more" if len(hosts) > 1 else ""
    of_them = [f"{expired} expired"] if expired else []
    return ", ".join(
        [f"{path}: {counted(len(cookies), 'cookie')}", *of_them, f"none for {hosts[0]}{more}"]
    )


def _domains(host: str) -> Iterator[str]:
    """The domains whose cookies `host` gets; those that also include subdomains begin with "."."""
    yield host
    yield "." + host
    for at, character in enumerate(host):
        if character == ".":
            yield host[at:]


def _number(text: bytes) -> int:
    return int(text) if text.isdigit() and len(text) < 20 else 0


class CookieExport:
    """Writes the cookies of `jars` to a file, if the configuration names one."""

    def __init__(self, config: Config, jars: Iterable[NoJar]) -> None:
        path = config.save_cookies
        # The nodes of a machine may have the same working directory.
        self._path = f"{path}.{config.node}" if path and config.join else path
        self._jars = jars

    def write(self) -> None:
        """Raises OSError."""
        if self._path:
            # A cookie may be in several jars.
            lines = dict.fromkeys(line for jar in self._jars for line in jar.lines())
            write(self._path, lines)
