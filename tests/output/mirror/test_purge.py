"""What is removed from a mirror, and why nothing is: the decisions, without a crawl."""

import errno
import os
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from larbinpy.output.mirror.catalog import NAME, Catalog, Entry, Refreshed, digest_of
from larbinpy.output.mirror.gone import GonePages, Removal, Unasked, failed_starts
from larbinpy.output.mirror.tree import Originals, Tree
from larbinpy.page import Outcome, Page
from larbinpy.storage.files import open_folder
from larbinpy.url import Url

START = "http://h/"
NEW, CHANGED, UNCHANGED, GONE, UNLINKED, MOVED, FAILED, OTHER = Refreshed
BODY = b"as it came"


class Mirror:
    """A mirror whose pages and account the test makes."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._folder = open_folder(root)
        self.catalog = Catalog(root)
        self.account = self.catalog.account
        self.tree = Tree(self._folder, lambda path: None)

    def close(self) -> None:
        self.catalog.close()
        os.close(self._folder)

    def put(self, url: str, body: bytes = BODY, form: str | None = None, type: str = "") -> str:
        """Store a page; return its file."""
        path = f"h/{url.rpartition('/')[2] or 'index'}"
        headers = [("content-type", type)] if type else []
        self.tree.write(path, body)
        self.catalog.put(Entry(url, path, headers, None, digest_of(body), form, len(body)))
        return path

    def note(
        self, url: str, kind: Refreshed, *, seed: bool = False, status: int = 200, had: bool = True
    ) -> None:
        """Note how a URL ended in this refresh."""
        page = Page(Url(url, 1, via=None if seed else START), Outcome.SUCCESS, status)
        self.account.note(page, kind, had=had)

    def purge(self, *, complete: bool = True, purge: bool = True) -> str:
        """Remove what is gone; return why nothing is."""
        gone = GonePages(self.catalog, self.tree, Originals(self.tree), purge=purge)
        for _ in gone.steps(complete=complete):
            pass
        return self.account.refusal

    def files(self) -> set[str]:
        return {path.name for path in (self.root / "h").iterdir()}


@pytest.fixture
def mirror(tmp_path: Path) -> Iterator[Mirror]:
    made = Mirror(tmp_path)
    yield made
    made.close()


def refreshed(mirror: Mirror, gone: Iterable[str], kept: int = 0) -> None:
    """A start page that came, pages that are 404, and some that came."""
    mirror.put(START)
    mirror.note(START, CHANGED, seed=True)
    for url in gone:
        mirror.put(url)
        mirror.note(url, GONE, status=404)
    for number in range(kept):
        mirror.put(f"{START}kept{number}")
        mirror.note(f"{START}kept{number}", UNCHANGED)


# What is removed.


def test_what_is_gone_is_removed(mirror: Mirror) -> None:
    refreshed(mirror, [f"{START}a", f"{START}b"], kept=1)
    assert mirror.purge() == ""
    assert mirror.files() == {"index", "kept0"}
    assert mirror.account.counts()["purged"] == 2
    assert mirror.catalog.purging() == []
    assert mirror.catalog.get(f"{START}a") is None


@pytest.mark.parametrize(
    ("complete", "purge", "why"),
    [(True, False, ""), (False, True, "the crawl did not come to its end")],
)
def test_nothing_is_removed_unless_asked_and_complete(
    mirror: Mirror, complete: bool, purge: bool, why: str
) -> None:
    refreshed(mirror, [f"{START}a"], kept=1)
    assert mirror.purge(complete=complete, purge=purge) == why
    assert mirror.files() == {"index", "a", "kept0"}


def test_pages_of_a_host_of_which_nothing_comes_stay(mirror: Mirror) -> None:
    refreshed(mirror, [f"{START}a"], kept=1)
    mirror.put("http://down/b")
    mirror.put("http://down/c")
    mirror.note("http://down/b", GONE, status=404)
    mirror.note("http://down/c", FAILED, status=503)
    mirror.purge()
    assert mirror.files() == {"index", "kept0", "b", "c"}


@pytest.mark.parametrize(
    ("form", "written", "now", "why"),
    [
        (None, b"", BODY, ""),
        (None, b"", b"the user's", "it is not as larbinpy wrote it"),
        (None, b"", BODY + b"+", "it is not as larbinpy wrote it"),
        ("html", b"with links", b"with links", ""),
        ("html", b"with links", BODY, ""),
        ("html", b"with links", b"the user's", "it is not as larbinpy wrote it"),
        ("html", b"", b"with links", "a kill left it without a note of its content"),
    ],
)
def test_a_file_that_is_not_as_it_was_written_stays(
    mirror: Mirror, form: str | None, written: bytes, now: bytes, why: str
) -> None:
    refreshed(mirror, [], kept=3)
    url = f"{START}a"
    path = mirror.put(url, form=form)
    mirror.note(url, GONE, status=404)
    if written:
        mirror.catalog.note_written(url, written)
    mirror.tree.write(path, now)
    mirror.purge()
    assert (path in [name for name, _ in mirror.account.spared(9)]) is bool(why)
    assert all(text.startswith(why) for _, text in mirror.account.spared(9))
    assert ("a" in mirror.files()) is bool(why)
    # Without a note it stays in the catalog, until its links are rewritten.
    assert (mirror.catalog.get(url) is not None) is ("without a note" in why)


def test_what_a_kill_left_is_removed_at_the_next_start(mirror: Mirror) -> None:
    refreshed(mirror, [])
    path = mirror.put(f"{START}a")
    mirror.catalog.purge(f"{START}a", [path])
    # The name of the other belongs to a page that came since.
    other = mirror.put(f"{START}b")
    mirror.catalog.base.write("INSERT INTO purged VALUES (?, ?)", other, "http://h/x")
    Removal(mirror.catalog, mirror.tree)
    assert mirror.files() == {"index", "b"}
    assert mirror.catalog.purging() == []


def test_what_a_page_that_was_not_asked_for_links_to_stays_with_it(mirror: Mirror) -> None:
    """As that of a page that failed: nobody has said that they are gone."""

    def linking(url: str, *targets: str) -> None:
        body = "".join(f"<a href={target}>x</a>" for target in targets).encode()
        mirror.put(url, body, form="html")
        Originals(mirror.tree).write(url, body)

    linking(START, "/one")
    mirror.note(START, UNCHANGED, seed=True)
    linking(f"{START}one", "/two")
    linking(f"{START}two", "/three")
    linking(f"{START}three")
    linking(f"{START}alone", "/alone")
    assert mirror.purge() == ""
    assert {"index", "one", "two", "three"} <= mirror.files()
    assert mirror.account.kind(f"{START}alone") is UNLINKED
    assert mirror.account.counts()["gone"] == 1


@pytest.mark.parametrize("type", ["application/rss+xml", "application/octet-stream"])
def test_what_a_feed_links_to_stays(mirror: Mirror, type: str) -> None:
    """Its links are not rewritten, so its file is the page as it came; its bytes say that it is
    one."""
    refreshed(mirror, [], kept=3)
    entries = "".join(f"<item><link>{START}{name}</link></item>" for name in ("one", "two"))
    feed = f"<?xml version='1.0'?><rss><channel>{entries}</channel></rss>".encode()
    mirror.put(f"{START}feed", feed, type=type)
    mirror.note(f"{START}feed", UNCHANGED)
    for name in ("one", "two", "three"):
        mirror.put(f"{START}{name}")
    assert mirror.purge() == ""
    assert {"one", "two", "feed"} <= mirror.files()
    assert "three" not in mirror.files()


def test_the_original_beside_a_page_goes_with_it(mirror: Mirror) -> None:
    """keepOriginals has put it there; what is not as it was put stays."""
    refreshed(mirror, [f"{START}a", f"{START}b"], kept=1)
    mirror.tree.write("h/a#.orig", BODY)
    mirror.tree.write("h/b#.orig", BODY + b"+")
    mirror.purge()
    assert mirror.files() == {"index", "kept0", "b#.orig"}


def test_a_page_whose_file_is_lost_leaves_nothing_to_be_spared(mirror: Mirror) -> None:
    refreshed(mirror, [f"{START}a"], kept=1)
    (mirror.root / "h/a").unlink()
    assert mirror.purge() == ""
    assert mirror.account.spared(9) == []
    assert mirror.account.counts()["purged"] == 1


def test_what_could_not_be_removed_at_the_start_is_told_in_the_end(
    mirror: Mirror, monkeypatch: pytest.MonkeyPatch
) -> None:
    refreshed(mirror, [])
    path = mirror.put(f"{START}a")
    mirror.catalog.purge(f"{START}a", [path])

    def refuse(*_: object, **__: object) -> None:
        raise OSError(errno.EPERM, "not permitted")

    with monkeypatch.context() as patched:
        patched.setattr(os, "unlink", refuse)
        gone = GonePages(mirror.catalog, mirror.tree, Originals(mirror.tree), purge=True)
        mirror.account.begin()
        mirror.note(START, CHANGED, seed=True)
        for _ in gone.steps(complete=True):
            pass
    assert mirror.account.spared(9) == [(path, "not permitted")]
    assert mirror.catalog.purging() == [(path, f"{START}a")]


def test_a_page_is_forgotten_before_its_file_is_removed(
    mirror: Mirror, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a kill the catalog must not name a file that is gone."""
    refreshed(mirror, [f"{START}a"], kept=1)
    seen = []

    def refuse(tree: Tree, paths: Iterable[str]) -> dict[str, str]:
        if paths := list(paths):
            with closing(sqlite3.connect(mirror.root / NAME)) as other:
                seen.append(other.execute("SELECT url FROM page ORDER BY url").fetchall())
        return dict.fromkeys(paths, "refused")

    monkeypatch.setattr(Tree, "purge", refuse)
    mirror.purge()
    assert seen == [[(START,), (f"{START}kept0",)]]
    # It is noted that it was not removed after all.
    assert mirror.account.counts()["purged"] == 0
    assert ("h/a", "refused") in mirror.account.spared(9)
    assert ("h/a", f"{START}a") in mirror.catalog.purging()


