import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from larbinpy.cli.fetch import arriving_lines
from larbinpy.loop.poller import Poller


@pytest.fixture
def poller() -> Iterator[Poller]:
    it = Poller()
    yield it
    it.close()


def lines_of(content: bytes, folder: Path, poller: Poller) -> list[str]:
    (folder / "names").write_bytes(content)
    with open(folder / "names", "rb") as file:
        return list(arriving_lines(file.fileno(), poller))


@pytest.mark.parametrize(
    ("content", "lines"),
    [
        (b"", []),
        (b"\n \n\r\n", []),
        (b"a.test\nb.test", ["a.test", "b.test"]),
        (b" a.test \r\n\n\tb.test\r\n", ["a.test", "b.test"]),
        (b"caf\xe9.test\nb\xc3\xbccher.test\n\xff", [r"caf\xe9.test", "b\xfccher.test", r"\xff"]),
    ],
)
def test_lines_of_a_file(tmp_path: Path, poller: Poller, content: bytes, lines: list[str]) -> None:
    assert lines_of(content, tmp_path, poller) == lines


def test_lines_over_the_borders_of_blocks(tmp_path: Path, poller: Poller) -> None:
    names = [f"h\u00f6st{number}.test" for number in range(20_000)]
    assert lines_of("\n".join(names).encode(), tmp_path, poller) == names


def test_a_line_without_end_is_cut(tmp_path: Path, poller: Poller) -> None:
    first, last = lines_of(b"x" * 5_000_000 + b"\nlast", tmp_path, poller)
    assert (len(first) < 100_000, last) == (True, "last")


def test_lines_that_have_not_come_are_not_waited_for(poller: Poller) -> None:
    ours, theirs = os.pipe()
    lines = arriving_lines(ours, poller)
    assert [next(lines) for _ in range(3)] == ["", "", ""]
    assert poller.wait(0) == 0
    os.write(theirs, b"one\nt")
    assert poller.wait(10) == 1
    assert next(lines) == "one"
    assert next(lines) == ""
    os.write(theirs, b"wo")
    os.close(theirs)
    assert list(lines) == ["two"]
    # Nothing of it is left to wake the loop for ever.
    assert poller.wait(0) <= 1
    assert poller.wait(0) == 0
    os.close(ours)
