"""Probes in the state: what a run continues with after an end, and after a kill."""

import errno
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from larbinpy.frontier.soft404.probes import Mark, Probes, SavedProbes
from larbinpy.page import Page
from larbinpy.storage.files import LineFile
from larbinpy.url import Url
from tests.frontier.soft404.test_probes import gone, lost, make, probed
from tests.support.softpages import SITE, moved, page


def saved(folder: Path, most: int = 10**6) -> tuple[SavedProbes, Probes]:
    """Probes that are saved in `folder`."""
    probes = make()
    return SavedProbes(folder, probes, most), probes


def checkpoint(part: SavedProbes) -> Mark | None:
    mark = part.cut()
    part.sync()
    part.tidy(mark)
    return mark


def end(part: SavedProbes) -> Mark | None:
    mark = checkpoint(part)
    part.close()
    return mark


def loaded(folder: Path, mark: Mark | None) -> Probes:
    """The probes of the next run."""
    part, probes = saved(folder)
    part.load(mark)
    end(part)
    return probes


def files(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def ask(probes: Probes, sites: Sequence[str]) -> None:
    for site in sites:
        while probes.next(site, ()) is not None:
            probes.replied(site, page("/", status=404))


def known(probes: Probes, sites: Sequence[str]) -> list[str]:
    return [site for site in sites if not probes.wants(Url(f"{site}/a", 0))]


@pytest.mark.parametrize(
    ("reply", "other"),
    [
        (lost(), lost()),
        (moved("/", "/s"), moved("/", "/s")),
        (page("/", "PNG", type_="image/png"), page("/", "PNG", type_="image/png")),
    ],
)
def test_all_kinds_of_answers_are_loaded_again(tmp_path: Path, reply: Page, other: Page) -> None:
    part, probes = saved(tmp_path)
    checkpoint(part)
    probed(probes, [reply, gone()], ["/b/c"])
    other.url = Url(f"{SITE}/x", 0)
    said = probes.judge(other)
    again = loaded(tmp_path, end(part))
    assert said
    assert again.judge(other) == said
    assert known(again, [SITE]) == [SITE]


def test_steps_after_the_last_checkpoint_count(tmp_path: Path) -> None:
    """As after a kill: a request may have left."""
    part, probes = saved(tmp_path)
    mark = checkpoint(part)
    probed(probes, [lost(), lost()])
    probes.next("http://b.test", ())
    part.close()
    again = loaded(tmp_path, mark)
    assert known(again, [SITE]) == [SITE]
    assert again.judge(lost("/x"))
    assert again.next("http://b.test", ())
    assert again.next("http://b.test", ["http://b.test/c/d"]) is None


def test_a_torn_line_is_cut_off(tmp_path: Path) -> None:
    part, probes = saved(tmp_path)
    mark = checkpoint(part)
    ask(probes, ["http://a.test", "http://b.test"])
    part.close()
    [file] = tmp_path.iterdir()
    file.write_bytes(file.read_bytes()[:-5] + b"\0\0\n")
    again, probes = saved(tmp_path)
    again.load(mark)
    mark = checkpoint(again)
    ask(probes, ["http://c.test"])
    again.close()
    sites = [f"http://{name}.test" for name in "abcd"]
    assert known(loaded(tmp_path, mark), sites) == ["http://a.test", "http://c.test"]


@pytest.mark.parametrize("damage", [lambda data: data[:-9], lambda data: b"?" + data])
def test_a_damaged_file_is_refused(tmp_path: Path, damage: Any) -> None:
    part, probes = saved(tmp_path)
    checkpoint(part)
    ask(probes, ["http://a.test"])
    mark = end(part)
    [file] = tmp_path.iterdir()
    file.write_bytes(damage(file.read_bytes()))
    with pytest.raises(ValueError, match=r"probes\.000001\.jsonl: damaged"):
        loaded(tmp_path, mark)
    file.unlink()
    with pytest.raises(FileNotFoundError):
        loaded(tmp_path, mark)


def test_old_files_go(tmp_path: Path) -> None:
    part, probes = saved(tmp_path, most=2000)
    checkpoint(part)
    sites = [f"http://s{number}.test" for number in range(100)]
    for number, site in enumerate(sites):
        ask(probes, [site])
        mark = part.cut()
        assert sum(path.stat().st_size for path in tmp_path.iterdir()) < 7500
        if number % 3:
            part.sync()
            part.tidy(mark)
    part.close()
    there = known(loaded(tmp_path, mark), sites)
    assert there == sites[-len(there) :]
    assert len(there) >= 5
    assert len(files(tmp_path)) == 2


def test_a_file_of_a_run_without_a_state_is_not_continued(tmp_path: Path) -> None:
    part, probes = saved(tmp_path)
    checkpoint(part)
    ask(probes, ["http://a.test"])
    part.close()
    part, _ = saved(tmp_path)
    mark = end(part)
    assert files(tmp_path) == ["probes.000002.jsonl"]
    assert known(loaded(tmp_path, mark), ["http://a.test"]) == []


def test_without_the_keyword_nothing_is_kept(tmp_path: Path) -> None:
    other = tmp_path / "probes.mine.jsonl"
    other.touch()
    part, _ = saved(tmp_path)
    mark = end(part)
    without = SavedProbes(tmp_path, None)
    without.load(mark)
    assert checkpoint(without) is None
    assert files(tmp_path) == [other.name]
    loaded(tmp_path, None)
    part.clear()
    assert files(tmp_path) == [other.name]


def test_a_full_disk_is_told_at_the_next_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    part, probes = saved(tmp_path)
    checkpoint(part)

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "full")

    with monkeypatch.context() as patch:
        patch.setattr(LineFile, "write", full)
        ask(probes, ["http://a.test"])
        with pytest.raises(OSError, match="full"):
            part.cut()
    mark = end(part)
    assert known(loaded(tmp_path, mark), ["http://a.test"]) == ["http://a.test"]


def test_a_file_that_was_begun_after_the_last_checkpoint_counts(tmp_path: Path) -> None:
    part, probes = saved(tmp_path, most=10)
    mark = checkpoint(part)
    ask(probes, ["http://a.test"])
    part.cut()
    ask(probes, ["http://b.test"])
    part.close()
    sites = ["http://a.test", "http://b.test"]
    assert known(loaded(tmp_path, mark), sites) == sites
