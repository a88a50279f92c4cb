"""The catalog of a mirror: which URL has which file."""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from larbinpy.output.mirror.catalog import (
    NAME,
    Catalog,
    Entry,
    MirrorNames,
    Refreshed,
    is_rewritten,
    spelling_of,
)
from larbinpy.output.mirror.paths import Spelling
from larbinpy.output.mirror.tree import Tree
from larbinpy.page import Outcome, Page
from larbinpy.storage.files import open_folder
from larbinpy.url import Url


def entry(number: int, form: str | None = "html") -> Entry:
    headers = [("content-type", "text/html"), ("link", "<x>"), ("link", "<y>")]
    url, path = f"http://h/{number}", f"h/{number}.html"
    return Entry(url, path, headers, "UTF-8", bytes([number]), form, number)


@pytest.fixture
def catalog(tmp_path: Path) -> Iterator[Catalog]:
    """A catalog that reads three rows at once."""
    made = Catalog(tmp_path, batch=3)
    yield made
    made.close()


def test_entries_are_found_by_url_and_by_path(catalog: Catalog) -> None:
    for number in range(3):
        catalog.put(entry(number))
    assert catalog.get("http://h/1") == catalog.at("h/1.html") == entry(1)
    assert catalog.get("http://h/9") is catalog.at("h/9.html") is None
    changed = replace(entry(1), charset=None, digest=b"new", size=7)
    catalog.put(changed)
    catalog.rename("http://h/2", "h/two")
    assert catalog.get("http://h/1") == changed
    assert catalog.at("h/two") == replace(entry(2), path="h/two")


def test_a_page_that_is_removed_is_forgotten_with_all_about_it(catalog: Catalog) -> None:
    catalog.put(entry(1))
    catalog.note_written("http://h/1", b"as rewritten")
    assert catalog.written("http://h/1") is not None
    catalog.purge("http://h/1", ["h/1.html"])
    assert (catalog.get("http://h/1"), catalog.written("http://h/1")) == (None, None)
    assert catalog.purging() == [("h/1.html", "http://h/1")]
    catalog.purged("h/1.html")
    assert catalog.purging() == []


@pytest.mark.parametrize("count", [0, 1, 3, 4, 6, 10])
def test_all_pages_come_in_the_order_of_their_arrival(catalog: Catalog, count: int) -> None:
    """In batches; pages without links to rewrite are left out."""
    numbers = [(number + 1) * 7 % 11 for number in range(count)]
    for number in numbers:
        catalog.put(entry(number, "html" if number % 3 else None))
    assert list(catalog.pages()) == [entry(number) for number in numbers if number % 3]


def test_links_follow_redirects_but_not_for_ever(catalog: Catalog) -> None:
    for hop in range(20):
        catalog.move(f"http://h/{hop}", f"http://h/{hop + 1}")
    catalog.put(entry(20))
    assert catalog.path_of("http://h/10") == "h/20.html"
    assert catalog.path_of("http://h/9") is None
    catalog.move("http://h/a", "http://h/b")
    catalog.move("http://h/b", "http://h/a")
    assert catalog.path_of("http://h/a") is None
    # The last page on the way counts.
    catalog.put(entry(15))
    assert catalog.path_of("http://h/9") == "h/15.html"
    assert catalog.path_of("http://h/14") == "h/15.html"


def test_a_change_is_on_the_disk_at_once(catalog: Catalog, tmp_path: Path) -> None:
    assert is_rewritten(tmp_path)
    catalog.note_change()
    assert not is_rewritten(tmp_path)
    catalog.put(entry(1))
    catalog.commit()
    assert not is_rewritten(tmp_path)
    catalog.note_rewritten()
    assert is_rewritten(tmp_path)


def test_pages_are_there_from_the_commit_on(catalog: Catalog, tmp_path: Path) -> None:
    """A kill between two of them leaves none."""

    def pages() -> int:
        with closing(sqlite3.connect(tmp_path / NAME)) as other:
            return int(other.execute("SELECT COUNT(*) FROM page").fetchone()[0])

    catalog.note_change()
    for number in range(2):
        catalog.put(entry(number))
        assert pages() == 0
    catalog.commit()
    assert pages() == 2


def test_a_link_goes_to_the_last_of_its_redirects_and_keeps_their_fragment(
    catalog: Catalog,
) -> None:
    catalog.move("http://h/a", "http://h/b#part")
    catalog.move("http://h/b", "http://h/1")
    catalog.put(entry(1))
    assert catalog.chain("http://h/a") == ["http://h/1", "http://h/b", "http://h/a"]
    assert catalog.place_of("http://h/a") == ("h/1.html", "part")
    assert catalog.place_of("http://h/b") == ("h/1.html", "")
    catalog.move("http://h/b", "http://h/1#other")
    assert catalog.place_of("http://h/a") == ("h/1.html", "other")


