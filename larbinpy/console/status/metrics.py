"""The snapshot as Prometheus text, exposition format 0.0.4.

Names follow its conventions: base units, `_total` for counters, one unit for all samples of a
name. Metrics of the process have the names that client libraries use.

`prometheus_client` is not used here. It would save 19 of these lines, but a scrape would take
460 us instead of 195, and each crawl would import it at its start, in 15 ms and 3 MB (http.server,
ssl, wsgiref, threading). The tests read this text with its parser.
"""

import math
from collections.abc import Iterator, Mapping
from itertools import accumulate
from typing import Any, NamedTuple

from larbinpy.console.text import printable
from larbinpy.errors import CrawlState

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class Metric(NamedTuple):
    """One metric: its name without `larbinpy_`, and the path of its value in the snapshot.

    `group` is a dotted path to a dict with `key`. With a label, the value is a dict from label
    values to numbers.
    """

    name: str
    type: str
    help: str
    group: str
    key: str | None
    label: str | None = None
    scale: float = 1


_METRICS = (
    Metric("pages_total", "counter", "Pages: URLs that were fetched.", "totals", "success"),
    # The snapshot has Larbin's name of them.
    Metric("replies_total", "counter", "Replies, pages included.", "totals", "pages"),
    Metric("links_total", "counter", "Links found in pages.", "totals", "links"),
    Metric("received_bytes_total", "counter", "Bytes received.", "totals", "bytes_received"),
    Metric("retries_total", "counter", "URLs queued for another try.", "totals", "retries"),
    Metric("urls_seen", "gauge", "Distinct URLs seen.", "totals", "urls_seen"),
    Metric("urls_queued", "gauge", "URLs waiting.", "totals", "urls_queued"),
    Metric("sites", "gauge", "Sites seen.", "totals", "sites"),
    Metric("addresses", "gauge", "Addresses seen.", "totals", "addresses"),
    Metric("outcomes_total", "counter", "URLs by outcome.", "outcomes", None, "outcome"),
    Metric("rule_links_total", "counter", "Links that a rule decided.", "rules", None, "rule"),
    Metric("queue_urls", "gauge", "URLs by queue.", "queues", None, "queue"),
    Metric("gate_open", "gauge", "1 while URLs may leave the store.", "gate", "open"),
    Metric("sites_by_state", "gauge", "Sites by state.", "sites", "by_state", "state"),
    Metric("dns_asked_total", "counter", "Lookups.", "dns", "asked"),
    Metric("dns_sent_total", "counter", "Queries sent.", "dns", "sent"),
    Metric("dns_resent_total", "counter", "Queries sent again.", "dns", "resent"),
    Metric("dns_answered_total", "counter", "Replies accepted.", "dns", "answered"),
    Metric("dns_cached_total", "counter", "Names found in the cache.", "dns", "cached"),
    Metric("dns_failed_total", "counter", "Names without an address.", "dns", "failed"),
    Metric("dns_rejected_total", "counter", "Packets that match no query.", "dns", "rejected"),
    Metric("dns_in_flight", "gauge", "Names being looked up.", "dns", "in_flight"),
    Metric("dns_queued", "gauge", "Names waiting to be looked up.", "dns", "queued"),
    Metric("dns_early_total", "counter", "Lookups in advance.", "dns", "early"),
    Metric("dns_overdue", "gauge", "Names with a repeated query.", "dns", "overdue"),
    Metric("dns_ports", "gauge", "UDP ports in use.", "dns", "ports"),
    Metric("dns_cache_addresses", "gauge", "Names in the cache.", "dns.cache", "names"),
    Metric("dns_cache_capacity", "gauge", "Limit of names.", "dns.cache", "size"),
    Metric("dns_cache_bytes", "gauge", "Memory for addresses.", "dns.cache", "bytes"),
    Metric("dns_cache_evicted_total", "counter", "Names evicted.", "dns.cache", "evicted"),
    Metric("dns_cache_failures", "gauge", "Failures in the cache.", "dns.cache", "failures"),
    Metric("dns_absent", "gauge", "Names that do not exist.", "dns.cache", "absent"),
    Metric("dns_absent_capacity", "gauge", "Limit of such names.", "dns.cache", "absent_size"),
    Metric("dns_absent_bytes", "gauge", "Memory for such names.", "dns.cache", "absent_bytes"),
    Metric(
        "dns_stale_served_total", "counter", "Expired addresses used.", "dns.cache", "stale_served"
    ),
    Metric("robots_fetched_total", "counter", "robots.txt files read.", "robots", "fetched"),
    Metric("robots_denied_total", "counter", "URLs forbidden by robots.txt.", "robots", "denied"),
    Metric(
        "loop_lag_max_seconds",
        "gauge",
        "Longest turn of the loop.",
        "system",
        "loop_lag_max_ms",
        scale=1e-3,
    ),
    Metric("spool_bytes", "gauge", "Bytes before the database.", "output.database", "spool_bytes"),
    Metric("spool_pages", "gauge", "Pages before the database.", "output.database", "waiting"),
    Metric("indexed_pages_total", "counter", "Pages indexed.", "output.database", "indexed"),
    Metric("spool_age_seconds", "gauge", "Age of the oldest.", "output.database", "oldest_s"),
    Metric("browser_waiting", "gauge", "Pages before the browser.", "browser", "waiting"),
    Metric("browser_pages_total", "counter", "Pages read by it.", "browser", "rendered"),
    Metric("browser_failed_total", "counter", "Pages kept as sent.", "browser", "kept_as_sent"),
    Metric("browser_refused_total", "counter", "Requests refused.", "browser", "refused"),
    Metric("browser_starts_total", "counter", "Starts of it.", "browser", "starts"),
    Metric("browser_memory_bytes", "gauge", "Its memory.", "browser", "memory_bytes"),
    Metric("handles", "gauge", "Limit of transfers.", "system", "handles"),
    Metric("fleet_members", "gauge", "Nodes of the fleet.", "fleet", "members"),
    Metric("fleet_shards", "gauge", "Shards that this node fetches.", "fleet", "shards"),
    Metric("fleet_lag_seconds", "gauge", "Time to write to Redis.", "fleet", "lag_s"),
    Metric("fleet_redis_trouble", "gauge", "1 while Redis is away.", "fleet", "redis_trouble"),
    Metric("handles_busy", "gauge", "Transfers running.", "system", "busy"),
)

