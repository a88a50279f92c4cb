"""A mirror that browses offline: rewriteLinks.

While the crawl runs, pages are written as received, and the catalog records which URL has which
file. Pages whose links will be rewritten are also stored as originals. If a server answers that a
page has not changed (304), or the page fails, its file is kept.

When all pages are fetched, `Relinking` writes each HTML, XHTML, SVG or CSS file again from its
original and the catalog. The result depends on those two alone, so the work may be interrupted and
begun again at any time: a resumed crawl and a refreshed mirror end with the same files as one that
ran through.

The `FrontPage`, ``index.html`` at the top, links to the start pages. It is written only where
nothing else has that name, or what larbinpy itself wrote: the catalog knows its digest. So a page
of the user's own stays as it is.
"""

import os
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import replace
from html import escape
from itertools import islice

from larbinpy.context import Context
from larbinpy.errors import UserError
from larbinpy.output.mirror.catalog import (
    FETCHED,
    GONE,
    Catalog,
    Entry,
    MirrorNames,
    Refreshed,
    digest_of,
)
from larbinpy.output.mirror.gone import BEGINNING, GonePages
from larbinpy.output.mirror.paths import INDEX, Relative, Spelling, original_beside, reference
from larbinpy.output.mirror.tree import Originals, Tree
from larbinpy.page import Outcome, Page, Trait, circle_of
from larbinpy.parse import Form, form_of, may_link, rewriting, title_of, type_of
from larbinpy.storage.files import LineFile, open_folder
from larbinpy.url import Url, hash64, host_of


class Relinking:
    """Rewrites the links of all pages in `catalog`; with `keep`, keeps the originals beside."""

    def __init__(
        self, catalog: Catalog, names: MirrorNames, originals: Originals, *, keep: bool
    ) -> None:
        self._catalog = catalog
        self._names = names
        self._tree = names.tree
        self._originals = originals
        self._keep = keep
        #: Number of files that changed.
        self.rewritten = 0

    def steps(self) -> Iterator[None]:
        """Rewrite all pages, a page or a part of one in each step.

        Repeats everything if a page or a redirect was entered between the steps.
        """
        seen = -1
        while seen != self._catalog.changes:
            seen = self._catalog.changes
            relative = Relative(self._catalog.place_of)
            for entry in self._catalog.pages():
                placed = replace(entry, path=self._names.free_of_folders(entry))
                yield from self._rewrite(placed, relative)
                yield
        self._catalog.note_rewritten()
        self._catalog.commit()

    def _rewrite(self, entry: Entry, relative: Relative) -> Iterator[None]:
        original = self._originals.read(entry.url, entry.size)
        if original is None:
            return
        yield
        page = Page(
            Url(entry.url, 0), Outcome.SUCCESS, 200, entry.headers, original, charset=entry.charset
        )
        body = yield from rewriting(
            page, relative.to(entry.path), Form(entry.form), self._catalog.charset_of
        )
        if self._catalog.get(entry.url) != entry:
            return  # it was fetched again between the steps; the next pass rewrites it
        if self._keep and body != original:
            self._tree.write(original_beside(entry.path), original, entry.modified)
        if self._tree.read(entry.path, len(body) + 1) != body:
            self._tree.write(entry.path, body, entry.modified)
            self.rewritten += 1
        self._catalog.note_written(entry.url, body)


#: Start pages that are listed. The rest of a longer list would not be read.
_MOST = 1000
_LONGEST = 200
#: The fact that keeps the digests of what was written: the last one, and the one before while
#: a kill may leave either.
_FACT = "front page"
_PAGE = """\
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta name="generator" content="larbinpy">
<title>Mirror of {hosts}</title>
</head>
<body>
<h1>Mirror of {hosts}</h1>
<ul>
{items}
</ul>
</body>
</html>
"""