def test_a_page_that_is_linked_after_all_is_not_gone(mirror: Mirror) -> None:
    """The search was interrupted and is begun again."""
    refreshed(mirror, [], kept=1)
    mirror.put(f"{START}a")
    mirror.purge(purge=False)
    assert mirror.account.kind(f"{START}a") is UNLINKED
    mirror.put(f"{START}page", b"<a href=/a>x</a>", form="html")
    Originals(mirror.tree).write(f"{START}page", b"<a href=/a>x</a>")
    mirror.note(f"{START}page", CHANGED)
    mirror.purge(purge=False)
    assert mirror.account.kind(f"{START}a") is None


def test_pages_that_stay_after_all_are_not_removed_again_and_again(mirror: Mirror) -> None:
    refreshed(mirror, names(5), kept=9)
    unasked = Unasked(mirror.catalog.base)
    assert unasked.going() == (5, 15)
    batches = list(unasked.batches_to_go(2))
    assert batches == [names(5)[:2], names(5)[2:4], names(5)[4:]]


# Why nothing is removed.


def names(count: int) -> list[str]:
    return [f"{START}{number}" for number in range(count)]


@pytest.mark.parametrize(
    ("going", "kept", "why"),
    [
        (10, 0, ""),
        (11, 10, ""),
        (11, 9, "11 of 21 files would be removed, more than half"),
    ],
)
def test_a_large_loss_is_refused(mirror: Mirror, going: int, kept: int, why: str) -> None:
    refreshed(mirror, names(going), kept=kept)
    assert mirror.purge() == why
    assert len(mirror.files()) == 1 + kept + (going if why else 0)


