"""The switch that turns the compiled module off."""

import os
import subprocess
import sys

from larbinpy.native import NO_SCAN, native

PROGRAM = "from larbinpy.native import native; print(native is not None)"


def loaded(value: str) -> bool:
    output = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env=os.environ | {NO_SCAN: value},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    ).stdout
    return output == "True\n"


def test_the_environment_turns_it_off() -> None:
    assert not loaded("1")
    assert loaded("") or native is None
