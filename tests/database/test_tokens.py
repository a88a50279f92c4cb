"""`larbinpy.database.preparation`: the tokens of pages."""

from larbinpy.database.preparation import page_tokens
from larbinpy.database.search.segment import tokens


def test_words_of_a_url_are_those_that_people_read() -> None:
    url = "http://www.example.test/wiki/%E4%B8%AD%E6%96%87/caf%C3%A9/a%20b%FF"
    found = page_tokens(url, "", [], "", "", None)["url"].split()
    assert set(tokens("中文", None).split()) <= set(found)
    assert {"cafe", "a", "b"} <= set(found)
    assert not {"e4", "b8", "20", "c3"} & set(found)
