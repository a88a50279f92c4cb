"""The rules by which a page leaves the index."""

import pytest

from larbinpy.database.preparation import Gone
from larbinpy.database.writing.batch import Verdict, verdict

URL, OTHER = "http://a.example/", "http://a.example/other"
NOW, DAY_BEFORE, LATER = "2026-03-01T08:00:00Z", "2026-02-28T08:00:00Z", "2026-02-28T08:00:01Z"

KEEP, LEAVE, IGNORE = Verdict.KEEP, Verdict.LEAVE, Verdict.IGNORE


@pytest.mark.parametrize(
    ("status", "missing", "expected"),
    [
        (410, None, LEAVE),
        (404, None, KEEP),
        (404, LATER, KEEP),
        (404, DAY_BEFORE, LEAVE),
        (404, "2020-01-01T00:00:00Z", LEAVE),
        (301, None, KEEP),
        (301, DAY_BEFORE, LEAVE),
        (302, LATER, KEEP),
        (302, DAY_BEFORE, LEAVE),
        # A page that asks not to be indexed.
        (200, None, LEAVE),
        (304, None, LEAVE),
    ],
)
def test_verdicts_without_a_target(status: int, missing: str | None, expected: Verdict) -> None:
    assert verdict(Gone(URL, NOW, status), missing, has_target=False) is expected


@pytest.mark.parametrize(
    ("status", "expected"),
    [(301, LEAVE), (308, LEAVE), (300, KEEP), (302, KEEP), (303, KEEP), (307, KEEP)],
)
def test_only_redirects_for_good_count_at_once(status: int, expected: Verdict) -> None:
    assert verdict(Gone(URL, NOW, status, OTHER), None, has_target=True) is expected
    assert verdict(Gone(URL, NOW, status, OTHER), None, has_target=False) is KEEP


@pytest.mark.parametrize("missing", [None, DAY_BEFORE])
def test_a_redirect_to_itself_says_nothing(missing: str | None) -> None:
    assert verdict(Gone(URL, NOW, 301, URL), missing, has_target=True) is IGNORE
