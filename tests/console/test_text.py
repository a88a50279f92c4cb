import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from larbinpy.console.text import duration, grouped, json_line, printable, roughly, size


def acts(char: str) -> bool:
    code = ord(char)
    return (
        code < 0x20
        or 0x7F <= code <= 0x9F
        or 0x202A <= code <= 0x202E
        or 0x2066 <= code <= 0x2069
        or 0xD800 <= code <= 0xDFFF
        or code in {0x61C, 0x200E, 0x200F, 0x2028, 0x2029, 0xFEFF}
    )


def test_unsafe_characters_are_escaped() -> None:
    assert printable("a\x1b[31m\x00b\r\n") == "a\\x1b[31m\\x00b\\x0d\\x0a"
    assert printable("exe\u202efdp.\x9b") == "exe\\u202efdp.\\x9b"
    assert printable("\ud800\U000e0041") == "\\ud800\\U000e0041"


def test_ordinary_text_is_unchanged() -> None:
    text = "http://例え.jp/Ünï/שלום?q=1&r='\"<>"
    assert printable(text) == text


def test_long_text_is_cut_before_it_is_spelled() -> None:
    assert printable("x" * 400, 300) == "x" * 297 + "..."
    assert len(printable("\x00" * 8000, 300)) < 1300


@given(st.text(st.characters()))
def test_nothing_that_acts_is_left(text: str) -> None:
    shown = printable(text)
    assert not any(map(acts, shown))
    assert printable(shown) == shown
    shown.encode()


@given(st.text(st.characters()))
def test_a_json_line_is_one_printable_line_that_reads_back(text: str) -> None:
    line = json_line({text: text})
    assert line.endswith(b"\n")
    assert all(0x20 <= byte < 0x7F for byte in line[:-1])
    assert json.loads(line) == {text: text}


def test_figures() -> None:
    assert [grouped(n) for n in (1234567, 0, 12.34, 1234.5)] == ["1,234,567", "0", "12.3", "1,234"]
    assert [size(n) for n in (999, 1000, 1_893_441_278, 5e15)] == [
        "999 B", "1.0 kB", "1.9 GB", "5,000.0 TB"]  # fmt: skip
    assert [duration(s) for s in (0, 61.9, 2 * 86400 + 3661)] == [
        "0:00:00",
        "0:01:01",
        "2 d 1:01:01",
    ]


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [(0, "0 ms"), (0.0042, "4.2 ms"), (0.31, "310 ms"), (2.5, "2.5 s"), (59, "59 s"),
     (90, "1.5 min"), (3599, "60 min"), (3 * 3600, "3 h"), (47 * 3600, "47 h"),
     (9 * 86400, "9.0 d")],
)  # fmt: skip
def test_lengths_of_time_in_one_unit(seconds: float, shown: str) -> None:
    assert roughly(seconds) == shown
