"""Pages on their way into the tables, in one transaction: rows, copies, index."""

from collections.abc import Sequence
from typing import NamedTuple

from larbinpy.config.registered_domain import registered_domain
from larbinpy.database.fields import FIELDS, fingerprint, joined
from larbinpy.database.prepared import Gone, Packed, Prepared, Unchanged, Visit, target_of
from larbinpy.database.tokens import anchor_tokens
from larbinpy.database.writing.anchors import MOST, Anchors
from larbinpy.database.writing.history import History
from larbinpy.database.writing.leaving import PERMANENT, Verdict, verdict
from larbinpy.database.writing.near import NEAR_COLUMNS, NearCopies
from larbinpy.database.writing.presence import Presence
from larbinpy.database.writing.samples import Samples
from larbinpy.database.writing.stored import stored_tokens
from larbinpy.database.writing.tables import Index, Tables
from larbinpy.url import host_of

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
        self._history = History(base)

    def put(self, page: Prepared) -> None:
        """Insert a page, or replace the one of its URL unless that was fetched later."""
        key = target_of(page.url)
        old = self._row("key = ?", key) if key in self._presence.keys else None
        if old is not None and self._is_later(old, page.fetched):
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
            values += [page.fetched > old.fetched, is_new_text]
            values += [page.fetched if is_new_text else old.changed, number]
            self._base.execute(_UPDATE, values)
            if old.gone is not None:
                self._history.note(page.fetched, number, "back", text_hash)
            elif is_new_text:
                self._history.note(page.fetched, number, "changed", text_hash)
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
            original = self._original(old.id, old.url, old.title, old.canonical, old.text_hash)
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
        what = verdict(gone, old.missing and missing, has_target=has_target)
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
            original = self._original(number, page.url, title, canonical, page.text_hash or None)
            if original is not None:
                return original, None
        if not self._presence.has_near(page):
            return None, None
        near = self._near.original(number, page.url, page.near_keys, page.text.text())
        return (near, None) if self._skip_near else (None, near)

    def _original(
        self, page: int, url: str, title: str | None, canonical: str | None, text_hash: int | None
    ) -> int | None:
        """The page that this one is a copy of: it has the same title, and the same text or the
        canonical URL that this one declares on its site."""
        if canonical is not None and canonical != url and _same_site(url, canonical):
            row = self._row("key = ?", target_of(canonical))
            if row is not None and row.same_as is not None and row.title == title:
                row = self._row("id = ?", row.same_as)
            # An original may have become a copy in this batch: then it is none of either.
            is_original = row is not None and row.gone is None and row.same_as is None
            if row is not None and is_original and row.id != page and row.title == title:
                return row.id
        if text_hash is None:
            return None
        for row in self._rows(f"text_hash = ? ORDER BY id LIMIT {_CANDIDATES}", text_hash):
            is_original = row.same_as is None and row.gone is None and row.id != page
            if is_original and row.title == title:
                return row.id
        return None

    def _adopt(self, original: int, url: str, title: object) -> None:
        """Make copies of the pages that declare `url` as theirs, if they have the same title."""
        rows = self._rows(
            f"canonical = ? AND coalesce(title, '') = coalesce(?, '') AND same_as IS NULL"
            f" LIMIT {_CANDIDATES}",
            url,
            title,
        )
        for row in rows:
            if row.id == original or row.gone is not None or not _same_site(row.url, url):
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
                original = self._original(row.id, row.url, row.title, row.canonical, row.text_hash)
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
