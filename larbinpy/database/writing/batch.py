"""Pages on their way into the tables, in one transaction: rows, copies, index and changes.

- `NearCopies` finds the page that another one is nearly a copy of.
- `Presence` says which rows a batch of pages may find, asked for all its pages at once. Most pages
  of a crawl are new: then none of the looks for each page finds anything.
- `Samples` has a page of each host, by which the others are compressed. Menus, footers and headers
  are the same on most pages of a site. With those of another page at hand, what a page has beside
  its main text takes half the room, or less. The sample of a host never changes, as its pages
  cannot be read without it.
- `verdict` decides whether a page leaves the index after a visit that did not find it. A server
  that is being repaired answers 404 or redirects for a while, and the copy in the database may be
  the last one. So only what a server says for good counts at once: 410, a request not to be
  indexed, and a permanent redirect to a page that the index has. All else has to be so on two
  visits that are at least a day apart. Failures (5xx, timeouts, refused logins) are no visits.
- `forget_deleted` removes from the index the pages whose rows a user has deleted.
"""

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from enum import Enum, auto
from http import HTTPStatus
from typing import Any, NamedTuple

from larbinpy.config.patterns import registered_domain
from larbinpy.database.base import (
    FIELDS,
    LONGEST_SAMPLE,
    Index,
    Tables,
    Tokens,
    fingerprint,
    joined,
    parts_of,
    unpacked,
    unpacked_sample,
    unpacked_text,
)
from larbinpy.database.preparation import (
    Difference,
    Gone,
    Packed,
    Prepared,
    Unchanged,
    Visit,
    about,
    anchor_tokens,
    page_tokens,
    target_of,
)
from larbinpy.database.search.fingerprint import KEYS, has_all_of, is_copy
from larbinpy.database.writing.anchors import MOST, Anchors
from larbinpy.url import host_of

#: The columns of `page` with the keys of `search.fingerprint`.
NEAR_COLUMNS = tuple(f"near{number}" for number in range(1, KEYS + 1))
#: Pages that are looked at to find one that says the same; comparing two takes a millisecond.
_NEAR_CANDIDATES = 5

# Each key is looked up in an index, which has the originals apart from thousands of copies.
_KEYS_FOUND = " UNION ".join(
    f"SELECT * FROM (SELECT id, url FROM page WHERE {column} = ? AND same_as IS NULL"
    f" AND near IS NULL AND gone IS NULL AND id <> ? LIMIT {_NEAR_CANDIDATES}) AS by_{column}"
    for column in NEAR_COLUMNS
)
_TEXT = "SELECT text, text_size FROM content WHERE page = ?"
_STORED = f"SELECT url, {', '.join(NEAR_COLUMNS)} FROM page WHERE id = ?"


class NearCopies:
    """Looks for near copies in the tables. Only pages that are no copies themselves have some."""

    def __init__(self, base: Tables) -> None:
        self._base = base

    def original(self, page: int, url: str, keys: Sequence[int], text: str) -> int | None:
        """A page that says the same as this one, but for a few words, and is not it."""
        asked = [value for key in keys for value in (key, page)]
        for number, other in sorted(self._base.execute(_KEYS_FOUND, asked).fetchall())[
            :_NEAR_CANDIDATES
        ]:
            if is_copy(text, url, self.text(number), other):
                return int(number)
        return None

    def text(self, page: int) -> str:
        """The main text of a page; "" if it is damaged."""
        row = self._base.execute(_TEXT, (page,)).fetchone()
        try:
            return unpacked_text(*row) if row else ""
        except ValueError:
            return ""

    def original_of_stored(self, page: int) -> int | None:
        """As `original`, of a page that is in the tables."""
        row = self._base.execute(_STORED, (page,)).fetchone()
        if row is None or row[1] is None:
            return None
        url, *keys = row
        return self.original(page, url, keys, self.text(page))


