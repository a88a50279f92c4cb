"""The checkout can be installed with a compiler and without one."""

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path
from zipfile import ZipFile

import pytest

from larbinpy.native import NO_SCAN
from tests.support.checkout import ROOT

pytestmark = pytest.mark.slow

NEEDED = ["setup.py", "setup.cfg", "pyproject.toml", "README.md", "LICENSE", "MANIFEST.in"]
NEEDED += ["larbin.conf"]
COMPILED = "larbinpy/native/_native.abi3.so"


def run(*command: str | Path, cwd: Path, **environment: str) -> str:
    environment = {name: v for name, v in os.environ.items() if name != NO_SCAN} | environment
    done = subprocess.run(
        command, cwd=cwd, env=environment, capture_output=True, text=True, timeout=200, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def can_compile() -> bool:
    compiler = os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc"
    header = Path(sysconfig.get_path("include"), "Python.h")
    return shutil.which(compiler.split()[0]) is not None and header.exists()


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the checkout, without what was built in it."""
    folder = tmp_path_factory.mktemp("source")
    for name in NEEDED:
        shutil.copy(ROOT / name, folder)
    ignored = shutil.ignore_patterns("*.so", "__pycache__")
    shutil.copytree(ROOT / "larbinpy", folder / "larbinpy", ignore=ignored)
    return folder


def pip(verb: str, *arguments: str | Path, cwd: Path, **environment: str) -> None:
    """Run pip as it is without a network."""
    quiet = ("--no-deps", "--no-index", "--disable-pip-version-check")
    run(sys.executable, "-m", "pip", verb, *quiet, *arguments, cwd=cwd, **environment)


def wheel(source: Path, folder: Path, **environment: str) -> Path:
    pip("wheel", "--no-build-isolation", source, cwd=folder, **environment)
    shutil.rmtree(source / "build", ignore_errors=True)
    (found,) = folder.glob("*.whl")
    return found


def versions(wheel: Path, folder: Path) -> str:
    """Install a wheel, and return what its ``larbinpy --version`` says."""
    target = folder / "installed"
    pip("install", "--target", target, wheel, cwd=folder)
    module = "import larbinpy; print(larbinpy.__file__)"
    place = run(sys.executable, "-c", module, cwd=target, PYTHONPATH=f"{target}")
    assert place.startswith(f"{target}"), place
    return run(sys.executable, "-m", "larbinpy", "--version", cwd=target, PYTHONPATH=f"{target}")


def test_without_a_compiler(source: Path, tmp_path: Path) -> None:
    made = wheel(source, tmp_path, CC="/nonexistent")
    assert COMPILED not in ZipFile(made).namelist()
    assert "link scan not compiled" in versions(made, tmp_path)


@pytest.mark.skipif(not can_compile(), reason="needs a C compiler and Python.h")
def test_with_a_compiler(source: Path, tmp_path: Path) -> None:
    """The wheel suits later versions of Python, too."""
    made = wheel(source, tmp_path)
    assert "-cp311-abi3-" in made.name
    assert COMPILED in ZipFile(made).namelist()
    assert "link scan compiled" in versions(made, tmp_path)
