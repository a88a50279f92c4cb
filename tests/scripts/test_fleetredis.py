from experiments.fleetlog import Request
from experiments.fleetredis import MOVE, Outage


def test_the_longest_silence_counts_until_nodes_have_noticed() -> None:
    starts = (0.0, 50.0, 99.0, 101.0, 108.0, 117.0, 150.0)
    requests = [Request(start, start, "n0", "127.0.9.1", "/", 200) for start in starts]
    assert Outage(MOVE, 100.0, 101.0, 105.0).silence(requests) == 9.0
    assert Outage(MOVE, 160.0, 161.0, 165.0).silence(requests) == 0.0
