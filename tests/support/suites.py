"""Test cases that others wrote, in the folder that LARBINPY_SUITES names."""

import os
from pathlib import Path

import pytest

#: Read at import: the tests run without the LARBINPY_ variables, which are settings.
_FOLDER = os.environ.get("LARBINPY_SUITES")


def suite(name: str) -> Path:
    """The file or folder `name` among the suites; skips the test where there is none."""
    if not _FOLDER:
        pytest.skip(f"outside suite {name}: LARBINPY_SUITES names no folder")
    path = Path(_FOLDER) / name
    if not path.exists():
        pytest.skip(f"outside suite {name} is not in {_FOLDER}")
    return path
