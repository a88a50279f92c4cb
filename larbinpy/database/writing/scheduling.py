"""When pages are due: written with each visit, and read for those who visit.

`Announcements` are dates that sites give for their pages: noted, judged by visits, and used to
bring those forward. The table `announced` has the latest date of each page that a sitemap or feed
of its site names; it is empty for a page without one. The table `host` has how often the dates of a
site were true.
"""

from collections.abc import Collection, Iterator, Sequence
from itertools import islice
from typing import Any, NamedTuple

from larbinpy.database.base import Tables
from larbinpy.database.preparation import Dated, Failed, Gone, Prepared, Unchanged, Visit, target_of
from larbinpy.database.revisit.plan import (
    NEW,
    Evidence,
    Schedule,
    Trust,
    age_of_change,
    moment,
    says_changed,
    seconds_between,
    updated,
)
from larbinpy.database.revisit.round import (
    DISTRUST,
    DueAsk,
    DuePage,
    conditions,
    host_name,
    wants_whole,
    was_wrong,
)
from larbinpy.page import timestamp

#: Keys in one statement.
_PIECE = 500
#: After all dates that can be.
_EVER = "9999-12-31T23:59:59Z"


class Announcements:
    """The dates, within one transaction; `take` comes first."""

    def __init__(self, base: Tables) -> None:
        self._base = base
        # Hosts -> pages and their dates that are new in this transaction.
        self._news: dict[str, dict[int, str]] = {}
        self._trusts: dict[str, Trust] = {}

    def take(self, visits: Sequence[Visit]) -> set[int]:
        """Note the dates that were fetched; return the keys of documents that had news.

        News is another page, or a later date.
        """
        self._trusts.clear()
        self._news.clear()
        return {
            target_of(visit.url)
            for visit in visits
            if isinstance(visit, Prepared | Gone)
            and visit.announced
            and self._note(visit.url, visit.announced)
        }

    def _note(self, url: str, announced: Sequence[Dated]) -> bool:
        dates: dict[int, str] = {}
        for target, date in announced:
            dates[target] = max(date, dates.get(target, ""))
        known = self.dates(dates)
        news = {
            target: date
            for target, date in dates.items()
            if target not in known or date > known[target]
        }
        self._base.executemany("INSERT OR REPLACE INTO announced VALUES (?, ?)", news.items())
        self._news.setdefault(host_name(url), {}).update(news)
        return bool(news)

    def dates(self, keys: Collection[int]) -> dict[int, str]:
        """The dates of pages, by their keys."""
        return {row[0]: row[1] for row in self._rows("target, date FROM announced", "target", keys)}

    def judge(self, url: str, *, changed: bool) -> None:
        """A visit found whether a page had changed, as its date said."""
        host = host_name(url)
        after = self._trusts[host] = self._trust(host).after(changed=changed)
        self._base.execute(
            "UPDATE host SET agreed = ?, contradicted = ? WHERE name = ?", (*after, host)
        )

    def trusts(self, url: str) -> bool:
        """Whether the dates of the site of a URL count."""
        return self._trust(host_name(url)).holds

    def _trust(self, host: str) -> Trust:
        if host not in self._trusts:
            row = self._base.execute(
                "SELECT agreed, contradicted FROM host WHERE name = ?", (host,)
            ).fetchone()
            self._trusts[host] = Trust(*row) if row else Trust()
        return self._trusts[host]

    def bring_forward(self, schedule: Schedule) -> None:
        """Make pages due at the dates of their changes, if those are new and of trusted sites."""
        for host, news in self._news.items():
            if self._trust(host).holds:
                due = list(self._due(news, schedule))
                self._base.executemany("UPDATE page SET due = ? WHERE key = ?", due)

    def _due(self, news: dict[int, str], schedule: Schedule) -> Iterator[tuple[str, int]]:
        columns = "key, fetched, due, observed, exposure FROM page"
        for key, fetched, due, *evidence in self._rows(columns, "gone IS NULL AND key", news):
            date = news[key]
            if says_changed(date, fetched, _EVER) and schedule.is_worth_it(Evidence(*evidence)):
                yield min(due or _EVER, moment(date)), key

    def _rows(self, columns: str, where: str, keys: Collection[int]) -> Iterator[Any]:
        each = iter(keys)
        while piece := list(islice(each, _PIECE)):
            places = ", ".join("?" * len(piece))
            yield from self._base.execute(f"SELECT {columns} WHERE {where} IN ({places})", piece)