class FrontPage:
    """Writes the front page of the mirror that has `catalog`."""

    def __init__(self, catalog: Catalog, tree: Tree, originals: Originals) -> None:
        self._catalog = catalog
        self._tree = tree
        self._originals = originals

    def steps(self, left_out: Sequence[tuple[int, str]] = ()) -> Iterator[None]:
        """Write the page if it has changed, and if nobody else has put a file there.

        Each step reads one start page.
        """
        text = yield from self._text(left_out)
        if text is None:
            return
        base = self._catalog.base
        digest, own = _digest(text), base.fact(_FACT).split()
        if self._tree.exists(INDEX):
            size = self._tree.size(INDEX)
            found = self._tree.read(INDEX, size) if size is not None else None
            if found == text or found is None or _digest(found) not in own:
                return
        base.note_fact(_FACT, " ".join((digest, *own[:1])))
        # Commit first: after a kill the page must be known as larbinpy's.
        base.commit()
        self._tree.write(INDEX, text)

    def _text(self, left_out: Sequence[tuple[int, str]]) -> Generator[None, None, bytes | None]:
        """The page; None if no start page is in the mirror."""
        paths: dict[str, str] = {}
        for start in islice(self._catalog.account.starts(), _MOST):
            path = self._catalog.path_of(start)
            if path is not None:
                paths.setdefault(path, start)
        if not paths:
            return None
        hosts = ", ".join(dict.fromkeys(host_of(start) for start in paths.values()))
        items = []
        for path, start in paths.items():
            items.append(self._item(path, start))
            yield
        items += self._missing(left_out)
        page = _PAGE.format(hosts=escape(_cut(hosts)), items="\n".join(items))
        return page.encode(errors="replace")

    def _missing(self, left_out: Sequence[tuple[int, str]]) -> list[str]:
        """The lines about what is not in the mirror; none if all is."""
        counts = self._catalog.account.counts()
        failed = counts["failed"] - counts["refused"]
        rows = [(failed, "could not be fetched"), *left_out] if failed else left_out
        items = [f"<li>{number:,} {escape(why)}</li>" for number, why in rows]
        return ["</ul>", "<h2>Not in this mirror</h2>", "<ul>", *items] if items else []

    def _item(self, path: str, start: str) -> str:
        title = self._title(path) or start
        shown = "" if title == start else f" &ndash; {escape(start)}"
        return f'<li><a href="{escape(reference((), path))}">{escape(title)}</a>{shown}</li>'

    def _title(self, path: str) -> str:
        entry = self._catalog.at(path)
        body = entry and entry.form and self._originals.read(entry.url, entry.size)
        return _cut(title_of(body, entry.charset)) if entry and body else ""


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "..."


def _digest(text: bytes) -> str:
    return f"{hash64(text):016x}"


_LOCK = ".larbinpy-names"
#: Headers that describe the page or contain links. For a 304, those of the stored page are used.
_LASTING = frozenset(
    {"content-type", "content-disposition", "etag", "last-modified", "link", "refresh"}
    | {"x-robots-tag"}
)
_LONGEST_HEADER = 2000
#: Those of them that are never sent back.
_OURS = frozenset({"content-disposition"})
#: Headers with which a server can be asked whether a page has changed, and the request headers.
_CONDITIONS = {"etag": "If-None-Match", "last-modified": "If-Modified-Since"}
#: Bytes of a large file, which takes more than a few milliseconds to read. If it did not change, it
#: is read only if it may have links.
_LARGE = 1 << 20

_MOVED = frozenset({Refreshed.MOVED, Refreshed.OTHER})
#: Kinds that the status page counts. Pages that nothing links to are found at the end.
_SHOWN = tuple(Refreshed(kind) for kind in ("new", "changed", "unchanged", "gone", "failed"))


