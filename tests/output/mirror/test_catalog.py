"""The catalog of a mirror: which URL has which file."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from larbinpy.output.mirror.catalog import Catalog, Entry, is_rewritten


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
    numbers = [number * 7 % 11 for number in range(count)]
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
