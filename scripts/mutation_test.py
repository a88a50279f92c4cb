"""Checks that the tests catch known bugs: each is put into a copy, and its tests must fail."""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue

_ROOT = Path(__file__).resolve().parents[1]
#: Parts of the checkout that the tests need.
_NEEDED = ("larbinpy", "tests", "scripts", "docs", "pyproject.toml", "larbin.conf", "README.md")
_BUILD = ("setup.py", "setup.cfg")
#: Time limit for the tests of one bug (s).
_LIMIT = 300
#: A bug that only some kills show must not depend on the draw of a run.
_ENVIRONMENT = {**os.environ, "MOMENTS": "all"}


@dataclass(frozen=True)
class Mutation:
    """A bug. `file` contains `old` once; with `new` in its place one of `tests` must fail."""

    id: str
    what: str
    file: str
    old: str
    new: str
    tests: list[str]


def read(files: list[Path]) -> list[Mutation]:
    return [
        Mutation(**table) for file in files for table in tomllib.loads(file.read_text())["mutation"]
    ]


def check(mutation: Mutation, copy: Path) -> str | None:
    """Return the finding as text, None if a test catches the bug."""
    source = copy / mutation.file
    if not source.is_file():
        return f"{mutation.file} does not exist"
    text = source.read_text()
    if text.count(mutation.old) != 1:
        return f"{mutation.file} contains the text to replace {text.count(mutation.old)} times"
    try:
        _write(source, text.replace(mutation.old, mutation.new), copy)
        code = _run("-x", *mutation.tests, copy=copy)
    finally:
        _write(source, text, copy)
    return None if code == 1 else f"no test fails (pytest's exit status is {code})"


def _write(source: Path, text: str, copy: Path) -> None:
    """Write a file; if it is C, compile the module anew."""
    source.write_text(text)
    if source.suffix == ".c":
        command = [sys.executable, "setup.py", "-q", "build_ext", "--inplace", "--force"]
        subprocess.run(command, cwd=copy, capture_output=True, check=True)


def _run(*arguments: str, copy: Path, limit: float | None = _LIMIT) -> int:
    command = [sys.executable, "-B", "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments]
    try:
        return subprocess.run(
            command, cwd=copy, env=_ENVIRONMENT, capture_output=True, timeout=limit
        ).returncode
    except subprocess.TimeoutExpired:
        return 1


def findings(mutations: list[Mutation], copies: list[Path]) -> Iterator[str]:
    """Put each bug into one of the copies, which are worked on side by side."""
    tests = sorted({test for mutation in mutations for test in mutation.tests})
    if _run("-n", str(len(copies)), *tests, copy=copies[0], limit=None) != 0:
        yield "the tests fail without any bug"
        return
    free = SimpleQueue[Path]()
    for copy in copies:
        free.put(copy)

    def tried(mutation: Mutation) -> str | None:
        copy = free.get()
        try:
            return check(mutation, copy)
        finally:
            free.put(copy)

    with ThreadPoolExecutor(len(copies)) as pool:
        for mutation, wrong in zip(mutations, pool.map(tried, mutations), strict=True):
            verdict = "NOT CAUGHT" if wrong else "caught"
            print(f"{verdict:10}  {mutation.id}: {mutation.what}", flush=True)
            if wrong:
                yield f"{mutation.id}: {wrong}"


def _copied(copy: Path) -> Path:
    for name in (*_NEEDED, *_BUILD):
        if (_ROOT / name).is_dir():
            ignored = shutil.ignore_patterns("__pycache__")
            shutil.copytree(_ROOT / name, copy / name, ignore=ignored)
        else:
            copy.mkdir(exist_ok=True)
            shutil.copy(_ROOT / name, copy / name)
    return copy


def main() -> int:
    parser = argparse.ArgumentParser(prog="mutation-test", description=__doc__)
    parser.add_argument("files", nargs="*", type=Path, help="lists (tests/mutations/*.toml)")
    parser.add_argument("--only", metavar="ID", action="append", help="only these bugs")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="bugs at a time")
    options = parser.parse_args()
    files = options.files or sorted((_ROOT / "tests/mutations").glob("*.toml"))
    mutations = [each for each in read(files) if not options.only or each.id in options.only]
    with tempfile.TemporaryDirectory() as folder:
        copies = [_copied(Path(folder) / str(number)) for number in range(max(1, options.jobs))]
        found = list(findings(mutations, copies))
    print(f"{len(mutations)} bugs, {len(found)} findings", *found, sep="\n")
    return bool(found) or not mutations


if __name__ == "__main__":
    sys.exit(main())