def test_a_link_goes_to_the_last_page_of_its_redirects_that_is_there(catalog: Catalog) -> None:
    for name, target in (("a", "b"), ("b", "c"), ("c", "d")):
        catalog.base.write(
            "INSERT INTO moved VALUES (?, ?)", f"http://h/{name}", f"http://h/{target}"
        )
    for number, name in enumerate("abc"):
        page = replace(entry(number), url=f"http://h/{name}")
        catalog.base.write("DELETE FROM page")
        catalog.base.write(
            "INSERT INTO page (url, path, headers, digest, size) VALUES (?, ?, '[]', '', 0)",
            *(page.url, page.path),
        )
        assert catalog.path_of("http://h/a") == page.path


def test_the_encoding_that_http_said_is_that_of_the_target(catalog: Catalog) -> None:
    catalog.put(replace(entry(1), headers=[("content-type", "text/plain; charset=KOI8-R")]))
    catalog.put(replace(entry(2), headers=[("content-type", "text/plain")]))
    catalog.move("http://h/a", "http://h/1")
    found = [catalog.charset_of(f"http://h/{name}") for name in ("a", "1", "2", "gone")]
    assert found == ["KOI8-R", "KOI8-R", None, None]


@pytest.mark.parametrize(
    ("path", "is_shared"),
    [("h/1.html", False), ("H/1.HTML", False), ("h/2.HTML", True), ("h/9.html", False)],
)
def test_a_path_is_shared_with_another_page_alone(
    catalog: Catalog, path: str, is_shared: bool
) -> None:
    catalog.put(entry(1))
    catalog.put(entry(2))
    assert catalog.is_shared(path, "http://h/1") is is_shared


def test_the_spelling_of_a_mirror_is_known_once_it_has_a_page(tmp_path: Path) -> None:
    assert spelling_of(tmp_path) is None
    assert is_rewritten(tmp_path)
    # To look is to leave no file.
    assert list(tmp_path.iterdir()) == []
    with closing(Catalog(tmp_path)) as catalog:
        assert catalog.spelling(Spelling.UNICODE) is Spelling.UNICODE
        assert spelling_of(tmp_path) is None
        catalog.put(entry(1))
        catalog.commit()
        assert spelling_of(tmp_path) is Spelling.UNICODE
        # It is that of the files that are there.
        assert catalog.spelling(Spelling.ASCII) is Spelling.UNICODE
    (tmp_path / NAME).write_bytes(b"no database" * 99)
    assert spelling_of(tmp_path) is None


@pytest.mark.parametrize(
    ("disposition", "form", "name"),
    [
        ("attachment; filename=report.pdf", None, "report.pdf"),
        ('attachment; filename="a (1) %.pdf"', None, "a%20(1)%20%25.pdf"),
        ("attachment; filename=page.html", "html", ""),
        ("", None, ""),
    ],
)
def test_a_page_is_saved_under_its_own_name_unless_links_are_rewritten(
    disposition: str, form: str | None, name: str
) -> None:
    headers = [("content-disposition", disposition)]
    assert replace(entry(1), headers=headers, form=form).download == name


@pytest.fixture
def names(catalog: Catalog, tmp_path: Path) -> Iterator[MirrorNames]:
    folder = open_folder(tmp_path)
    yield MirrorNames(catalog, folder, Spelling.ASCII, lower_case=False)
    os.close(folder)


def put_at(catalog: Catalog, names: MirrorNames, url: str, path: str) -> Entry:
    page = replace(entry(1), url=url, path=path, form="html")
    catalog.put(page)
    names.tree.write(path, b"x")
    return page


def test_a_page_gets_the_plainest_name_that_is_free(catalog: Catalog, names: MirrorNames) -> None:
    fresh = replace(entry(1), url="http://h/a", path="")
    assert names.allotted(fresh) == names.plainest(fresh) == "h/a.html"
    put_at(catalog, names, "http://h/a.html", "h/a.html")
    assert names.allotted(fresh) == "h/a#file.html"
    # Its own name is free for it, and a folder is in the way of any page.
    put_at(catalog, names, "http://h/a", "h/a#file.html")
    assert names.allotted(fresh) == "h/a#file.html"
    other = replace(fresh, url="http://h/b")
    names.tree.write("h/b.html/c", b"x")
    assert names.allotted(other) == "h/b#file.html"


def test_a_page_keeps_a_name_that_opens_and_no_other(catalog: Catalog, names: MirrorNames) -> None:
    page = put_at(catalog, names, "http://h/a", "h/other.html")
    assert names.allotted(page) == "h/other.html"
    page = put_at(catalog, names, "http://h/a", "h/a.png")
    assert names.allotted(page) == "h/a.html"
    # One that it was given because the plainest was not free.
    headers = [("content-type", "image/png")]
    image = Entry("http://h/i.jpeg", "h/i.jpeg#file", headers, None, b"x", None, 1)
    catalog.put(image)
    assert names.plainest(image) == "h/i.jpeg"
    assert names.allotted(image) == "h/i.jpeg#file"
    names.tree.write("h/c.html/d", b"x")
    folder = replace(page, url="http://h/c", path="h/c.html")
    catalog.put(folder)
    assert names.allotted(folder) == "h/c#file.html"
    assert names.free_of_folders(folder) == "h/c#file.html"
    assert catalog.path_of("http://h/c") == "h/c#file.html"
    assert names.free_of_folders(page) == "h/a.png"


