import mmap
import random
from array import array
from collections.abc import Callable, Collection
from io import BytesIO

import pytest
from hypothesis import given
from hypothesis import strategies as st

from larbinpy.native import native
from larbinpy.storage.fingerprint_table import FingerprintTable, _widths
from larbinpy.storage.sizes import TABLE_SIZES, TableSizes

TOP = 2**64 - 1
#: Many lie in the lowest and the highest region, so that runs reach both ends of the table.
PRINTS = st.integers(0, 20) | st.integers(TOP - 20, TOP) | st.integers(0, TOP)
BATCHES = st.lists(st.lists(PRINTS, max_size=20), max_size=40)


#: Sizes with which a handful of fingerprints has the effects of millions.
TINY = TableSizes(region_bits=2, width=1, tail=2, growth=1)


@pytest.fixture(scope="module")
def random_prints() -> list[int]:
    return array("Q", random.Random(4).randbytes(8 * 150_000)).tolist()


def used(table: FingerprintTable) -> list[int]:
    """The slots from the first region to the end of the tail."""
    end = table._end + table._tail
    return table._slots[table._bases[table._first] : end].tolist()


def check(table: FingerprintTable, known: Collection[int]) -> None:
    """The invariants of the class."""
    slots = used(table)
    assert len(table) == len(known)
    assert sorted([f for f in slots if f] + list(table._strays)) == sorted(known)
    assert slots[-1] == 0
    assert len(slots) == sum(table._widths) + table._tail
    order = sorted(range(table._regions), key=lambda region: table._bases[region])
    assert order == [(table._moves + k) % table._regions for k in range(table._regions)]
    assert not any(table._slots[table._end + table._tail :])
    assert all(f in table for f in known)


def fill(table: FingerprintTable, batch: list[int]) -> list[bool]:
    fresh = table.add(batch)
    table.grow()
    return fresh


def copy(
    table: FingerprintTable, add: Callable[[], object] = lambda: None, size: int = 64
) -> FingerprintTable:
    """The table restored from its image; `add` is called between the pieces."""
    pieces = []
    for piece in table.image(size):
        pieces.append(bytes(piece))
        add()
    return restore(b"".join(pieces), table._sizes)


def restore(data: bytes, sizes: TableSizes = TABLE_SIZES) -> FingerprintTable:
    file = BytesIO(data)

    def read(room: memoryview) -> None:
        if file.readinto(room) < len(room):
            raise ValueError("shorter than it says")

    table = FingerprintTable.restore(len(data), read, sizes)
    assert file.read() == b""
    return table


class TestTiny:
    @given(BATCHES)
    def test_it_is_a_set(self, batches: list[list[int]]) -> None:
        table, model = FingerprintTable(TINY), set()
        for batch in batches:
            for f, is_new in zip(batch, fill(table, batch), strict=True):
                assert is_new == (f not in model)
                model.add(f)
            check(table, model)
            assert (7 in table) == (7 in model)

    @given(BATCHES, st.lists(PRINTS, max_size=20))
    def test_absent_says_what_add_would_and_adds_nothing(
        self, batches: list[list[int]], asked: list[int]
    ) -> None:
        table = FingerprintTable(TINY)
        known = set()
        for batch in batches:
            fill(table, batch)
            known.update(batch)
        assert table.absent(asked) == [f not in known for f in asked]
        check(table, known)

    @given(BATCHES)
    def test_it_need_not_grow(self, batches: list[list[int]]) -> None:
        table, model = FingerprintTable(TINY), set()
        for batch in batches:
            table.add(batch)
            model.update(batch)
        check(table, model)

    @given(BATCHES, BATCHES)
    def test_an_image_is_the_same_set(
        self, before: list[list[int]], after: list[list[int]]
    ) -> None:
        table, model = FingerprintTable(TINY), set()
        for batch in before:
            fill(table, batch)
            model.update(batch)
        restored = copy(table)
        check(restored, model)
        for batch in after:
            assert fill(restored, batch) == [f not in model for f in batch] or len(
                set(batch)
            ) < len(batch)
            model.update(batch)
        check(restored, model)

    @given(BATCHES, st.lists(PRINTS, unique=True))
    def test_an_image_made_while_some_are_added_has_all_from_before(
        self, before: list[list[int]], during: list[int]
    ) -> None:
        table, model = FingerprintTable(TINY), set()
        for batch in before:
            fill(table, batch)
            model.update(batch)
        later = list(during)
        restored = copy(table, lambda: later and table.add([later.pop()]), size=16)
        assert len(restored) == len(model)
        assert all(f in restored for f in model)
        # The image may lack those added meanwhile; added again, as from the log, they are there.
        for f in during:
            fill(restored, [f])
        restored.recount(len(model | set(during)))
        assert all(f in restored for f in [*model, *during])
        others = [f for f in range(21) if f not in model and f not in during]
        assert fill(restored, others) == [True] * len(others)
        assert not any(restored.add([*model, *during, *others]))


