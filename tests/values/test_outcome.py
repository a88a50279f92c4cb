import pytest

from larbinpy.page import Outcome, Trait, asks_for_less, having, in_words, is_retried, of_status

#: The names that Larbin's users know, and ours.
NAMES = """
success noDNS noConnection forbiddenRobots timeout badType tooBig err30X err40X earlyStop
duplicate fastRobots fastNoConn fastNoDns tooDeep urlDup outSite
err50X badTLS badURL privateAddress checked siteLimit loginFailed trap rejected
"""


def test_the_names_are_the_promised_ones() -> None:
    assert [outcome.value for outcome in Outcome] == NAMES.split()


@pytest.mark.parametrize("outcome", list(Outcome))
def test_each_has_words(outcome: Outcome) -> None:
    assert " " in outcome.words
    assert in_words(outcome.value) == outcome.words


def test_an_unknown_name_is_its_own_words() -> None:
    assert in_words("lost") == "lost"


@pytest.mark.parametrize(
    ("trait", "names"),
    [
        (Trait.READABLE, "success tooBig"),
        (Trait.RETRIED, "noDNS noConnection timeout earlyStop err50X"),
        (Trait.UNREACHABLE, "noConnection timeout"),
        (Trait.OVERLOADED, "noConnection timeout earlyStop"),
        (Trait.FAULT, "noDNS noConnection timeout earlyStop err50X badTLS"),
        (
            Trait.MISSED,
            "noDNS noConnection timeout earlyStop err50X badTLS "
            "fastNoDns fastNoConn err40X tooBig privateAddress loginFailed",
        ),
        (
            Trait.BROKEN,
            "noDNS noConnection timeout earlyStop err50X badTLS fastNoDns fastNoConn err40X",
        ),
        (Trait.ROBOTS, "forbiddenRobots fastRobots"),
        (
            Trait.ORDINARY,
            "success err30X duplicate badType checked siteLimit rejected outSite badURL",
        ),
        (Trait.SPARED, "err30X duplicate siteLimit rejected outSite"),
    ],
)
def test_outcomes_having_a_trait(trait: Trait, names: str) -> None:
    assert {outcome.value for outcome in having(trait)} == set(names.split())


def test_every_trait_is_tested_above() -> None:
    assert len(Trait) == 10


def test_outcomes_of_later_urls() -> None:
    later = {outcome.value: outcome.for_later.value for outcome in Outcome}
    assert {name: fast for name, fast in later.items() if name != fast} == {
        "noDNS": "fastNoDns",
        "noConnection": "fastNoConn",
        "forbiddenRobots": "fastRobots",
    }


@pytest.mark.parametrize("outcome", list(Outcome))
def test_an_ordinary_status_changes_no_retry(outcome: Outcome) -> None:
    assert is_retried(outcome) == is_retried(outcome, 404) == (Trait.RETRIED in outcome.traits)


@pytest.mark.parametrize("status", [429, 503])
@pytest.mark.parametrize("outcome", [Outcome.ERR_40X, Outcome.ERR_50X, Outcome.TIMEOUT])
def test_a_server_that_asks_for_less_is_asked_again(status: int, outcome: Outcome) -> None:
    assert asks_for_less(status)
    assert is_retried(outcome, status)


@pytest.mark.parametrize(
    ("status", "outcome"),
    [
        (200, Outcome.SUCCESS),
        (299, Outcome.SUCCESS),
        (300, Outcome.ERR_30X),
        (399, Outcome.ERR_30X),
        (400, Outcome.ERR_40X),
        (404, Outcome.ERR_40X),
        (429, Outcome.ERR_40X),
        (499, Outcome.ERR_40X),
        (500, Outcome.ERR_50X),
        (503, Outcome.ERR_50X),
        (999, Outcome.ERR_50X),
        (199, Outcome.ERR_40X),
    ],
)
def test_statuses(status: int, outcome: Outcome) -> None:
    assert of_status(status) is outcome