def seen_from_outside(tmp_path: Path) -> tuple[list[str], list[tuple[str, str]]]:
    """The paths of pages and the files that leave, as a kill would leave them."""
    with closing(sqlite3.connect(tmp_path / NAME)) as other:
        paths = [path for (path,) in other.execute("SELECT path FROM page")]
        return paths, other.execute("SELECT old, new FROM leaving").fetchall()


def test_the_catalog_knows_first_which_file_leaves(
    catalog: Catalog, names: MirrorNames, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = []
    for step in ("remove", "rename"):

        def noted(*_: object, **__: object) -> None:
            seen.append(seen_from_outside(tmp_path))

        monkeypatch.setattr(Tree, step, noted)
    page = put_at(catalog, names, "http://h/a", "h/a.html")
    names.leave("h/old.html", page.path)
    assert seen.pop() == ([page.path], [("h/old.html", page.path)])
    assert catalog.leaving() == []
    names._make_way(page.path)
    assert seen.pop() == (["h/a#file.html"], [(page.path, "h/a#file.html")])
    assert catalog.leaving() == []


@pytest.mark.parametrize(
    ("there", "left"),
    [
        ({"old": "old"}, {"new": "old"}),
        ({"old": "old", "new": "new"}, {"new": "new"}),
        ({"old": "old", "new/x": "x"}, {"new/x": "x"}),
        ({"new": "new"}, {"new": "new"}),
    ],
)
def test_what_a_kill_left_of_a_renaming_is_finished(
    catalog: Catalog, tmp_path: Path, there: dict[str, str], left: dict[str, str]
) -> None:
    for name, text in there.items():
        (tmp_path / "h" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "h" / name).write_text(text)
    catalog.leave("h/old", "h/new")
    folder = open_folder(tmp_path)
    MirrorNames(catalog, folder, Spelling.ASCII, lower_case=False)
    os.close(folder)
    files = (path for path in (tmp_path / "h").rglob("*") if path.is_file())
    assert {str(path.relative_to(tmp_path / "h")): path.read_text() for path in files} == left
    assert catalog.leaving() == []


def test_a_file_leaves_until_it_is_gone(catalog: Catalog) -> None:
    catalog.leave("h/a", "h/a.html")
    catalog.leave("h/b", "h/b.html")
    assert sorted(catalog.leaving()) == [("h/a", "h/a.html"), ("h/b", "h/b.html")]
    catalog.left("h/a")
    assert catalog.leaving() == [("h/b", "h/b.html")]


def test_an_empty_catalog_leaves_no_file(tmp_path: Path) -> None:
    catalog = Catalog(tmp_path)
    catalog.note_change()
    catalog.close()
    assert list(tmp_path.iterdir()) == []
    catalog = Catalog(tmp_path)
    catalog.move("http://h/a", "http://h/b")
    catalog.close()
    catalog = Catalog(tmp_path)
    assert not catalog.is_empty
    catalog.close()


def test_a_catalog_of_failures_alone_stays(tmp_path: Path) -> None:
    with closing(Catalog(tmp_path)) as catalog:
        failed = Page(Url("http://h/", 1), Outcome.TIMEOUT)
        catalog.account.note(failed, Refreshed.FAILED, had=False)
    with closing(Catalog(tmp_path)) as catalog:
        assert catalog.account.counts()["failed"] == 1


def test_its_file_is_as_checkpoints_need_it(catalog: Catalog) -> None:
    """Each syncs the file system; and nothing is written elsewhere."""
    names = ("journal_mode", "synchronous", "temp_store")
    assert [catalog.base.first(f"PRAGMA {name}") for name in names] == [("wal",), (1,), (2,)]


def test_a_page_that_has_not_changed_is_no_change(catalog: Catalog) -> None:
    """Otherwise all links would be rewritten at each refresh."""
    catalog.put(entry(1))
    catalog.move("http://h/a", "http://h/1")
    changes = catalog.changes
    catalog.stay("http://h/1")
    catalog.move("http://h/a", "http://h/1")
    assert catalog.changes == changes
    catalog.stay("http://h/a")
    catalog.move("http://h/b", "http://h/1")
    assert catalog.changes == changes + 2


def test_links_lead_where_their_fold_does(tmp_path: Path) -> None:
    catalog = Catalog(tmp_path, fold=lambda url: url.partition("?")[0])
    catalog.put(entry(1))
    catalog.put(replace(entry(2), url="http://h/2?seed"))
    catalog.move("http://h/3", "http://h/1?moved")
    # Each redirects to the other with a parameter, and neither has a file.
    catalog.move("http://h/4", "http://h/5?x")
    catalog.move("http://h/5", "http://h/4?x")
    paths = {url: catalog.path_of(f"http://h/{url}") for url in ("1?x", "2?seed", "3?x", "4?y")}
    assert paths == {"1?x": "h/1.html", "2?seed": "h/2.html", "3?x": "h/1.html", "4?y": None}
    assert catalog.path_of("http://h/2") is None
    catalog.close()
