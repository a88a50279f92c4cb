import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from larbinpy.console.ports.commands import COMMANDS
from larbinpy.console.ports.input_port import MAX_LINE, InputPort, InputSession
from larbinpy.page import Fate
from tests.support.console_loop import FakeCrawl, Loop
from tests.support.snapshots import fate, snapshot

FIRST = b"priority:0 depth:5 test:1\n"


@pytest.fixture
def loop() -> Iterator[Loop]:
    loop = Loop()
    yield loop
    loop.close()


@pytest.fixture
def crawl() -> FakeCrawl:
    return FakeCrawl()


def say(crawl: FakeCrawl, *pieces: bytes) -> str:
    """The answers of a session to `pieces` and the end of input."""
    session = InputSession(crawl)
    heard = b""
    for piece in (*pieces, b""):
        if not session.closing:
            session.receive(piece)
        while session.busy:
            heard += session.work()
    return heard.decode()


def test_larbins_protocol(crawl: FakeCrawl) -> None:
    heard = say(crawl, b"priority:1 depth:3 test:0\r\nhttp://a.example/\r\n\r\nhttp://b.example/\n")
    assert crawl.seeds == [
        ("http://a.example/", 3, True, True),
        ("http://b.example/", 3, True, True),
    ]
    assert heard == "Bye bye...\n"


@pytest.mark.parametrize(
    "first",
    ["priority:0 depth:5 test:1", "priority:0  depth:5  test:1 ", "priority: 0depth:5test:1x"],
)
def test_the_first_line_is_read_as_sscanf_does(crawl: FakeCrawl, first: str) -> None:
    say(crawl, f"{first}\nhttp://a.example/\n".encode())
    assert crawl.seeds == [("http://a.example/", 5, False, False)]


def test_a_first_line_may_leave_the_depth_to_the_crawl(crawl: FakeCrawl) -> None:
    assert say(crawl, b"priority:1 test:0\nhttp://a.example/\n") == "Bye bye...\n"
    assert crawl.seeds == [("http://a.example/", None, True, True)]


@pytest.mark.parametrize(
    "first",
    [
        *("", "hello", "http://a.example/", "depth:5", "Console", "priority:x depth:5 test:1"),
        *("priority:0 depth:-1 test:1", "priority:0 depth:test:1"),
    ],
)
def test_another_first_line_closes(crawl: FakeCrawl, first: str) -> None:
    heard = say(crawl, b"\n\n" + first.encode() + b"\nhttp://a.example/\nconsole\nstop\n")
    assert heard.startswith("Incorrect input") if first else heard.endswith("Bye bye...\n")
    assert crawl.seeds == []
    assert crawl.calls == []


def test_a_refused_line_is_answered_with_the_reason(crawl: FakeCrawl) -> None:
    heard = say(crawl, FIRST + b"ftp://a.example/\nnot a url\nhttp://a.example/\n")
    assert heard.splitlines() == [
        "refused ftp://a.example/: badURL",
        "refused not%20a%20url: badURL",
        "Bye bye...",
    ]
    assert len(crawl.seeds) == 1


def test_an_answer_shows_no_direction_or_c1_controls(crawl: FakeCrawl) -> None:
    heard = say(crawl, FIRST + "x\u202e\x9b\u2028y\n".encode())
    assert heard.splitlines()[0] == "refused x\\u202e\\x9b\\u2028y: badURL"


def test_the_last_line_needs_no_newline(crawl: FakeCrawl) -> None:
    say(crawl, FIRST + b"http://a.example/")
    assert len(crawl.seeds) == 1


def test_pieces_of_any_size_make_the_same_lines(crawl: FakeCrawl) -> None:
    data = FIRST + b"http://a.example/1\r\nhttp://a.example/2\n"
    say(crawl, *(data[i : i + 1] for i in range(len(data))))
    assert [seed[0] for seed in crawl.seeds] == ["http://a.example/1", "http://a.example/2"]


@pytest.mark.parametrize("ending", [b"", b"\n", b"\nhttp://a.example/\n"])
def test_a_long_line_closes_with_the_reason(crawl: FakeCrawl, ending: bytes) -> None:
    heard = say(crawl, FIRST + b"http://a.example/" + b"x" * MAX_LINE + ending)
    assert heard == "Url submitted too long\nBye bye...\n"
    assert crawl.seeds == []


