"""The query language."""

from larbinpy.search.query import Form, Item, parse

NOW = 1_795_420_800.0  # 2026-11-23T08:00:00Z


def test_words_phrases_and_operators() -> None:
    query = parse('foxes "brown dogs" -cat site:Example.com lang:german since:7d', ["en"], NOW)
    assert query.wanted == (
        Item("foxes", (Form(("foxes",)), Form(("fox",)))),
        Item("brown dogs", (Form(("brown", "dogs")), Form(("brown", "dog")))),
    )
    assert query.unwanted == (Item("cat", (Form(("cat",)),)),)
    assert (query.site, query.lang, query.since) == ("example.com", "de", "2026-11-16T08:00:00Z")