#: Named as in Prometheus' own client libraries.
_PROCESS_METRICS = (
    Metric("process_cpu_seconds_total", "counter", "Processor time.", "system", "cpu_s"),
    Metric("process_resident_memory_bytes", "gauge", "Resident memory.", "system", "rss_bytes"),
    Metric("process_open_fds", "gauge", "Open file descriptors.", "system", "fds"),
    Metric("process_max_fds", "gauge", "Limit of file descriptors.", "system", "fds_limit"),
)

#: Name, help, key of the histogram in the snapshot.
_HISTOGRAMS = (
    ("fetch_duration_seconds", "Durations of requests.", "fetch"),
    ("dns_lookup_duration_seconds", "Durations of name lookups.", "dns"),
    ("loop_lag_seconds", "Durations of turns of the loop.", "turn"),
)

_STATES = tuple(state.value for state in CrawlState)

#: One sample for each name server; `key` is a key of the server's dict.
_SERVER_METRICS = (
    Metric("dns_server_sent_total", "counter", "Queries sent", "", "sent"),
    Metric("dns_server_answered_total", "counter", "Replies accepted", "", "answered"),
    Metric("dns_server_lost_total", "counter", "Queries without a reply", "", "lost"),
    Metric("dns_server_resting", "gauge", "1 while it does not answer", "", "resting"),
    Metric("dns_server_keeps_case", "gauge", "1 if it repeats letter case", "", "keeps_case"),
    Metric("dns_server_rtt_seconds", "gauge", "Mean round-trip time", "", "rtt_ms", scale=1e-3),
)


def _escape(value: object) -> str:
    # The format requires escapes of backslash, quote and line feed; printable removes line feeds.
    return printable(str(value)).replace("\\", "\\\\").replace('"', '\\"')


def _number(value: object, scale: float = 1) -> str | None:
    if not isinstance(value, int | float):
        return None
    scaled = value * scale if scale != 1 else value
    if math.isnan(scaled):
        return "NaN"
    if math.isinf(scaled):
        return "+Inf" if scaled > 0 else "-Inf"
    return repr(int(scaled) if isinstance(scaled, bool) else scaled)


def _full(name: str) -> str:
    return name if name.startswith("process_") else f"larbinpy_{name}"


