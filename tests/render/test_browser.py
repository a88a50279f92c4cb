"""How the browser is found."""

from pathlib import Path

import pytest

from larbinpy.config import ConfigError
from larbinpy.render.browser import find_browser


def test_a_browser_that_is_missing_is_named_with_its_package(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ConfigError, match="apt-get install chromium"):
        find_browser(None)
    program = tmp_path / "google-chrome"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    assert find_browser(None) == str(program)


def test_a_named_browser_must_be_a_program(tmp_path: Path) -> None:
    file = tmp_path / "browser"
    file.write_text("")
    for named in (file, tmp_path):
        with pytest.raises(ConfigError, match="no program that can be run"):
            find_browser(str(named))
    file.chmod(0o755)
    assert find_browser(str(file)) == str(file)
