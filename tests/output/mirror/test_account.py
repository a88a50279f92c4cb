"""The account of a refresh, in a catalog."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from larbinpy.output.mirror.catalog import Account, Catalog, Refreshed
from larbinpy.page import Outcome, Page
from larbinpy.url import Url


@pytest.fixture(name="account")
def _account(tmp_path: Path) -> Iterator[Account]:
    with closing(Catalog(tmp_path)) as catalog:
        yield catalog.account


def page(name: str = "a", outcome: Outcome = Outcome.SUCCESS, status: int = 200) -> Page:
    return Page(Url(f"http://h/{name}", 1, via="http://h/"), outcome, status)


def test_a_page_of_this_refresh_is_no_older_copy(account: Account) -> None:
    """It comes once more after a kill, and the mirror has it from before that."""
    account.note(page(), Refreshed.NEW, had=False)
    account.note(page(outcome=Outcome.ERR_50X, status=503), Refreshed.FAILED, had=True)
    assert [(each.status, each.had) for each in account.failures(9)] == [(503, False)]
    assert account.counts()["kept"] == 0
    account.note(page("b"), Refreshed.CHANGED, had=True)
    account.note(page("b", Outcome.ERR_50X, 503), Refreshed.FAILED, had=True)
    assert account.counts()["kept"] == 1


@pytest.mark.parametrize("first", [Refreshed.NEW, Refreshed.CHANGED])
@pytest.mark.parametrize(
    "second",
    [Refreshed.CHANGED, Refreshed.UNCHANGED, Refreshed.GONE, Refreshed.FAILED],
)
def test_what_came_stays_new_when_it_comes_once_more(
    account: Account, first: Refreshed, second: Refreshed
) -> None:
    account.note(page(), first, had=first is not Refreshed.NEW)
    account.note(page(), second, had=True)
    expected = first if second in (Refreshed.CHANGED, Refreshed.UNCHANGED) else second
    assert account.kind(page().url.href) is expected


def test_seeds_are_those_without_a_parent(account: Account) -> None:
    account.note(page(), Refreshed.NEW, had=False)
    account.note(Page(Url("http://h/", 1), Outcome.SUCCESS, 200), Refreshed.NEW, had=False)
    assert [*account.starts()] == ["http://h/"]
    assert not account.was_known("http://h/")
    account.begin()
    assert account.was_known("http://h/")
    assert not account.was_known("http://h/a")
    assert account.kind("http://h/") is None


def test_a_new_refresh_begins_without_the_findings_of_the_last(account: Account) -> None:
    account.note(page(), Refreshed.NEW, had=False)
    account.spare("h/a", "it differs")
    account.refuse("too many")
    account.begin()
    assert (account.refusal, account.spared(9), account.failures(9)) == ("", [], [])
    assert not any(account.counts().values())


def test_hosts_of_which_no_file_came_are_lost(account: Account) -> None:
    def ends(host: str, outcome: Outcome, kind: Refreshed, *, requisite: bool = True) -> None:
        url = Url(f"http://{host}/{kind.value}", 1, via="http://h/", requisite=requisite)
        account.note(Page(url, outcome), kind, had=False)

    ends("a.test", Outcome.TIMEOUT, Refreshed.FAILED)
    ends("b.test", Outcome.TIMEOUT, Refreshed.FAILED)
    ends("b.test", Outcome.SUCCESS, Refreshed.NEW)
    ends("c.test", Outcome.FORBIDDEN_ROBOTS, Refreshed.FAILED)
    ends("d.test", Outcome.TIMEOUT, Refreshed.FAILED, requisite=False)
    ends("e.test", Outcome.ERR_40X, Refreshed.GONE)
    assert account.lost_hosts(most=9) == ["a.test", "e.test"]
    assert account.lost_hosts(most=1) == ["a.test"]


def test_urls_come_in_the_order_in_which_they_ended(account: Account) -> None:
    ends = [
        ("c", Refreshed.NEW),
        ("a", Refreshed.GONE),
        ("d", Refreshed.MOVED),
        ("b", Refreshed.NEW),
    ]
    for name, kind in ends:
        account.note(page(name), kind, had=False)
    names = [url[-1] for url in account.urls(Refreshed.NEW, Refreshed.GONE, most=9)]
    assert names == ["c", "a", "b"]
    assert account.urls(Refreshed.NEW, most=1) == ["http://h/c"]
    assert account.moved() == {"http://h/d"}
    assert account.moved(but=(200, 301)) == set()


def test_the_counts_of_a_refresh(account: Account) -> None:
    """Of each kind another number, some with an older copy, and some that robots.txt forbids."""
    numbers = {
        Refreshed.NEW: 1, Refreshed.CHANGED: 2, Refreshed.UNCHANGED: 3, Refreshed.GONE: 4,
        Refreshed.UNLINKED: 5, Refreshed.MOVED: 6, Refreshed.FAILED: 7, Refreshed.OTHER: 8,
    }  # fmt: skip
    forbidden = Outcome.FORBIDDEN_ROBOTS
    for kind, number in numbers.items():
        for n in range(number):
            outcome = forbidden if n == 6 else Outcome.SUCCESS
            account.note(page(f"{kind.value}{n}", outcome), kind, had=n % 2 == 0)
    for name in ("gone0", "unlinked0", "moved0", "failed1"):
        account.note_purged(f"http://h/{name}", purged=True)
    assert account.counts() == {
        "new": 1, "changed": 2, "unchanged": 3, "gone": 4 + 5 + 6, "purged": 3,
        "failed": 4 + 7, "refused": 1, "kept": 1 + 4,
    }  # fmt: skip
