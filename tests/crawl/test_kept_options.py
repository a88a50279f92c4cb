"""The options of a crawl as a part of its state."""

import json
import stat
from pathlib import Path

import pytest

from larbinpy.config import Given
from larbinpy.crawl.kept_options import KeptOptions, kept_in
from larbinpy.storage.state import StateError
from tests.support.faultydisk import FaultyDisk

GIVEN = Given("my.conf", [("waitDuration", "5")], {"LARBINPY_RETRIES": "1", "HOME": "/"})
KEPT = Given("my.conf", [("waitDuration", "5")], {"LARBINPY_RETRIES": "1"}, [])


def test_they_are_written_once_for_their_owner_alone(tmp_path: Path) -> None:
    part = KeptOptions(tmp_path, GIVEN)
    assert kept_in(tmp_path) is None, "nothing is written before the first checkpoint"
    mark = part.cut()
    file = tmp_path / "options.json"
    assert kept_in(tmp_path) == KEPT
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    with FaultyDisk().under("fsync") as disk:
        assert part.cut() == mark
    assert disk.count == 0
    part.clear()
    assert kept_in(tmp_path) is None
    part.clear()


def test_a_failed_write_is_made_up_for(tmp_path: Path) -> None:
    part, disk = KeptOptions(tmp_path, GIVEN), FaultyDisk()
    disk.fail(1)
    with disk.under("rename"):
        with pytest.raises(OSError):
            part.cut()
        part.cut()
    assert kept_in(tmp_path) == KEPT


def test_a_crawl_of_a_program_leaves_those_of_the_command(tmp_path: Path) -> None:
    KeptOptions(tmp_path, GIVEN).cut()
    part = KeptOptions(tmp_path, None)
    part.load(part.cut())
    assert kept_in(tmp_path) == KEPT
    part.clear()
    assert kept_in(tmp_path) is None


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"file": 1}', "\xff"])
def test_damaged_options_are_refused_with_a_remedy(tmp_path: Path, text: str) -> None:
    file = tmp_path / "options.json"
    file.write_bytes(text.encode("latin-1"))
    with pytest.raises(StateError) as raised:
        kept_in(tmp_path)
    assert str(raised.value).startswith(f"{file}: damaged (")
    assert str(raised.value).endswith("; remove it, and give all options again")
    assert "\n" not in str(raised.value)
    file.write_text(json.dumps(KEPT.to_json()))
    assert kept_in(tmp_path) == KEPT
