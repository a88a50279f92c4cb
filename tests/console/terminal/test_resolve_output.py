import io
import os
from pathlib import Path

import pytest

from larbinpy.cli.fetch import Results, lines_in


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("content", "lines"),
    [(b"", 0), (b"\n", 1), (b"a\nb\n", 2), (b"a\nb", 2), (b"a.test\n" * 300_000 + b"b", 300_001)],
)
def test_lines_in_a_file(tmp_path: Path, content: bytes, lines: int) -> None:
    (tmp_path / "names").write_bytes(content)
    assert lines_in(str(tmp_path / "names")) == lines


def test_lines_of_pipes_and_missing_files_are_not_counted(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for name in (str(tmp_path / "pipe"), str(tmp_path), str(tmp_path / "none"), "/dev/null"):
        assert lines_in(name) is None


def test_lines_are_written_at_once_and_nothing_else() -> None:
    out, err = io.StringIO(), io.StringIO()
    results = Results(out, err, "/dev/null")
    results.write("a.test 192.0.2.1")
    results.write("b.test !nxdomain\nc.test !timeout")
    results.update(3)
    results.close()
    assert out.getvalue() == "a.test 192.0.2.1\nb.test !nxdomain\nc.test !timeout\n"
    assert (results.count, err.getvalue()) == (3, "")


def test_a_bar_gives_way_to_lines_on_the_same_terminal() -> None:
    """The bar is drawn again after them at once."""
    screen = Terminal()
    results = Results(screen, screen, "/dev/null")
    for number in range(5):
        results.write(f"n{number}.test 192.0.2.1")
        assert screen.getvalue().rpartition("\r")[2].endswith(".1\n")
        results.update(1)
        assert f"{number + 1} names [" in screen.getvalue().rpartition("\r")[2]
    results.close()
    assert [line.rpartition("\r")[2] for line in screen.getvalue().split("\n")[:5]] == [
        f"n{number}.test 192.0.2.1" for number in range(5)
    ]


def test_a_bar_on_another_terminal_is_not_cleared() -> None:
    out, screen = io.StringIO(), Terminal()
    results = Results(out, screen, "/dev/null")
    results.write("a.test 192.0.2.1")
    results.update(1)
    shown = screen.getvalue()
    results.write("b.test 192.0.2.1")
    assert screen.getvalue() == shown
    results.close()
    assert "1 names [" in screen.getvalue()