class Presence:
    """Each set has those values of the batch that are in the tables, and all that it writes."""

    def __init__(self, base: Tables, pages: Sequence[Visit]) -> None:
        self._base = base
        prepared = [page for page in pages if isinstance(page, Prepared)]
        urls = [page.url for page in pages]
        keys = [target_of(url) for url in urls]
        canonicals = [str(page.columns["canonical"]) for page in prepared if _canonical(page)]
        #: `page.key`, also of canonical URLs that pages of the batch declare.
        self.keys = self._among("page", "key", [*keys, *map(target_of, canonicals)])
        texts = [page.text_hash for page in prepared if page.text_hash]
        self.texts = self._among("page", "text_hash", texts)
        self.canonicals = self._among("page", "canonical", urls)
        self.moves = self._among("page", "moved_to", [page.url for page in prepared])
        #: Keys of near copies, in any column.
        self.near_keys: set[int] = set()
        with_keys = (page.near_keys for page in prepared if page.near_keys)
        for column, values in zip(NEAR_COLUMNS, zip(*with_keys, strict=True), strict=False):
            self.near_keys |= self._among("page", column, values)
        #: `anchor.target`
        self.targets = self._among("anchor", "target", keys)

    def has_original(self, page: Prepared) -> bool:
        """Whether another page may have its text, or be the one that it declares."""
        canonical = _canonical(page)
        is_declared = canonical is not None and target_of(str(canonical)) in self.keys
        return page.text_hash in self.texts or is_declared

    def has_near(self, page: Prepared) -> bool:
        """Whether it may be a near copy of another page."""
        return not self.near_keys.isdisjoint(page.near_keys)

    def wrote(self, page: Prepared, key: int) -> None:
        """A page of the batch is in the tables now."""
        self.keys.add(key)
        self.texts.add(page.text_hash)
        self.canonicals.add(_canonical(page))
        self.near_keys.update(page.near_keys)

    def _among(self, table: str, column: str, values: Iterable[Any]) -> set[Any]:
        asked = list(dict.fromkeys(values))
        if not asked:
            return set()
        marks = ", ".join("?" * len(asked))
        rows = self._base.execute(
            f"SELECT DISTINCT {column} FROM {table} WHERE {column} IN ({marks})", asked
        )
        return {value for (value,) in rows}


def _canonical(page: Prepared) -> Any:
    return page.columns.get("canonical")


def stored_tokens(base: Tables, page: int) -> Tokens | None:
    """Make the tokens of a page again, from what is stored; None if that is damaged.

    They differ from those in the index if another version of the segmenter made these.
    """
    row = base.execute(
        "SELECT url, title, lang, summary, anchors,"
        " text, text_size, more, more_size, sample, sample_size"
        " FROM page JOIN content ON content.page = page.id"
        " LEFT JOIN host ON host.id = page.host WHERE page.id = ?",
        (page,),
    ).fetchone()
    if row is None:
        return None
    url, title, lang, summary, anchors, text, text_size, *more = row
    try:
        whole = unpacked_text(text, text_size)
        facts = parts_of(*more)
    except ValueError:
        return None
    tokens = page_tokens(
        url,
        title or "",
        facts.get("headings", ()),
        whole,
        facts.get("rest", ""),
        lang,
        about(summary or "", facts.get("images", ())),
    )
    return joined(tokens, anchor_tokens(anchors.split("\n"), lang) if anchors else "")


#: Bytes of a page that is worth being a sample.
_LEAST = 1000
#: Samples that are kept in memory.
_KEPT = 2000
#: The key of `meta` that counts the times when samples were removed.
_REMOVALS = "samples"


class Samples:
    """The samples of one database; `base` has to be in a transaction.

    After a transaction that failed, make a new one.
    """

    def __init__(self, base: Tables) -> None:
        self._base = base
        self._known: dict[int, bytes] = {}
        self._removals = 0

    def renew(self) -> None:
        """Forget what is in memory if another process has removed samples."""
        removals = _removals(self._base)
        if removals != self._removals:
            self._known.clear()
            self._removals = removals

    def packed(self, more: bytes, host: int, key: int) -> Packed:
        """Compress `more` of the page `key`, which is on `host`."""
        return Packed.of_bytes(more, self._sample(host, key))

    def _sample(self, host: int, key: int) -> bytes:
        """The sample of a host; it is made when a second page comes. b"" before."""
        sample = self._known.get(host)
        if sample is None:
            sample = self._stored(host) or self._made(host, key)
            if sample:
                if len(self._known) >= _KEPT:
                    self._known.clear()
                self._known[host] = sample
        return sample

    def _stored(self, host: int) -> bytes:
        row = self._base.execute("SELECT sample, sample_size FROM host WHERE id = ?", (host,))
        try:
            return unpacked_sample(*row.fetchone())
        except ValueError:
            # Pages that need it are lost already: let there be another one.
            return b""

    def _made(self, host: int, key: int) -> bytes:
        """Make the latest page beside `key` the sample, if it is long enough."""
        row = self._base.execute(
            "SELECT page.key, more, more_size FROM page JOIN content ON content.page = page.id"
            " WHERE host = ? AND page.key <> ? ORDER BY page.id DESC LIMIT 1",
            (host, key),
        ).fetchone()
        if row is None or row[2] < _LEAST:
            return b""
        other, *more = row
        try:
            sample = unpacked(*more)[:LONGEST_SAMPLE]
        except ValueError:
            return b""
        self._base.execute(
            "UPDATE host SET sample = ?, sample_size = ?, sample_of = ? WHERE id = ?",
            (*Packed.of_bytes(sample), other, host),
        )
        return sample


