"""The reason of an outcome in words, and its cure."""

import pytest

from larbinpy.page import ENDS_SESSION, LONG_HEADERS, Outcome, brief, cure, reason, soft_404

SELF_SIGNED = "SSL certificate problem: self-signed certificate"
WRONG_NAME = "SSL: no alternative certificate subject name matches target host name 'b.test'"
LONG = f"{LONG_HEADERS} 300 lines or 262,144 bytes"


@pytest.mark.parametrize(
    ("outcome", "status", "detail", "whole", "short"),
    [
        ("noDNS", 0, "nxdomain", "its host has no address: no such name", "no such name"),
        ("noDNS", None, "odd", "its host has no address: odd", "odd"),
        ("tooBig", 200, "read in part: cut at 9 bytes", *["read in part: cut at 9 bytes"] * 2),
        ("err40X", 404, "", "404 Not Found", "404 Not Found"),
        ("err40X", 999, "", "999 Request Denied", "999 Request Denied"),
        ("err40X", 477, "", "477 (the server refuses it)", "477 (the server refuses it)"),
        ("err50X", 577, "", "577 (the server has an error)", "577 (the server has an error)"),
        ("err30X", 302, "http://b.test/", "302 Found", "302 Found"),
        ("err30X", 302, "it redirects to itself", *["302 Found: it redirects to itself"] * 2),
        ("tooBig", 200, "cut at 9 bytes", "it is larger than maxPageSize: cut at 9 bytes", None),
        ("timeout", 0, None, "it took too long", "it took too long"),
        ("tooBig", 0, LONG, LONG, None),
        # The resolver's words are not translated after other outcomes.
        ("noConnection", 0, "timeout", "no connection could be made: timeout", "timeout"),
        ("of a later version", 0, None, "of a later version", "of a later version"),
    ],
)
def test_reasons(outcome: str, status: int, detail: str, whole: str, short: str | None) -> None:
    assert reason(outcome, status, detail) == whole
    assert brief(outcome, status, detail) == (detail if short is None else short)


def test_a_robots_txt_that_could_not_be_fetched_refuses_nothing() -> None:
    lacking = "it could not be fetched (Recv failure)"
    for words in (reason, brief):
        for outcome in ("forbiddenRobots", "fastRobots"):
            assert words(outcome, 0, lacking) == (
                "its robots.txt could not be fetched (Recv failure), "
                "so nothing of the site is fetched for now"
            )
    assert reason("forbiddenRobots", 0, "") == "robots.txt refuses it"


def test_a_soft_404_is_the_whole_reason() -> None:
    like, moved = soft_404("http://a.test/x"), soft_404("http://a.test/x", "http://a.test/")
    assert like == "soft 404: it is like http://a.test/x, which cannot exist"
    assert reason("err40X", 200, like) == brief("err40X", 200, like) == like
    assert reason("err40X", 302, moved) == brief("err40X", 302, moved) == moved


def test_the_end_of_a_session_is_the_whole_reason() -> None:
    assert reason("rejected", 200, ENDS_SESSION) == brief("rejected", 200, ENDS_SESSION)
    assert reason("rejected", 200, ENDS_SESSION) == ENDS_SESSION


def test_a_rule_that_rejects_is_the_whole_reason() -> None:
    assert reason("rejected", 0, "reject **.zip (console)") == (
        "rejected by: reject **.zip (console)"
    )


def test_each_login_has_its_own_advice() -> None:
    assert cure("err40X", "needs a login") == "the seed http://USER:PASSWORD@HOST/ gives one"
    proxy = "proxy http://USER:PASSWORD@HOST PORT gives one"
    assert cure("err40X", "the proxy needs a login") == proxy
    assert cure("noConnection", "by proxy http://p:1: the proxy needs a login") == proxy
    assert cure("noConnection", "by proxy http://p:1: the proxy refuses the login") == ""


def test_a_failure_that_a_setting_avoids_names_it() -> None:
    tls = Outcome.BAD_TLS.value
    assert cure(tls, SELF_SIGNED) == "caFile trusts it, insecureTLS ignores it"
    assert cure(tls, WRONG_NAME) == "insecureTLS ignores it"
    assert cure(tls, "wrong version number") == cure(tls) == ""
    assert "--allow-private" in cure(Outcome.PRIVATE_ADDRESS.value, "127.0.0.1")
    assert cure("forbiddenRobots").startswith("ignoreRobots ignores it")
    assert cure("forbiddenRobots", "it could not be fetched: timeout") == ""
    known = {"privateAddress", "forbiddenRobots"}
    assert not any(cure(outcome.value) for outcome in Outcome if outcome.value not in known)
