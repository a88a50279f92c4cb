from typing import Any

import pytest

from larbinpy.console.status import metrics
from larbinpy.stats import FETCH, Histogram
from tests.support.promlint import read
from tests.support.snapshots import hostile, snapshot


def labelled(samples: Any, name: str) -> Any:
    """The samples of `name` by label value."""
    return {
        tuple(value for _, value in labels): number
        for (sample, labels), number in samples.items()
        if sample == name
    }


def test_every_figure_is_there() -> None:
    samples = read(metrics.render(snapshot()))
    assert samples["larbinpy_pages_total", ()] == 44907
    assert samples["larbinpy_replies_total", ()] == 48213
    assert samples["larbinpy_received_bytes_total", ()] == 1893441278
    assert samples["larbinpy_outcomes_total", (("outcome", "err40X"),)] == 1893
    assert samples["larbinpy_queue_urls", (("queue", "ordinary"),)] == 301776
    assert samples["larbinpy_gate_open", ()] == 0
    assert samples["larbinpy_sites_by_state", (("state", "open"),)] == 1170
    assert samples["larbinpy_loop_lag_max_seconds", ()] == pytest.approx(0.0412)
    assert samples["process_resident_memory_bytes", ()] == 188743680
    assert samples["process_max_fds", ()] == 16384
    assert samples["larbinpy_dns_server_lost_total", (("server", "198.51.100.53:53"),)] == 15
    assert samples["larbinpy_dns_server_resting", (("server", "198.51.100.53:53"),)] == 1
    rtt = labelled(samples, "larbinpy_dns_server_rtt_seconds")
    assert rtt == {("192.0.2.53:53",): pytest.approx(0.021407)}
    assert samples["larbinpy_dns_cache_bytes", ()] == 48000
    assert samples["larbinpy_dns_absent", ()] == 4021
    assert samples["larbinpy_dns_stale_served_total", ()] == 5
    assert labelled(samples, "larbinpy_output_items")["mirror", "pages"] == 44885
    assert labelled(samples, "larbinpy_output_bytes") == {("mirror", "bytes"): 1722002321}
    assert samples["larbinpy_fleet_members", ()] == 2
    assert samples["larbinpy_fleet_shards", ()] == 512
    assert samples["larbinpy_fleet_lag_seconds", ()] == pytest.approx(0.11)
    assert samples["larbinpy_fleet_redis_trouble", ()] == 0
    assert samples["larbinpy_build_info", (("version", "0.1.0"),)] == 1


@pytest.mark.parametrize("state", ["paused", "waiting", "finished"])
def test_one_state_is_set_and_the_others_are_not(state: str) -> None:
    states = labelled(read(metrics.render(snapshot(state=state))), "larbinpy_state")
    assert states[(state,)] == 1
    assert sum(states.values()) == 1 < len(states)


def test_when_it_began() -> None:
    samples = read(metrics.render(snapshot(started=1772366400.5)))
    assert samples["process_start_time_seconds", ()] == 1772366400.5
    # A snapshot may come from elsewhere, with a time that is text.
    assert ("process_start_time_seconds", ()) not in read(metrics.render(snapshot()))


def test_histograms() -> None:
    fetches = Histogram(FETCH)
    for seconds in (0.001, 0.02, 0.02, 0.3, 500.0):
        fetches.observe(seconds)
    samples = read(metrics.render(snapshot(histograms={"fetch": fetches.describe()})))
    buckets = labelled(samples, "larbinpy_fetch_duration_seconds_bucket")
    assert buckets[("0.005",)] == 1
    assert buckets[("0.025",)] == 3
    assert buckets[("120.0",)] == 4
    assert buckets[("+Inf",)] == samples["larbinpy_fetch_duration_seconds_count", ()] == 5
    assert samples["larbinpy_fetch_duration_seconds_sum", ()] == pytest.approx(500.341)


def test_labels_are_escaped() -> None:
    text = metrics.render(snapshot(outcomes={'a"b\\c\nd\u202e': 2}))
    assert ("larbinpy_outcomes_total", (("outcome", 'a"b\\c\\x0ad\\u202e'),)) in read(text)


@pytest.mark.parametrize("payload", ['"} 1\nevil_total 1', "\\", '\\"', "\0\x1b\r\n", "\ud800"])
def test_crawled_text_makes_no_sample(payload: str) -> None:
    samples = read(metrics.render(hostile(payload)))
    assert {name for name, _ in samples} <= {name for name, _ in read(metrics.render(snapshot()))}
    metrics.render(hostile(payload)).encode()


def test_missing_keys_are_left_out() -> None:
    assert ("larbinpy_build_info", (("version", "None"),)) in read(metrics.render({}))
    read(metrics.render(dict.fromkeys(snapshot())))


def test_odd_numbers() -> None:
    odd = {"cpu_s": float("nan"), "loop_lag_max_ms": float("inf"), "fds": True, "busy": "many"}
    samples = read(metrics.render(snapshot(system=odd)))
    assert samples["larbinpy_loop_lag_max_seconds", ()] == float("inf")
    assert samples["process_open_fds", ()] == 1
    assert ("larbinpy_handles_busy", ()) not in samples


def test_plugs_within_a_plug_are_plugs_and_groups_beside_counts_no_series() -> None:
    several = {
        "files": {"save": {"pages": 1}, "stats": {"pages": 2, "hosts": {"a": 9}}},
        "info": {},
    }
    samples = read(metrics.render(snapshot(output=several)))
    assert labelled(samples, "larbinpy_output_items") == {
        ("save", "pages"): 1,
        ("stats", "pages"): 2,
    }


def test_the_spool_of_a_database() -> None:
    figures = {"spool_bytes": 4096, "waiting": 7, "indexed": 90, "oldest_s": 2.5, "state": "idle"}
    samples = read(metrics.render(snapshot(output={"database": figures})))
    assert samples["larbinpy_spool_bytes", ()] == 4096
    assert samples["larbinpy_spool_pages", ()] == 7
    assert samples["larbinpy_indexed_pages_total", ()] == 90
    assert samples["larbinpy_spool_age_seconds", ()] == 2.5