def forget_deleted_samples(base: Tables) -> int:
    """Remove samples of deleted pages, and return their number; other pages do without them."""
    hosts = base.execute(
        "SELECT id, sample, sample_size FROM host WHERE sample_of IS NOT NULL"
        " AND sample_of NOT IN (SELECT key FROM page)"
    ).fetchall()
    for host, *packed in hosts:
        pages = base.execute("SELECT id FROM page WHERE host = ?", (host,)).fetchall()
        for (page,) in pages:
            row = base.execute("SELECT more, more_size FROM content WHERE page = ?", (page,))
            for more in row.fetchall():
                with suppress(ValueError):  # damaged ones stay so
                    alone = _without(more, packed)
                    base.execute("UPDATE content SET more = ? WHERE page = ?", (alone.data, page))
        base.execute(
            "UPDATE host SET sample = NULL, sample_size = NULL, sample_of = NULL WHERE id = ?",
            (host,),
        )
    if hosts:
        removals = _removals(base) + 1
        base.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (_REMOVALS, removals))
    return len(hosts)


def _removals(base: Tables) -> int:
    row = base.execute("SELECT value FROM meta WHERE key = ?", (_REMOVALS,)).fetchone()
    return int(row[0]) if row else 0


def _without(more: tuple[bytes | None, int | None], sample: Sequence[Any]) -> Packed:
    """Compress what `more` has again, without the sample."""
    return Packed.of_bytes(unpacked(*more, unpacked_sample(*sample)))


def forget_deleted(base: Tables) -> int:
    """Remove what belongs to deleted rows of `page`, and return the number of these rows.

    The first copy of a deleted page takes its place.
    """
    removed = 0
    for table in ("content", "body", "change", "difference"):
        left = f"FROM {table} WHERE page NOT IN (SELECT id FROM page)"
        (count,) = base.execute(f"SELECT count(*) {left}").fetchone()
        if count:
            base.execute(f"DELETE {left}")
        removed += count
    copies = base.execute(
        "SELECT same_as, min(id) FROM page WHERE same_as NOT IN "
        "(SELECT id FROM page WHERE same_as IS NULL) GROUP BY same_as"
    ).fetchall()
    for original, first in copies:
        base.execute("UPDATE page SET same_as = nullif(?, id) WHERE same_as = ?", (first, original))
    base.execute("UPDATE page SET near = NULL WHERE near NOT IN (SELECT id FROM page)")
    return removed + forget_deleted_samples(base)


#: Latest texts of a page that are not new to it: some pages alternate between a few of them.
_KNOWN_TEXTS = 10


class ChangeNotes:
    """Notes changes; `write` puts them into their table, all at once."""

    def __init__(self, base: Tables) -> None:
        self._base = base
        self._noted: list[tuple[str, int, str, int | None, str | None]] = []

    def note(
        self,
        at: str,
        page: int,
        kind: str,
        text_hash: int | None = None,
        target: str | None = None,
    ) -> None:
        """A page has changed; with the hash of its text, or the URL that it has moved to."""
        self._noted.append((at, page, kind, text_hash, target))

    def write(self) -> None:
        self._base.executemany("INSERT INTO change VALUES (?, ?, ?, ?, ?)", self._noted)
        self._noted.clear()

    def differ(self, at: str, page: int, before: str, after: str) -> None:
        """Keep what a change has changed, for the latest changes of a page."""
        packed = Difference.of(before, after).pack()
        self._base.execute(
            "INSERT OR REPLACE INTO difference VALUES (?, ?, ?, ?)", (page, at, *packed)
        )
        last = self._base.execute(
            "SELECT at FROM difference WHERE page = ? ORDER BY at DESC LIMIT 1 OFFSET ?",
            (page, _KNOWN_TEXTS - 1),
        ).fetchone()
        if last is not None:
            self._base.execute("DELETE FROM difference WHERE page = ? AND at < ?", (page, last[0]))

    def had(self, page: int, text_hash: int | None) -> bool:
        """Whether a page had this text before, as far back as is looked."""
        self.write()
        known = self._base.execute(
            "SELECT text_hash FROM change WHERE page = ? AND kind IN ('new', 'changed', 'back')"
            f" ORDER BY at DESC LIMIT {_KNOWN_TEXTS}",
            (page,),
        )
        return (text_hash,) in map(tuple, known)


