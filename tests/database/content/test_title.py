"""`larbinpy.database.content.html`: the title among what calls itself one."""

import pytest

from larbinpy.database.content.html import Titles, chosen

URL = "http://www.example.test/a/page"


@pytest.mark.parametrize(
    ("titles", "expected"),
    [
        (Titles(URL, "One thing | Example"), "One thing"),
        (Titles(URL, "Example: One thing - Example"), "Example: One thing"),
        (Titles(URL, "One thing \u2014 The Site", site="The Site"), "One thing"),
        (Titles(URL, "The Site \u2022 View topic - One thing", site="The Site"), "One thing"),
        (Titles(URL, "\u7db2\u8def\u722c\u87f2_\u65b0\u805e"), "\u7db2\u8def\u722c\u87f2"),
        (Titles(URL, "well-known state-of-the-art"), "well-known state-of-the-art"),
        # A title is cut at names of the site alone, and at bars.
        (Titles(URL, "Phares : ce que disent les gardiens"), "Phares : ce que disent les gardiens"),
        (Titles(URL, "Chapter 3 - Loops and lists"), "Chapter 3 - Loops and lists"),
        (Titles(URL, "Kraken \u2013 ein Tier der Tiefe"), "Kraken \u2013 ein Tier der Tiefe"),
        (Titles(URL, "Kraken \u2013 ein Tier - Example | News"), "Kraken \u2013 ein Tier"),
        # Links to the home page have the name of the site.
        (Titles(URL, "Cranes - Tales", headings=["Tales"], home=["Home", "Tales"]), "Cranes"),
        (Titles(URL, "Tales: Cranes - Tales", home=["Tales"]), "Tales: Cranes"),
        # A heading whose words are in <title>, but not the name of the site.
        (Titles(URL, "A - B - Example", headings=["Example", "A - B"]), "A - B"),
        (Titles(URL, "Thing | Example", headings=["Thing | Example"]), "Thing"),
        # The name of the host, which is the page's, too.
        (Titles("http://xtra.test/p", "Xtra | My Site", headings=["Xtra"]), "Xtra"),
        (Titles("http://a.test/", "Xtra | My Site", headings=["Xtra"]), "Xtra"),
        # The beginning of its name, and its end.
        (
            Titles("http://www.xtrathings.test/p", "Xtra | A story", headings=["Hi", "Yo"]),
            "A story",
        ),
        (
            Titles("http://www.thingsxtra.test/p", "A story - Xtra", headings=["Hi", "Yo"]),
            "A story - Xtra",
        ),
        # The same letters: the heading lost a blank.
        (Titles(URL, "Full Stack Jobs", headings=["FullStack Jobs"]), "Full Stack Jobs"),
        # The only heading, unless two others agree.
        (Titles(URL, "Buy chairs cheap", headings=["Mesh chairs"]), "Mesh chairs"),
        (Titles(URL, "Buy it - Example", "Buy it", headings=["New!"]), "Buy it"),
        (Titles(URL, "Buy it", headings=["New!", "Sale!"]), "Buy it"),
        (Titles(URL, "A long story", headings=["A long story (site.test) 139"]), "A long story"),
        # The card where there is no heading.
        (Titles(URL, "Docs: 18: SELECT", "SELECT"), "SELECT"),
        # A home page.
        (Titles("http://example.test/", "Example - Things", headings=["Hi"]), "Example - Things"),
        (Titles("http://example.test/?a=1", "We make things - Example"), "We make things"),
        (Titles("http://example.test/", "Home - Example"), "Home - Example"),
        (Titles(URL), ""),
        (Titles(URL, "Example", headings=["Example"]), "Example"),
        (Titles(URL, headings=["Only"]), "Only"),
        # A text without a word names nothing.
        (Titles(URL, "One thing - !"), "One thing"),
        (Titles(URL, "One thing", headings=["..."]), "One thing"),
    ],
)
def test_the_title_is_chosen(titles: Titles, expected: str) -> None:
    assert chosen(titles) == expected
