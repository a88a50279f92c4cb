import pytest

from larbinpy.dns import wire
from larbinpy.dns.lookup import TRIES, Lookup, Verdict

NXDOMAIN = 3


def lookup() -> Lookup:
    return Lookup("www.test", ["www.test"], 0)


def reply(
    *addresses: str,
    alias: str = "",
    of: str = "www.test",
    rcode: int = 0,
    soa: int | None = None,
) -> wire.Reply:
    target = wire.question(alias or of, wire.A)[:-4]
    return wire.Reply(rcode, False, addresses, bool(alias), target, soa)


def test_found() -> None:
    it = lookup()
    assert it.section == wire.question("www.test", wire.A)
    assert it.answered(reply("192.0.2.1"), 2) is Verdict.FOUND
    assert it.addresses == ("192.0.2.1",)


def test_no_such_name() -> None:
    it = lookup()
    assert it.answered(reply(rcode=NXDOMAIN, soa=60), 2) is Verdict.ABSENT
    assert (it.reason, it.negative_ttl) == ("nxdomain", 60)


def test_ipv6_is_asked_for_where_there_is_no_ipv4() -> None:
    it = lookup()
    assert it.answered(reply(soa=60), 2) is Verdict.ASK
    assert it.section == wire.question("www.test", wire.AAAA)
    assert it.answered(reply("2001:db8::1"), 2) is Verdict.FOUND


def test_a_name_without_any_address() -> None:
    it = lookup()
    it.answered(reply(soa=60), 2)
    assert it.answered(reply(soa=90), 2) is Verdict.ABSENT
    assert (it.reason, it.negative_ttl) == ("nodata", 90)


def test_an_alias_that_leads_out_of_the_answer_is_asked_for() -> None:
    it = lookup()
    assert it.answered(reply(alias="b.test"), 1) is Verdict.ASK
    assert it.section == wire.question("b.test", wire.A)
    assert it.answered(reply(of="b.test", soa=60), 1) is Verdict.ASK
    assert it.section == wire.question("b.test", wire.AAAA)
    assert it.answered(reply("2001:db8::1"), 1) is Verdict.FOUND


def test_an_alias_followed_to_its_end_is_asked_for_ipv6() -> None:
    it = lookup()
    assert it.answered(reply(alias="b.test", soa=60), 1) is Verdict.ASK
    assert it.section == wire.question("b.test", wire.AAAA)


def test_aliases_from_reply_to_reply_are_bounded() -> None:
    it = lookup()
    questions = 0
    while it.answered(reply(alias=f"n{questions}.test"), 1) is Verdict.ASK:
        questions += 1
    assert questions == wire.MAX_CNAMES
    assert it.reason == "cnameloop"


def test_an_alias_that_cannot_be_asked_for() -> None:
    it = lookup()
    odd = reply(alias="b.test")._replace(target=b"\x03a/b\x04test\x00")
    assert it.answered(odd, 1) is Verdict.ABSENT
    assert it.reason == "badname"


@pytest.mark.parametrize(
    ("rcode", "reason"), [(1, "formerr"), (4, "notimp"), (5, "refused"), (9, "servfail")]
)
def test_an_error_goes_to_the_next_server(rcode: int, reason: str) -> None:
    it = lookup()
    assert it.answered(reply(rcode=rcode), 2) is Verdict.NEXT
    assert it.reason == reason
    assert it.answered(reply("192.0.2.1"), 2) is Verdict.FOUND


def test_all_servers_refuse() -> None:
    it = lookup()
    assert [it.answered(reply(rcode=5), 3) for _ in range(3)] == [
        Verdict.NEXT,
        Verdict.NEXT,
        Verdict.FAILED,
    ]


def test_servfail_is_asked_for_once_more_after_a_while() -> None:
    it = lookup()
    assert [it.answered(reply(rcode=2), 2) for _ in range(4)] == [
        Verdict.NEXT,
        Verdict.LATER,
        Verdict.NEXT,
        Verdict.FAILED,
    ]


def test_more_servers_than_tries() -> None:
    it = lookup()
    it.tries = TRIES
    assert it.answered(reply(rcode=5), 100) is Verdict.FAILED


def test_tries_and_time_are_bounded() -> None:
    it = lookup()
    it.tries = TRIES - 1
    assert it.timed_out(10, 1.0) is Verdict.NEXT
    assert it.timed_out(60, 1.0) is Verdict.FAILED
    it.tries = TRIES
    assert it.timed_out(10, 1.0) is Verdict.FAILED
    assert it.reason == "timeout"
