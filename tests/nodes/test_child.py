"""A process that does not outlive the one that started it."""

import os
import signal
import subprocess
from functools import partial

import pytest

from larbinpy.nodes.child import _end_with


@pytest.mark.parametrize(
    "parent, status", [(os.getpid(), 0), (0, -signal.SIGKILL)], ids=["alive", "dead"]
)
def test_one_whose_parent_died_before_it_could_know_does_not_begin(
    parent: int, status: int
) -> None:
    prepare = partial(_end_with, parent, signal.SIGTERM)
    with subprocess.Popen(["true"], preexec_fn=prepare) as process:
        assert process.wait(20.0) == status
