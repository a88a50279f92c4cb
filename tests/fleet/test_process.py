import os
import subprocess
import sys
from collections.abc import Iterator

import pytest

from larbinpy.fleet.identity import are_namesakes, has_ended, new_mark, node_of, session_name

_PRINTS_ITS_MARK = """
from larbinpy.fleet.identity import session_name
print(session_name("n1", "5a"), flush=True)
input()
"""


@pytest.fixture
def process() -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-c", _PRINTS_ITS_MARK]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as process:
        yield process
        process.kill()


def session_of(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def test_a_process_that_runs_has_not_ended(process: subprocess.Popen[str]) -> None:
    session = session_of(process)
    assert not has_ended(session)
    assert not has_ended(session_name("n1", "5a"))


@pytest.mark.parametrize("reaped", [False, True])
def test_a_process_that_was_killed_has_ended(process: subprocess.Popen[str], reaped: bool) -> None:
    session = session_of(process)
    process.kill()
    # It has ended, and its parent has not taken its status.
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    if reaped:
        process.wait()
    assert has_ended(session)


def test_nothing_is_known_of_other_machines(process: subprocess.Popen[str]) -> None:
    session = session_of(process)
    process.kill()
    process.wait()
    name, _, mark = session.rpartition("-")
    elsewhere = f"{name}-{'0' * 12}{mark[12:]}"
    for other in (elsewhere, f"{name}-{mark[:-1]}", f"{name}-{mark[:12]}{'z' * 14}", "n1", ""):
        assert not has_ended(other)


def test_a_mark_is_never_used_again_and_fits_a_session() -> None:
    marks = {new_mark() for _ in range(100)}
    assert len(marks) == 100
    one, other = session_name("a.b", "5a"), session_name("a.b", "6b")
    assert node_of(one) == "a.b"
    assert are_namesakes(one, other)
    assert not are_namesakes(one, session_name("a.b", "5a"))