class InPython(FingerprintTable):
    """A table that never uses the compiled module."""

    def absent(self, batch: list[int]) -> list[bool]:
        return self._python_absent(batch)

    def add(self, batch: list[int]) -> list[bool]:
        fresh = self._python_add(batch)
        self._count += fresh.count(True)
        return fresh

    def _move(self, region: int) -> None:
        self._make_room(self._end + 2 * self._widths[region] + self._tail)
        self._python_move(region)


def state(table: FingerprintTable) -> tuple[object, ...]:
    return bytes(table._memory), table._strays, len(table), table._moves


def content(table: FingerprintTable) -> tuple[object, ...]:
    """Its fingerprints and its layout; the order within a run is free."""
    return sorted([*filter(None, used(table)), *table._strays]), table._moves, table._end


@given(BATCHES, st.lists(PRINTS, max_size=20))
def test_compiled_code_does_the_same_to_the_memory(
    batches: list[list[int]], asked: list[int]
) -> None:
    table, model = FingerprintTable(TINY), InPython(TINY)
    for batch in batches:
        assert table.add(batch) == model.add(batch)
        assert table.absent(asked) == model.absent(asked)
        assert state(table) == state(model)


@given(BATCHES, st.lists(PRINTS, max_size=20))
def test_compiled_code_moves_the_same(batches: list[list[int]], asked: list[int]) -> None:
    table, model, known = FingerprintTable(TINY), InPython(TINY), set[int]()
    for batch in batches:
        known.update(batch)
        assert fill(table, batch) == fill(model, batch)
        assert table.absent(asked) == model.absent(asked)
        assert content(table) == content(model)
        check(table, known)


def test_compiled_code_does_the_same_to_a_table_of_usual_size(random_prints: list[int]) -> None:
    table, model = FingerprintTable(), InPython()
    for start in range(0, 60_000, 700):
        batch = random_prints[start : start + 700]
        assert table.absent(batch[:9]) == model.absent(batch[:9])
        assert fill(table, batch) == fill(model, batch)
    assert content(table) == content(model)
    check(table, random_prints[:60_200])


@pytest.mark.skipif(native is None, reason="needs the compiled module")
class TestDamaged:
    """No memory beyond the buffers is read or written."""

    BASES, WIDTHS = array("Q", [0, 2]), array("Q", [2, 2])

    def test_a_run_without_an_end(self) -> None:
        assert native is not None
        slots = array("Q", [1, 2, 3, 4])
        for batch in ([8], [TOP]):
            with pytest.raises(IndexError):
                native.absent(slots, self.BASES, self.WIDTHS, batch)
            with pytest.raises(IndexError):
                native.add(slots, self.BASES, self.WIDTHS, 3, batch)
        assert slots.tolist() == [1, 2, 3, 4]

    @pytest.mark.parametrize("bases", [[0, 4], [0, 2**60], [0, TOP]])
    @pytest.mark.parametrize("width", [0, 1, TOP])
    def test_a_region_outside(self, bases: list[int], width: int) -> None:
        assert native is not None
        layout = array("Q", bases), array("Q", [width] * 2)
        with pytest.raises(IndexError):
            native.add(array("Q", bytes(16)), *layout, 1, [2**63 + 5])

    def test_a_move_of_a_run_without_an_end(self) -> None:
        assert native is not None
        slots = array("Q", [1, 2, 3, 4])
        # No slot is left, so all are strays.
        assert native.move(slots, self.BASES, self.WIDTHS, 0, 4, 3) == [1, 2, 3, 4]
        outside = array("Q", [9, TOP]), array("Q", [0, 3])
        assert native.move(slots, *outside, 0, 2, 3) == [1, 2, 3, 4]
        assert slots.tolist() == [1, 2, 0, 0]

    @pytest.mark.parametrize("slots", [(-1, 2, 3), (2, 1, 3), (0, 5, 3), (0, 2, -1)])
    def test_a_move_from_slots_that_are_none(self, slots: tuple[int, int, int]) -> None:
        assert native is not None
        with pytest.raises(ValueError, match="no such slots"):
            native.move(array("Q", bytes(32)), self.BASES, self.WIDTHS, *slots)

    @pytest.mark.parametrize("regions", [0, 1, 3, 6])
    def test_an_odd_number_of_regions(self, regions: int) -> None:
        assert native is not None
        layout = array("Q", [1] * regions)
        with pytest.raises(ValueError, match="regions"):
            native.absent(array("Q", bytes(16)), layout, layout, [1])

    @pytest.mark.parametrize("batch", [[-1], [2**64], ["x"], [None], [1.5]])
    def test_no_fingerprints(self, batch: list[int]) -> None:
        assert native is not None
        with pytest.raises((TypeError, OverflowError)):
            native.add(array("Q", bytes(64)), self.BASES, self.WIDTHS, 7, batch)


