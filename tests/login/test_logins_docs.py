"""docs/logins.md: its examples are read, and it describes each method and key."""

import re
from pathlib import Path

import pytest

from larbinpy.login.file import KEYS, examine, explained
from larbinpy.login.spec import Method
from tests.support.checkout import ROOT

TEXT = (ROOT / "docs" / "logins.md").read_text()
EXAMPLES = re.findall(r"^```toml\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The files that the examples name."""
    monkeypatch.chdir(tmp_path)
    texts = {
        "shop.password": "secret",
        "my.netrc": "machine docs.example login me password secret",
        "cookies.txt": "forum.example\tFALSE\t/\tTRUE\t0\tsession\tsecret",
    }
    for name, text in texts.items():
        Path(name).touch(mode=0o600)
        Path(name).write_text(text)


@pytest.mark.parametrize("text", EXAMPLES)
def test_the_examples_have_no_errors(text: str) -> None:
    Path("logins.toml").touch(mode=0o600)
    Path("logins.toml").write_text(text)
    environ = dict.fromkeys(re.findall(r"env:(\w+)", text), "secret")
    entries, wrong = examine("logins.toml", environ)
    assert (len(wrong), len(entries)) == (0, text.count("[[login]]")), wrong
    if text == EXAMPLES[0]:
        assert f"    # login at {explained(entries[0])}\n" in TEXT


def test_each_method_has_an_example_and_each_key_is_described() -> None:
    shown = set(re.findall(r'^method = "(\w+)"$', "".join(EXAMPLES), re.MULTILINE))
    assert shown == {each.value for each in Method} - {"digest"}
    assert KEYS.keys() <= set(re.findall(r"`(\w+)`", TEXT))