_DAY = timedelta(days=1)
#: Redirects for good (RFC 9110, 15.4.2 and 15.4.9).
PERMANENT = (HTTPStatus.MOVED_PERMANENTLY.value, HTTPStatus.PERMANENT_REDIRECT.value)


class Verdict(Enum):
    #: The visit says nothing of the page.
    IGNORE = auto()
    #: The page stays, and its row says since when it is missing.
    KEEP = auto()
    LEAVE = auto()


def verdict(gone: Gone, missing: str | None, *, has_target: bool) -> Verdict:
    """The fate of a page that is in the index.

    `missing`: since when its URL has answered without it, ISO 8601; None if this is the first time.
    `has_target`: the index has the page that it redirects to.
    """
    if gone.target == gone.url:
        return Verdict.IGNORE  # so servers set a cookie
    if gone.status in PERMANENT and has_target:
        return Verdict.LEAVE
    if 300 <= gone.status < 400 and gone.status != HTTPStatus.NOT_MODIFIED:
        return _confirmed(gone, missing)
    return _confirmed(gone, missing) if gone.status == HTTPStatus.NOT_FOUND else Verdict.LEAVE


def _confirmed(gone: Gone, missing: str | None) -> Verdict:
    return Verdict.LEAVE if _is_confirmed(gone.fetched, missing) else Verdict.KEEP


def _is_confirmed(fetched: str, missing: str | None) -> bool:
    """Whether a page that is `missing` since then was so on a visit a day before this one."""
    day_before = datetime.fromisoformat(fetched) - _DAY
    return missing is not None and missing <= f"{day_before:%Y-%m-%dT%H:%M:%SZ}"


#: Columns of `page` that a prepared page brings.
_COLUMNS = (
    *("status", "type", "charset", "lang", "title", "site_name", "author", "summary"),
    *("published", "modified", "image", "canonical", "comments", "clicks", "size", "depth"),
    *("via", "etag", "last_modified"),
)
#: Columns that are found out.
_FOUND = ("fetched", "text_hash", "same_as", "near", *NEAR_COLUMNS, "indexed")
_INSERT = (
    f"INSERT INTO page ({', '.join((*_COLUMNS, *_FOUND))},"
    " key, url, host, first_seen, changed, visits, changes)"
    f" VALUES ({', '.join('?' * len((*_COLUMNS, *_FOUND)))}, ?, ?, ?, ?, ?, 1, 0)"
)
_INSERT_WITHHELD = (
    "INSERT INTO page (key, url, host, status, depth, via, fetched, first_seen, changed, gone,"
    " visits, changes) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 1, 0)"
)
_UPDATE = (
    f"UPDATE page SET {', '.join(f'{name} = ?' for name in (*_COLUMNS, *_FOUND))},"
    " visits = visits + ?, changes = changes + ?, changed = ?,"
    " missing = NULL, moved_to = NULL, gone = NULL WHERE id = ?"
)
_CONTENT = (
    "INSERT OR REPLACE INTO content (page, anchors, text, text_size, more, more_size)"
    " VALUES (?, ?, ?, ?, ?, ?)"
)
_AROUND = (
    "SELECT text_size, more, more_size, sample, sample_size FROM content"
    " JOIN page ON page.id = content.page LEFT JOIN host ON host.id = page.host WHERE page.id = ?"
)
#: Pages that are looked at to find one with the same text or canonical URL.
_CANDIDATES = 50


