"""How the browser is found."""

from pathlib import Path

import pytest

from larbinpy.config import ConfigError
from larbinpy.loop.clock import clock
from larbinpy.loop.poller import Poller
from larbinpy.render.browser import Browser, find_browser
from tests.support.contexts import make_context


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


def program(path: Path, text: str) -> Path:
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


def test_a_browser_of_snap_is_passed_over(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    script = program(tmp_path / "chromium-browser", "exec /snap/bin/chromium")
    (tmp_path / "bin").mkdir()
    (tmp_path / "chromium").symlink_to(program(tmp_path / "bin" / "snap", ""))
    with pytest.raises(ConfigError, match="chromium: a browser of snap cannot be used"):
        find_browser(None)
    with pytest.raises(ConfigError, match="a browser of snap cannot be used"):
        find_browser(str(script))
    chrome = program(tmp_path / "google-chrome-stable", "")
    assert find_browser(None) == str(chrome)


@pytest.mark.parametrize(
    ("script", "why"),
    [
        ("echo '[1:1:FATAL:zygote.cc(1)] No usable sandbox! If' >&2; exit 1", "its sandbox needs"),
        ("echo 'libnss3.so: cannot open shared object file' >&2; exit 127", "libnss3.so: cannot"),
        ("echo '[7:7:FATAL:x.cc(7)] Check failed.' >&2; echo more >&2; exit 1", "Check failed."),
        ("exit 0", "it ended"),
        ("printf 'junk\\0' >&4; exec sleep 9", "a message that is no JSON"),
    ],
)
def test_one_line_says_why_a_browser_does_not_start(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, script: str, why: str
) -> None:
    # The user that root becomes could not read the program.
    monkeypatch.setattr("larbinpy.render.browser.wrapping", lambda: ([], None))
    named = program(tmp_path / "browser", script)
    context = make_context(poller=Poller(), clock=clock)
    browser = Browser(context, str(named), lambda *_: None, lambda _: None)
    with pytest.raises(ConfigError, match=f"render: {named} does not start: {why}") as raised:
        browser.open()
    assert "\n" not in str(raised.value)
    context.poller.close()
