"""The experiments with searching: generated pages, times, known pages."""

from pathlib import Path

from experiments import searchpages, searchscores, searchtimes

from larbinpy.database.opening import open_finder
from tests.support.suites import suite


def test_generated_pages_are_a_sound_database_that_answers_queries(tmp_path: Path) -> None:
    texts = searchpages.Texts(suite("main-text").parent)
    file = tmp_path / "made.db"
    searchpages.make(file, 300, texts, lambda made: None)
    finder = open_finder(str(file))
    assert finder.counts()["pages"] == 300
    finder.close()
    times = searchtimes.ask(file, texts, 1)
    assert "| all |" in searchtimes.table(times)
    assert {asked.kind for seconds, asked, cut in times if cut} == set()


def test_pages_are_found_by_titles_and_texts_of_links(tmp_path: Path) -> None:
    for number, name in enumerate(("rivers", "mountains")):
        (tmp_path / f"{number}.html").write_text(
            f"<title>All {name}</title><p>About {name} and more.<p><a href={1 - number}.html>"
            f"The other page than {name}</a>"
        )
    file = tmp_path / "known.db"
    searchscores.fill(file, searchscores.files(tmp_path, ()))
    scores = dict(searchscores.known(file, "", 10, 1))
    assert scores["titles"] == (2, 1.0, 1.0, 1.0)
    assert scores["texts of links"] == (2, 1.0, 1.0, 1.0)