def test_a_line_of_the_greatest_length_is_taken(crawl: FakeCrawl) -> None:
    url = b"http://a.example/".ljust(MAX_LINE, b"x")
    assert say(crawl, FIRST + url + b"\n") == "Bye bye...\n"
    assert len(crawl.seeds) == 1


@pytest.mark.parametrize(
    "bad", [b"\0", b"http://a.example/\0\n", b"\x1b[2J\n", b"\x16\x03\x01\x02\0"]
)
def test_control_characters_close_with_the_reason(crawl: FakeCrawl, bad: bytes) -> None:
    for start in (b"", FIRST):
        heard = say(crawl, start + bad)
        assert heard == "Incorrect input: control characters\nBye bye...\n"
    assert crawl.seeds == []


def test_bytes_that_are_no_text_close_with_the_reason(crawl: FakeCrawl) -> None:
    assert "not UTF-8" in say(crawl, FIRST + b"http://a.example/\xff\n")
    say(crawl, FIRST + "http://a.example/é\n".encode())
    assert crawl.seeds[0][0] == "http://a.example/é"


@given(st.lists(st.binary(max_size=200)))
def test_no_bytes_break_a_session(pieces: list[bytes]) -> None:
    crawl = FakeCrawl()
    say(crawl, *pieces)
    say(crawl, FIRST, *pieces)
    say(crawl, b"console\n", *pieces)


# Command mode


def command(crawl: FakeCrawl, *lines: str) -> list[Any]:
    heard = say(crawl, b"console\n" + "".join(f"{line}\n" for line in lines).encode())
    return [json.loads(line) for line in heard.splitlines()]


def test_commands_and_answers(crawl: FakeCrawl) -> None:
    answers = command(
        crawl,
        "add http://a.example/ http://b.example/",
        "add ftp://c.example/ http://d.example/",
        "status",
        "pause",
        "resume",
        "set waitDuration 2",
        "set From me",
        "explain http://a.example/",
        "save",
        "stop",
        "quit",
        "stop",
    )
    assert answers == [
        {"ok": True, "accepted": 2, "refused": []},
        {
            "ok": False,
            "accepted": 1,
            "refused": [{"url": "ftp://c.example/", "reason": "badURL"}],
        },
        {"ok": True, "state": "running", "totals": {"pages": 7}},
        {"ok": True},
        {"ok": True},
        {"ok": True},
        {"ok": False, "error": "From cannot be set"},
        {"ok": True, "url": "http://a.example/", "where": "queued"},
        {"ok": True},
        {"ok": True},
        {"ok": True},
    ]
    assert crawl.seeds[0] == ("http://a.example/", None, False, False)
    assert crawl.calls == [
        ("pause",),
        ("resume",),
        ("set", "waitDuration", "2"),
        ("set", "From", "me"),
        ("save",),
        ("stop",),
    ]


@pytest.mark.parametrize(
    ("line", "error"),
    [
        ("frobnicate", "unknown command 'frobnicate'"),
        ("add", "usage: add URL..."),
        ("set waitDuration", "usage: set KEY VALUE"),
        ("explain", "usage: explain URL"),
        ("reject", "usage: reject PATTERN..."),
        ("reject !", "no pattern"),
        ("drop 2", "no rule is '2'"),
        ("status now", "usage: status"),
    ],
)
def test_wrong_commands(crawl: FakeCrawl, line: str, error: str) -> None:
    [answer] = command(crawl, line)
    assert answer["ok"] is False
    assert answer["error"].startswith(error)


def test_help_names_every_command(crawl: FakeCrawl) -> None:
    [answer] = command(crawl, "help")
    assert "add URL..." in answer["commands"]
    assert "watch [WORD]" in answer["commands"]
    assert len(answer["commands"]) == len(COMMANDS)


def test_a_command_may_take_many_turns(crawl: FakeCrawl) -> None:
    crawl.steps = 3
    session = InputSession(crawl)
    session.receive(b"console\nexplain http://a.example/\npause\n")
    turns = 0
    heard = b""
    while session.busy:
        turns += 1
        heard += session.work()
        assert turns > 3 or crawl.calls == []
    assert turns == 4
    assert heard == b'{"ok":true,"url":"http://a.example/","where":"queued"}\n{"ok":true}\n'


def test_a_waiting_command_does_not_hurry_the_loop(crawl: FakeCrawl) -> None:
    crawl.is_saved = False
    session = InputSession(crawl)
    session.receive(b"console\nsave\n")
    assert session.work() == session.work() == session.work() == b""
    assert (session.busy, session.resting) == (True, True)
    crawl.is_saved = True
    assert session.work() == b'{"ok":true}\n'
    assert (session.busy, session.resting) == (False, False)


