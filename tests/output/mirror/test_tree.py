"""The files of a mirror: whole, below its folder, and never through a symbolic link."""

import errno
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from larbinpy.output.mirror.tree import Originals, Tree
from larbinpy.storage.files import open_folder


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "mirror"


@pytest.fixture
def tree(root: Path) -> Iterator[Tree]:
    """A tree in which nothing makes way for a folder."""
    folder = open_folder(root)
    yield Tree(folder, lambda path: None)
    os.close(folder)


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """A folder beside the mirror with a file "secret"."""
    folder = tmp_path / "outside"
    folder.mkdir()
    (folder / "secret").write_bytes(b"secret")
    return folder


def test_files_are_written_read_renamed_and_removed(tree: Tree, root: Path) -> None:
    tree.write("a/b/c", b"body", 784_111_777.0)
    assert (root / "a/b/c").stat().st_mtime == 784_111_777.0
    assert (tree.read("a/b/c", 3), tree.size("a/b/c")) == (b"bod", 4)
    assert (tree.is_folder("a/b"), tree.is_folder("a/b/c")) == (True, False)
    tree.rename("a/b/c", "a/d")
    assert tree.read("a/b/c", 9) is None
    tree.remove("a/d", but="a/d")
    assert tree.read("a/d", 9) == b"body"
    tree.remove("a/d", but="a/b")
    assert tree.size("a/d") is None
    assert tree.written == 1


def test_nothing_is_read_through_a_planted_link(tree: Tree, root: Path, outside: Path) -> None:
    tree.write("a/file", b"file")
    (root / "a/link").symlink_to(outside / "secret")
    (root / "a/folder").symlink_to(outside)
    (root / "a/inside").symlink_to("file")
    for path in ("a/link", "a/folder/secret", "a/inside"):
        assert tree.read(path, 9) is None
        assert tree.size(path) is None
    assert not tree.is_folder("a/folder")
    tree.remove("a/folder/secret", but="a/file")
    assert (outside / "secret").read_bytes() == b"secret"


def test_a_planted_link_is_replaced(tree: Tree, root: Path, outside: Path) -> None:
    (root / "link").symlink_to(outside / "secret")
    tree.write("link", b"mine")
    assert not (root / "link").is_symlink()
    assert (outside / "secret").read_bytes() == b"secret"


def test_a_link_in_the_place_of_a_folder_is_not_entered(
    tree: Tree, root: Path, outside: Path
) -> None:
    (root / "a").symlink_to(outside)
    for path in ("a/new", "a/b/new"):
        with pytest.raises(NotADirectoryError, match=r"^a in the mirror was replaced"):
            tree.write(path, b"x")
    assert os.listdir(outside) == ["secret"]
    assert os.listdir(root) == ["a"]


@pytest.mark.parametrize("size", [10, 1000, 100_000])
def test_an_original_is_read_whole_or_not_at_all(tree: Tree, root: Path, size: int) -> None:
    originals, url = Originals(tree), "http://h/"
    body = os.urandom(size)
    originals.write(url, body)
    assert originals.read(url, size) == body
    assert originals.read(url, size - 1) is None
    assert originals.read(url, size + 1) is None
    assert originals.read("http://h/other", size) is None
    [file] = (file for file in root.rglob("*") if file.is_file())
    packed = file.read_bytes()
    for length in (0, 1, len(packed) // 2, len(packed) - 1):
        file.write_bytes(packed[:length])
        assert originals.read(url, size) is None
    file.write_bytes(b"no zlib" + packed)
    assert originals.read(url, size) is None


def test_files_and_emptied_folders_are_purged(
    tree: Tree, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for path in ("a/b/c", "a/b/d", "e/f", "e/g", "h"):
        tree.write(path, b"x")
    (root / "a/b/folder").mkdir()
    (root / "a/b/folder").rmdir()
    assert tree.purge(["a/b/c", "a/b/d", "e/f", "none", "none/x"]) == {}
    assert sorted(path.name for path in root.rglob("*")) == ["e", "g", "h"]
    unlink = os.unlink

    def refuse(name: str, **more: object) -> None:
        if name == "g":
            raise OSError(errno.EPERM, "not permitted")
        if name == "h":
            raise OSError("odd")
        unlink(name, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(os, "unlink", refuse)
    assert tree.purge(["e/g", "h"]) == {"e/g": "not permitted", "h": "odd"}
    assert sorted(path.name for path in root.rglob("*")) == ["e", "g", "h"]


def test_a_disk_that_fails_is_no_file_that_is_missing(
    tree: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree.write("a", b"x")
    tree.write("é", b"x")
    assert not tree.ignores_case("missing")
    assert not tree.ignores_case("é")
    tree.write("É", b"x")
    assert not tree.ignores_case("é")
    assert not tree.ignores_case("a")

    def fail(*_: object, **__: object) -> None:
        raise OSError(errno.EIO, "broken")

    monkeypatch.setattr(os, "open", fail)
    monkeypatch.setattr(os, "stat", fail)
    with pytest.raises(OSError, match="broken"):
        tree.read("a", 9)
    with pytest.raises(OSError, match="broken"):
        tree.size("a")


@pytest.mark.parametrize(
    ("file", "path"), [("a", "a/x"), ("a/b", "a/b/c/d"), ("a/b/c", "a/b/c/d"), ("a/b", "a/b/c/d/e")]
)
def test_a_file_makes_way_for_a_folder(root: Path, file: str, path: str) -> None:
    """It is named as a whole, from the top of the mirror to itself."""
    folder, named = open_folder(root), []

    def make_way(at: str) -> None:
        named.append(at)
        (root / at).rename(root / "aside")

    tree = Tree(folder, make_way)
    tree.write(file, b"file")
    tree.write(path, b"below")
    os.close(folder)
    assert named == [file]
    assert ((root / "aside").read_bytes(), (root / path).read_bytes()) == (b"file", b"below")
