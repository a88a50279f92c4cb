"""The search for a URL in the log files that were rotated away."""

import gzip
from collections.abc import Generator
from pathlib import Path
from typing import Any

from larbinpy.observe.report.log import search_rotated
from larbinpy.output.log import line
from larbinpy.page import Fate, Outcome, Page
from larbinpy.url import Url


def logged(url: str, second: int, via: str | None = None) -> bytes:
    return line(Fate.of(Page(Url(url, 1, via=via), Outcome.SUCCESS), 1_000_000.0 + second))


def found(folder: Path, href: str, began: str = "") -> Any:
    """The time of the line that is found; None if none is."""
    steps: Generator[None, None, Any] = search_rotated(folder / "crawl.jsonl", href, began)
    while True:
        try:
            next(steps)
        except StopIteration as end:
            return end.value and end.value["ts"]


A, B, C = (f"http://{name}.test/" for name in "abc")


def test_the_newest_file_is_searched_first(tmp_path: Path) -> None:
    (tmp_path / "crawl.jsonl").write_bytes(logged(C, 9))
    (tmp_path / "crawl.jsonl.1").write_bytes(logged(A, 5, via=B) + logged(A, 6, via=C))
    old = gzip.compress(logged(A, 1) + logged(B, 2) + logged(B, 3))
    (tmp_path / "crawl.jsonl.2.gz").write_bytes(old)
    assert found(tmp_path, A) == "1970-01-12T13:46:46.000Z"
    assert found(tmp_path, B) == "1970-01-12T13:46:43.000Z"
    # The present log is searched by others.
    assert found(tmp_path, C) is None


def test_lines_of_an_earlier_crawl_do_not_count(tmp_path: Path) -> None:
    (tmp_path / "crawl.jsonl").touch()
    (tmp_path / "crawl.jsonl.1").write_bytes(logged(A, 5))
    (tmp_path / "crawl.jsonl.2").write_bytes(logged(B, 2))
    began = "1970-01-12T13:46:45"
    assert found(tmp_path, A, began) == "1970-01-12T13:46:45.000Z"
    assert found(tmp_path, B, began) is None


def test_a_damaged_file_is_searched_up_to_there(tmp_path: Path) -> None:
    (tmp_path / "crawl.jsonl").touch()
    whole = gzip.compress(b"".join(logged(f"{A}{n}", n) for n in range(5000)))
    (tmp_path / "crawl.jsonl.1.gz").write_bytes(whole[: len(whole) // 2])
    (tmp_path / "crawl.jsonl.2.gz").write_bytes(b"no gzip")
    (tmp_path / "crawl.jsonl.3").write_bytes(logged(B, 1)[:-20])
    assert found(tmp_path, f"{A}0") is not None
    assert found(tmp_path, f"{A}4999") is None
    assert found(tmp_path, B) is None


def test_without_logs_nothing_is_found(tmp_path: Path) -> None:
    assert found(tmp_path / "missing", A) is None