# watch


def fate_of(number: int, **more: Any) -> Fate:
    return Fate(**fate(number, **more))


def watching(crawl: FakeCrawl, word: bytes = b"") -> InputSession:
    session = InputSession(crawl)
    session.receive(b"console\nwatch " + word + b"\n")
    while session.busy:
        session.work()
    return session


def test_watch_sends_fates_as_they_are_decided(crawl: FakeCrawl) -> None:
    session = watching(crawl)
    assert (session.busy, session.closing, session.patience) == (False, False, float("inf"))
    crawl.watchers.write(fate_of(1))
    assert session.busy
    assert json.loads(session.work()) == fate(1)
    assert not session.busy


def test_watch_is_ended_by_any_line(crawl: FakeCrawl) -> None:
    for line in (b"\n", b"stop\n"):
        session = watching(crawl)
        crawl.watchers.write(fate_of(1))
        session.receive(line)
        *fates, last = session.work().splitlines()
        assert [json.loads(line)["ts"] for line in fates] == [fate(1)["ts"]]
        assert json.loads(last) == {"ok": True, "watched": 1, "lost": 0}
        assert len(crawl.watchers) == 0
        session.receive(b"pause\n")
        assert session.work() == b'{"ok":true}\n'
    assert crawl.calls == [("pause",)] * 2


@pytest.mark.parametrize("ending", [b"", b"\0", b"x" * (MAX_LINE + 1)])
def test_watch_ends_with_the_connection(crawl: FakeCrawl, ending: bytes) -> None:
    session = watching(crawl)
    session.receive(ending)
    session.work()
    assert session.closing
    assert len(crawl.watchers) == 0
    session = watching(crawl)
    session.left()
    assert len(crawl.watchers) == 0


def test_only_a_watcher_that_does_not_read_loses_lines(loop: Loop, crawl: FakeCrawl) -> None:
    port = loop.add(InputPort(loop.poller, crawl, "127.0.0.1", 0))
    deaf = loop.dial(port, receive_buffer=4096)
    loop.send(deaf, b"console\nwatch\n")
    loop.until(lambda: len(crawl.watchers) == 1)
    for number in range(20_000):
        crawl.watchers.write(fate_of(number % 60))
        if number % 20 == 0:
            loop.turn()
    [connection] = port._connections.values()
    assert len(connection.outbox) < 1_000_000
    assert b"accepted" in loop.read_until_answer(port, b"add http://a.example/")
    heard = loop.read_some(deaf)
    loop.send(deaf, b"\n")
    heard += loop.read_until(deaf, b"}\n")
    lines = [json.loads(line) for line in heard.partition(b"\n\n")[2].splitlines()]
    lost = sum(line["lost"] for line in lines if "lost" in line and "ok" not in line)
    fates = sum("ts" in line for line in lines)
    assert (lines[-1]["watched"], lines[-1]["lost"]) == (fates, lost)
    assert lost > 5_000
    assert fates + lost == 20_000


def test_command_mode_speaks_only_json(crawl: FakeCrawl) -> None:
    for bad in ("status\0", "x" * (MAX_LINE + 1)):
        [answer] = command(crawl, bad)
        assert answer["ok"] is False
    session = InputSession(crawl)
    session.receive(b"console\n")
    session.work()
    assert json.loads(session.farewell) == {"ok": False, "error": "Idle for too long"}


def test_a_full_snapshot_is_one_line(crawl: FakeCrawl) -> None:
    crawl.shown = snapshot()
    [answer] = command(crawl, "status")
    assert answer == {"ok": True, **snapshot()}


# On the wire


def test_the_banner_ends_in_an_empty_line(loop: Loop, crawl: FakeCrawl) -> None:
    port = loop.add(InputPort(loop.poller, crawl, "127.0.0.1", 0))
    peer = loop.dial(port)
    banner = loop.read_until(peer, b"\n\n").decode()
    assert banner.startswith("Welcome to larbin input system !\n")
    assert '"priority:0 depth:5 test:1"' in banner


@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "OPTIONS", "PRI", "BREW"])
def test_an_http_request_is_closed_at_once(loop: Loop, crawl: FakeCrawl, method: str) -> None:
    port = loop.add(InputPort(loop.poller, crawl, "127.0.0.1", 0))
    body = FIRST + b"http://evil.example/\n" + b"console\nadd http://evil.example/\nstop\n"
    head = f"{method} / HTTP/1.1\r\nHost: localhost:1976\r\nContent-Length: {len(body)}\r\n\r\n"
    heard = loop.ask(port, head.encode() + body)
    assert b"Incorrect input: this is not a web server\nBye bye...\n" in heard
    assert crawl.seeds == []
    assert crawl.calls == []
    assert len(port) == 0


