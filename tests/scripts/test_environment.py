"""scripts/_env.sh: the environment of a checkout, also for a user who may not write it."""

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.checkout import ROOT

#: The user and group of the second user, if the tests run as root.
_NOBODY = 65534

#: Stands for Python: ``-m venv --clear FOLDER`` makes one that runs.
_PYTHON = """\
#!/bin/sh
if [ "$1" = -m ]; then mkdir -p "$4/bin" && cp "$0" "$4/bin/python"; fi
"""
_SCRIPT = """\
set -eu
. "$root/scripts/_env.sh"
find_python() { python=$root/python; }
pip_install() { echo "installs $1" >&2; }
make_env extra
echo "$root"
"""


class Checkout:
    """A checkout with a stub for Python, in a folder that every user can read."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "checkout"
        self.cache = folder / "cache"
        self.cache.mkdir(mode=0o777)
        self.cache.chmod(0o777)
        for name in ("setup.cfg", "setup.py", "larbinpy/native/links.c"):
            path = self.root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch()
        (self.root / "scripts").mkdir()
        shutil.copy(ROOT / "scripts/_env.sh", self.root / "scripts")
        (self.root / "python").write_text(_PYTHON)
        (self.root / "python").chmod(0o755)
        self.own = True

    def lock(self) -> None:
        """From now on another user runs the scripts, who may not write here."""
        self.own = False
        for path in (self.root, *self.root.rglob("*")):
            path.chmod(path.stat().st_mode & 0o555 | 0o444)

    def unlock(self) -> None:
        self.root.chmod(0o755)

    def run(self, cache: str | None = None) -> subprocess.CompletedProcess[str]:
        user = ["setpriv", f"--reuid={_NOBODY}", f"--regid={_NOBODY}", "--clear-groups"]
        other = user if os.getuid() == 0 and not self.own else []
        environment = {
            "PATH": os.environ["PATH"],
            "root": str(self.root),
            "XDG_CACHE_HOME": str(self.cache) if cache is None else cache,
        }
        return subprocess.run(
            [*other, "/bin/sh", "-c", _SCRIPT, "larbinpy"],
            capture_output=True,
            text=True,
            env=environment,
            check=False,
        )


@pytest.fixture
def checkout() -> Iterator[Checkout]:
    if os.getuid() == 0 and shutil.which("setpriv") is None:
        pytest.skip("setpriv is not installed")
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        made = Checkout(Path(folder))
        yield made
        made.unlock()


def copy_of(done: subprocess.CompletedProcess[str]) -> Path:
    assert done.returncode == 0, done.stderr
    return Path(done.stdout.strip())


def test_the_owner_has_it_in_the_checkout(checkout: Checkout) -> None:
    done = checkout.run()
    assert copy_of(done) == checkout.root
    assert f"installs {checkout.root}[extra]" in done.stderr
    assert (checkout.run().stdout, checkout.run().stderr) == (f"{checkout.root}\n", "")


def test_another_user_has_a_copy_in_the_cache(checkout: Checkout) -> None:
    checkout.lock()
    done = checkout.run()
    copy = copy_of(done)
    assert copy.parent == checkout.cache / "larbinpy"
    assert done.stderr.splitlines() == [
        f"larbinpy: no permission to write {checkout.root}: using a copy of it, {copy}",
        f"larbinpy: making {copy}/.venv (only once)",
        f"installs {copy}",
        "larbinpy: adding the packages of extra",
        f"installs {copy}[extra]",
    ]
    assert (copy / "larbinpy/native/links.c").exists()
    again = checkout.run()
    assert (again.stdout, again.stderr) == (f"{copy}\n", "")


def test_the_copy_follows_the_checkout(checkout: Checkout) -> None:
    checkout.lock()
    copy = copy_of(checkout.run())
    changed = checkout.root / "larbinpy/native/links.c"
    changed.chmod(0o644)
    changed.write_text("int x;")
    later = time.time() + 5
    os.utime(changed, (later, later))
    done = checkout.run()
    assert copy_of(done) == copy
    assert (copy / "larbinpy/native/links.c").read_text() == "int x;"
    # The module is built again; the environment stays.
    assert "making" not in done.stderr
    assert f"installs {copy}\n" in done.stderr


def test_the_environment_of_the_owner_is_used_while_it_fits(checkout: Checkout) -> None:
    checkout.run()
    checkout.lock()
    done = checkout.run()
    assert (done.stdout, done.stderr) == (f"{checkout.root}\n", "")


def test_without_any_writable_folder_it_says_what_to_do(checkout: Checkout) -> None:
    checkout.lock()
    done = checkout.run(cache="/proc/nowhere")
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == ("larbinpy: set XDG_CACHE_HOME to a folder of your own")


def test_nothing_but_a_checkout_is_copied(tmp_path: Path) -> None:
    """With an empty $root, all files of the machine would be."""
    program = f'root=; . "{ROOT}/scripts/_env.sh"; use_copy'
    cache = tmp_path / "cache"
    done = subprocess.run(
        ["sh", "-c", program],
        env={**os.environ, "XDG_CACHE_HOME": str(cache)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, cache.exists()) == (1, False)
    assert "no checkout: no folder" in done.stderr


def test_the_command_of_a_checkout_has_all_that_it_can_use() -> None:
    script = (ROOT / "scripts/larbinpy").read_text()
    assert "\nmake_env fleet mysql\n" in script
