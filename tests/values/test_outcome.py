import pytest

from larbinpy.outcome import Outcome, Sequel, in_words, of_status, sequel

#: The names that Larbin's users know, and ours.
NAMES = """
success noDNS noConnection forbiddenRobots timeout badType tooBig err30X err40X earlyStop
duplicate fastRobots fastNoConn fastNoDns tooDeep urlDup outSite
err50X badTLS badURL privateAddress trap
"""


def test_the_names_are_the_promised_ones():
    assert [outcome.value for outcome in Outcome] == NAMES.split()


@pytest.mark.parametrize("outcome", list(Outcome))
def test_each_is_told_in_words(outcome):
    assert " " in in_words(outcome.value)


def test_one_of_another_version_goes_by_its_name():
    assert in_words("lost") == "lost"


@pytest.mark.parametrize("outcome", list(Outcome))
def test_what_is_tried_again(outcome):
    again = {"noDNS", "noConnection", "timeout", "earlyStop", "err50X"}
    expected = Sequel.RETRY if outcome.value in again else Sequel.FORGET
    assert sequel(outcome) is expected
    assert sequel(outcome, 404) is expected


@pytest.mark.parametrize("status", [429, 503])
@pytest.mark.parametrize("outcome", [Outcome.ERR_40X, Outcome.ERR_50X, Outcome.TIMEOUT])
def test_a_server_that_asks_for_less_is_left_alone(status, outcome):
    assert sequel(outcome, status) is Sequel.SUSPEND


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
def test_statuses(status, outcome):
    assert of_status(status) is outcome