def test_a_line_without_end_is_cut_off_early(loop: Loop, crawl: FakeCrawl) -> None:
    port = loop.add(InputPort(loop.poller, crawl, "127.0.0.1", 0))
    peer = loop.dial(port)
    loop.send(peer, FIRST)
    line = b"x" * 1_000_000
    assert sum(loop.send(peer, line) for _ in range(100)) < 10_000_000
    assert len(port) == 0
    assert crawl.seeds == []


def test_silent_connections_make_room_for_new_ones(loop: Loop, crawl: FakeCrawl) -> None:
    port = loop.add(InputPort(loop.poller, crawl, "127.0.0.1", 0))
    for _ in range(60):
        loop.dial(port)
    loop.turn(10)
    assert len(port) == 32
    talker = loop.dial(port)
    loop.turn(5)
    loop.send(talker, FIRST + b"http://a.example/\n")
    loop.turn(5)
    assert len(crawl.seeds) == 1


def test_a_session_may_be_idle_for_ten_minutes(loop: Loop, crawl: FakeCrawl) -> None:
    port = loop.add(InputPort(loop.poller, crawl, "127.0.0.1", 0))
    peer = loop.dial(port)
    loop.send(peer, b"console\n")
    loop.later(599)
    assert len(port) == 1
    loop.later(1)
    assert b"Idle for too long" in loop.read_all(peer)


def test_many_seeds_are_handled_in_batches(loop: Loop, crawl: FakeCrawl) -> None:
    port = loop.add(InputPort(loop.poller, crawl, "127.0.0.1", 0))
    peer = loop.dial(port)
    flood = FIRST + b"".join(b"http://a.example/%d\n" % n for n in range(3000))
    peer.send(flood)
    most = before = 0

    def done() -> bool:
        nonlocal most, before
        most, before = max(most, len(crawl.seeds) - before), len(crawl.seeds)
        return len(crawl.seeds) == 3000

    loop.until(done)
    assert most <= 100
    assert [seed[0] for seed in crawl.seeds[-2:]] == [
        "http://a.example/2998",
        "http://a.example/2999",
    ]


def test_a_seeder_that_reads_no_refusals_is_closed(loop: Loop, crawl: FakeCrawl) -> None:
    port = loop.add(InputPort(loop.poller, crawl, "127.0.0.1", 0))
    peer = loop.dial(port, receive_buffer=4096)
    flood = FIRST + b"nonsense that is refused\n" * 400_000
    assert loop.send(peer, flood) < len(flood)
    [connection] = port._connections.values()
    assert len(connection.outbox) < 100_000
    loop.later(31)
    assert len(port) == 0


def test_an_error_of_the_crawl_is_not_taken_for_one_of_the_socket(loop: Loop) -> None:
    class Full(FakeCrawl):
        def add(self, url: str, **_options: object) -> str | None:
            raise OSError(28, "No space left on device")

    port = loop.add(InputPort(loop.poller, Full(), "127.0.0.1", 0))
    peer = loop.dial(port)
    peer.send(FIRST + b"http://a.example/\n")
    with pytest.raises(OSError, match="No space"):
        loop.turn(10)


@pytest.mark.parametrize(
    ("word", "wanted"),
    [
        (b"err", ["err40X", "err50X"]),
        (b"ERR4", ["err40X"]),
        (b"404", ["err40X"]),
        (b"dns", ["noDNS"]),
        (b"no-such", []),
        (b"name", ["noDNS"]),
        (b"page-3", ["noDNS"]),
        (b"success", ["success"]),
    ],
)
def test_watch_finds_outcomes_by_a_part_and_by_their_reason(
    crawl: FakeCrawl, word: bytes, wanted: list[str]
) -> None:
    session = watching(crawl, word)
    found = []
    for number, (outcome, status, detail) in enumerate(
        [("success", 200, ""), ("err40X", 404, ""), ("err50X", 502, ""), ("noDNS", 0, "nxdomain")]
    ):
        crawl.watchers.write(fate_of(number, outcome=outcome, status=status, detail=detail))
        if session.busy:
            found.append(json.loads(session.work())["outcome"])
    assert found == wanted
