"""A snapshot of a made-up crawl, with every key a snapshot has."""

from collections.abc import Sequence
from typing import Any

from larbinpy.stats import SPANS


def fate(number: int, url: str = "", outcome: str = "success", **other: Any) -> dict[str, Any]:
    """A line of the crawl log."""
    return {
        "ts": f"2026-03-01T12:00:{number % 60:02}Z",
        "url": url or f"http://www.example.com/docs/page-{number}.html",
        "outcome": outcome,
        "status": 200 if outcome == "success" else 404,
        "size": 4096 + 131 * number,
        "type": "text/html",
        "depth": 4,
        "via": "http://www.example.com/",
        "ip": "192.0.2.7",
        "ms": 40 + number,
        "attempt": 1,
        **other,
    }


def history(**series: Sequence[float]) -> dict[str, Any]:
    """The same series over all spans."""
    return {
        span.name: {"step_s": span.step, "cells": span.cells, "series": dict(series)}
        for span in SPANS
    }


def histogram() -> dict[str, Any]:
    return {
        "bounds_s": [0.01, 0.1, 1.0],
        "counts": [30, 60, 8, 2],
        "count": 100,
        "sum_s": 9.25,
    }


def node_report(name: str, **changes: Any) -> dict[str, Any]:
    """The last report of a node of a fleet, as a snapshot has it."""
    return {
        "name": name,
        "alive": True,
        "age_s": 1.0,
        "session": f"{name}.0123456789ab",
        "version": "0.1.0",
        "joined_s": 2400.0,
        "state": "running",
        "pages": 44907,
        "pages_s": 17.1,
        "bytes": 1893441278,
        "bytes_s": 712334,
        "queued": 342809,
        "shards": 512,
        "lag_s": 0.11,
        "trouble": "",
        "http": "127.0.0.1:8081",
        **changes,
    }


def fleet() -> dict[str, Any]:
    return {
        "name": "news",
        "node": "a",
        "state": "running",
        "members": 2,
        "nodes": [
            node_report("a"),
            node_report("b", trouble="Redis 192.0.2.9:6379 does not answer", lag_s=4.2),
            node_report("c", alive=False, age_s=700.0),
        ],
        "shards": 512,
        "shards_of_all": 1024,
        "shards_served": 1024,
        "lag_s": 0.11,
        "limit": 1_000_000,
        "left": 865_000,
        "redis_trouble": False,
        "trouble": "",
    }