_DAY = 86_400.0
#: Seconds after which the plan is made again, as rates have changed; and the least number of new
#: pages with which it is made at once. That takes as many as there were: a budget is then divided
#: by twice as many pages.
_PLANNED, _MANY = 600.0, 5000


class _Row(NamedTuple):
    """The columns that tell when a page is due."""

    key: int
    fetched: str
    changed: str
    text_hash: int | None
    etag: str | None
    last_modified: str | None
    missing: str | None
    gone: str | None
    observed: float
    exposure: float
    announces: int


_ROWS = f"SELECT {', '.join(_Row._fields)} FROM page WHERE key IN "
_DUE = (
    "SELECT page.url, coalesce(depth, 0), via, due, page.key, etag, last_modified, fetched, visits,"
    " gone, host.wrong FROM page JOIN host ON host.id = page.host"
    " WHERE due <= ? AND due >= ? AND (due > ? OR page.key > ?){} ORDER BY due, page.key LIMIT ?"
)


class _Found(NamedTuple):
    """A visit of a page that was known, and its rows before and after that."""

    visit: Visit
    old: _Row
    row: _Row
    #: It announces pages or dates that are new.
    has_news: bool

    @property
    def changed(self) -> bool:
        return self.row.changed != self.old.changed or self.has_news

    @property
    def announces(self) -> bool:
        if isinstance(self.visit, Prepared) or self.is_withheld:
            return _announces(self.visit)
        return bool(self.old.announces)

    @property
    def is_withheld(self) -> bool:
        """It is a sitemap or feed that asks not to be indexed."""
        return isinstance(self.visit, Gone) and self.visit.announced is not None