def test_the_same_twice_in_a_batch_is_new_once() -> None:
    assert FingerprintTable().add([1, 2, 1, 0, 0]) == [True, True, False, True, False]


def test_an_empty_batch_is_nothing() -> None:
    table = FingerprintTable()
    assert table.add([]) == []
    assert len(table) == 0


def test_it_grows_with_what_is_in_it(random_prints: list[int]) -> None:
    table = FingerprintTable()
    for start in range(0, len(random_prints), 500):
        assert all(fill(table, random_prints[start : start + 500]))
    assert not any(table.add(random_prints))
    assert table._moves > table._regions
    assert len(used(table)) * 8 < 15 * len(random_prints)
    check(table, random_prints)


def test_the_memory_before_the_first_region_is_given_back(random_prints: list[int]) -> None:
    table = FingerprintTable()
    for start in range(0, len(random_prints), 500):
        fill(table, random_prints[start : start + 500])
        before = table._bases[table._first] * 8
        assert before - mmap.PAGESIZE < table._given_back <= before
    assert not any(table._memory[: table._given_back])


def test_widths_double_in_order() -> None:
    regions = 1 << TABLE_SIZES.region_bits
    widths = _widths(0, TABLE_SIZES)
    assert widths == sorted(widths)
    assert widths[-1] < 2 * widths[0]
    moved = _widths(3 * regions + 2, TABLE_SIZES)
    assert moved == [w * 16 for w in widths[:2]] + [w * 8 for w in widths[2:]]


@pytest.mark.parametrize("size", [104, 10**6])
def test_an_image_is_cut_into_pieces(random_prints: list[int], size: int) -> None:
    table = FingerprintTable()
    fill(table, random_prints[:2000])
    assert max(len(piece) for piece in table.image(size)) <= size
    check(copy(table, size=size), random_prints[:2000])


def image_of(table: FingerprintTable) -> bytes:
    return b"".join(table.image(1 << 20))


@pytest.mark.parametrize(
    "change",
    [
        lambda data: b"",
        lambda data: data[:20],
        lambda data: b"x" + data[1:],
        lambda data: data[:-8],
        lambda data: data + b"1234",
        lambda data: data[:16] + b"\1" * 8 + data[24:],
        lambda data: data[:32] + b"\xff" * 8 + data[40:],
        lambda data: data[:32] + b"\0\10" + data[34:],
    ],
    ids=["empty", "short", "magic", "cut", "long", "width", "moves", "moved"],
)
def test_an_invalid_image_is_refused(change: Callable[[bytes], bytes]) -> None:
    table = FingerprintTable()
    table.add([1, 2, 3])
    data = change(image_of(table))
    with pytest.raises(ValueError, match=r"not a table|shorter"):
        restore(data)


def test_postponed_growth_is_spread_over_calls(random_prints: list[int]) -> None:
    table, moves = FingerprintTable(TableSizes(batch=100)), []
    for start in range(0, 60_000, 100):
        table.add(random_prints[start : start + 100])
        if not 30_000 < start < 31_000:
            before = table._moves
            table.grow()
            moves.append(table._moves - before)
    usual = max(moves[280:301])
    assert usual < max(moves) <= 5 * usual
    assert max(moves[-100:]) <= 2 * usual
    assert table._count < table._room + 100
    check(table, random_prints[:60_000])


def test_no_memory_to_grow_leaves_it_as_it_was(
    random_prints: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    table = FingerprintTable()
    table.add(random_prints[:30_000])
    monkeypatch.setattr(table, "_tail", 10**14)
    with pytest.raises(MemoryError):
        table.grow()
    monkeypatch.undo()
    check(table, random_prints[:30_000])
    while table.full:
        table.grow()
    check(table, random_prints[:30_000])


def test_repr() -> None:
    table = FingerprintTable()
    table.add([1, 2])
    slots = sum(_widths(0, TABLE_SIZES))
    assert repr(table) == f"<FingerprintTable 2 in {slots} slots, 0 moves>"
