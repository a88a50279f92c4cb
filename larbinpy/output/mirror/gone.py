"""Finds the pages of a refreshed mirror that are gone, and removes them if asked.

A page is gone if the server says so (404 or 410), if it redirects to a page that was fetched, or if
it was not asked for and no page that is still there links to it. The last kind is known only after
a complete crawl, and from the pages themselves: a page that failed keeps its old copy, and with it
all that this links to. So does a link that was left out because of new settings, and a page that
redirects to a login.

`Removal` removes a file only if it is as larbinpy wrote it: anything else is the user's own. Its
page is removed from the catalog first, which notes the files; then the files are removed. After a
kill the next start removes the files that are noted.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import lru_cache
from http import HTTPStatus

from larbinpy.output.mirror.catalog import (
    ALL_GONE,
    FETCHED,
    Catalog,
    Database,
    Entry,
    Refreshed,
    digest_of,
)
from larbinpy.output.mirror.paths import original_beside, original_of
from larbinpy.output.mirror.tree import Originals, Tree
from larbinpy.page import Outcome, Page
from larbinpy.parse import may_link, read
from larbinpy.url import Url, host_of

_DIFFERS = "it is not as larbinpy wrote it"
_UNKNOWN = "a kill left it without a note of its content; the next refresh can remove it"


class Removal:
    """Removes pages from `catalog`, and then their files from `tree`."""

    def __init__(self, catalog: Catalog, tree: Tree) -> None:
        self._catalog = catalog
        self._account = catalog.account
        self._tree = tree
        self.clear_away(catalog.purging())

    def forget(self, url: str) -> list[tuple[str, str]]:
        """Remove the page `url` from the catalog; return its files for `clear_away`.

        A page that was rewritten just before a kill, which lost the digest of it, stays until links
        are rewritten.
        """
        entry = self._catalog.get(url)
        if entry is None:
            return []
        why = self._spared(entry)
        if why:
            self._account.spare(entry.path, why)
        if why == _UNKNOWN:
            return []
        paths = [original_of(url), *([] if why else [entry.path])]
        beside = original_beside(entry.path)
        with suppress(OSError):
            if self._is_as_received(beside, entry):
                paths.append(beside)
        self._catalog.purge(url, paths)
        self._account.note_purged(url, purged=not why)
        return [(path, url) for path in paths]

    def clear_away(self, files: Iterable[tuple[str, str]]) -> None:
        """Remove files, given with the URLs of their pages, which the catalog notes as purged.

        One that cannot be removed is noted in the account, and remains to be removed.
        """
        urls = dict(files)
        kept = self._tree.purge(path for path in urls if not self._is_used(path, urls[path]))
        for path, url in urls.items():
            if path in kept:
                self._account.spare(path, kept[path])
                self._account.note_purged(url, purged=False)
            else:
                self._catalog.purged(path)
        self._catalog.commit()

    def _is_used(self, path: str, url: str) -> bool:
        """Whether a page of the catalog has the file `path`, which the page `url` had."""
        if path == original_of(url):
            return self._catalog.get(url) is not None
        return self._catalog.at(path) is not None or self._is_anothers(path, url)

    def _is_anothers(self, path: str, url: str) -> bool:
        """Whether the file is that of a page other than `url`, on a disk that ignores case."""
        return self._tree.ignores_case(path) and self._catalog.is_shared(path, url)

    def _spared(self, entry: Entry) -> str:
        """Why the file of a page is not removed; "" if it may be, or if there is none."""
        try:
            is_there = self._tree.size(entry.path) is not None
            if not is_there or self._is_anothers(entry.path, entry.url):
                return ""
            if self._is_as_received(entry.path, entry):
                return ""
            if entry.form is None:
                return _DIFFERS
            written = self._catalog.written(entry.url)
            if written is None:
                return _UNKNOWN
            return "" if self._is(entry.path, *written) else _DIFFERS
        except OSError as error:
            return error.strerror or str(error)

    def _is_as_received(self, path: str, entry: Entry) -> bool:
        return self._is(path, entry.digest, entry.size)

    def _is(self, path: str, digest: bytes, size: int) -> bool:
        """Whether the file `path` has this content."""
        body = self._tree.read(path, size) if self._tree.size(path) == size else None
        return body is not None and digest_of(body) == digest


#: Bytes at the beginning of a file that show whether it may have links.
BEGINNING = 1 << 16
_PERMANENT = (HTTPStatus.MOVED_PERMANENTLY.value, HTTPStatus.PERMANENT_REDIRECT.value)
_WALL = re.compile(r"log-?in|log-?on|sign-?in|\bauth|\bsso\b|consent|captcha|challenge", re.I)
#: Links that are remembered as seen. Pages of a site link to the same few thousand others.
_REMEMBERED = 50_000
#: Rows read at once.
_BATCH = 100
#: Pages removed in one step. On a busy disk the removal of a file takes milliseconds.
_REMOVED = 10
#: A removal of more files than this, and of more than half of the mirror, is refused: it is
#: far more likely that the site shows something else for a while.
_MANY = 10
#: So is a removal of more files than this if a start page had links and has none any more.
_FEW = 3


class GonePages:
    """Finds the pages that are gone; with `purge`, removes them."""

    def __init__(self, catalog: Catalog, tree: Tree, originals: Originals, *, purge: bool) -> None:
        self._catalog = catalog
        self._account = catalog.account
        self._tree = tree
        self._originals = originals
        self._purge = purge
        self._unasked = Unasked(catalog.base)
        #: A page whose links could not be read.
        self._unread = ""
        self._removal = Removal(catalog, tree)

    def start_changed(self, page: Page, old: Entry) -> None:
        """Note that a start page, stored as `old`, has come with other content."""
        if read(page, "").links:
            self._account.note_emptied(old.url, emptied=False)
        elif self._links(old):
            self._account.note_emptied(old.url, emptied=True)

    def _links(self, entry: Entry) -> list[str]:
        body = self._body(entry) or b""
        stored = Page(Url(entry.url, 0), Outcome.SUCCESS, 200, entry.headers, body)
        return [link.url for link in read(stored, "").links]

    def steps(self, *, complete: bool) -> Iterator[None]:
        """Find the pages that are gone, in short steps; `complete`: the crawl left nothing out.

        May be interrupted and begun again at any time.
        """
        self._account.refuse("" if complete else "the crawl did not come to its end")
        if complete:
            yield from self._find()
            if self._purge:
                self._account.refuse(self._refusal())
                if not self._account.refusal:
                    yield from self._remove()
        self._catalog.commit()

    def _find(self) -> Iterator[None]:
        """Note the pages that were not asked for and that nothing leads to."""
        self._unread = ""
        yield from self._judge_moved()
        self._unasked.begin()
        if self._unasked.any:
            lead = lru_cache(_REMEMBERED)(self._lead)
            for start in self._account.starts():
                lead(start)
            for entry in self._catalog.pages(linking=False):
                kind = self._account.kind(entry.url)
                if kind is not None and kind not in ALL_GONE:
                    yield from self._follow(entry, lead)
            while (url := self._unasked.take()) is not None:
                linked = self._catalog.get(url)
                if linked is not None:
                    yield from self._follow(linked, lead)
        yield from self._unasked.finish()

    def _judge_moved(self) -> Iterator[None]:
        """Keep the copies of pages that redirect to a page that did not come, or to a wall.

        A temporary redirect of several pages to one page leads to a login, a consent and the like;
        that of one page does if the name of the other says so.
        """
        moved = {url: self._catalog.chain(url)[0] for url in self._account.moved()}
        passing = self._account.moved(but=_PERMANENT)
        yield
        walls = Counter(moved[url].partition("?")[0] for url in passing)
        for url, end in moved.items():
            place = end.partition("?")[0]
            is_wall = url in passing and (walls[place] > 1 or _WALL.search(place))
            if is_wall or self._account.kind(end) not in FETCHED:
                self._account.stay(url)
            yield

    def _lead(self, url: str) -> None:
        """Note that a page leads to `url`, also by redirects of earlier crawls."""
        for each in self._catalog.chain(url):
            self._unasked.link(each)

    def _follow(self, entry: Entry, lead: Callable[[str], None]) -> Iterator[None]:
        body = self._body(entry)
        if body is None:
            self._unread = entry.url
        elif body:
            page = Page(Url(entry.url, 0), Outcome.SUCCESS, 200, entry.headers, body)
            yield
            for link in read(page, "").links:
                lead(link.url)
            yield

    def _body(self, entry: Entry) -> bytes | None:
        """The page as received; empty if it has no links, None if its file is lost."""
        if entry.form is not None:
            return self._originals.read(entry.url, entry.size)
        page = Page(Url(entry.url, 0), Outcome.SUCCESS, 200, entry.headers)
        page.body = self._tree.read(entry.path, BEGINNING) or b""
        return self._tree.read(entry.path, entry.size) if may_link(page) else b""

    def _refusal(self) -> str:
        """Why nothing is removed, although the crawl is complete; "" for no reason."""
        if self._unread:
            return f"the stored copy of {self._unread} is damaged, so its links are not known"
        started, emptied = False, ""
        for start in self._account.starts():
            kind = self._account.kind(start)
            if kind is None:
                continue  # a seed of an earlier refresh only
            started = True
            last = self._catalog.chain(start)[0]
            if self._account.is_emptied(last):
                emptied = last
            reason = self._lost(start, kind)
            if reason:
                return reason
        if not started:
            return "no start page was fetched"
        going, all_pages = self._unasked.going()
        if going > _MANY and going > all_pages // 2:
            return f"{going} of {all_pages} files would be removed, more than half"
        if going > _FEW and emptied:
            return f"{emptied} has no links any more, and {going} files would be removed"
        return ""

    def _lost(self, start: str, kind: Refreshed) -> str:
        """Why the page that the seed `start` leads to is not the one that it was; "" if it is."""
        failure = _failure_of(self._catalog, start, kind)
        if failure or kind in FETCHED:
            return failure
        last, *way = self._catalog.chain(start)
        is_other = self._account.kind(last) is Refreshed.NEW and self._account.was_known(start)
        if is_other or any(self._catalog.get(url) is not None for url in way):
            return f"{start} redirects to another page now, {last}"
        return ""

    def _remove(self) -> Iterator[None]:
        self._removal.clear_away(self._catalog.purging())
        yield
        for pages in self._unasked.batches_to_go(_REMOVED):
            self._catalog.note_change()
            files = []
            for url in pages:
                files += self._removal.forget(url)
                yield
            # Commit first: after a kill the catalog must not name a file that is gone.
            self._catalog.commit()
            yield
            self._removal.clear_away(files)
            yield


class Unasked:
    """The pages that the crawl did not ask for, while it is found which are linked.

    They are in a table, so the memory is bounded. Those that nothing leads to become
    rows of the account.
    """

    def __init__(self, base: Database) -> None:
        self._base = base

    def begin(self) -> None:
        """List the pages without a row in the account. None of them is linked yet."""
        write = self._base.write
        write(f"DELETE FROM fate WHERE kind = '{Refreshed.UNLINKED.value}' AND NOT purged")
        write("DELETE FROM unasked")
        write(
            "INSERT INTO unasked (url) SELECT url FROM page WHERE url NOT IN (SELECT url FROM fate)"
        )

    @property
    def any(self) -> bool:
        return self._base.first("SELECT 1 FROM unasked LIMIT 1") is not None

    def link(self, url: str) -> None:
        """Note that something leads to `url`, which may be any URL."""
        self._base.write(
            "UPDATE unasked SET state = 'linked' WHERE url = ? AND state = 'unlinked'", url
        )

    def take(self) -> str | None:
        """Return a page that was linked and not taken before."""
        row = self._base.first("SELECT id, url FROM unasked WHERE state = 'linked' LIMIT 1")
        if row is None:
            return None
        self._base.write("UPDATE unasked SET state = 'taken' WHERE id = ?", row[0])
        return str(row[1])

    def finish(self) -> Iterator[None]:
        """Enter those that are still not linked into the account."""
        unlinked = "SELECT id, url FROM unasked WHERE state = 'unlinked'"
        for _, url in self._base.by_id(unlinked, _BATCH):
            self._base.write(
                "INSERT INTO fate (url, kind, host, requisite, had, outcome, status, tries, detail)"
                " VALUES (?, ?, ?, 0, 1, '', 0, 0, '')",
                *(url, Refreshed.UNLINKED.value, host_of(url)),
            )
            yield
        self._base.write("DELETE FROM unasked")

    # The pages that are gone.

    def going(self) -> tuple[int, int]:
        """Return how many pages are to be removed, and how many there are."""
        self._base.write("DELETE FROM lost")
        # While nothing of a host can be fetched, its files stay.
        self._base.write(
            "INSERT INTO lost SELECT host FROM fate GROUP BY host HAVING"
            " SUM(kind IN ('failed', 'gone')) > 0"
            " AND SUM(kind NOT IN ('failed', 'gone', 'unlinked')) = 0"
        )
        counts = [
            self._base.first(f"SELECT COUNT(*) FROM {which}")
            for which in (f"fate JOIN page USING (url) WHERE {_GOING}", "page")
        ]
        going, pages = (0 if row is None else int(row[0]) for row in counts)
        return going, pages

    def batches_to_go(self, size: int) -> Iterator[list[str]]:
        """Yield the URLs of the pages that are to be removed, after a call of `going`."""
        last = 0
        while rows := self._base.rows(
            f"SELECT fate.id, url FROM fate JOIN page USING (url) WHERE {_GOING}"
            f" AND fate.id > {last} ORDER BY fate.id LIMIT {size}"
        ):
            yield [url for _, url in rows]
            last = rows[-1][0]


_GOING = "kind IN ('gone', 'unlinked', 'moved') AND host NOT IN (SELECT host FROM lost)"


def failed_starts(catalog: Catalog) -> Iterator[str]:
    """Why start pages of this refresh are missing, one reason for each that is."""
    for start in catalog.account.starts():
        kind = catalog.account.kind(start)
        failure = "" if kind is None else _failure_of(catalog, start, kind)
        if failure:
            yield failure


def _failure_of(catalog: Catalog, start: str, kind: Refreshed) -> str:
    """Why no page came of the seed `start`, which ended as `kind`; "" if one came."""
    if kind in FETCHED:
        return ""
    if kind not in (Refreshed.OTHER, Refreshed.MOVED):
        return f"{start} could not be fetched"
    last, *way = catalog.chain(start)
    if last == start and way:
        return f"{start} redirects to itself"
    if way and catalog.account.kind(last) not in FETCHED:
        return f"{start} redirects to {last}, which could not be fetched"
    return ""
