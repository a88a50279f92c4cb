"""The experiments with searching: generated pages, times, known pages, crawled pages."""

import os
import shutil
from pathlib import Path

import pytest
from experiments import searchcrawled, searchpages, searchscores, searchtimes

from larbinpy.database.finder import DatabaseFinder
from tests.support.suites import suite

needs_nginx = pytest.mark.skipif(
    shutil.which("nginx", path=f"{os.defpath}:/usr/sbin") is None, reason="nginx is not installed"
)


def test_generated_pages_are_a_sound_database_that_answers_queries(tmp_path: Path) -> None:
    texts = searchpages.Texts(suite("main-text").parent)
    file = tmp_path / "made.db"
    searchpages.make(file, 300, texts, lambda made: None)
    finder = DatabaseFinder(str(file))
    assert finder.counts()["pages"] == 300
    finder.close()
    times = searchtimes.ask(file, texts, 1)
    assert "| all |" in searchtimes.table(times)
    assert {answered.asked.kind for answered in times if answered.cut} == set()


def test_pages_are_found_by_titles_and_texts_of_links(tmp_path: Path) -> None:
    for number, name in enumerate(("rivers", "mountains")):
        (tmp_path / f"{number}.html").write_text(
            f"<title>All {name}</title><p>About {name} and more.<p><a href={1 - number}.html>"
            f"The other page than {name}</a>"
        )
    file = tmp_path / "known.db"
    searchscores.fill(file, searchscores.files(tmp_path, ()))
    with searchscores.asking(file) as ask:
        scores = dict(searchscores.known(file, searchscores.SITE, 10, 1, ask))
    assert scores["titles"] == (2, 1.0, 1.0, 1.0)
    assert scores["texts of links"] == (2, 1.0, 1.0, 1.0)


@needs_nginx
def test_crawled_pages_are_asked_for_by_the_command(tmp_path: Path) -> None:
    root = tmp_path / "root"
    (root / "en").mkdir(parents=True)
    for number, name in enumerate(("rivers", "mountains")):
        (root / f"en/{number}.html").write_text(
            f"<title>All {name}</title><p>About {name} and more.<p><a href={1 - number}.html>"
            f"The other page than {name}</a>"
        )
    file = tmp_path / "it.db"
    searchcrawled.crawl(file, root, "en")
    ask = searchcrawled.command(file)
    site = searchcrawled.site_of(file)
    assert ask("about mountains")[0] == f"{site}en/1.html"
    assert ask("valleys") == []
    scores = dict(searchscores.known(file, site, 10, 1, ask))
    assert scores["titles"] == (2, 1.0, 1.0, 1.0)


@needs_nginx
def test_substrings_of_crawled_pages_are_found(tmp_path: Path) -> None:
    texts = ["网络爬虫抓取网页。", "2018年的<b>数据库</b>", "网页,数据"]
    file = tmp_path / "it.db"
    searchcrawled.crawl_texts(file, texts)
    recall = searchcrawled.recall(file, texts, 40, 3)
    assert recall.substrings == 40 <= recall.pages == recall.found