def snapshot(**changes: Any) -> dict[str, Any]:
    """A fresh snapshot; `changes` replace whole top-level values."""
    made: dict[str, Any] = {
        "version": "0.1.0",
        "now": 1772366400.0,
        "started": "2026-03-01T11:15:20Z",
        "elapsed_s": 2679.5,
        "state": "running",
        "config": {
            "startUrl": "http://www.example.com/",
            "UserAgent": "larbinpy",
            "pagesConnexions": "100",
            "waitDuration": "30",
            "depthInSite": "5",
            "outputMode": "mirror",
            "httpPort": "8081",
            "inputPort": "1976",
        },
        "totals": {
            "pages": 48213,
            "success": 44907,
            "links": 2310442,
            "urls_seen": 391022,
            "urls_queued": 342809,
            "bytes_received": 1893441278,
            "retries": 311,
            "sites": 1204,
            "addresses": 877,
        },
        "rates": {
            "pages": 18.4,
            "success": 17.1,
            "failed": 0.2,
            "bytes": 712334.0,
            "links": 861.0,
            "names": 0.6,
        },
        "outcomes": {
            "success": 44907,
            "err40X": 1893,
            "forbiddenRobots": 655,
            "badType": 401,
            "timeout": 212,
            "err50X": 92,
            "noDNS": 31,
            "duplicate": 22,
            "tooBig": 0,
        },
        "queues": {
            "priority": 3,
            "ordinary": 301776,
            "priority_wait": 0,
            "ordinary_wait": 22401,
            "named_sites": 18629,
            "ip_sites": 877,
            "in_flight": 74,
        },
        "gate": {"open": False, "reason": "www.example.com holds 9998 URLs"},
        "sites": {
            "total": 1204,
            "by_state": {"new": 2, "resolving": 11, "robots": 9, "open": 1170, "failed": 12},
            "busiest": [
                {
                    "site": f"http://site{n}.example",
                    "state": "open",
                    "waiting": 9998 - 313 * n,
                    "delay_s": 30.0 + n,
                    "answers_in_s": 0.21,
                    "fetched": 210 + n,
                    "failed": n,
                }
                for n in range(8)
            ],
            "slowest": [
                {
                    "site": "http://sloth.example",
                    "state": "open",
                    "waiting": 7,
                    "delay_s": 30.0,
                    "answers_in_s": 12.4,
                    "fetched": 21,
                    "failed": 0,
                }
            ],
            "suspended": [
                {"site": "http://slow.example", "until_s": 118.0, "reason": "Retry-After: 120"}
            ],
        },
        "dns": {
            "asked": 21877,
            "sent": 1320,
            "answered": 1301,
            "cached": 20544,
            "failed": 31,
            "resent": 17,
            "rejected": 0,
            "in_flight": 6,
            "queued": 0,
            "early": 822,
            "overdue": 2,
            "ports": 67,
            "cache": {
                "names": 1200,
                "size": 50000,
                "bytes": 48000,
                "evicted": 13,
                "absent": 4021,
                "absent_size": 1000000,
                "absent_bytes": 3594393,
                "failures": 31,
                "stale_served": 5,
            },
            "servers": [
                {
                    "address": "192.0.2.53:53",
                    "sent": 700,
                    "answered": 696,
                    "lost": 4,
                    "resting": False,
                    "keeps_case": True,
                    "rtt_ms": 21.407,
                },
                {
                    "address": "198.51.100.53:53",
                    "sent": 620,
                    "answered": 605,
                    "lost": 15,
                    "resting": True,
                    "keeps_case": False,
                    "rtt_ms": None,
                },
            ],
        },
        "robots": {"fetched": 1170, "denied": 655},
        "rules": {"reject **/old/**": 1234, 'accept "**.zip size:>10M"': 7},
        "places_of_rules": {"reject **/old/**": "larbin.conf:12"},
        "site_blocks": [
            {
                "pattern": "*.example.com:8080",
                "source": "larbin.conf:7",
                "settings": {"waitDuration": "1s", "UserAgent": '"my bot"'},
                "sites": 12,
            }
        ],
        "left_out": {"getCGI": 431, "stay": 2, "depthInSite": 77},
        "traps": {"repeats": 31, "calendars": 2, "shapes": 7054},
        "system": {
            "cpu_s": 402.1,
            "rss_bytes": 188743680,
            "peak_rss_bytes": 200000000,
            "fds": 131,
            "fds_limit": 16384,
            "loop_lag_ms": 1.7,
            "loop_lag_max_ms": 41.2,
            "handles": 100,
            "busy": 74,
        },
        "output": {
            "mirror": {"pages": 44885, "bytes": 1722002321, "own_names": 12},
            "stats": {
                "pages": 44885,
                "types": {"text/html": 44007, "text/css": 878},
                "rows": [7, 1],
            },
        },
        "recent": [
            fate(n, outcome="err40X" if n % 9 == 4 else "success") for n in reversed(range(50))
        ],
        "failures": [
            fate(7, "http://gone.example/a", "timeout", status=0, detail="no reply in 30 s"),
            fate(4, "http://www.example.com/gone", "err40X", detail=""),
        ],
        "broken": [
            fate(
                3,
                "http://www.example.com/gone",
                "err40X",
                status=404,
                via="http://www.example.com/links.html",
            ),
            fate(4, "http://gone.example/", "noDNS", status=0, via=None),
        ],
        "refusals": [fate(2, "http://www.example.com/private", "forbiddenRobots", status=0)],
        "history": history(
            pages=[(7 * n * n + 3 * n) % 29 for n in range(60)],
            success=[(7 * n * n + 3 * n) % 29 * 9 // 10 for n in range(60)],
            failed=[n % 20 // 19 for n in range(60)],
            bytes=[(7 * n * n + 3 * n) % 29 * 38_000 for n in range(60)],
            links=[(7 * n * n + 3 * n) % 29 * 48 for n in range(60)],
            names=[n % 3 for n in range(60)],
            urls_queued=[342_000 + n for n in range(60)],
            busy=[70 + n % 5 for n in range(60)],
            rss_bytes=[188_000_000 + n for n in range(60)],
            turn_ms=[1.5 + n % 7 for n in range(60)],
        ),
        "histograms": {"fetch": histogram(), "dns": histogram(), "turn": histogram()},
        "fleet": fleet(),
    }
    made |= changes
    run = {key: made[key] for key in ("started", "elapsed_s")}
    run |= {key: made["totals"].get(key) for key in ("pages", "success")}
    return {"run": run, **made}


def strings_replaced(value: Any, text: str) -> Any:
    """`value` with every str in it, also as a key of crawled names, followed by `text`."""
    if isinstance(value, str):
        return value + text
    if isinstance(value, list):
        return [strings_replaced(item, text) for item in value]
    if isinstance(value, dict):
        return {key: strings_replaced(item, text) for key, item in value.items()}
    return value


def hostile(text: str) -> dict[str, Any]:
    """A snapshot with `text` wherever the web, a file or a person may have put it."""
    made: dict[str, Any] = strings_replaced(snapshot(), text)
    made["outcomes"] = {f"success{text}": 3, text: 1}
    made["sites"]["by_state"] = {text: 4}
    made["config"] = {text: text}
    made["output"] = {text: {text: text}}
    made["history"] = {"minute": {"step_s": 1, "cells": 60, "series": {text: [1, 2, 3]}}}
    made["histograms"] = {text: histogram()}
    made["robots"] = {text: text}
    made["rules"] = {text: 7}
    made["places_of_rules"] = {text: text}
    return made
