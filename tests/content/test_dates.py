"""`larbinpy.content.dates`: dates as pages spell them."""

import pytest
import turbohtml
from hypothesis import given
from hypothesis import strategies as st

from larbinpy.content.dates import from_mail, in_tree, iso

LATEST = "2026-11-24"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2025-06-13", "2025-06-13"),
        ("2025-6-3", "2025-06-03"),
        ("2025-06-13T08:05:00Z", "2025-06-13T08:05:00Z"),
        ("2025-06-13T08:05+0000", "2025-06-13T08:05:00Z"),
        ("2025-06-13T22:05:09.123-07:00", "2025-06-13T22:05:09-07:00"),
        ("2025-06-13 22:05:09", "2025-06-13"),
        ("2018-06-08 09:28:03Z", "2018-06-08T09:28:03Z"),
        ("June 3rd, 2025", "2025-06-03"),
        ("Posted on 3 Sept. 2025 by A", "2025-09-03"),
        ("2025/06/13", "2025-06-13"),
        ("20250613", "2025-06-13"),
        ("2025\u5e746\u670813\u65e5", "2025-06-13"),
        ("13.06.2025", "2025-06-13"),
        ("06/13/2025", "2025-06-13"),
        # The third of June, or the sixth of March.
        ("03/06/2025", None),
        ("2025-13-01", None),
        ("1994-12-31", None),
        ("2026-11-24T00:00:00Z", "2026-11-24T00:00:00Z"),
        ("2026-11-25", None),
        ("yesterday", None),
        ("", None),
    ],
)
def test_dates_are_read(text: str, expected: str | None) -> None:
    assert iso(text, LATEST) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Mon, 23 Nov 2026 08:00:00 GMT", "2026-11-23T08:00:00Z"),
        ("Mon, 23 Nov 2026 08:00:00 +0100", "2026-11-23T08:00:00+01:00"),
        ("2026-11-23", "2026-11-23"),
        ("Mon, 99 Nov 2026 08:00:00 GMT", None),
        ("nonsense", None),
    ],
)
def test_dates_of_mail_are_read(text: str, expected: str | None) -> None:
    assert from_mail(text, LATEST) == expected


def test_elements_show_dates() -> None:
    tree = turbohtml.parse("<p><time datetime=2025-06-13>then</time><p>In 2020 we said")
    assert in_tree(tree, LATEST) == "2025-06-13"
    assert in_tree(turbohtml.parse("<p>On June 13, 2025 we said"), LATEST) is None


@given(st.text(st.characters(codec="utf-8")) | st.from_regex(r"[\dTZ:/. +-]{0,40}"))
def test_nothing_raises(text: str) -> None:
    for read in (iso, from_mail):
        found = read(text, LATEST)
        assert found is None or "1995" <= found[:10] <= LATEST
