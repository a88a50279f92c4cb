"""Test suites of other projects, in the folder that LARBINPY_SUITES names."""

import os
from pathlib import Path

import pytest

#: Read at import: the tests run without the LARBINPY_ variables, which are settings.
_FOLDER = os.environ.get("LARBINPY_SUITES")


def suite(name: str) -> Path:
    """Return the path of the suite `name`; skips the test if it is missing."""
    if not _FOLDER:
        pytest.skip(f"outside suite {name}: LARBINPY_SUITES names no folder")
    path = Path(_FOLDER) / name
    if not path.exists():
        pytest.skip(f"outside suite {name} is not in {_FOLDER}")
    return path
