import io
import threading
from typing import Any

import pytest

from larbinpy.console.terminal.progress import PrintStats, make_progress, stats_lines, status_line
from tests.support.snapshots import hostile, snapshot


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_lines_come_every_eight_seconds_and_at_the_end() -> None:
    out = io.StringIO()
    progress = make_progress("auto", out, None)
    for tenth in range(255):
        progress.update(snapshot(elapsed_s=tenth / 10))
    assert [line.split()[0] for line in out.getvalue().splitlines()] == [
        "0:00:08",
        "0:00:16",
        "0:00:24",
    ]
    progress.close()
    progress.close()
    assert len(out.getvalue().splitlines()) == 4


def test_the_last_line_is_not_repeated() -> None:
    out = io.StringIO()
    progress = make_progress("log", out, None)
    progress.update(snapshot(elapsed_s=8.0, state="finished"))
    progress.update(snapshot(elapsed_s=8.1, state="finished"))
    progress.close()
    assert len(out.getvalue().splitlines()) == 1


@pytest.mark.parametrize("mode", ["bar", "log", "none"])
def test_a_message_has_a_line_of_its_own(mode: str) -> None:
    out = io.StringIO()
    progress = make_progress(mode, out, None)
    progress.say("first")
    progress.update(snapshot(elapsed_s=9))
    progress.say("no room")
    progress.close()
    # The screen shows of each line the text after its last carriage return.
    shown = [line.rpartition("\r")[2] for line in out.getvalue().split("\n")]
    if mode != "log":
        assert shown[:2] == ["first", "no room"]
    assert len(shown) == {"bar": 4, "log": 4, "none": 3}[mode]
    assert shown[-1] == ""


def test_the_status_line() -> None:
    line = status_line(snapshot())
    for part in (
        "0:44:39 running",
        "pages 44,907 (17.1/s)",
        "replies 48,213",
        "queued 342,809",
        "1.9 GB (712.3 kB/s)",
    ):
        assert part in line, part


def test_a_bar_on_a_terminal() -> None:
    out = Terminal()
    progress = make_progress("auto", out, 50_000)
    progress.update(snapshot())
    progress.update(snapshot(state="paused"))
    progress.close()
    shown = out.getvalue()
    # limitPage counts what was a success.
    assert "44907/50000" in shown
    assert "17.1 pages/s, 48,213 replies" in shown
    assert "paused" in shown


def test_a_bar_goes_on_where_the_runs_before_have_ended() -> None:
    out = Terminal()
    progress = make_progress("auto", out, 100)
    progress.update(snapshot(elapsed_s=2679, run={"elapsed_s": 1, "success": 7}))
    progress.close()
    # limitPage is that of this run.
    assert "44907/45000 [44:39, " in out.getvalue()


@pytest.mark.parametrize(
    ("changes", "shown"),
    [
        ({"waits_for": "docs.test: waitDuration, next request in 22 s"}, "22 s, 342,8"),
        ({"waits_for": "x" * 200}, "[44:39, xxxxxxxx"),
        ({"left_s": 725.0, "rates": {}}, "0 pages/s, about 12 min left, 48,213 replies"),
    ],
)
def test_the_bar_says_what_it_waits_for_and_fits_the_terminal(
    changes: dict[str, Any], shown: str
) -> None:
    out = Terminal()
    progress = make_progress("bar", out, None)
    progress.update(snapshot(**changes))
    progress.close()
    line = out.getvalue().rpartition("\r")[2].rstrip()
    assert shown in line
    assert len(line) <= 80


def test_the_status_line_has_the_outlook() -> None:
    line = status_line(snapshot(waits_for="disk full", left_s=725.0))
    assert line.endswith("  about 12 min left  disk full")
    assert "left" not in status_line(snapshot(left_s=0.0))
    assert status_line(snapshot(state="paused", waits_for="paused")).count("paused") == 1


def test_a_bar_without_a_limit_starts_no_thread() -> None:
    out = Terminal()
    before = threading.active_count()
    progress = make_progress("bar", out, 0)
    progress.update(snapshot())
    assert threading.active_count() == before
    progress.close()
    assert "44907 pages" in out.getvalue()


def test_no_progress_and_unknown_modes() -> None:
    out = io.StringIO()
    progress = make_progress("none", out, None)
    progress.update(snapshot(elapsed_s=100))
    progress.close()
    assert out.getvalue() == ""
    with pytest.raises(ValueError, match="not 'loud'"):
        make_progress("loud", out, None)


@pytest.mark.parametrize("mode", ["bar", "log"])
@pytest.mark.parametrize("isatty", [True, False])
def test_no_escape_of_the_web_reaches_the_terminal(mode: str, isatty: bool) -> None:
    plain, odd = Terminal() if isatty else io.StringIO(), io.StringIO()
    for out, data in ((plain, snapshot(elapsed_s=9)), (odd, hostile("\x1b]0;x\x07\u202e\x9b\r\n"))):
        progress = make_progress(mode, out, None)
        progress.update({**data, "elapsed_s": 9})
        progress.close()
    assert not set(odd.getvalue()) & set("\x07\u202e\x9b")
    assert "\x1b]" not in odd.getvalue()
    assert odd.getvalue().count("\n") == plain.getvalue().count("\n")


def test_print_stats_is_larbins_block() -> None:
    lines = stats_lines(snapshot(elapsed_s=60), limit_time=3660).splitlines()
    assert lines[0] == ""
    assert lines[2:] == [
        "urls :    2310442\t(rate : 861)",
        "pages :   48213\t(rate : 18.4)",
        "success : 44907\t(rate : 17.1)",
        "Remaining Time: 1:00:00",
    ]
    assert len(stats_lines(snapshot()).splitlines()) == 5


def test_print_stats_comes_every_eight_seconds() -> None:
    out = io.StringIO()
    stats = PrintStats(out)
    for second in range(0, 50, 5):
        stats.update(snapshot(elapsed_s=second))
    stats.close()
    assert out.getvalue().count("pages :") == 5


def test_a_snapshot_that_lacks_keys() -> None:
    assert status_line({}).startswith("0:00:00")
    stats_lines({})
    progress = make_progress("bar", io.StringIO(), None)
    progress.update({})
    progress.close()


def test_a_crawl_that_ended_at_once_shows_its_averages() -> None:
    run = {"elapsed_s": 0.5, "success": 5, "bytes_received": 2000}
    short = {**snapshot(state="finished", rates={}), "run": run}
    assert "(10.0/s)" in status_line(short)
    assert "(4.0 kB/s)" in status_line(short)
    assert "(10.0/s)" not in status_line({**short, "state": "running"})
