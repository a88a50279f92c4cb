"""Outputs of a crawl: none, one, several."""

import os
from pathlib import Path
from typing import Any

import pytest

from larbinpy.config import Config
from larbinpy.dns.lookup import Answer
from larbinpy.output import Output
from larbinpy.output.mirror.mirror import MirrorOutput
from larbinpy.output.modes import open_outputs
from larbinpy.output.plug import Durable, NullOutput, Outputs, SeveralOutputs
from larbinpy.output.save import SaveOutput
from larbinpy.page import Outcome, Page
from larbinpy.url import Url
from tests.support.contexts import make_context
from tests.support.warcs import records, warcs

URL = Url("http://h/a", 1)
PAGE = Page(URL, Outcome.SUCCESS, 200, body=b"body")


class Recorder:
    """An output as a user writes one: nothing inherited."""

    def __init__(self, calls: list[str], *, broken: bool = False) -> None:
        self.calls = calls
        self.broken = broken

    def loaded(self, page: Page) -> None:
        self.calls.append(f"loaded {page.url.href}")
        if self.broken:
            raise OSError("full")

    def failed(self, url: Url, outcome: Outcome) -> None:
        self.calls.append(f"failed {url.href} {outcome.value}")
        if self.broken:
            raise OSError("full")

    def stats(self) -> dict[str, object]:
        return {"calls": len(self.calls)}

    def close(self) -> None:
        self.calls.append("close")
        if self.broken:
            raise OSError("full")


class Refresher(Recorder):
    """An output that is a part of the state."""

    def cut(self) -> int:
        return len(self.calls)

    def sync(self) -> None:
        self.calls.append("sync")

    def load(self, mark: int) -> None:
        self.calls.append(f"load {mark}")


def test_several_are_called_in_order() -> None:
    first: list[str] = []
    second: list[str] = []
    both: Output = SeveralOutputs({"one": Recorder(first), "two": Recorder(second)})
    both.loaded(PAGE)
    both.failed(URL, Outcome.TIMEOUT)
    assert both.stats() == {"one": {"calls": 2}, "two": {"calls": 2}}
    both.close()
    assert first == second == ["loaded http://h/a", "failed http://h/a timeout", "close"]


def test_an_error_goes_on_and_close_still_reaches_all() -> None:
    first: list[str] = []
    second: list[str] = []
    both = SeveralOutputs({"one": Recorder(first, broken=True), "two": Recorder(second)})
    with pytest.raises(OSError, match="full"):
        both.loaded(PAGE)
    with pytest.raises(OSError, match="full"):
        both.close()
    assert second == ["close"]


def test_a_page_that_comes_again_goes_on_where_it_was_refused() -> None:
    calls: list[list[str]] = [[], [], []]
    plugs = [Recorder(calls[0]), Recorder(calls[1], broken=True), Recorder(calls[2])]
    several = SeveralOutputs({str(number): plug for number, plug in enumerate(plugs)})
    for _ in range(2):
        with pytest.raises(OSError, match="full"):
            several.loaded(PAGE)
    plugs[1].broken = False
    several.loaded(PAGE)
    loaded = "loaded http://h/a"
    assert calls == [[loaded], [loaded] * 3, [loaded]]
    # It has reached all now; the next time it is new to all of them.
    several.loaded(PAGE)
    assert calls == [[loaded] * 2, [loaded] * 4, [loaded] * 2]


def test_another_page_than_the_refused_one_reaches_all() -> None:
    first: list[str] = []
    broken = Recorder([], broken=True)
    several = SeveralOutputs({"one": Recorder(first), "two": broken})
    with pytest.raises(OSError, match="full"):
        several.loaded(PAGE)
    broken.broken = False
    several.loaded(Page(Url("http://h/b", 1), Outcome.SUCCESS, 200))
    several.loaded(PAGE)
    assert first == ["loaded http://h/a", "loaded http://h/b", "loaded http://h/a"]


