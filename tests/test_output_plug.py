"""The plug: none, one, several."""

from pathlib import Path

import pytest

from larbinpy.outcome import Outcome
from larbinpy.output import MirrorOutput, NullOutput, Output, SeveralOutputs, open_output
from larbinpy.page import Page
from larbinpy.url import Url

URL = Url("http://h/a", 1)
PAGE = Page(URL, Outcome.SUCCESS, 200, body=b"body")


class Recorder:
    """A plug as a user writes one: nothing inherited."""

    def __init__(self, calls: list[str], *, broken: bool = False) -> None:
        self.calls = calls
        self.broken = broken

    def loaded(self, page: Page) -> None:
        self.calls.append(f"loaded {page.url.href}")
        if self.broken:
            raise OSError("full")

    def failed(self, url: Url, outcome: Outcome) -> None:
        self.calls.append(f"failed {url.href} {outcome.value}")

    def stats(self) -> dict[str, object]:
        return {"calls": len(self.calls)}

    def close(self) -> None:
        self.calls.append("close")
        if self.broken:
            raise OSError("full")


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


def test_null_keeps_nothing() -> None:
    null: Output = open_output((), "/nowhere")
    assert isinstance(null, NullOutput)
    null.loaded(PAGE)
    null.failed(URL, Outcome.TIMEOUT)
    assert null.stats() == {}
    null.close()


def test_modes_of_the_configuration(tmp_path: Path) -> None:
    output = open_output(("save", "mirror", "stats"), str(tmp_path))
    output.loaded(PAGE)
    assert list(output.stats()) == ["save", "mirror", "stats"]
    output.close()
    assert (tmp_path / "h/a").read_bytes() == b"body"
    assert (tmp_path / "d00000/f00000").read_bytes() == b"body"


def test_one_that_cannot_be_opened_closes_the_others(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="tape"):
        open_output(("mirror", "tape"), str(tmp_path))
    # A mirror that was left open would refuse a second writer.
    MirrorOutput(tmp_path).close()


def test_save_and_mirror_share_a_folder_without_meeting(tmp_path: Path) -> None:
    output = open_output(("save", "mirror"), str(tmp_path))
    output.loaded(Page(Url("http://d00000/f00000", 1), Outcome.SUCCESS, 200, body=b"one"))
    output.loaded(Page(Url("http://d00000/index", 1), Outcome.SUCCESS, 200, body=b"two"))
    output.close()
    assert (tmp_path / "d00000/f00000").read_bytes() == b"one"
    assert (tmp_path / "d00000/index").read_bytes().count(b"\n") == 2
    assert (tmp_path / "#6400000/f00000").read_bytes() == b"one"
