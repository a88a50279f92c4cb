"""Dates that sites give for their pages: noted, judged by visits, and used to bring those forward.

The table `announced` has the latest date of each page that a sitemap or feed of its site names; it
is empty for a page without one. The table `host` has how often the dates of a site were true.
"""

from collections.abc import Collection, Iterator, Sequence
from itertools import islice
from typing import Any

from larbinpy.database.prepared import Dated, Gone, Prepared, Visit, target_of
from larbinpy.database.writing.tables import Tables
from larbinpy.revisit.announced import Trust, moment, says_changed
from larbinpy.revisit.due import host_name
from larbinpy.revisit.rate import Evidence
from larbinpy.revisit.schedule import Schedule

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
