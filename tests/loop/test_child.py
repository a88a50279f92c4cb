"""Child processes that run a module of larbinpy."""

import os
import select
import signal
import subprocess
from pathlib import Path

from larbinpy.loop.child import collect, command, environment, has_ended


def test_nothing_is_imported_from_the_working_directory(tmp_path: Path) -> None:
    """A crawl may have put a file with the name of a module there."""
    (tmp_path / "json.py").write_text("raise SystemExit('this is a page')")
    done = subprocess.run(
        command("larbinpy", "--version"),
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("larbinpy, ")


def test_a_process_that_does_not_end_is_killed() -> None:
    with subprocess.Popen(["sleep", "100"]) as process:
        assert collect(process, 0.01) == -signal.SIGKILL


def test_the_status_of_one_that_ends() -> None:
    with subprocess.Popen(["sh", "-c", "exit 3"]) as process:
        assert collect(process, 30.0) == 3


def test_a_process_has_ended_before_its_parent_asks() -> None:
    assert not has_ended(os.getpid())
    with subprocess.Popen(["sleep", "100"]) as process:
        assert not has_ended(process.pid)
        pidfd = os.pidfd_open(process.pid)
        process.kill()
        assert select.select([pidfd], [], [], 20.0)[0]
        os.close(pidfd)
        assert has_ended(process.pid)
        process.wait()
        assert has_ended(process.pid)
