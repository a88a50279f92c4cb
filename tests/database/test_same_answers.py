"""A file and a server give the same answers: hits, order, scores, numbers, missing words."""

from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from larbinpy.database.base import Finder, Wish
from larbinpy.database.preparation import Prepared
from larbinpy.database.search.query import Item, Query, parse
from larbinpy.database.writer import Writer
from larbinpy.loop.clock import clock
from tests.support.databasepages import prepared
from tests.support.databases import File, OnServer
from tests.support.mariadb import MariaDb
from tests.support.questions import item

#: Some in each word class of the segmenter, and characters that InnoDB takes for no letters.
TEXT = (
    "sea seas blue bluer a of x86 os.path.join C++ naïve Straße foo_bar e-mail "
    "网络 数据库 东京都 한국어 ภาษาไทย हिन्दी שלום café \U00010437\U00010400 \U0001f98a\U0001f98a "
    "\u2c65\u2c65 \u0180\u0180\u0180 ß\u1e9e \u02bbokina \ufb01ne \uff11\uff12"
)
WORDS = (*TEXT.split(), "w" * 90, "w" * 90 + "x", "爬虫 网络")
#: The kinds of terms.
FORMS = ("{}", "{}", "{}", '"{} {}"', "-{}", "{}*", "intitle:{}", "inurl:{}")
#: Seconds for a search: on a busy machine, too, none is cut.
LIMIT = 60.0
LANGUAGES = ("en", "de", "zh", "ja", None)


def pages(random: Random, number: int) -> list[Prepared]:
    def words(most: int) -> str:
        return " ".join(random.choices(WORDS, k=random.randrange(most + 1)))

    return [
        prepared(
            f"http://{random.choice('abc')}.test/{n}",
            f"{words(40)} {n}",
            title=words(4),
            headings=(words(3),),
            rest=words(10),
            lang=random.choice(LANGUAGES),
            at=f"2026-11-{random.randrange(1, 28):02}T00:00:00Z",
            links=tuple((f"http://a.test/{random.randrange(number)}", words(3)) for _ in range(3)),
        )
        for n in range(number)
    ]


@pytest.fixture(name="finders", scope="module")
def _finders(
    tmp_path_factory: pytest.TempPathFactory, mariadb: MariaDb
) -> Iterator[tuple[Finder, Finder]]:
    file = File(Path(tmp_path_factory.mktemp("same") / "it.db"))
    server = OnServer(mariadb, "same")
    made = pages(Random(17), 250)
    for where in (file.where, server.where):
        writer = Writer(where)
        for start in range(0, len(made), 50):
            writer.write(made[start : start + 50])
        while writer.tend():
            pass
        writer.close()
    both = file.finder(clock), server.finder(clock)
    yield both
    for finder in both:
        finder.close()


def check(finders: tuple[Finder, Finder], asked: Query, wish: Wish) -> None:
    one, other = (finder.search(asked, wish) for finder in finders)
    assert not one.cut and not other.cut, asked
    assert one.total == other.total, asked
    assert set(one.sites) == set(other.sites), asked
    assert set(one.langs) == set(other.langs), asked
    assert bool(one.missing) == bool(other.missing), asked
    scores = [{hit.url: hit.score for hit in found.hits} for found in (one, other)]
    assert scores[0].keys() == scores[1].keys(), asked
    if one.missing or asked.unwanted:
        # Pages have some of the words; FTS5 loses words of pages before unwanted ones.
        return
    assert scores[0] == pytest.approx(scores[1], rel=1e-6, abs=1e-9), asked
    if wish.sort == "date" or len(set(scores[0].values())) == len(scores[0]):
        assert list(scores[0]) == list(scores[1]), asked


@pytest.mark.parametrize("seed", range(40))
def test_typed_queries(finders: tuple[Finder, Finder], seed: int) -> None:
    random = Random(seed)
    for _ in range(5):
        terms = []
        for word in random.choices(WORDS, k=random.choice((1, 1, 2, 2, 3, 6))):
            form = random.choice(
                ("{}", "{}", '"{} {}"', "-{}", '-"{} {}"', "{}*", "intitle:{}", "inurl:{}")
            )
            part = word[: random.randrange(2, 4)] if form == "{}*" else word
            terms.append(form.format(part, random.choice(WORDS)))
        terms += random.choice(
            ([], [], ["site:a.test"], ["lang:de"], ["-site:b.test"], ["since:2026-11-15"])
        )
        asked = parse(" ".join(terms), finders[0].languages(), 1.8e9)
        sort = random.choice(("rank", "rank", "date"))
        check(finders, asked, Wish(n=300, sort=sort, facets=True, limit=LIMIT))


@pytest.mark.parametrize("seed", range(20))
def test_phrases_of_any_words_and_beginnings(finders: tuple[Finder, Finder], seed: int) -> None:
    random = Random(seed)

    def phrase() -> Item:
        text = " ".join(random.choices(WORDS, k=random.choice((1, 2, 3))))
        field = random.choice((None, None, "title", "url"))
        return item(text[: random.randint(1, len(text))] + random.choice(("", "*")), field)

    for _ in range(5):
        wanted = tuple(phrase() for _ in range(random.choice((1, 2, 4))))
        unwanted = tuple(phrase() for _ in range(random.choice((0, 0, 1, 2))))
        check(finders, Query(wanted, unwanted), Wish(n=300, limit=LIMIT))
