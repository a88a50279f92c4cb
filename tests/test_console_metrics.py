import re

import pytest
from snapshots import hostile, snapshot

from larbinpy.console import metrics

NAME = r"[a-zA-Z_][a-zA-Z0-9_]*"
LABEL = rf'{NAME}="(?:[^"\\\n]|\\\\|\\"|\\n)*"'
SAMPLE = re.compile(
    rf"({NAME})(?:\{{({LABEL}(?:,{LABEL})*)\}})? (-?[0-9.]+(?:e[+-]?[0-9]+)?|NaN|[+-]Inf)"
)


def read(text):
    """The samples by name and labels, after a check of the whole format."""
    assert text.endswith("\n")
    types, samples, helped = {}, {}, set()
    for line in text[:-1].split("\n"):
        if line.startswith("# HELP "):
            name = line.split()[2]
            assert name not in helped
            helped.add(name)
        elif line.startswith("# TYPE "):
            _, _, name, kind = line.split()
            types[name] = kind
        else:
            match = SAMPLE.fullmatch(line)
            assert match, line
            assert match[1] in types and match[1] in helped
            assert (match[1], match[2]) not in samples
            samples[match[1], match[2]] = float(match[3])
    for name, kind in types.items():
        assert name.endswith("_total") == (kind == "counter"), name
        assert name.startswith("larbinpy_")
    return samples


def test_every_figure_is_there():
    samples = read(metrics.render(snapshot()))
    assert samples["larbinpy_pages_total", None] == 48213
    assert samples["larbinpy_received_bytes_total", None] == 1893441278
    assert samples["larbinpy_outcomes_total", 'outcome="err40X"'] == 1893
    assert samples["larbinpy_queue_urls", 'queue="ordinary"'] == 301776
    assert samples["larbinpy_gate_open", None] == 0
    assert samples["larbinpy_sites_by_state", 'state="open"'] == 1170
    assert samples["larbinpy_loop_lag_seconds", None] == pytest.approx(0.0017)
    assert samples["larbinpy_dns_server_lost_total", 'server="198.51.100.53:53"'] == 15
    assert samples["larbinpy_dns_server_resting", 'server="198.51.100.53:53"'] == 1
    rtt = {labels: n for (name, labels), n in samples.items() if name.endswith("rtt_seconds")}
    assert rtt == {'server="192.0.2.53:53"': pytest.approx(0.021407)}
    assert samples["larbinpy_dns_cache_bytes", None] == 48000
    assert samples["larbinpy_dns_absent", None] == 4021
    assert samples["larbinpy_dns_stale_served_total", None] == 5
    assert samples["larbinpy_output", 'plug="mirror",item="pages"'] == 44885
    assert samples["larbinpy_info", 'version="0.1.0"'] == 1
    assert samples["larbinpy_state", 'state="running"'] == 1


def test_labels_are_escaped():
    text = metrics.render(snapshot(outcomes={'a"b\\c\nd\u202e': 2}))
    assert ("larbinpy_outcomes_total", 'outcome="a\\"b\\\\c\\\\x0ad\\\\u202e"') in read(text)


@pytest.mark.parametrize("payload", ['"} 1\nevil_total 1', "\\", '\\"', "\0\x1b\r\n", "\ud800"])
def test_crawled_text_makes_no_sample(payload):
    samples = read(metrics.render(hostile(payload)))
    assert {name for name, _ in samples} <= {name for name, _ in read(metrics.render(snapshot()))}
    metrics.render(hostile(payload)).encode()


def test_what_a_snapshot_lacks_is_left_out():
    assert ("larbinpy_info", 'version="None"') in read(metrics.render({}))
    read(metrics.render(dict.fromkeys(snapshot())))


def test_odd_numbers():
    odd = {"cpu_s": float("nan"), "loop_lag_ms": float("inf"), "fds": True, "busy": "many"}
    samples = read(metrics.render(snapshot(system=odd)))
    assert samples["larbinpy_loop_lag_seconds", None] == float("inf")
    assert samples["larbinpy_open_fds", None] == 1
    assert ("larbinpy_handles_busy", None) not in samples


def test_plugs_within_a_plug_are_plugs_and_groups_beside_counts_no_series():
    several = {
        "files": {"save": {"pages": 1}, "stats": {"pages": 2, "hosts": {"a": 9}}},
        "info": {},
    }
    samples = read(metrics.render(snapshot(output=several)))
    assert {
        labels: value for (name, labels), value in samples.items() if name == "larbinpy_output"
    } == {
        'plug="save",item="pages"': 1,
        'plug="stats",item="pages"': 2,
    }