def test_a_failure_that_comes_again_goes_on_where_it_was_refused() -> None:
    """Also if a page comes first."""
    calls: list[list[str]] = [[], [], []]
    plugs = [Recorder(calls[0]), Recorder(calls[1], broken=True), Recorder(calls[2])]
    several = SeveralOutputs({str(number): plug for number, plug in enumerate(plugs)})
    for _ in range(2):
        with pytest.raises(OSError, match="full"):
            several.failed(URL, Outcome.TIMEOUT)
    plugs[1].broken = False
    several.loaded(PAGE)
    several.failed(URL, Outcome.TIMEOUT)
    failed, loaded = "failed http://h/a timeout", "loaded http://h/a"
    assert calls == [[failed, loaded], [failed, failed, loaded, failed], [loaded, failed]]
    # It has reached all now; the next time it is new to all of them.
    several.failed(URL, Outcome.TIMEOUT)
    assert [made.count(failed) for made in calls] == [2, 4, 2]


class Thorough(Recorder):
    """An output that wants to know all of a failure."""

    def missed(self, page: Page) -> None:
        self.calls.append(f"missed {page.url.href} {page.status}")


def test_an_output_may_ask_for_all_of_a_failure() -> None:
    plain: list[str] = []
    full: list[str] = []
    several = SeveralOutputs({"plain": Recorder(plain), "full": Thorough(full)})
    several.missed(Page(URL, Outcome.ERR_40X, 404))
    assert plain == ["failed http://h/a err40X"]
    assert full == ["missed http://h/a 404"]


def test_only_durable_outputs_are_a_part_of_the_state() -> None:
    plain, keeper = Recorder([]), Refresher([])
    several: Durable = SeveralOutputs({"plain": plain, "keeper": keeper, "other": Recorder([])})
    several.loaded(PAGE)
    mark = several.cut()
    assert mark == {"keeper": 1}
    several.sync()
    several.load(mark)
    assert plain.calls == ["loaded http://h/a"]
    assert keeper.calls == ["loaded http://h/a", "sync", "load 1"]
    # An output without a part in the mark is not loaded.
    several.load({"gone": 7})
    assert len(keeper.calls) == 3


def test_none_is_a_part_of_the_state() -> None:
    several = SeveralOutputs({"plain": Recorder([])})
    several.load(several.cut())
    several.sync()
    assert several.cut() == {}


def test_the_marks_of_outputs_that_are_not_there_stay(tmp_path: Path) -> None:
    """A crawl that goes on without the database may still have pages for it in its spool."""
    mark = {"database": {"spool": "5p001"}, "refresher": 0}
    without = SeveralOutputs({"refresher": Refresher([])})
    without.load(mark)
    assert without.cut() == {"refresher": 1, "database": {"spool": "5p001"}}
    none: Outputs = open_outputs(make_context())
    none.load(mark)
    assert none.cut() == mark


def test_null_keeps_nothing() -> None:
    null: Outputs = open_outputs(make_context())
    assert isinstance(null, NullOutput)
    null.loaded(PAGE)
    null.failed(URL, Outcome.TIMEOUT)
    null.replied(PAGE)
    null.resolved(Answer("h", (), "nxdomain"))
    assert null.stats() == {}
    null.load(null.cut())
    null.sync()
    null.close()


def opened(root: Path, modes: tuple[str, ...], own: Output | None = None) -> Outputs:
    """Output modes in `root`, and a plug."""
    return open_outputs(make_context(Config(output_mode=modes, output_dir=str(root))), own)


def test_modes_of_the_configuration(tmp_path: Path) -> None:
    output = opened(tmp_path, ("save", "mirror", "stats"))
    output.loaded(PAGE)
    assert list(output.stats()) == ["mirror", "stats", "save"]
    output.close()
    assert (tmp_path / "h/a").read_bytes() == b"body"
    assert (tmp_path / "d00000/f00000").read_bytes() == b"body"


