"""File systems that are full soon."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def small_disk(folder: Path, *, megabytes: int) -> Iterator[Path]:
    """Mount a file system with room for `megabytes` at `folder`; skip the test if one may not."""
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "larbinpy-test", str(folder)]
    if os.geteuid() or subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("only root may mount a small disk here")
    try:
        yield folder
    finally:
        # Lazily, since a killed process may not have closed its files yet.
        subprocess.run(["umount", "--lazy", str(folder)], check=True)
