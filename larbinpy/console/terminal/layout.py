"""The results of console commands as text; crawled text in them is made harmless.

`FetchInfo` prints a line for each decided URL, in Larbin's format.
"""

import json
from collections.abc import Iterable, Mapping
from typing import Any, TextIO

from larbinpy.console.ports.commands import COMMANDS
from larbinpy.console.text import (
    counted,
    duration,
    estimate,
    grouped,
    printable,
    reader_may_leave,
    size,
)
from larbinpy.page import SEED_AGAIN, Fate, detail_in_words


class FetchInfo:
    """Prints a line for each URL whose outcome is decided."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, fate: Fate) -> None:
        with reader_may_leave(self._stream):
            print(f"[{fate.outcome}] {printable(fate.url)}", file=self._stream)


_Result = Mapping[str, Any]


def laid_out(command: str, reply: str) -> str:
    """The JSON line `reply` to `command` as lines of text, each with its newline."""
    try:
        answer = json.loads(reply)
        lines = _lines(command.split()[0], answer)
    except (ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError):
        # Perhaps from a crawl of another version: show it unchanged.
        lines = [reply.strip()]
    return "".join(f"{printable(line)}\n" for line in lines)


def _lines(verb: str, answer: _Result) -> Iterable[str]:
    if "error" in answer:
        return [f"error: {answer['error']}"]
    match verb:
        case "status":
            return _status(answer)
        case "explain":
            return _explain(answer)
        case "add":
            return _add(answer)
        case "rules":
            return _rules(answer)
        case "drop":
            return _drop(answer)
        case "help":
            return _help()
        case "watch":
            return [_fate(answer)]
        case _:
            return ["ok" if answer["ok"] else "refused"]


def _table(rows: Iterable[tuple[str, str]]) -> list[str]:
    rows = list(rows)
    width = max((len(name) for name, _ in rows), default=0)
    return [f"  {name:<{width}}  {value}" for name, value in rows]


def _status(answer: _Result) -> list[str]:
    totals, rates, queues = answer["totals"], answer["rates"], answer["queues"]
    name = f"{answer['name']}: " if answer.get("name") else ""
    head = f"{name}{answer['state']}, {duration(answer['elapsed_s'])} in all"
    outcomes = [(name, count) for name, count in answer["outcomes"].items() if count]
    outcomes.sort(key=lambda outcome: outcome[1], reverse=True)
    gate, places = answer["gate"], totals["addresses"]
    outlook = (("now", answer.get("waits_for")), ("time left", estimate(answer.get("left_s"))))
    rows = [
        *((name, text) for name, text in outlook if text),
        ("pages", f"{grouped(totals['success'])}, {grouped(rates['success'])}/s"),
        ("replies", f"{grouped(totals['pages'])}, {grouped(rates['pages'])}/s"),
        ("received", f"{size(totals['bytes_received'])}, {size(rates['bytes'])}/s"),
        ("URLs", f"{grouped(totals['urls_queued'])} queued of {grouped(totals['urls_seen'])} seen"),
        ("in flight", grouped(queues["in_flight"])),
        ("sites", f"{grouped(totals['sites'])} at {grouped(places)} address{'es' * (places != 1)}"),
        ("gate", "open" if gate["open"] else f"closed: {gate['reason']}"),
        (
            "outcomes",
            ", ".join(f"{grouped(count)} {name}" for name, count in outcomes) or "none yet",
        ),
    ]
    busiest = [
        (
            site["site"],
            f"{site['state']}, {grouped(site['waiting'])} waiting, every {site['delay_s']:g} s",
        )
        for site in answer["sites"]["busiest"][:10]
    ]
    suspended = [
        (site["site"], f"{site['reason']}, for {duration(max(0, site['until_s']))}")
        for site in answer["sites"]["suspended"][:10]
    ]
    lines = [head, *_table(rows)]
    if busiest:
        lines += ["busiest sites", *_table(busiest)]
    if suspended:
        lines += ["suspended sites", *_table(suspended)]
    return lines


#: Keys of an explanation, and their labels.
_EXPLAINED = {
    "reason": "outcome",
    "rule": "rule",
    "line": "line",
    "queue": "queue",
    "ahead": "ahead of it",
    "waits_for": "waits for",
    "until": "until",
    "address": "address",
    "attempt": "tries made",
    "database": "database",
}
_FATE = ("ts", "status", "type", "size", "ip", "ms", "attempt", "depth", "via")


def _explain(answer: _Result) -> list[str]:
    state = answer["state"] + (", and the crawl is paused" if answer.get("paused") else "")
    rows = [(name, _value(answer[key])) for key, name in _EXPLAINED.items() if key in answer]
    fate = answer.get("fate") or {}
    rows += [(name, _value(fate[name])) for name in _FATE if fate.get(name) not in (None, "")]
    site = answer.get("site")
    if site:
        text = (
            f"{site['site']}: {site['state']}, {grouped(site['waiting'])} waiting, "
            f"{site['in_flight']} in flight, every {site['delay_s']:g} s, "
            f"{grouped(site['fetched'])} fetched, {grouped(site['failed'])} failed"
        )
        rows.append(("site", text))
    return [f"{answer['url']}", f"{state}: {answer['why']}", *_table(rows)]


def _value(value: object) -> str:
    return grouped(value) if type(value) is int else str(value)


def _add(answer: _Result) -> list[str]:
    refused = [f"refused {each['url']}: {each['reason']}" for each in answer["refused"]]
    note = [answer["note"]] if "note" in answer else []
    return [f"{answer['accepted']} accepted", *refused, *note]


def _rules(answer: _Result) -> list[str]:
    rules = answer["rules"]
    rows = [
        (
            f"{each['number']}",
            f"{each['rule']} ({each['source']}), {grouped(each['decided'])} links",
        )
        for each in rules
    ]
    return _table(rows) if rows else ["no rules"]


def _drop(answer: _Result) -> list[str]:
    rejected = answer["rejected"]
    return [f"ok; it rejected {counted(rejected, 'link')}: {SEED_AGAIN} one" if rejected else "ok"]


def _help() -> list[str]:
    # The commands of this program; an older crawl refuses those that it does not know.
    usages = [(f"{name} {each.arguments}".strip(), each.help) for name, each in COMMANDS.items()]
    return _table(usages)


def _fate(answer: _Result) -> str:
    if "watching" in answer:
        word = f" with {answer['watching']}" if answer["watching"] else ""
        return f"watching URLs{word}; press Enter to stop"
    if "watched" in answer:
        return f"{answer['watched']} shown, {answer['lost']} lost"
    if "lost" in answer:
        return f"({answer['lost']} lost: they came too fast)"
    return fate_line(answer)


def fate_line(fate: _Result) -> str:
    """A line about a decided URL, with its reason if the outcome and the status lack it."""
    detail = detail_in_words(fate["outcome"], fate.get("detail") or "")
    why = f" ({detail})" if detail else ""
    return f"{fate['ts']} {fate['outcome']} {fate['status'] or '-'} {fate['url']}{why}"
