"""A model of a disk: the bytes and names of a folder that are durable, and those that are not yet.

After a power cut the disk holds

- for a file: the bytes of its last fsync, and of those written later none, all, the first part
  (torn anywhere, its tail perhaps garbage), or some pages;
- for a folder: the names of its last fsync, and of the later changes none, all or the first few.
  A rename is one change, also from one folder to another. As in POSIX, the fsync of a file does
  not save its name.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

#: Bytes that a disk writes as a unit.
PAGE = 512

#: Treatment of the changes that are not durable: all lost, all kept (as by a kill), names kept and
#: bytes lost, bytes kept and names lost; or random, for each change.
Keep = str | Random
EXTREMES = ("none", "all", "names", "bytes")

#: A write at an offset, or (None) a new length.
Edit = tuple[int, bytes | None]


@dataclass(eq=False, slots=True)
class File:
    """A file: the bytes that readers see, the durable bytes, and the changes between them."""

    now: bytearray = field(default_factory=bytearray)
    held: bytes = b""
    pending: list[Edit] = field(default_factory=list)

    def edit(self, offset: int, data: bytes | None) -> None:
        self.pending.append((offset, data))
        _apply(self.now, [(offset, data)])

    def sync(self) -> None:
        held = bytearray(self.held)
        _apply(held, self.pending)
        self.held = bytes(held)
        self.pending.clear()

    def forsake(self) -> None:
        """An fsync failed: readers still see the bytes, but no later fsync saves them.

        ext4 and XFS behave so: they take the pages for clean once the failure was reported.
        """
        self.pending.clear()

    def remains(self, keep: Keep) -> bytes:
        if isinstance(keep, Random):
            way = keep.randrange(4)
            if way > 1:
                return self._first(keep) if way == 2 else self._pages(keep)
            keep = EXTREMES[way]
        return bytes(self.now) if keep in ("all", "bytes") else self.held

    def _first(self, random: Random) -> bytes:
        left = bytearray(self.held)
        whole = random.randrange(len(self.pending) + 1)
        _apply(left, self.pending[:whole])
        for offset, data in self.pending[whole : whole + 1]:
            if data is not None:
                cut = random.randrange(len(data) + 1)
                beyond = max(offset + cut, len(left))
                _apply(left, [(offset, data[:cut])])
                if random.random() < 0.5:
                    # The length was saved before the bytes.
                    garbage = random.randbytes(max(0, offset + len(data) - beyond))
                    _apply(left, [(beyond, garbage)] if garbage else [])
        return bytes(left)

    def _pages(self, random: Random) -> bytes:
        longest = max(len(self.held), len(self.now))
        size = random.choice([len(self.held), len(self.now), longest])
        contents: list[bytes | bytearray] = [self.held, self.now]
        left = bytearray()
        for start in range(0, size, PAGE):
            end = min(start + PAGE, size)
            left += random.choice(contents)[start:end]
            missing = end - len(left)
            left += random.randbytes(missing) if random.random() < 0.5 else bytes(missing)
        return bytes(left)


def _apply(content: bytearray, edits: Iterable[Edit]) -> None:
    for offset, data in edits:
        content.extend(bytes(max(0, offset - len(content))))
        if data is None:
            del content[offset:]
        else:
            content[offset : offset + len(data)] = data


@dataclass(eq=False, slots=True)
class Folder:
    """A folder: the names that readers see, and the durable names."""

    now: "dict[str, Node]" = field(default_factory=dict)
    held: "dict[str, Node]" = field(default_factory=dict)


Node = File | Folder
#: An atomic change of names: folder, name, and the node that has the name now.
Change = tuple[tuple[Folder, str, Node | None], ...]


def _touched(change: Change) -> set[Folder]:
    return {folder for folder, _, _ in change}


class Platter:
    """The model of the folder `top`, whose content at first is durable."""

    def __init__(self, top: str, besides: Iterable[str] = ()) -> None:
        self._top = Path(top)
        self._besides = frozenset(besides)
        self._root = self._scan(self._top)
        #: Changes of names that are not durable, oldest first.
        self._journal: list[Change] = []

    def _scan(self, path: Path) -> Folder:
        folder = Folder()
        for entry in sorted(path.iterdir()):
            if entry.name in self._besides or entry.is_symlink():
                continue
            if entry.is_dir():
                folder.now[entry.name] = self._scan(entry)
            elif entry.is_file():
                data = entry.read_bytes()
                folder.now[entry.name] = File(bytearray(data), data)
        folder.held = dict(folder.now)
        return folder

    def differences(self) -> list[str]:
        """The paths at which the real folder differs from the model."""
        return list(_differences(self._root, self._scan(self._top)))

    # Names.

    def node(self, path: str) -> Node | None:
        """The node at `path` (relative; "." is the top)."""
        node: Node | None = self._root
        for name in Path(path).parts:
            node = node.now.get(name) if isinstance(node, Folder) else None
        return node

    def below(self, node: Node) -> Iterator[Node]:
        """`node` and, if it is a folder, all nodes below it."""
        yield node
        if isinstance(node, Folder):
            for inner in node.now.values():
                yield from self.below(inner)

    def place(self, path: str) -> tuple[Folder, str]:
        """The folder of `path`, and the name in it."""
        parent = self.node(str(Path(path).parent))
        assert isinstance(parent, Folder), f"{path}: its folder was made unseen"
        return parent, Path(path).name

    def link(self, path: str, node: Node | None) -> None:
        """Give the name `path` to `node`, or remove the name."""
        self._change(((*self.place(path), node),))

    def rename(self, old: str, new: str) -> None:
        source, target = self.place(old), self.place(new)
        if source != target:
            folder, name = source
            self._change(((folder, name, None), (*target, folder.now[name])))

    def _change(self, change: Change) -> None:
        _carry_out(change, {folder: folder.now for folder in _touched(change)})
        self._journal.append(change)

    def commit(self, folder: Folder) -> None:
        """Make the names in `folder` durable, with all changes on which they depend."""
        folders = {folder}
        due: list[Change] = []
        others: list[Change] = []
        for change in reversed(self._journal):
            depends = _touched(change) & folders
            (due if depends else others).append(change)
            folders |= _touched(change) if depends else set()
        for change in reversed(due):
            _carry_out(change, {folder: folder.held for folder in _touched(change)})
        self._journal = others[::-1]

    def commit_name(self, file: File) -> None:
        """Make the name of `file` durable as ext4 does: with all that happened before it."""
        naming = [any(node is file for _, _, node in change) for change in self._journal]
        count = len(naming) - naming[::-1].index(True) if True in naming else 0
        for change in self._journal[:count]:
            _carry_out(change, {folder: folder.held for folder in _touched(change)})
        del self._journal[:count]

    # After a power cut.

    def remains(self, target: Path, keep: Keep) -> None:
        """Build the content after a power cut in `target`, a new folder."""
        names = self._names(keep)
        pending = [(self._root, target)]
        while pending:
            folder, path = pending.pop()
            path.mkdir()
            for name, node in names[folder].items():
                if isinstance(node, Folder):
                    pending.append((node, path / name))
                else:
                    (path / name).write_bytes(node.remains(keep))

    def _names(self, keep: Keep) -> dict[Folder, dict[str, Node]]:
        """The names that each folder has after a power cut."""
        names = {folder: dict(folder.held) for folder in self._folders()}
        count = len(self._journal)
        #: The number of further changes that each folder keeps.
        room = dict.fromkeys(names, count if keep in ("all", "names") else 0)
        if isinstance(keep, Random):
            room = {f: keep.choice([0, count, keep.randrange(count + 1)]) for f in names}
        for change in self._journal:
            kept = all(room[folder] > 0 for folder in _touched(change))
            if kept:
                _carry_out(change, names)
            for folder in _touched(change):
                room[folder] = room[folder] - 1 if kept else 0
        return names

    def _folders(self) -> Iterable[Folder]:
        """All folders that exist or may exist after a power cut, in a reproducible order."""
        found: dict[Folder, None] = {}
        pending: list[Node | None] = [self._root]
        pending += [node for change in self._journal for _, _, node in change]
        while pending:
            folder = pending.pop()
            if isinstance(folder, Folder) and folder not in found:
                found[folder] = None
                pending += [*folder.now.values(), *folder.held.values()]
        return found


def _carry_out(change: Change, names: dict[Folder, dict[str, Any]]) -> None:
    for folder, name, node in change:
        if node is None:
            names[folder].pop(name, None)
        else:
            names[folder][name] = node


def _differences(known: Folder, found: Folder, path: str = "") -> Iterator[str]:
    for name in sorted(known.now.keys() | found.now.keys()):
        one, other = known.now.get(name), found.now.get(name)
        if isinstance(one, Folder) and isinstance(other, Folder):
            yield from _differences(one, other, f"{path}{name}/")
        elif not (isinstance(one, File) and isinstance(other, File) and one.now == other.now):
            yield path + name