def test_an_output_that_cannot_be_opened_closes_the_others(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    settings: Any = {"output_mode": ("mirror", "database"), "output_dir": str(tmp_path / "out")}
    database = str(tmp_path / "file/folder/larbinpy.db")
    with pytest.raises(NotADirectoryError):
        open_outputs(make_context(Config(**settings, database=database)))
    # A mirror that was left open would refuse a second writer.
    MirrorOutput(tmp_path / "out").close()


def test_save_and_mirror_share_a_folder_without_clashes(tmp_path: Path) -> None:
    output = opened(tmp_path, ("save", "mirror"))
    output.loaded(Page(Url("http://d00000/f00000", 1), Outcome.SUCCESS, 200, body=b"one"))
    output.loaded(Page(Url("http://d00000/index", 1), Outcome.SUCCESS, 200, body=b"two"))
    output.close()
    assert (tmp_path / "d00000/f00000").read_bytes() == b"one"
    assert (tmp_path / "d00000/index").read_bytes().count(b"\n") == 2
    assert (tmp_path / "#6400000/f00000").read_bytes() == b"one"


def test_save_mode_comes_last(tmp_path: Path) -> None:
    """A page that another output refuses before a stop must not get two numbers."""
    own = Recorder([], broken=True)
    output = opened(tmp_path, ("save", "mirror"), own)
    with pytest.raises(OSError, match="full"):
        output.loaded(PAGE)
    own.broken = False
    output.close()
    assert (tmp_path / "d00000/index").read_bytes() == b""
    assert (tmp_path / "h/a").read_bytes() == b"body"


def test_modes_that_write_files_are_a_part_of_the_state(tmp_path: Path) -> None:
    output = opened(tmp_path, ("save", "mirror", "stats"))
    assert output.cut().keys() == {"save", "mirror"}
    mark = output.cut()
    output.loaded(PAGE)
    assert all(output.cut()[name] != mark[name] for name in mark)
    output.sync()
    output.close()
    output = opened(tmp_path, ("mirror", "save"))
    output.load(mark)
    assert (tmp_path / "h/a").read_bytes() == b"body"
    assert os.listdir(tmp_path / "d00000") == ["index"]
    output.close()


def test_the_modes_are_durable(tmp_path: Path) -> None:
    outputs: list[Durable] = [SaveOutput(tmp_path / "s"), MirrorOutput(tmp_path / "m")]
    for output in outputs:
        assert isinstance(output, Durable)
        output.close()


class Listener(Recorder):
    """An output that gets all replies."""

    def replied(self, page: Page) -> None:
        self.calls.append(f"replied {page.url.href}")
        if self.broken:
            raise OSError("full")

    def resolved(self, answer: Answer) -> None:
        self.calls.append(f"resolved {answer.name}")


def test_only_reply_listeners_get_all_replies() -> None:
    plain, listener = Recorder([]), Listener([])
    several = SeveralOutputs({"plain": plain, "listener": listener})
    several.replied(PAGE)
    several.resolved(Answer("h", ("192.0.2.1",), None))
    assert plain.calls == []
    assert listener.calls == ["replied http://h/a", "resolved h"]


def test_a_reply_that_comes_again_goes_on_where_it_was_refused() -> None:
    calls: list[list[str]] = [[], [], []]
    plugs = [Listener(calls[0]), Listener(calls[1], broken=True), Listener(calls[2])]
    several = SeveralOutputs({str(number): plug for number, plug in enumerate(plugs)})
    with pytest.raises(OSError, match="full"):
        several.replied(PAGE)
    plugs[1].broken = False
    several.replied(PAGE)
    assert list(map(len, calls)) == [1, 2, 1]


def test_an_archive_says_whose_crawl_it_is(tmp_path: Path) -> None:
    config = Config(
        output_mode=("save", "warc"), output_dir=str(tmp_path), sender="me", warc_size=1
    )
    context = make_context(config, wall=lambda: 1_800_000_000.0)
    output = open_outputs(context)
    assert list(output.stats()) == ["warc", "save"]
    for number in range(2):
        output.loaded(Page(Url(f"http://h/{number}", 1), Outcome.SUCCESS, 200, body=b"body"))
    output.close()
    files = warcs(tmp_path)
    assert len(files) == 2
    assert all("operator: me" in records(file)[0].lines for file in files)
    assert "-20270115080000000-" in files[0].name