def _sample(name: str, value: object, scale: float = 1, **labels: object) -> Iterator[str]:
    number = _number(value, scale)
    if number is not None:
        inside = ",".join(f'{key}="{_escape(text)}"' for key, text in labels.items())
        yield f"{_full(name)}{{{inside}}} {number}" if inside else f"{_full(name)} {number}"


def _family(name: str, kind: str, text: str, samples: list[str]) -> list[str]:
    if not samples:
        return []
    return [f"# HELP {_full(name)} {text}", f"# TYPE {_full(name)} {kind}", *samples]


def _value(snapshot: Mapping[str, Any], *path: str | None) -> Any:
    value: Any = snapshot
    for key in path:
        if key is not None:
            value = (value or {}).get(key)
    return value


def _samples(metric: Metric, snapshot: Mapping[str, Any]) -> list[str]:
    found = _value(snapshot, *metric.group.split("."), metric.key)
    if metric.label is None:
        return list(_sample(metric.name, found, metric.scale))
    return [
        line
        for key, value in (found or {}).items()
        for line in _sample(metric.name, value, **{metric.label: key})
    ]


def _state(state: object) -> list[str]:
    """One sample for each state, so that the end of a state is visible."""
    samples = [line for each in _STATES for line in _sample("state", state == each, state=each)]
    return _family("state", "gauge", "1 for the current state of the crawl.", samples)


def _histogram(name: str, text: str, histogram: Mapping[str, Any]) -> list[str]:
    """A histogram family; its buckets are cumulative."""
    if not histogram:
        return []
    bounds = [repr(float(bound)) for bound in histogram["bounds_s"]] + ["+Inf"]
    samples = [
        line
        for bound, count in zip(bounds, accumulate(histogram["counts"]), strict=True)
        for line in _sample(f"{name}_bucket", count, le=bound)
    ]
    samples += _sample(f"{name}_sum", histogram["sum_s"])
    samples += _sample(f"{name}_count", histogram["count"])
    return _family(name, "histogram", text, samples)


def _servers(snapshot: Mapping[str, Any]) -> list[str]:
    servers = (snapshot.get("dns") or {}).get("servers") or ()
    lines = []
    for metric in _SERVER_METRICS:
        samples = [
            line
            for server in servers
            for line in _sample(
                metric.name,
                server.get(metric.key),
                metric.scale,
                server=server.get("address"),
            )
        ]
        lines += _family(metric.name, metric.type, f"{metric.help}, by name server.", samples)
    return lines


def _plugs(snapshot: Mapping[str, Any]) -> list[str]:
    """The counts of outputs: a family of bytes and one of everything else."""
    by_unit: dict[str, list[str]] = {"output_bytes": [], "output_items": []}
    for plug, items in _counters(snapshot.get("output") or {}):
        for key, value in items.items():
            name = "output_bytes" if "bytes" in key else "output_items"
            by_unit[name] += _sample(name, value, plug=plug, item=key)
    return [
        line
        for name, samples in by_unit.items()
        for line in _family(name, "gauge", "Counts of the outputs.", samples)
    ]


def _counters(plugs: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Plugs with counts. A plug that has only groups counts as several plugs.

    Groups beside counts (by host, by type) are left out, as their number is unbounded.
    """
    for name, items in plugs.items():
        if isinstance(items, Mapping) and items:
            within = all(isinstance(value, Mapping) for value in items.values())
            yield from items.items() if within else [(name, items)]


def render(snapshot: Mapping[str, Any]) -> str:
    """All metrics of `snapshot`; missing values are left out."""
    version, started = snapshot.get("version"), _value(snapshot, "run", "started")
    program = list(_sample("build_info", 1, version=version))
    lines = _family("build_info", "gauge", "Version of the program.", program)
    lines += _state(snapshot.get("state"))
    since = list(_sample("process_start_time_seconds", started))
    lines += _family(
        "process_start_time_seconds", "gauge", "Start of the process, as Unix time.", since
    )
    for metric in (*_METRICS, *_PROCESS_METRICS):
        lines += _family(metric.name, metric.type, metric.help, _samples(metric, snapshot))
    for name, text, key in _HISTOGRAMS:
        lines += _histogram(name, text, _value(snapshot, "histograms", key) or {})
    lines += _servers(snapshot)
    lines += _plugs(snapshot)
    return "\n".join(lines) + "\n"
