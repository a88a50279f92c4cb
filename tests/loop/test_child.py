"""Child processes: what they get of the environment."""

import ast
import os
from pathlib import Path

import pytest

import larbinpy
from larbinpy.loop.child import environment

_STARTS = {f"subprocess.{name}" for name in ("Popen", "run", "call", "check_call", "check_output")}
_STARTS |= {f"os.{name}" for name in ("posix_spawn", "posix_spawnp", "system", "popen")}


@pytest.mark.parametrize(
    "name", ["SHOP_PASSWORD", "TOKEN", "LARBINPY_JOIN", "LARBINPY_PROXY", "AWS_SECRET", "XPATH"]
)
def test_a_child_gets_no_secrets(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(name, "s3cret")
    assert "s3cret" not in environment().values()


@pytest.mark.parametrize(
    "name", ["PATH", "HOME", "LC_ALL", "TMPDIR", "PYTHONWARNINGS", "LD_PRELOAD", "ASAN_OPTIONS"]
)
def test_it_gets_what_programs_need(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(name, "needed")
    assert environment()[name] == "needed"


def test_it_finds_larbinpy_before_all_else(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", "/else")
    assert larbinpy.__file__ is not None
    home = str(Path(larbinpy.__file__).parents[1])
    assert environment()["PYTHONPATH"] == os.pathsep.join([home, "/else"])


def test_each_child_gets_this_environment() -> None:
    assert larbinpy.__file__ is not None
    found = [
        (path.name, ast.unparse(node))
        for path in Path(larbinpy.__file__).parent.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and ast.unparse(node.func) in _STARTS
    ]
    assert len(found) >= 4
    assert [each for each in found if "environment()" not in each[1]] == []
