"""Readable names and names for Windows: each URL its own, and nothing that a disk refuses."""

import re
import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from larbinpy.output.mirror.paths import MAX_NAME, Spelling, browsable, locate
from larbinpy.url import canonical
from tests.output.mirror.test_paths import check_injective, near_urls, own_path

READABLE = {
    "/caf%C3%A9": "h/caf\u00e9",
    "/%E6%97%A5%E6%9C%AC/?q=%E8%AA%9E": "h/\u65e5\u672c/index.html?q=\u8a9e",
    "/%F0%9F%A6%80": "h/\U0001f980",
    # Not shown: the same after NFC as another name, not UTF-8, controls, marks of direction,
    # spaces, and code points that are not assigned.
    "/e%CC%81": "h/e%CC%81",
    "/%E2%84%AB": "h/%E2%84%AB",
    "/%E9": "h/%E9",
    "/%C3%A9%E9": "h/%C3%A9%E9",
    "/%C2%85": "h/%C2%85",
    "/%E2%80%AEgnp": "h/%E2%80%AEgnp",
    "/%E2%80%8B": "h/%E2%80%8B",
    "/%E3%80%80": "h/%E3%80%80",
    "/%ED%A0%80": "h/%ED%A0%80",
    "/%CD%B8": "h/%CD%B8",
    # ASCII stays as it is spelled.
    "/a%20b%2F": "h/a%20b%2F",
}

FOR_WINDOWS = {
    "http://h:8080/a": "h+8080/a",
    "http://h/a:b*c|d": "h/a#3Ab#2Ac#7Cd",
    "http://h/a?b=c?d": "h/a#3Fb=c#3Fd",
    "http://h/a./b.": "h/a#2E/b#2E",
    "http://h/CON": "h/#43ON",
    "http://h/aux.html": "h/#61ux.html",
    "http://h/lpt1.tar.gz/com0": "h/#6Cpt1.tar.gz/#63om0",
    "http://con/console": "#63on/console",
    "http://h/conx": "h/conx",
    "http://[::1]:81/": "[++1]+81/index.html",
    "http://h/%C3%A9": "h/%C3%A9",
}


@pytest.mark.parametrize(("path", "shown"), READABLE.items())
def test_percent_encoded_characters_are_shown_if_that_is_safe(path: str, shown: str) -> None:
    url = f"http://h{path}"
    assert canonical(url) == url
    assert locate(url, Spelling.UNICODE).plain == shown


@pytest.mark.parametrize(("url", "path"), FOR_WINDOWS.items())
def test_windows_takes_the_names(url: str, path: str) -> None:
    assert canonical(url) == url
    assert locate(url, Spelling.WINDOWS).plain == path


_LETTERS = ["\u00e9", "e\u0301", "\u212b", "\u00c5", "\u65e5", "\u202e", "\u200d", "\u0130", "\xad"]
_ODD = ["con", "NUL.x", "a.", ":", "*", "|", "<", '"', "+", "%3A", "%22", "\u0345", "\U0001f980"]


@st.composite
def odd_urls(draw: st.DrawFn) -> str:
    parts = st.text(st.sampled_from("".join(_LETTERS) + "aA.%E9:*?"), max_size=5)
    pieces = st.one_of(parts, st.sampled_from(_LETTERS + _ODD), st.just("\u65e5" * 100))
    path = "/".join(draw(st.lists(pieces, max_size=4)))
    host = draw(st.sampled_from(["h", "h:81", "h+81", "con", "[::1]:81"]))
    return canonical(f"{draw(st.sampled_from(['http', 'https']))}://{host}/{path}")


@given(st.lists(st.one_of(odd_urls(), near_urls()), min_size=2, max_size=12))
@example(["http://h/%E9", "http://h/%C3%A9", "http://h/%c3%a9", "http://h/e%CC%81"])
@example(["http://h+81/", "http://h:81/", "https://h:81/"])
@example(["http://h/con", "http://h/%63on", "http://h/a?", "http://h/a%3F"])
def test_two_urls_never_share_a_name(urls: list[str]) -> None:
    for spelling in Spelling:
        check_injective(urls, spelling)


@given(
    st.one_of(
        odd_urls(), near_urls(), st.text(max_size=60).map(lambda t: canonical("http://h/" + t))
    )
)
def test_names_are_what_a_disk_takes(url: str) -> None:
    for spelling in Spelling:
        place = locate(url, spelling)
        paths = {place.plain, own_path(place), *browsable(url, "text/html", spelling)}
        for part in (part for path in paths for part in path.split("/")):
            assert 0 < len(part.encode()) <= MAX_NAME
            assert part not in {".", ".."}
            assert part.isprintable()
            assert "\\" not in part
            assert unicodedata.is_normalized("NFC", part)
            if spelling is Spelling.WINDOWS:
                assert not set(part) & set('<>:"|?*')
                assert part[-1] not in ". "
                assert not re.match(r"(?i)(con|prn|aux|nul|com\d|lpt\d)(\.|$)", part)


@given(st.one_of(odd_urls(), near_urls()))
def test_names_in_lower_case_fit_too(url: str) -> None:
    """Some letters are longer in lower case."""
    for spelling in Spelling:
        for path in browsable(url, "text/html", spelling, lower_case=True):
            assert max(len(part.encode()) for part in path.split("/")) <= MAX_NAME
            assert path == path.lower()


def test_a_long_name_is_cut_between_characters() -> None:
    url = "http://h/" + "%E6%97%A5" * 90
    name = locate(url, Spelling.UNICODE).name
    assert name.startswith("\u65e5" * 70)
    assert len(name.encode()) <= MAX_NAME
    # As many characters as fit are shown: their escapes would take three times as long.
    assert locate("http://h/" + "%E6%97%A5" * 85, Spelling.UNICODE).name == "\u65e5" * 85
