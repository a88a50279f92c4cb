"""The conditions of a request, and servers that are wrong about changes."""

import pytest

from larbinpy.database.revisit.round import WHOLE, conditions, wants_whole, was_wrong

FETCHED = "2026-11-24T12:00:00Z"
BEFORE, AFTER = "Tue, 24 Nov 2026 11:59:59 GMT", "Tue, 24 Nov 2026 12:00:01 GMT"


def test_both_validators_are_sent_back() -> None:
    assert conditions('W/"1"', BEFORE, FETCHED) == [
        'If-None-Match: W/"1"',
        f"If-Modified-Since: {BEFORE}",
    ]
    assert conditions(None, None, FETCHED) == []
    assert conditions("", "", FETCHED) == []


@pytest.mark.parametrize(
    "last_modified", [AFTER, "yesterday", "Tue, 24 Nov 99999 11:59:59 GMT", "\x00", "-1"]
)
def test_a_last_modified_that_cannot_be_is_ignored(last_modified: str) -> None:
    assert conditions(None, last_modified, FETCHED) == []
    assert conditions('"1"', last_modified, FETCHED) == ['If-None-Match: "1"']


def test_a_last_modified_of_the_visit_itself_counts() -> None:
    assert conditions(None, "Tue, 24 Nov 2026 12:00:00 GMT", FETCHED)
    # Some servers leave out the zone.
    assert conditions(None, "Tue, 24 Nov 2026 12:00:00", FETCHED)


@pytest.mark.parametrize("etag", ['"a"\r\nX: y', '"é"', '"' + "x" * 600 + '"', '"\x7f"'])
def test_an_etag_that_no_header_may_have_is_not_sent(etag: str) -> None:
    assert conditions(etag, None, FETCHED) == []


def test_an_etag_of_500_characters_is_sent() -> None:
    etag = f'"{498 * "x"}"'
    assert conditions(etag, None, FETCHED) == [f"If-None-Match: {etag}"]
    assert conditions(f"{etag}x", None, FETCHED) == []


def test_one_visit_in_some_is_whole() -> None:
    for key in (-(2**63), -5, 0, 7, 2**63 - 1):
        assert sum(wants_whole(key, visits) for visits in range(WHOLE)) == 1
    assert sum(wants_whole(key, 1) for key in range(100 * WHOLE)) == 100


@pytest.mark.parametrize(
    ("old", "new", "changed", "wrong"),
    [
        (('"1"', None), ('"1"', None), True, True),
        (('"1"', None), ('"1"', None), False, False),
        (('"1"', None), ('"2"', None), True, False),
        # An ETag decides, whatever Last-Modified is.
        (('"1"', BEFORE), ('"2"', BEFORE), True, False),
        ((None, BEFORE), (None, BEFORE), True, True),
        ((None, BEFORE), ('"1"', BEFORE), True, True),
        ((None, None), (None, None), True, False),
        (('"1"', None), (None, None), True, False),
        # An ETag that is gone decides nothing.
        (('"1"', BEFORE), (None, BEFORE), True, True),
    ],
)
def test_servers_that_are_wrong(
    old: tuple[str | None, str | None],
    new: tuple[str | None, str | None],
    changed: bool,
    wrong: bool,
) -> None:
    assert was_wrong(old, new, changed=changed) is wrong
