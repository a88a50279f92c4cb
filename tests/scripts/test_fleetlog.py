"""The log of a server that a fleet has crawled: gaps that are too short, and pages again."""

from experiments.fleetlog import Fault, Politeness, Repeats, Request


def request(start: float, end: float, node: str = "a", path: str = "/1") -> Request:
    return Request(start, end, node, "127.0.0.1", path, 200)


def kill(at: float) -> Fault:
    return Fault("kill", ["a"], at, at)


def test_a_line_is_read() -> None:
    line = "1000.500 0.250 200 127.0.8.1 127.0.9.1 /p1/1.html"
    found = Request.of(line, {"127.0.8.1": "n0"})
    assert found == Request(1000.25, 1000.5, "n0", "127.0.9.1", "/p1/1.html", 200)


def test_gaps_are_those_of_an_address() -> None:
    elsewhere = request(2.0, 3.0)._replace(address="127.0.0.2")
    found = Politeness.of([request(3.0, 3.1), elsewhere, request(1.0, 2.0)], [], 1.0)
    assert (found.gaps, found.least, found.too_short) == (1, 1.0, [])


def test_a_short_gap_and_two_at_once_are_found() -> None:
    short = [request(1.0, 2.0), request(2.9, 3.0)]
    assert Politeness.of(short, [], 1.0).too_short == [(short[0], short[1])]
    at_once = [request(1.0, 4.0), request(3.0, 5.0)]
    assert Politeness.of(at_once, [], 0.0).least == -1.0


def test_a_request_of_a_stopped_node_counts_by_its_start() -> None:
    hung = [request(1.0, 22.0), request(12.5, 12.6, "b")]
    assert Politeness.of(hung, [Fault("stop", ["a"], 2.0, 22.0)], 1.0).too_short == []
    for other in (Fault("stop", ["b"], 2.0, 22.0), Fault("kill", ["a"], 2.0, 22.0)):
        assert len(Politeness.of(hung, [other], 1.0).too_short) == 1


ROUNDS = {"a": [10.0, 11.0, 12.0, 13.0]}


def test_pages_of_two_rounds_before_a_fault_may_come_again() -> None:
    pages = [request(10.5, 10.6), request(20.0, 20.1, "b"), request(13.0, 13.1, path="/2")]
    found = Repeats.of(pages, [kill(13.2)], ROUNDS)
    assert (found.total, found.most, found.without_reason) == (1, 2, [])


def test_earlier_pages_and_those_of_other_nodes_may_not() -> None:
    early = [request(9.4, 9.5), request(20.0, 20.1, "b")]
    other = [request(12.4, 12.5, "b"), request(20.0, 20.1, "c")]
    for first, second in (early, other):
        found = Repeats.of([first, second], [kill(13.2)], ROUNDS)
        assert (found.total, found.most, found.without_reason) == (1, 0, [first])


def test_a_node_that_has_had_no_round_may_repeat_all() -> None:
    pages = [request(1.0, 1.1), request(20.0, 20.1, "b")]
    assert Repeats.of(pages, [kill(9.0)], {}).without_reason == []
