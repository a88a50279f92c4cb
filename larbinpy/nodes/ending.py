"""The work of all nodes of a crawl together: one exit status and one report."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from larbinpy._version import __version__
from larbinpy.exit_status import USAGE, Ending
from larbinpy.outcome import Outcome
from larbinpy.output.report import build_report

#: Exit status if the nodes died again and again, as of a Python program that fails.
CRASHED = 1

Report = Mapping[str, Any]

#: Counts of which a report of all has the sums.
_SUMS = (
    *("pages", "success", "links", "urls_seen", "bytes_received", "sites", "addresses"),
    "retries",
)
#: Fields of each node in the report of all.
_OF_NODE = (
    *("stop_reason", "pages", "success", "bytes_received", "elapsed_s", "cpu_s"),
    "peak_rss_bytes",
)


@dataclass(frozen=True, slots=True)
class NodeEnd:
    """How a node ended: its last exit status, how often it was started, and its report."""

    name: str
    #: Negative for a signal.
    status: int
    #: 0 for a node of an earlier run, which has pages of the crawl.
    starts: int
    #: Empty if it wrote none.
    report: Report

    @property
    def reason(self) -> str:
        return str(self.report.get("stop_reason", ""))


#: Endings in which the crawl came to its end, the strongest first.
_DONE = (Ending.FINISHED, Ending.LIMIT_PAGE, Ending.LIMIT_TIME)


def ending_of(nodes: Sequence[NodeEnd]) -> tuple[str, int]:
    """The reason for the end of the crawl, and the exit status of all nodes together.

    A node that was stopped, or died, costs nothing if another one came to the end of the crawl.
    One that could not start, or whose disk failed, does.
    """
    total = sum((_outcomes(node) for node in nodes), Counter[str]())
    nodes = [node for node in nodes if node.starts]
    statuses = {node.status for node in nodes}
    if Ending.FORCED.code in statuses:
        return Ending.FORCED.reason, Ending.FORCED.code
    if USAGE in statuses:
        return "a node could not go on", USAGE
    if Ending.DISK.code in statuses:
        return Ending.DISK.reason, Ending.DISK.code
    for ending in _DONE:
        if any(node.reason in _reasons(ending) for node in nodes if node.status >= 0):
            if ending is Ending.FINISHED and Ending.LOGIN.code in statuses:
                return Ending.LOGIN.reason, Ending.LOGIN.code
            if ending is Ending.FINISHED and total.total() and not total["success"]:
                return Ending.NOTHING.reason, Ending.NOTHING.code
            return ending.reason, ending.code
    if Ending.STOPPED.code in statuses:
        return Ending.STOPPED.reason, Ending.STOPPED.code
    return "the nodes died", CRASHED


def _reasons(ending: Ending) -> set[str]:
    """A node without a page of its own, or of a site, has another reason for the same end."""
    ends = (Ending.NOTHING, Ending.LOGIN) if ending is Ending.FINISHED else ()
    return {each.reason for each in (ending, *ends)}


def _outcomes(node: NodeEnd) -> Counter[str]:
    return Counter(node.report.get("outcomes", {}))


def merged(nodes: Sequence[NodeEnd], started: str, elapsed_s: float, queued: int) -> Report:
    """The report of all nodes: sums of theirs, and a short one of each.

    `started` and `elapsed_s` are those of the command, for nodes without reports; `queued` is the
    number of URLs in Redis.
    """
    reason, code = ending_of(nodes)
    reports = [node.report for node in nodes if node.report]
    totals = Counter[str]()
    for report in reports:
        totals.update({key: int(report[key]) for key in _SUMS})
    outcomes = {outcome.value: 0 for outcome in Outcome}
    for node in nodes:
        for name, count in _outcomes(node).items():
            outcomes[name] += count
    report = build_report(
        version=__version__,
        started=min((str(each["started"]) for each in reports), default=started),
        elapsed_s=max((float(each["elapsed_s"]) for each in reports), default=elapsed_s),
        cpu_s=sum(float(each["cpu_s"]) for each in reports),
        # If all were at their peak at once.
        peak_rss_bytes=sum(int(each["peak_rss_bytes"]) for each in reports),
        stop_reason=reason,
        exit_code=code,
        totals=totals | Counter(urls_queued=queued),
        outcomes=outcomes,
        robots=_group(reports, "robots"),
        dns=_group(reports, "dns"),
    )
    return report | {"nodes": [_short(node) for node in nodes]}


def _group(reports: Sequence[Report], name: str) -> Counter[str]:
    return sum((Counter(report[name]) for report in reports), Counter())


def _short(node: NodeEnd) -> Report:
    short = {key: node.report.get(key) for key in _OF_NODE}
    return {"node": node.name, "exit_code": node.status, "starts": node.starts, **short}