class BrowsableMirror:
    """Pages at HOST[:PORT]/path below outputDir, which is made if it is missing.

    `fold` returns the URL that a link counts as.

    One crawl at a time may write to a mirror; a second one gets `BlockingIOError`.
    """

    def __init__(self, context: Context, fold: Callable[[str], str] = str) -> None:
        config = context.config
        # An archive holds all pages of its crawl, even those that an earlier crawl has stored.
        self._is_conditional = not config.keeps_exchanges
        # Another output keeps unchanged pages, too, however large.
        self._reads_whole = config.keeps_each
        self._name = config.output_dir
        self._root = open_folder(self._name)
        try:
            self._lock = LineFile(_LOCK, folder=self._root)
            self._catalog = Catalog(self._name, fold=fold)
            spelling = self._catalog.spelling(Spelling(config.file_names))
            # Windows ignores case.
            lower = config.lower_case_names or spelling is Spelling.WINDOWS
            self._names = MirrorNames(self._catalog, self._root, spelling, lower_case=lower)
        except BaseException:
            os.close(self._root)
            raise
        self._account = self._catalog.account
        self._tree = self._names.tree
        self._originals = Originals(self._tree)
        self._relinking = Relinking(
            self._catalog, self._names, self._originals, keep=config.keep_originals
        )
        self._gone = GonePages(self._catalog, self._tree, self._originals, purge=config.purge)
        self._front_page = FrontPage(self._catalog, self._tree, self._originals)
        self._pages = self._bytes = 0
        #: How the URLs of this run ended.
        self._ends: Counter[Refreshed] = Counter()

    # The methods of an output.

    def loaded(self, page: Page) -> None:
        if page.not_modified:
            self._note(page, Refreshed.UNCHANGED, had=True)
        else:
            kind, had = self._take(page)
            self._note(page, kind, had=had)
        self._pages += 1
        self._bytes += len(page.body)

    def failed(self, url: Url, outcome: Outcome) -> None:
        self.missed(Page(url, outcome))

    def missed(self, page: Page) -> None:
        had = self._catalog.get(page.url.href) is not None
        if page.outcome is Outcome.ERR_30X and self._leads_nowhere(page):
            kind = Refreshed.FAILED
        elif had and page.outcome is Outcome.ERR_30X:
            kind = Refreshed.MOVED
        elif Trait.SPARED in page.outcome.traits:
            kind = Refreshed.OTHER
        elif had and page.status in GONE:
            kind = Refreshed.GONE
        else:
            kind = Refreshed.FAILED
        self._note(page, kind, had=had)

    def _leads_nowhere(self, page: Page) -> bool:
        """Whether a redirect closes a circle or names no URL; its detail is a URL or says so."""
        if not page.detail.startswith("http"):
            return bool(page.detail)
        circle = {*self._catalog.chain(page.detail)}
        # The catalog knows redirects of earlier crawls, too.
        others = (self._account.kind(url) for url in circle - {page.url.href})
        if page.url.href not in circle or not _MOVED.issuperset(others):
            return False
        page.detail = circle_of(circle)
        return True

    def _note(self, page: Page, kind: Refreshed, *, had: bool) -> None:
        self._account.note(page, kind, had=had)
        self._ends[kind] += 1

    def stats(self) -> dict[str, object]:
        return {
            "pages": self._pages,
            "bytes": self._bytes,
            **{kind.value: self._ends[kind] for kind in _SHOWN},
            "rewritten": self._relinking.rewritten,
        }

    def cut(self) -> list[int]:
        self._catalog.commit()
        return [self._pages, self._tree.written, self._catalog.changes]

    def sync(self) -> None:
        """Do nothing: the catalog is synced with the pages."""

    def load(self, mark: list[int] | int) -> None:
        """Refuse the mark of a mirror in another folder, or of a plain mirror (a number)."""
        pages = mark if isinstance(mark, int) else mark[0]
        if pages and self._catalog.is_empty:
            raise UserError(
                f"{self._name}: the pages so far are not in a mirror with rewriteLinks here;"
                " resume with outputDir and rewriteLinks as they were, or start anew with --scratch"
            )

    def close(self) -> None:
        self._catalog.close()
        self._lock.close()
        os.close(self._root)

    def _take(self, page: Page) -> tuple[Refreshed, bool]:
        """Store a page; return what it is to the mirror, and whether that had an older copy."""
        old, entry = self._catalog.get(page.url.href), self._entry(page)
        self._catalog.note_change()
        known = False
        if old is None and (twin := self._twin(entry)) is not None:
            known = self._catalog.chain(entry.url)[0] == twin.url
            kind = self._account.kind(twin.url)
            # A twin that was not fetched in this refresh may be gone, and its file with it.
            if kind in FETCHED:
                self._catalog.move(entry.url, twin.url)
                return kind if known else Refreshed.NEW, False
        if old is not None and old.digest != entry.digest and self._may_be_start(page.url):
            self._gone.start_changed(page, old)
        is_same = old is not None and (old.digest, old.path) == (entry.digest, entry.path)
        if not is_same or not self._is_there(entry):
            if entry.form is not None:
                self._originals.write(entry.url, page.body)
            self._tree.write(entry.path, page.body, entry.modified)
        self._catalog.put(entry)
        if old is None:
            return Refreshed.UNCHANGED if known else Refreshed.NEW, False
        if old.path != entry.path:
            self._names.leave(old.path, entry.path)
        is_changed = old.digest != entry.digest
        return Refreshed.CHANGED if is_changed else Refreshed.UNCHANGED, True

    def _may_be_start(self, url: Url) -> bool:
        """Whether `url` is a seed, or what a URL redirects to, which may be a seed."""
        return url.via is None or self._catalog.chain(url.via)[0] == url.href

    def _entry(self, page: Page) -> Entry:
        form, kind = form_of(page), type_of(page)
        headers = [(n, v) for n, v in page.headers if n in _LASTING and (n in _OURS or _is_safe(v))]
        if kind != page.type:
            # Its label is a default of the server.
            headers = [(n, v) for n, v in headers if n != "content-type"]
            headers.append(("content-type", _relabelled(page, kind)))
        entry = Entry(
            page.url.href,
            "",
            headers,
            page.charset,
            digest_of(page.body),
            form and form.value,
            len(page.body),
        )
        return replace(entry, path=self._names.allotted(entry))

    def _twin(self, entry: Entry) -> Entry | None:
        """Return the page that has the plainest path of `entry`, if both have the same content.

        On most sites ``/`` and ``/index.html`` are the same page, and so are http and https.
        """
        twin = self._catalog.at(self._names.plainest(entry))
        is_same = twin is not None and (twin.digest, twin.form) == (entry.digest, entry.form)
        return twin if is_same else None

    # Refreshing a stored mirror.

    def begin(self) -> None:
        self._account.begin()
        self._catalog.commit()

    def conditions(self, url: str) -> list[str]:
        """Return header lines that ask for `url` only if it changed; none if it must be sent."""
        entry = self._catalog.get(url) if self._is_conditional else None
        if entry is None or not self._is_there(entry):
            return []
        values = dict(entry.headers)
        return [f"{ask}: {values[name]}" for name, ask in _CONDITIONS.items() if name in values]

    def unchanged(self, page: Page) -> None:
        """Turn a 304 into the stored page; if that is damaged, have the page fetched again."""
        entry = self._catalog.get(page.url.href) if self._is_conditional else None
        if entry is None:
            return
        body = self._stored_body(entry)
        if body is None:
            bare = [(name, value) for name, value in entry.headers if name not in _CONDITIONS]
            self._catalog.put(replace(entry, headers=bare, digest=b""))
            page.outcome = Outcome.EARLY_STOP
            return
        # Some servers send the type of an error page, or their default, with each 304.
        kept = [(name, value) for name, value in page.headers if name != "content-type"]
        sent = {name for name, _ in kept}
        page.headers = kept + [each for each in entry.headers if each[0] not in sent]
        page.body, page.outcome = body, Outcome.SUCCESS
        self._catalog.stay(entry.url)

    def moved(self, url: str, target: str) -> None:
        """Note a redirect: links to `url` will lead to the file of `target`."""
        self._catalog.move(url, target)

    def finish(self, *, complete: bool, left_out: Sequence[tuple[int, str]] = ()) -> Iterator[None]:
        """Find, and perhaps remove, pages that are gone; rewrite the links of the others."""
        yield from self._gone.steps(complete=complete)
        yield from self._front_page.steps(left_out)
        yield from self._relinking.steps()

    def _is_there(self, entry: Entry) -> bool:
        if entry.form is not None:
            return self._originals.has(entry.url)
        return self._tree.size(entry.path) == entry.size

    def _stored_body(self, entry: Entry) -> bytes | None:
        """Return the page as received; None if its file is missing or was changed.

        For a large file without links only the size is checked, and the result is empty.
        """
        if not self._is_there(entry):
            return None
        if entry.form is not None:
            body = self._originals.read(entry.url, entry.size)
        elif self._is_not_read(entry):
            return b""
        else:
            body = self._tree.read(entry.path, entry.size)
        return body if body is not None and digest_of(body) == entry.digest else None

    def _is_not_read(self, entry: Entry) -> bool:
        if self._reads_whole or entry.size <= _LARGE:
            return False
        page = Page(Url(entry.url, 0), Outcome.SUCCESS, 200, entry.headers)
        page.body = self._tree.read(entry.path, BEGINNING) or b""
        return not may_link(page)


def _relabelled(page: Page, kind: str) -> str:
    """The Content-Type of a page that is of the type `kind`."""
    charset = page.http_charset
    return (kind or "application/octet-stream") + (f"; charset={charset}" if charset else "")


def _is_safe(value: str) -> bool:
    """Whether `value` is safe to be sent back in a request header."""
    return len(value) <= _LONGEST_HEADER and value.isprintable() and value.isascii()
