"""Links packed in buffers, and the lists that are made of them."""

from hypothesis import given
from hypothesis import strategies as st

from larbinpy.parse import Kind, Link
from larbinpy.parse.link import NOFOLLOW, PackedLinks, followed, urls, with_kinds

URLS = st.text(st.characters(min_codepoint=33, max_codepoint=126), max_size=9)
LINKS = st.lists(st.builds(Link, URLS, st.sampled_from(Kind), st.booleans()), max_size=9)
SOME = [Link("http://a.test/", Kind.PAGE), Link("http://b.test/x", Kind.IMAGE, True)]


@given(LINKS, st.slices(9))
def test_packed_links_are_a_sequence_of_links(links: list[Link], part: slice) -> None:
    packed = PackedLinks.pack(links)
    assert list(packed) == [packed[k] for k in range(len(packed))] == links
    assert packed[part] == links[part]
    assert packed.urls() == [link.url for link in links]


@given(LINKS, st.sets(st.sampled_from(Kind)))
def test_a_choice_of_packed_links(links: list[Link], kinds: set[Kind]) -> None:
    packed = PackedLinks.pack(links)
    assert list(packed.select(with_kinds(kinds))) == [link for link in links if link.kind in kinds]
    unendorsed = packed.select(bytes(range(NOFOLLOW, 2 * NOFOLLOW)))
    assert list(unendorsed) == [link for link in links if link.nofollow]


@given(LINKS)
def test_nofollow_is_about_links_and_not_about_what_a_page_shows(links: list[Link]) -> None:
    needed = [link for link in links if link.kind is not Kind.PAGE]
    for each in (links, PackedLinks.pack(links)):
        endorsed = followed(each, nofollow=False, needed=False)
        assert list(endorsed) == [link for link in links if not link.nofollow]
        either = [link for link in links if not link.nofollow or link.kind is not Kind.PAGE]
        assert list(followed(each, nofollow=False, needed=True)) == either
        assert list(followed(each, nofollow=True, needed=True)) == needed
        assert list(followed(each, nofollow=True, needed=False)) == []


def test_the_urls_of_packed_and_other_links() -> None:
    for links in (SOME, PackedLinks.pack(SOME)):
        assert urls(links) == ["http://a.test/", "http://b.test/x"]


def test_the_representation_is_short() -> None:
    assert repr(PackedLinks.pack(SOME)) == "<PackedLinks 2>"