class Scheduling:
    """Says when the pages of a batch are due, once they are written.

    `note` comes before they are, `write` after that.
    """

    def __init__(self, base: Tables, schedule: Schedule) -> None:
        self._base = base
        self._schedule = schedule
        self._planned = float("-inf")
        # Pages that the plan is for, and pages that came after it was made.
        self._pages = self._new = 0
        self._before: dict[int, _Row] = {}
        self._announcements = Announcements(base)

    def plan(self, now: float) -> None:
        """Make the plan for all pages if it is time, at the Unix time `now`."""
        has_grown = self._new >= max(_MANY, self._pages)
        if abs(now - self._planned) < _PLANNED and not has_grown:
            return
        self._planned = now
        base = self._base
        known = " FROM page WHERE gone IS NULL AND exposure"
        (new,) = base.execute(f"SELECT count(*){known} <= 0").fetchone()
        visited = [Evidence(*row) for row in base.execute(f"SELECT observed, exposure{known} > 0")]
        self._pages, self._new = new + len(visited), 0
        self._schedule.plan(new, visited)

    def note(self, visits: Sequence[Visit]) -> None:
        """These visits are about to be written."""
        self._before = self._rows([target_of(visit.url) for visit in visits])

    def write(self, visits: Sequence[Visit]) -> None:
        """Say when the pages of `visits`, which were written, are due."""
        # The latest visit counts.
        last = {target_of(visit.url): visit for visit in visits}
        known = self._rows(self._before)
        with_news = self._announcements.take(visits)
        self._write_new(
            [
                (key, visit)
                for key, visit in last.items()
                if key not in known and not isinstance(visit, Failed)
            ]
        )
        found = [
            _Found(last[key], self._before[key], row, key in with_news)
            for key, row in known.items()
        ]
        dates = self._announcements.dates(known)
        for each in found:
            self._judge(each, dates.get(each.row.key, ""))
        updates = []
        for each in found:
            date = dates.get(each.row.key, "")
            is_true = bool(date) and self._announcements.trusts(each.visit.url)
            evidence, due = self._decided(each, date if is_true else "")
            updates.append((due, *evidence, each.announces, each.row.key))
        self._base.executemany(
            "UPDATE page SET due = ?, observed = ?, exposure = ?, announces = ? WHERE key = ?",
            updates,
        )
        self._announcements.bring_forward(self._schedule)

    def _write_new(self, visits: Sequence[tuple[int, Visit]]) -> None:
        """Say when pages are due that were visited for the first time."""
        self._new += len(visits)
        rows = []
        for key, visit in visits:
            announces = _announces(visit)
            at = visit.fetched
            if announces and self._announcements.trusts(visit.url):
                due = self._schedule.after_announcement(at, NEW, 0.0, news=True)
            else:
                due = self._schedule.after(at, NEW)
            rows.append((due, announces, key))
        self._base.executemany("UPDATE page SET due = ?, announces = ? WHERE key = ?", rows)

    def _decided(self, found: _Found, date: str) -> tuple[Evidence, str]:
        """The evidence about a page after a visit, and when it is due.

        `date` is that of its last change, as a site says that is trusted.
        """
        visit, old, row, _ = found
        schedule = self._schedule
        evidence = Evidence(old.observed, old.exposure)
        if isinstance(visit, Failed):
            return evidence, schedule.after_failure(visit.fetched, old.fetched)
        if row.gone is not None and not found.is_withheld:
            return evidence, schedule.at_last(visit.fetched)
        if isinstance(visit, Gone) and not found.is_withheld:
            if row.missing is None:
                return evidence, schedule.after(visit.fetched, evidence)
            return evidence, schedule.to_confirm(visit.fetched, row.missing)
        passed = seconds_between(old.fetched, row.fetched)
        age = age_of_change(date, old.fetched, row.fetched)
        evidence = updated(evidence, passed, found.changed, age=age)
        if found.announces and self._announcements.trusts(visit.url):
            news = found.has_news
            return evidence, schedule.after_announcement(row.fetched, evidence, passed, news=news)
        return evidence, schedule.after(row.fetched, evidence)

    def _judge(self, found: _Found, date: str) -> None:
        """Note what a visit tells of the site: its conditions, and the `date` that it gave."""
        visit, old, row, _ = found
        if isinstance(visit, Prepared):
            sent = (old.etag, old.last_modified), (row.etag, row.last_modified)
            if was_wrong(*sent, changed=old.text_hash != row.text_hash):
                self._base.execute(
                    "UPDATE host SET wrong = ? WHERE name = ?",
                    (visit.fetched, host_name(visit.url)),
                )
        is_there = isinstance(visit, Prepared | Unchanged) and old.gone is None
        if is_there and says_changed(date, old.fetched, row.fetched):
            self._announcements.judge(visit.url, changed=found.changed)

    def _rows(self, keys: Collection[int]) -> dict[int, _Row]:
        if not keys:
            return {}
        rows = self._base.execute(f"{_ROWS} ({', '.join('?' * len(keys))})", list(keys))
        return {row[0]: _Row._make(row) for row in rows}


def _announces(visit: Visit) -> bool:
    """Whether it is a sitemap or feed that names pages of its site."""
    return isinstance(visit, Prepared | Gone) and bool(visit.announced)


def due_pages(base: Tables, ask: DueAsk, now: float) -> list[DuePage]:
    """The pages that are due, those that have been so for longest first; `now` is Unix time."""
    due, key = ask.after or ("", 0)
    hosts = ask.without
    without = f" AND host.name NOT IN ({', '.join('?' * len(hosts))})" if hosts else ""
    rows = base.execute(_DUE.format(without), (ask.until, due, due, key, *hosts, ask.most))
    distrusted = timestamp(now - DISTRUST * _DAY)
    return [_due_page(distrusted, *row) for row in rows]


def _due_page(distrusted: str, *row: Any) -> DuePage:
    """The page of a row of `_DUE`; a site that was wrong later than `distrusted` is not trusted."""
    url, depth, via, due, key, etag, last_modified, fetched, visits, gone, wrong = row
    is_whole = gone is not None or (wrong is not None and wrong > distrusted)
    if is_whole or wants_whole(key, visits):
        return DuePage(url, depth, via, due, key)
    return DuePage(url, depth, via, due, key, conditions(etag, last_modified, fetched))
