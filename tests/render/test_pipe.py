"""The debugging pipe: messages, replies and events."""

import json
from typing import Any

import pytest

from larbinpy.render.pipe import DevTools, Messages, PipeError


def test_messages_end_with_nul_wherever_they_are_cut() -> None:
    wire = b'{"id": 1}\0{"method": "A"}\0{"id": 2}\0'
    for size in range(1, len(wire)):
        messages = Messages()
        pieces = [wire[start : start + size] for start in range(0, len(wire), size)]
        found = [each for piece in pieces for each in messages.feed(piece)]
        assert found == [{"id": 1}, {"method": "A"}, {"id": 2}]


@pytest.mark.parametrize("wire", [b"junk\0", b"[1]\0", b"\xff\0", b"\0"])
def test_what_is_no_message_is_an_error(wire: bytes) -> None:
    with pytest.raises(PipeError):
        Messages().feed(wire)


class Child:
    """Takes what is written."""

    def __init__(self) -> None:
        self.sent: list[dict[str, Any]] = []

    def write(self, data: bytes) -> None:
        assert data.endswith(b"\0")
        self.sent.append(json.loads(data[:-1]))


def test_replies_and_events_go_to_those_who_wait() -> None:
    events: list[Any] = []
    replies: list[Any] = []
    devtools = DevTools(lambda *event: events.append(event))
    child: Any = Child()
    devtools.attach(child)
    devtools.send("Page.enable", {"a": 1}, "S", replies.append)
    devtools.send("Page.disable", {}, "", replies.append)
    first, second = child.sent
    assert first == {
        "id": first["id"],
        "method": "Page.enable",
        "params": {"a": 1},
        "sessionId": "S",
    }
    assert "sessionId" not in second
    reply = {"id": second["id"], "error": {"message": "no"}}
    event = {"method": "E", "params": {"b": 2}, "sessionId": "S"}
    for message in (reply, event, {"id": first["id"], "result": {"c": 3}}, {"id": 99}):
        devtools.heard(json.dumps(message).encode() + b"\0")
    assert replies == [None, {"c": 3}]
    assert events == [("S", "E", {"b": 2})]


def test_who_waits_for_a_browser_that_has_ended_is_told_in_the_next_turn() -> None:
    replies: list[Any] = []
    devtools = DevTools(lambda *event: None)
    child: Any = Child()
    devtools.attach(child)
    devtools.send("A", {}, "", replies.append)
    devtools.drop()
    devtools.send("B", {}, "", replies.append)
    assert replies == []
    devtools.tend()
    assert replies == [None, None]


def test_commands_are_numbered_from_one_and_told_briefly() -> None:
    devtools = DevTools(lambda *event: None)
    wire: list[bytes] = []

    class Wire:
        def write(self, data: bytes) -> None:
            wire.append(data)

    child: Any = Wire()
    devtools.attach(child)
    for _ in range(2):
        devtools.send("A", {"a": 1})
    assert wire == [
        b'{"id":1,"method":"A","params":{"a":1}}\0',
        b'{"id":2,"method":"A","params":{"a":1}}\0',
    ]


def test_messages_that_lack_something_are_understood() -> None:
    events: list[Any] = []
    replies: list[Any] = []
    devtools = DevTools(lambda *event: events.append(event))
    child: Any = Child()
    devtools.attach(child)
    devtools.send("A", {}, "", replies.append)
    devtools.heard(b'{"method": "E"}\0{"params": null}\0{"id": 1}\0{"id": 1}\0')
    assert events == [("", "E", {}), ("", "", {})]
    assert replies == [None]


def test_a_new_browser_begins_with_a_message_of_its_own() -> None:
    replies: list[Any] = []
    devtools = DevTools(lambda *event: None)
    for number in (1, 2):
        child: Any = Child()
        devtools.attach(child)
        devtools.send("A", {}, "", replies.append)
        devtools.send("B", {})
        # Half a message, and the browser ends.
        devtools.heard(b'{"id": ')
        devtools.drop()
        assert replies == [None] * (number - 1)
        devtools.tend()
        assert replies == [None] * number
    # A reply of the browser before is nobody's.
    devtools.attach(child)
    devtools.heard(b'{"id": 1, "result": {}}\0')
    assert replies == [None, None]


def test_those_that_wait_are_told_in_their_order() -> None:
    told: list[str] = []
    devtools = DevTools(lambda *event: None)
    for name in "abc":
        devtools.send("A", {}, "", lambda _, name=name: told.append(name))  # type: ignore[misc]
    devtools.send("B", {})
    devtools.tend()
    assert told == ["a", "b", "c"]
    devtools.tend()
    assert told == ["a", "b", "c"]