class _Row(NamedTuple):
    """The columns that the rules need of a page in the database."""

    id: int
    url: str
    title: str | None
    canonical: str | None
    fetched: str
    changed: str
    text_hash: int | None
    same_as: int | None
    near: int | None
    missing: str | None
    gone: str | None
    indexed: int | None


_ROW = f"SELECT {', '.join(_Row._fields)} FROM page"


class Batch:
    """Takes pages into the tables; `apply` ends it, before the commit."""

    def __init__(
        self,
        base: Tables,
        index: Index,
        hosts: dict[str, int],
        samples: Samples,
        anchors: Anchors,
        now: str,
        pages: Sequence[Visit] = (),
        *,
        skip_near: bool = False,
    ) -> None:
        """`pages` are those that it will take; near copies leave the index if `skip_near`."""
        self._now = now
        self._base = base
        self._index = index
        self._hosts = hosts
        self._samples = samples
        self._anchors = anchors
        self._presence = Presence(base, pages)
        self._near = NearCopies(base)
        self._skip_near = skip_near
        self._history = ChangeNotes(base)

    def put(self, page: Prepared) -> None:
        """Insert a page, or replace the one of its URL unless that was fetched later."""
        key = target_of(page.url)
        old = self._row("key = ?", key) if key in self._presence.keys else None
        if old is not None and self._is_later(old, page.fetched):
            return
        if old is not None and self._keeps_text(old, page):
            return
        title, lang = _text(page, "title"), _text(page, "lang")
        text_hash = page.text_hash or None
        same_as, near = self._found(old.id if old else 0, page)
        is_target = key in self._presence.targets
        anchors = self._texts_of(old.id if old else None, key, title, is_stored=is_target)
        tokens = joined(page.tokens, anchor_tokens(anchors, lang))
        indexed = None if same_as is not None else fingerprint(tokens)
        values = [page.columns.get(name) for name in _COLUMNS]
        keys = page.near_keys or (None,) * len(NEAR_COLUMNS)
        values += [page.fetched, text_hash, same_as, near, *keys, indexed]
        host = self._host(page.url)
        if old is None:
            values += [key, page.url, host, page.fetched, page.fetched]
            number = self._base.execute(_INSERT, values).lastrowid
            assert number is not None
            self._history.note(page.fetched, number, "new", text_hash)
        else:
            number = old.id
            if old.indexed is not None and old.indexed != indexed:
                number = self._drop(old.id, old.indexed)
            is_new_text = old.text_hash != text_hash and not self._history.had(old.id, text_hash)
            before = self._near.text(old.id) if is_new_text and old.gone is None else ""
            values += [page.fetched > old.fetched, is_new_text]
            values += [page.fetched if is_new_text else old.changed, number]
            self._base.execute(_UPDATE, values)
            if old.gone is not None:
                self._history.note(page.fetched, number, "back", text_hash)
            elif is_new_text:
                self._history.note(page.fetched, number, "changed", text_hash)
                self._history.differ(page.fetched, number, before, page.text.text())
        self._presence.wrote(page, key)
        more = self._samples.packed(page.more, host, key)
        self._base.execute(_CONTENT, (number, "\n".join(anchors) or None, *page.text, *more))
        self._put_body(number, page, is_new=old is None)
        if indexed is not None and (old is None or old.indexed != indexed):
            self._index.put(number, tokens)
        says_other = old is None or old.title != title or old.text_hash != text_hash
        if old is not None and (says_other or (same_as or near) is not None):
            self._release(number)
        is_news = old is None or old.gone is not None or says_other
        if is_news and page.url in self._presence.canonicals:
            self._adopt(number if same_as is None else same_as, page.url, title)
        if same_as is not None:
            # Its links' texts belong to the page that is found.
            self._anchors.note((key,))
        self._anchors.add(page.anchors)
        if page.url in self._presence.moves:
            self._end_moves(page.url, page.fetched)

    def _keeps_text(self, old: _Row, page: Prepared) -> bool:
        """Whether a page that has lost its text is taken for a failure of its server: it has to be
        so on two visits, as one that is not found."""
        is_other = old.text_hash not in (None, page.text_hash) and old.gone is None
        if not is_other or not self._is_emptied(old.id, page.text):
            return False
        missing = min(old.missing or page.fetched, page.fetched)
        if _is_confirmed(page.fetched, missing):
            return False
        # Not its ETag: the page as it was is asked for.
        self._base.execute(
            "UPDATE page SET missing = ?, fetched = ?, visits = visits + ? WHERE id = ?",
            (missing, page.fetched, page.fetched > old.fetched, old.id),
        )
        return True

    def _is_emptied(self, number: int, text: Packed) -> bool:
        """Whether the new text of a page is empty, or is only what stood around the old one."""
        if not text.size:
            return True
        row = self._base.execute(_AROUND, (number,)).fetchone()
        if row is None or text.size >= row[0]:
            return False
        _, *more = row
        try:
            return has_all_of(parts_of(*more).get("rest", ""), text.text())
        except ValueError:
            return False

    def unchanged(self, visit: Unchanged) -> None:
        """Count a visit of a page that is as it was. A URL without a row gets none."""
        old = self._known(visit)
        if old is None:
            return
        self._base.execute(
            "UPDATE page SET fetched = ?, visits = visits + ?, missing = NULL, moved_to = NULL,"
            " gone = NULL, status = CASE WHEN status BETWEEN 200 AND 299 THEN status ELSE 200 END"
            " WHERE id = ?",
            (visit.fetched, visit.fetched > old.fetched, old.id),
        )
        if old.gone is not None:
            self._history.note(visit.fetched, old.id, "back", old.text_hash)
            original = self._original_of(old)
            self._base.execute("UPDATE page SET same_as = ? WHERE id = ?", (original, old.id))
            if original is None:
                self._put_stored(old.id)
            if old.url in self._presence.canonicals:
                self._adopt(old.id if original is None else original, old.url, old.title)
        if old.missing is not None:
            self._end_moves(old.url, visit.fetched)

    def gone(self, gone: Gone) -> None:
        """Take a page from the index, or note that it is missing, by the rules of `leaving`.

        Its row stays. A URL without a row gets none, unless it is a sitemap or feed.
        """
        key = target_of(gone.url)
        if gone.announced is not None and key not in self._presence.keys:
            self._put_withheld(gone, key)
            return
        old = self._known(gone)
        if old is None:
            return
        missing = min(old.missing or gone.fetched, gone.fetched)
        has_target = gone.target is not None and self._has(gone.target)
        what = verdict(gone, missing, has_target=has_target)
        if what is Verdict.IGNORE:
            return
        self._base.execute(
            "UPDATE page SET missing = ?, fetched = ?, status = ?, visits = visits + ?,"
            " moved_to = ? WHERE id = ?",
            (missing, gone.fetched, gone.status, gone.fetched > old.fetched, gone.target, old.id),
        )
        if gone.target is not None:
            self._presence.moves.add(gone.target)
        if old.gone is None and what is Verdict.LEAVE:
            self._leave(old, gone.fetched, gone.target)

    def _put_withheld(self, gone: Gone, key: int) -> None:
        """Insert a row without content for a page that asks not to be indexed."""
        host, at = self._host(gone.url), gone.fetched
        values = (key, gone.url, host, gone.status, gone.depth, gone.via, *[at] * 4)
        number = self._base.execute(_INSERT_WITHHELD, values).lastrowid
        nothing = Packed.of("")
        self._base.execute(_CONTENT, (number, None, *nothing, *nothing))
        self._presence.keys.add(key)

    def _leave(self, row: _Row, at: str, target: str | None) -> None:
        """Take a page from the index: it is gone, or has moved to `target`."""
        number = row.id if row.indexed is None else self._drop(row.id, row.indexed)
        self._base.execute(
            "UPDATE page SET gone = ?, same_as = NULL, near = NULL, indexed = NULL WHERE id = ?",
            (at, number),
        )
        self._history.note(at, number, "gone" if target is None else "moved", target=target)
        self._release(number)

    def _end_moves(self, target: str, at: str) -> None:
        """Take the pages from the index that have moved to `target` for good: it is there now."""
        for row in self._rows(
            f"moved_to = ? AND gone IS NULL AND status IN {PERMANENT} ORDER BY id", target
        ):
            self._leave(row, at, target)

    def _known(self, visit: Gone | Unchanged) -> _Row | None:
        """The row of a URL; None if it has none, or a newer one."""
        key = target_of(visit.url)
        row = self._row("key = ?", key) if key in self._presence.keys else None
        return None if row is None or self._is_later(row, visit.fetched) else row

    def _has(self, url: str) -> bool:
        """Whether `url` has a page in the index, or a copy of one, and is not missing."""
        row = self._row("key = ?", target_of(url))
        return row is not None and row.gone is None and row.missing is None

    def _is_later(self, old: _Row, fetched: str) -> bool:
        """Whether a row is newer; one from the future was written by a clock that was wrong."""
        return fetched < old.fetched <= self._now

    def bring_in(self, target: int) -> bool:
        """Index the page of `target` again if links to it have texts with words it lacks.

        Returns whether it was.
        """
        row = self._row("key = ?", target)
        if row is None or row.gone is not None:
            return False
        if row.same_as is not None:
            original = self._row("id = ?", row.same_as)
            if original is None:
                return False
            row = original
        if row.indexed is None:
            return False
        anchors = self._texts_of(row.id, target, row.title)
        lang, stored = self._base.execute(
            "SELECT lang, anchors FROM page JOIN content ON content.page = page.id"
            " WHERE page.id = ?",
            (row.id,),
        ).fetchone()
        known = [*(stored or "").split("\n"), row.title or ""]
        tokens = anchor_tokens(anchors, lang)
        if set(tokens.split()) <= set(anchor_tokens(known, lang).split()):
            return False
        number = self._drop(row.id, row.indexed)
        self._base.execute(
            "UPDATE content SET anchors = ? WHERE page = ?", ("\n".join(anchors), number)
        )
        if number == row.id:
            indexed = self._index.put_with_anchors(number, tokens)
            self._base.execute("UPDATE page SET indexed = ? WHERE id = ?", (indexed, number))
        else:
            self._put_stored(number)
        return True

    def apply(self) -> None:
        """Write the index, and the changes of pages."""
        self._history.write()
        self._index.apply()

    def _row(self, where: str, *values: object) -> _Row | None:
        row = self._base.execute(f"{_ROW} WHERE {where}", values).fetchone()
        return None if row is None else _Row._make(row)

    def _rows(self, where: str, *values: object) -> list[_Row]:
        return [_Row._make(row) for row in self._base.execute(f"{_ROW} WHERE {where}", values)]

    def _host(self, url: str) -> int:
        name = url.split("/", 3)[2]
        number = self._hosts.get(name)
        if number is None:
            row = self._base.execute("SELECT id FROM host WHERE name = ?", (name,)).fetchone()
            if row is None:
                made = self._base.execute("INSERT INTO host (name) VALUES (?)", (name,))
                row = (made.lastrowid,)
            number = self._hosts[name] = int(row[0])
        return number

    def _put_body(self, number: int, page: Prepared, *, is_new: bool) -> None:
        if page.body is not None:
            self._base.execute(
                "INSERT OR REPLACE INTO body VALUES (?, ?, ?)",
                (number, page.body, page.columns.get("size")),
            )
        elif not is_new:
            self._base.execute("DELETE FROM body WHERE page = ?", (number,))

    def _texts_of(
        self, page: int | None, key: int, title: object, *, is_stored: bool = True
    ) -> list[str]:
        """The texts of links to a page: those it has, then the others; not its title.

        `is_stored`: see `Anchors.known`.
        """
        stored = ""
        if page is not None:
            row = self._base.execute("SELECT anchors FROM content WHERE page = ?", (page,))
            stored = (row.fetchone() or ("",))[0] or ""
        own = str(title or "").casefold()
        texts = dict.fromkeys(stored.split("\n") if stored else ())
        known = self._anchors.known(key, is_stored=is_stored)
        texts.update(dict.fromkeys(text for text in known if text.casefold() != own))
        return list(texts)[:MOST]

    def _found(self, number: int, page: Prepared) -> tuple[int | None, int | None]:
        """The pages that `page` is a copy of, out of the index, and nearly a copy of, in it.

        One of them is None; `number` is that of the page, or 0.
        """
        if self._presence.has_original(page):
            title, canonical = _text(page, "title"), _text(page, "canonical")
            text = page.text.text if canonical is not None else str
            original = self._original(number, page.url, title, canonical, page.text_hash, text)
            if original is not None:
                return original, None
        if not self._presence.has_near(page):
            return None, None
        near = self._near.original(number, page.url, page.near_keys, page.text.text())
        return (near, None) if self._skip_near else (None, near)

    def _original_of(self, row: _Row) -> int | None:
        """As `_original`, of a page that is in the tables."""
        found = row.id, row.url, row.title, row.canonical, row.text_hash
        return self._original(*found, lambda: self._near.text(row.id))

    def _original(
        self,
        page: int,
        url: str,
        title: str | None,
        canonical: str | None,
        text_hash: int | None,
        text: Callable[[], str],
    ) -> int | None:
        """The page that this one is a copy of: it has the same title, and the same text, or the
        canonical URL that this one declares on its site and all that it says."""
        if canonical is not None and canonical != url and _same_site(url, canonical):
            row = self._row("key = ?", target_of(canonical))
            if row is not None and row.same_as is not None and row.title == title:
                row = self._row("id = ?", row.same_as)
            # An original may have become a copy in this batch: then it is none of either.
            is_original = row is not None and row.gone is None and row.same_as is None
            is_other = row is not None and row.id != page and row.title == title
            if row is not None and is_original and is_other and self._has_all(row, text_hash, text):
                return row.id
        if not text_hash:
            return None
        for row in self._rows(f"text_hash = ? ORDER BY id LIMIT {_CANDIDATES}", text_hash):
            is_original = row.same_as is None and row.gone is None and row.id != page
            if is_original and row.title == title:
                return row.id
        return None

    def _has_all(self, row: _Row, text_hash: int | None, text: Callable[[], str]) -> bool:
        """Whether a page has what another one says that declares its URL: page 2 of a thread may
        declare page 1."""
        return row.text_hash == (text_hash or None) or has_all_of(self._near.text(row.id), text())

    def _adopt(self, original: int, url: str, title: object) -> None:
        """Make copies of the pages that declare `url` as theirs, if they have the same title."""
        rows = self._rows(
            f"canonical = ? AND coalesce(title, '') = coalesce(?, '') AND same_as IS NULL"
            f" LIMIT {_CANDIDATES}",
            url,
            title,
        )
        text = self._near.text(original) if rows else ""
        for row in rows:
            if row.id == original or row.gone is not None or not _same_site(row.url, url):
                continue
            if not has_all_of(text, self._near.text(row.id)):
                continue
            number = row.id
            if row.indexed is not None:
                number = self._drop(row.id, row.indexed)
            self._base.execute(
                "UPDATE page SET same_as = ?, near = NULL, indexed = NULL WHERE id = ?",
                (original, number),
            )
            self._base.execute("UPDATE page SET same_as = ? WHERE same_as = ?", (original, number))
            self._release(number)

    def _release(self, page: int) -> None:
        """Look again for what each copy of a page is a copy of, after a change of that page."""
        for row in self._rows("same_as = ? OR near = ? ORDER BY id", page, page):
            is_out, original, near = row.same_as is not None, None, None
            if is_out:
                original = self._original_of(row)
            if original is None:
                near = self._near.original_of_stored(row.id)
                if self._skip_near and is_out:
                    original, near = near, None
            self._base.execute(
                "UPDATE page SET same_as = ?, near = ? WHERE id = ?", (original, near, row.id)
            )
            if is_out and original is None:
                self._put_stored(row.id)

    def _put_stored(self, page: int) -> None:
        tokens = stored_tokens(self._base, page) or ("",) * len(FIELDS)
        self._base.execute("UPDATE page SET indexed = ? WHERE id = ?", (fingerprint(tokens), page))
        self._index.put(page, tokens)

    def _drop(self, page: int, indexed: int) -> int:
        """Take a page from the index; returns its number, another one if its tokens are lost."""
        if self._index.drop(page, indexed):
            return page
        self._history.write()
        number = self._base.execute("SELECT max(id) + 1 FROM page").fetchone()[0]
        for command in (
            "UPDATE page SET id = ? WHERE id = ?",
            "UPDATE page SET same_as = ? WHERE same_as = ?",
            "UPDATE page SET near = ? WHERE near = ?",
            "UPDATE content SET page = ? WHERE page = ?",
            "UPDATE body SET page = ? WHERE page = ?",
            "UPDATE change SET page = ? WHERE page = ?",
            "UPDATE difference SET page = ? WHERE page = ?",
        ):
            self._base.execute(command, (number, page))
        return int(number)


def _text(page: Prepared, column: str) -> str | None:
    value = page.columns.get(column)
    return None if value is None else str(value)


def _same_site(one: str, other: str) -> bool:
    try:
        return registered_domain(host_of(one)) == registered_domain(host_of(other))
    except ValueError:  # a URL without a path
        return False
