import json
from typing import Any

import pytest

from larbinpy.console.terminal.layout import laid_out
from tests.support.snapshots import fate, hostile, snapshot

SITE = {
    "site": "http://a.test", "state": "open", "waiting": 1200, "in_flight": 1, "delay_s": 30,
    "next_in_s": 7.5, "fetched": 12, "failed": 1,
}  # fmt: skip


def shown(command: str, **answer: Any) -> str:
    return laid_out(command, json.dumps(answer) + "\n")


def test_plain_answers() -> None:
    assert shown("pause", ok=True) == "ok\n"
    assert shown("set x 1", ok=False, error="x: unknown") == "error: x: unknown\n"


def test_add() -> None:
    refused = [{"url": "ftp://b/", "reason": "not a URL"}]
    assert shown("add a b", ok=False, accepted=1, refused=refused) == (
        "1 accepted\nrefused ftp://b/: not a URL\n"
    )


def test_rules() -> None:
    rule = {"number": 1, "rule": "reject **/x", "source": "console", "decided": 1234}
    reply = json.dumps({"ok": True, "rules": [rule]})
    assert laid_out("rules", reply) == "  1  reject **/x (console), 1,234 links\n"
    assert laid_out("rules", json.dumps({"ok": True, "rules": []})) == "no rules\n"


def test_status_is_a_table() -> None:
    text = shown("status", ok=True, **snapshot())
    lines = text.splitlines()
    assert lines[0] == "running, 0:44:39 in all"
    assert "  URLs       342,809 queued of 391,022 seen" in lines
    assert "  gate       closed: www.example.com holds 9998 URLs" in lines
    assert "  http://slow.example  Retry-After: 120, for 0:01:58" in lines


def test_explain_a_url_that_waits() -> None:
    text = shown(
        "explain http://a.test/", ok=True, url="http://a.test/", seen=True, state="ready",
        why="its address gets a request every 30 s (waitDuration)", waits_for="politeness",
        in_s=7.5,
        until="2026-11-21T09:21:16Z", ahead=1200, paused=True, site=SITE,
    )  # fmt: skip
    assert text.splitlines() == [
        "http://a.test/",
        "ready, and the crawl is paused: its address gets a request every 30 s (waitDuration)",
        "  ahead of it  1,200",
        "  waits for    politeness",
        "  until        2026-11-21T09:21:16Z",
        "  site         http://a.test: open, 1,200 waiting, 1 in flight, every 30 s, 12 fetched, "
        "1 failed",
    ]


def test_explain_a_url_that_is_decided() -> None:
    text = shown(
        "explain x", ok=True, url="http://a.test/x", seen=True, state="decided",
        reason="forbiddenRobots", rule="robots.txt", line="Disallow: /x",
        why="robots.txt says: Disallow: /x", fate=fate(3, outcome="forbiddenRobots"),
    )  # fmt: skip
    assert "decided: robots.txt says: Disallow: /x\n" in text
    assert "  status   404\n" in text


def test_watch() -> None:
    assert shown("watch", ok=True, watching="err40X") == (
        "watching URLs with err40X; press Enter to stop\n"
    )
    line = fate(3, url="http://a.test/\u202e")
    assert shown("watch", **line) == ("2026-03-01T12:00:03Z success 200 http://a.test/\\u202e\n")
    assert "7 lost" in shown("watch", lost=7)
    assert shown("watch", ok=True, watched=3, lost=7) == "3 shown, 7 lost\n"


def test_help_describes_the_commands() -> None:
    lines = [line.split(maxsplit=2) for line in shown("help", ok=True, commands=[]).splitlines()]
    assert ["explain", "URL", "show the status of a URL, and why"] in lines


@pytest.mark.parametrize(
    "reply",
    ["nonsense\x1b", "[]", "{}", '{"ok": true, "totals": 3}', '"x"', "null", "{", "[" * 99_999],
)
def test_unknown_answers_are_shown_unchanged(reply: str) -> None:
    for command in ("status", "explain x", "watch", "add x", "pause"):
        text = laid_out(command, reply)
        assert text.count("\n") == 1
        assert "\x1b" not in text


def test_nothing_of_the_web_acts_on_the_terminal() -> None:
    text = shown("status", ok=True, **hostile("\x1b[2J\x9b\u202e\n"))
    assert not {"\x1b", "\x9b", "\u202e"} & set(text)
