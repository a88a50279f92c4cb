import pytest
from hypothesis import given
from hypothesis import strategies as st

from larbinpy.fleet.journal import pack, unpack

LINES = st.lists(st.text(st.characters(blacklist_characters="\n", codec="utf-8")), min_size=1)


@given(LINES)
def test_lines_come_back(lines: list[str]) -> None:
    assert unpack(pack(lines)) == lines
    assert unpack(pack(lines * 20)) == lines * 20


def test_many_lines_shrink() -> None:
    lines = [f"http://site.test/folder/page{k}.html 5 0 0 http://site.test/" for k in range(128)]
    assert len(pack(lines)) < 128 * 12


@pytest.mark.parametrize("packed", [b"", b"?x", b"~", b"~\xff\xff", pack(["x" * 400])[:-3]])
def test_other_bytes_are_refused(packed: bytes) -> None:
    with pytest.raises(ValueError, match="lines"):
        unpack(packed)
