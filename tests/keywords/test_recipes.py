"""The recipes of docs/filtering.md, as they stand there, each as a whole crawl."""

import re
from pathlib import Path

import pytest

from tests.support.smallweb import Web
from tests.support.smallworld import World, Worlds

pytest_plugins = ["tests.support.smallcrawls"]
pytestmark = pytest.mark.slow

FILTERING = Path(__file__).parents[2] / "docs" / "filtering.md"
PDF = b"%PDF-1.7\n"


class Cook:
    """Crawls with the settings of a recipe."""

    def __init__(self, web: Web, crawl: Worlds) -> None:
        self._web = web
        self._crawl = crawl

    def __call__(self, beginning: str) -> World:
        """A crawl by the recipe whose introduction has this beginning."""
        part = FILTERING.read_text().partition("## Recipes")[2]
        found = re.search(rf"^{re.escape(beginning)}[^:]*:\n\n((?:    .*\n)+)", part, re.MULTILINE)
        assert found is not None, beginning
        lines = [line.strip() for line in found[1].splitlines()]
        seeds = [line.split("://")[1] for line in lines if line.startswith("startUrl")]
        # The web is not on port 80.
        port = f":{self._web.port}/"
        others = [line.replace("docs.test/", f"docs.test{port}") for line in lines]
        return self._crawl(*(o for o in others if not o.startswith("startUrl")), seeds=seeds)


@pytest.fixture
def cook(web: Web, crawl: Worlds) -> Cook:
    return Cook(web, crawl)


def test_one_folder(web: Web, cook: Cook) -> None:
    web.page("docs.test/guide/", "a.html", "deep/b.html", "/", "/guide.html", "//other.test/guide/")
    web.pages("docs.test/guide/a.html", "docs.test/guide/deep/b.html", "docs.test/")
    web.pages("docs.test/guide.html", "other.test/guide/")
    assert cook("Everything below one folder").fetched == {
        "docs.test/guide/",
        "docs.test/guide/a.html",
        "docs.test/guide/deep/b.html",
    }


def test_a_folder_without_another(web: Web, cook: Cook) -> None:
    web.page("docs.test/docs/", "new/", "old/", "older.html", "/blog/")
    web.page("docs.test/docs/new/", "/docs/old/x.html")
    web.pages("docs.test/docs/old/", "docs.test/docs/old/x.html", "docs.test/docs/older.html")
    web.pages("docs.test/blog/")
    assert cook("Everything below `/docs/`, but not").fetched == {
        "docs.test/docs/",
        "docs.test/docs/new/",
        "docs.test/docs/older.html",
    }


def test_one_folder_with_its_requisites(web: Web, cook: Cook) -> None:
    web.page("docs.test/guide/", "/", images=["/logo.png?v=2", "//cdn.test/a.png"])
    web.pages("docs.test/")
    web.file("docs.test/logo.png?v=2", b"png", "image/png")
    web.file("cdn.test/a.png", b"png", "image/png")
    assert cook("The same folder, with all images").fetched == {
        "docs.test/guide/",
        "docs.test/logo.png?v=2",
        "cdn.test/a.png",
    }


@pytest.fixture
def languages(web: Web) -> Web:
    folders = ("/en/", "/de/", "/fr-CA/a.html", "/js/", "/about.html", "/en/de/x.html")
    web.page("docs.test/", *folders, "/en/?lang=en", "/de/?lang=en", "/b?lang=de", "/c?page=2")
    for place in (*folders, "/en/?lang=en", "/de/?lang=en", "/b?lang=de", "/c?page=2"):
        web.pages(f"docs.test{place}")
    return web


IN_ENGLISH = {f"docs.test/{name}" for name in ("", "en/", "js/", "about.html", "en/de/x.html")}


@pytest.mark.parametrize("recipe", ["One language, on a site", "If you do not know them"])
def test_one_language_by_its_folder(languages: Web, cook: Cook, recipe: str) -> None:
    assert cook(recipe).fetched == IN_ENGLISH


def test_one_language_by_folder_and_parameter(languages: Web, cook: Cook) -> None:
    world = cook("Folder and parameter together")
    assert world.fetched == IN_ENGLISH | {"docs.test/en/?lang=en", "docs.test/c?page=2"}


def test_one_language_by_a_parameter(web: Web, cook: Cook) -> None:
    wanted = ["/a?lang=en", "/b?x=y&lang=en&z", "/c?page=2", "/d"]
    web.page("docs.test/", *wanted, "/a?lang=de", "/b?lang=english", "//other.test/?lang=en")
    for place in (*wanted, "/a?lang=de", "/b?lang=english"):
        web.pages(f"docs.test{place}")
    web.pages("other.test/?lang=en")
    world = cook("One language, named")
    assert world.fetched == {"docs.test/", *(f"docs.test{place}" for place in wanted)}


@pytest.fixture
def papers(web: Web) -> Web:
    """PDF files behind pages, with a name that does not say so, and on another host."""
    web.page("docs.test/", "/list/", "/a.pdf", images=["/logo.png"])
    web.page("docs.test/list/", "b.pdf", "download", "//other.test/c.pdf", "//other.test/")
    web.pages("other.test/")
    for place in ("docs.test/a.pdf", "docs.test/list/b.pdf", "docs.test/list/download"):
        web.file(place, PDF + place.encode(), "application/pdf")
    web.file("other.test/c.pdf", PDF, "application/pdf")
    return web


PAPERS = {"docs.test/a.pdf", "docs.test/list/b.pdf", "docs.test/list/download"}
PAGES = {"docs.test/", "docs.test/list/"}


def test_pdf_files_only(papers: Web, cook: Cook) -> None:
    world = cook("PDF files only")
    assert (world.fetched, world.kept) == (PAPERS | PAGES, PAPERS)
    assert len([name for name in world.files() if "/f" in name]) == len(PAPERS)
    assert "docs.test/logo.png" not in {request.place for request in world.asked}


def test_pdf_files_of_other_hosts(papers: Web, cook: Cook) -> None:
    world = cook("The same, with the PDF files on other hosts")
    assert world.kept == PAPERS | {"other.test/c.pdf"}
    assert world.fetched == world.kept | PAGES


def test_no_large_image(web: Web, cook: Cook) -> None:
    web.page("docs.test/", "/x.zip", images=["/small.png", "/large.png"])
    web.file("docs.test/x.zip", b"PK" * 2**20, "application/zip")
    web.file("docs.test/small.png", b"x" * 2**20, "image/png")
    web.file("docs.test/large.png", b"y" * (2**20 + 1), "image/png")
    world = cook("All types")
    assert world.fetched == {"docs.test/", "docs.test/x.zip", "docs.test/small.png"}
    assert world.outcomes["docs.test/large.png"] == "rejected"


def test_the_pages_of_a_sitemap(web: Web, cook: Cook) -> None:
    urls = "".join(f"<url><loc>{web.url(f'docs.test/{n}')}</loc></url>" for n in (1, 2))
    web.file("docs.test/sitemap.xml", f"<urlset>{urls}</urlset>".encode(), "application/xml")
    web.page("docs.test/1", "/3")
    web.pages("docs.test/2", "docs.test/3")
    world = cook("The pages of a sitemap")
    assert world.fetched == {"docs.test/sitemap.xml", "docs.test/1", "docs.test/2"}