@pytest.mark.parametrize(
    ("emptied", "going", "why"),
    [
        (True, 3, ""),
        (True, 4, "http://h/ has no links any more, and 4 files would be removed"),
        (False, 4, ""),
    ],
)
def test_a_start_page_that_lost_its_links_is_not_trusted(
    mirror: Mirror, emptied: bool, going: int, why: str
) -> None:
    refreshed(mirror, names(going), kept=9)
    mirror.account.note_emptied(START, emptied=emptied)
    assert mirror.purge() == why


def test_seeds_of_earlier_refreshes_are_no_start_pages(mirror: Mirror) -> None:
    refreshed(mirror, [f"{START}a"], kept=1)
    mirror.account.begin()
    mirror.note(f"{START}kept0", UNCHANGED)
    assert mirror.purge() == "no start page was fetched"
    mirror.note("http://h/kept1", NEW, seed=True)
    assert mirror.purge() == ""


OTHER_PAGE = f"{START}other"


@pytest.mark.parametrize(
    ("kind", "moved", "of_other", "missing", "refused"),
    [
        (CHANGED, (), None, "", ""),
        (FAILED, (), None, "could not be fetched", "could not be fetched"),
        (GONE, (), None, "could not be fetched", "could not be fetched"),
        # A copy of another start page.
        (OTHER, (), None, "", ""),
        (OTHER, ((START, START),), None, "redirects to itself", "redirects to itself"),
        (
            OTHER,
            ((START, OTHER_PAGE),),
            FAILED,
            f"redirects to {OTHER_PAGE}, which could not be fetched",
            f"redirects to {OTHER_PAGE}, which could not be fetched",
        ),
        (OTHER, ((START, OTHER_PAGE),), UNCHANGED, "", ""),
        (MOVED, ((START, OTHER_PAGE),), UNCHANGED, "", ""),
        # It was known, and leads to a page that was not.
        (OTHER, ((START, OTHER_PAGE),), NEW, "", f"redirects to another page now, {OTHER_PAGE}"),
    ],
)
def test_a_start_page_must_be_the_one_that_it_was(
    mirror: Mirror,
    kind: Refreshed,
    moved: tuple[tuple[str, str], ...],
    of_other: Refreshed | None,
    missing: str,
    refused: str,
) -> None:
    mirror.note(START, NEW, seed=True)
    mirror.account.begin()
    mirror.note(START, kind, seed=True)
    for url, target in moved:
        mirror.catalog.move(url, target)
    if of_other is not None:
        mirror.note(OTHER_PAGE, of_other)
    assert list(failed_starts(mirror.catalog)) == ([f"{START} {missing}"] if missing else [])
    assert mirror.purge() == (f"{START} {refused}" if refused else "")


