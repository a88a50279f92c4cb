"""The lists of known bugs: each can be put in, and has tests. scripts/mutation-test does that."""

import tomllib
from collections import Counter
from typing import Any

from tests.support.checkout import ROOT

BUGS: list[dict[str, Any]] = [
    bug
    for path in sorted(ROOT.glob("tests/mutations/*.toml"))
    for bug in tomllib.loads(path.read_text())["mutation"]
]


def test_each_bug_has_a_name_of_its_own() -> None:
    names = Counter(bug["id"] for bug in BUGS)
    assert [name for name, count in names.items() if count > 1] == []


def test_each_bug_changes_one_place() -> None:
    texts = {path: (ROOT / path).read_text() for path in {bug["file"] for bug in BUGS}}
    found = {bug["id"]: texts[bug["file"]].count(bug["old"]) for bug in BUGS}
    assert {name: count for name, count in found.items() if count != 1} == {}
    assert [bug["id"] for bug in BUGS if bug["old"] == bug["new"]] == []


def test_each_bug_has_tests_that_exist() -> None:
    assert [bug["id"] for bug in BUGS if not bug["tests"]] == []
    tests = {(bug["id"], *test.partition("::")[::2]) for bug in BUGS for test in bug["tests"]}
    assert [each for each in sorted(tests) if not _exists(*each[1:])] == []


def _exists(path: str, name: str) -> bool:
    file = ROOT / path
    return file.exists() and (not name or f"def {name.partition('[')[0]}(" in file.read_text())
