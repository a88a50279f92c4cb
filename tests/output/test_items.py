"""Items that a plug emits: a file that is a part of the saved state."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from larbinpy.output.items import ItemError, Items


@pytest.fixture(autouse=True)
def opened(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Closes all files of items."""
    made: list[Items] = []
    init = Items.__init__

    def remember(self: Items, path: str, node: str = "") -> None:
        made.append(self)
        init(self, path, node)

    monkeypatch.setattr(Items, "__init__", remember)
    yield
    for items in made:
        items.close()


def rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def filled(items: Items, *numbers: int) -> Items:
    for number in numbers:
        items.emit({"n": number})
    items.commit()
    return items


def test_items_of_a_page_are_written_together(tmp_path: Path) -> None:
    items = Items(str(tmp_path / "i.jsonl"))
    items.emit({"a": "ü", "b": [1, None]})
    assert not items.path.exists()
    items.drop()
    items.emit({"a": 1})
    items.emit({"c": Path("x")})
    items.commit()
    assert rows(items.path) == [{"a": 1}, {"c": "x"}]


def test_after_a_kill_the_file_is_cut_back(tmp_path: Path) -> None:
    path = str(tmp_path / "i.jsonl")
    items = filled(Items(path), 1, 2)
    mark = items.cut()
    items.sync()
    filled(items, 3)
    again = Items(path)
    again.load(json.loads(json.dumps(mark)))
    filled(again, 4)
    assert [row["n"] for row in rows(again.path)] == [1, 2, 4]
    assert again.describe()["items"] == 3


def test_a_new_crawl_empties_the_file(tmp_path: Path) -> None:
    path = str(tmp_path / "i.jsonl")
    filled(Items(path), 1)
    Items(path).cut()
    assert Path(path).read_bytes() == b""


def test_a_file_that_is_shorter_than_its_mark_is_refused(tmp_path: Path) -> None:
    path = str(tmp_path / "i.jsonl")
    mark = filled(Items(path), 1, 2).cut()
    Path(path).write_bytes(b"")
    with pytest.raises(ValueError, match="put the file back"):
        Items(path).load(mark)


def test_a_table_has_the_columns_of_its_first_item(tmp_path: Path) -> None:
    path = str(tmp_path / "i.csv")
    items = Items(path)
    items.emit({"a": "x,y", "b": [1]})
    items.commit()
    again = Items(path)
    again.load(items.cut())
    again.emit({"b": 2})
    again.commit()
    assert again.path.read_bytes().decode() == 'a,b\n"x,y",[1]\n,2\n'.replace("\n", "\r\n")
    again.emit({"c": 1})
    with pytest.raises(ItemError, match="no column 'c'; those of the first item are a, b"):
        again.commit()


def test_a_full_disk_leaves_no_part_of_an_item(tmp_path: Path) -> None:
    items = filled(Items(str(tmp_path / "i.jsonl")), 1)
    file: Any = items._opened()

    class Full:
        def write(self, data: bytes) -> int:
            file.write(data[:3])
            raise OSError(28, "No space left on device")

        def __getattr__(self, name: str) -> Any:
            return getattr(file, name)

    items._file = Full()  # type: ignore[assignment]
    items.emit({"n": 2})
    with pytest.raises(OSError, match="No space"):
        items.commit()
    items._file = file
    items.drop()
    filled(items, 2)
    assert [row["n"] for row in rows(items.path)] == [1, 2]


def test_an_item_is_a_dict(tmp_path: Path) -> None:
    with pytest.raises(ItemError, match="an item is a dict, not list"):
        Items(str(tmp_path / "i.jsonl")).emit([1])  # type: ignore[arg-type]


def test_a_node_has_a_file_of_its_own(tmp_path: Path) -> None:
    assert Items(str(tmp_path / "i.jsonl"), "2").path == tmp_path / "i.2.jsonl"