def test_a_start_page_that_is_new_may_lead_to_a_new_one(mirror: Mirror) -> None:
    mirror.note(START, OTHER, seed=True)
    mirror.catalog.move(START, OTHER_PAGE)
    mirror.note(OTHER_PAGE, NEW)
    assert mirror.purge() == ""


def test_a_copy_of_any_page_on_the_way_is_one(mirror: Mirror) -> None:
    mirror.put(f"{START}way")
    mirror.note(START, OTHER, seed=True)
    for url, target in ((START, f"{START}way"), (f"{START}way", OTHER_PAGE)):
        mirror.catalog.base.write("INSERT INTO moved VALUES (?, ?)", url, target)
    mirror.note(OTHER_PAGE, UNCHANGED)
    assert mirror.purge() == f"{START} redirects to another page now, {OTHER_PAGE}"


def test_a_start_page_whose_copy_is_there_has_moved(mirror: Mirror) -> None:
    mirror.put(START)
    mirror.note(START, NEW, seed=True)
    mirror.catalog.base.write("INSERT INTO moved VALUES (?, ?)", START, OTHER_PAGE)
    mirror.note(START, OTHER, seed=True)
    mirror.note(OTHER_PAGE, UNCHANGED)
    assert mirror.purge() == f"{START} redirects to another page now, {OTHER_PAGE}"


def test_a_damaged_page_may_link_to_anything(mirror: Mirror) -> None:
    refreshed(mirror, [], kept=3)
    mirror.put(f"{START}a")
    page = f"{START}page"
    mirror.put(page, form="html")
    mirror.note(page, UNCHANGED)
    why = f"the stored copy of {page} is damaged, so its links are not known"
    assert mirror.purge() == why
    assert "a" in mirror.files()


# Pages that redirect now.


@pytest.mark.parametrize(
    ("target", "status", "pages", "target_kind", "kind"),
    [
        (f"{START}new", 302, 1, NEW, MOVED),
        (f"{START}new", 302, 1, FAILED, OTHER),
        # Of several pages to one: a login, or the like.
        (f"{START}new", 302, 2, NEW, OTHER),
        (f"{START}new", 301, 2, NEW, MOVED),
        (f"{START}login", 302, 1, NEW, OTHER),
        (f"{START}login", 308, 1, NEW, MOVED),
        (f"{START}new?next=1", 307, 2, NEW, OTHER),
    ],
)
def test_what_redirects_is_gone_unless_it_leads_to_a_wall(
    mirror: Mirror,
    target: str,
    status: int,
    pages: int,
    target_kind: Refreshed,
    kind: Refreshed,
) -> None:
    refreshed(mirror, [], kept=9)
    urls = names(pages)
    for url in urls:
        mirror.put(url)
        mirror.note(url, MOVED, status=status)
        mirror.catalog.base.write("INSERT INTO moved VALUES (?, ?)", url, target)
    mirror.note(target, target_kind)
    mirror.purge()
    assert {mirror.account.kind(url) for url in urls} == {kind}
    assert ("0" in mirror.files()) is (kind is OTHER)
