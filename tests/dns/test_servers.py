import pytest

from larbinpy.dns.servers import Servers

ONE, TWO, THREE = (f"192.0.2.{n}" for n in (1, 2, 3))


def servers(*hosts: str) -> Servers:
    return Servers([(host, 53) for host in hosts], 1.0)


def test_first_questions_go_round_and_repetitions_to_the_next() -> None:
    three = servers(ONE, TWO, THREE, ONE)
    assert len(three) == 3
    first = [three.first(0) for _ in range(6)]
    assert {server.address[0] for server in first[:3]} == {ONE, TWO, THREE}
    assert first[:3] == first[3:]
    assert three.after(first[0], 0) is first[1]
    assert three.after(first[1], 0) is first[2]
    assert three.after(first[2], 0) is first[0]


def test_one_server_is_its_own_next() -> None:
    one = servers(ONE)
    assert one.after(one.first(0), 0) is one.first(0)


def test_without_servers() -> None:
    with pytest.raises(ValueError, match="no name server"):
        servers()


def test_a_silent_server_rests_and_the_other_is_asked() -> None:
    two = servers(ONE, TWO)
    silent, well = two.first(0), two.first(0)
    silent.asked(0)
    for now in range(1, 9):
        assert not silent.is_resting(now)
        silent.missed(now, lost_case=False)
    assert silent.is_resting(8)
    assert {two.first(8.5) for _ in range(4)} == {well}
    assert two.after(well, 8.5) is well


def test_a_few_losses_or_a_short_silence_are_no_reason_to_rest() -> None:
    server = servers(ONE).first(0)
    server.asked(0)
    for _ in range(7):
        server.missed(100, lost_case=False)
    assert not server.is_resting(100)
    server.heard(100, 100, kept_case=False)
    for _ in range(50):
        server.missed(102.9, lost_case=False)
    assert not server.is_resting(102.9)


def test_a_silent_server_is_tried_once_in_a_while_until_it_answers() -> None:
    pool = servers(ONE)
    server = pool.first(0)
    server.asked(0)
    for _ in range(8):
        server.missed(10, lost_case=False)
    tried = []
    for tenth in range(100, 700):
        now = tenth / 10
        if pool.after(server, now) is server:
            server.asked(now)
            tried.append(now)
    assert tried == [11, 13, *range(17, 70, 5)]
    server.missed(70, lost_case=False)
    server.heard(70.1, 70.1, kept_case=False)
    assert not server.is_resting(70.1)
    assert pool.after(server, 70.1) is server


def test_a_first_question_is_sent_even_when_all_rest() -> None:
    two = servers(ONE, TWO)
    early, late = two.first(0), two.first(0)
    for server, now in ((early, 10), (late, 10.5)):
        server.asked(0)
        for _ in range(8):
            server.missed(now, lost_case=False)
    assert two.after(early, 10.6) is None
    assert two.first(10.6) is early


def test_stats() -> None:
    pool = Servers([("192.0.2.1", 53), ("2001:db8::1", 5353)], 1.0)
    asked = pool.first(0)
    asked.asked(0)
    assert pool.stats(0) == [
        {
            "address": "192.0.2.1:53",
            "sent": 0,
            "answered": 0,
            "lost": 0,
            "resting": False,
            "keeps_case": False,
            "rtt_ms": None,
        },
        {
            "address": "[2001:db8::1]:5353",
            "sent": 1,
            "answered": 0,
            "lost": 0,
            "resting": False,
            "keeps_case": False,
            "rtt_ms": None,
        },
    ]


def test_a_server_that_kept_the_case_once_keeps_it() -> None:
    server = Servers([("192.0.2.1", 53)], 1.0).first(0)
    server.heard(1, 0.5, kept_case=False)
    assert not server.keeps_case
    server.heard(2, 1.5, kept_case=True)
    server.heard(3, 2.5, kept_case=False)
    assert server.keeps_case


def test_case_is_not_kept_any_more_after_eight_replies_without_it() -> None:
    """In a row: a reply that keeps it begins the count anew."""
    server = Servers([("192.0.2.1", 53)], 1.0).first(0)
    for _ in range(2):
        server.heard(1, 0.5, kept_case=True)
        for now in range(7):
            server.missed(now, lost_case=True)
        assert server.keeps_case
    server.missed(8, lost_case=True)
    assert not server.keeps_case


def test_a_server_that_answered_again_begins_with_a_short_rest() -> None:
    server = Servers([("192.0.2.1", 53)], 1.0).first(0)
    for start in (0, 100):
        server.asked(start)
        server.heard(start, start, kept_case=False)
        for _ in range(8):
            server.missed(start + 10, lost_case=False)
        assert server.resting_until == start + 11
        server.asked(start + 20)
        assert server.resting_until == start + 22


def test_the_round_trip_time_is_a_moving_mean() -> None:
    server = Servers([("192.0.2.1", 53)], 1.0).first(0)
    server.heard(1, 0.9, kept_case=False)
    assert server.rtt == pytest.approx(0.1)
    server.heard(2, 1.1, kept_case=False)
    assert server.rtt == pytest.approx(0.2)
