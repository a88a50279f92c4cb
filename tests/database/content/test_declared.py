"""`larbinpy.database.content.declared`: which of several declarations counts."""

import pytest

from larbinpy.database.content import Content
from larbinpy.database.content.declared import Declared


def declared(*metas: tuple[str, str]) -> Content:
    """What a page says with these names and contents of `<meta>`."""
    found = Declared()
    for name, content in metas:
        found.meta({"name": name, "content": content}.get)
    out = Content()
    found.fill(out, "2026-09-22")
    return out


def test_the_first_of_a_name_counts() -> None:
    found = Declared()
    for title in ("The page", "A widget further down"):
        found.meta({"property": "og:title", "content": title}.get)
    assert found.card == "The page"
    assert declared(("author", "A. Writer"), ("author", "W. Idget")).author == "A. Writer"
    assert declared(("date", "2026-06-13"), ("date", "2026-07-01")).published == "2026-06-13"


def test_json_ld_and_microdata_declare_dates_and_numbers() -> None:
    found = Declared()
    found.script('{"@type": "Article", "dateModified": "2026-07-01", "dateCreated": "2026-06-13"}')
    for name, content in (("commentCount", "12"), ("interactionCount", "1,200")):
        found.meta({"itemprop": name, "content": content}.get)
    out = Content()
    found.fill(out, "2026-09-22")
    assert (out.published, out.modified) == ("2026-06-13", "2026-07-01")
    assert (out.comments, out.clicks) == (12, 1200)


def test_an_empty_declaration_is_none() -> None:
    assert declared(("author", ""), ("author", "A. Writer")).author == "A. Writer"


def test_the_more_reliable_of_two_names_counts() -> None:
    found = declared(("byl", "By an agency"), ("author", "A. Writer"))
    assert found.author == "A. Writer"
    found = declared(("date", "2026-07-01"), ("article:published_time", "2026-06-13"))
    assert found.published == "2026-06-13"


@pytest.mark.parametrize(
    "profile",
    [
        "https://www.facebook.com/a.writer",
        "http://social.test/@writer",
        "www.social.test/writer",
        "@writer",
    ],
)
def test_the_address_of_a_profile_is_no_author(profile: str) -> None:
    assert declared(("article:author", profile)).author == ""
    found = declared(("article:author", profile), ("dc.creator", "By A. Writer"))
    assert found.author == "A. Writer"
