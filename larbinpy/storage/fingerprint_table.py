"""A set of 64-bit fingerprints, 15 bytes each, that grows without stopping the crawl.

Open addressing with linear probing (Knuth, TAOCP 6.4, algorithm L) in one flat piece of
anonymous memory, so that one C call reads the home slots of a whole batch: the processor then
waits for many of them at once, whereas a loop in Python waits for each. The compiled module does
the lookups, insertions and moves in a fifth of the time; tables with strays are left to Python.

It grows as spiral storage does (Larson, Dynamic hash tables, CACM 31/4, 1988): regions lie in the
order of their widths, and whenever enough fingerprints have been added the first region moves
behind the last, twice as wide. So the load is the same at every size, one fingerprint is moved
for each that is added, and the longest call moves one region.
"""

import mmap
import struct
from array import array
from collections.abc import Callable, Iterator
from itertools import compress
from operator import itemgetter, ne

from larbinpy.native import native
from larbinpy.storage.sizes import TABLE_SIZES, TableSizes

#: Fingerprints per slot: 8 / 0.535 = 14.95 bytes each. An emptier table is faster.
_LOAD = 0.535
_HEADER = struct.Struct("<8s5Q")
_MAGIC = b"lbseen1\n"
#: Memory is given back in units of a huge page where tables are large: less would split one.
_HUGE = 2 << 20
_WHEN_HUGE = 64 << 20


class FingerprintTable:
    """A set of 64-bit integers, of which none is ever removed.

    The top bits of a fingerprint choose its region; its home is slot fingerprint % width of that
    region. It lies in its home or after it, with no empty slot between. An empty slot is 0.
    After `_moves` moves, region `_moves % regions` is the first; the memory before it has been
    given back. The last slot of the tail is always empty, so every run ends. `_strays` holds the
    fingerprints without a slot: 0, and any that would lie in that last slot.

    Lookup, growth, image and restoring are methods of one class, because all of them depend on
    these invariants.
    """

    def __init__(self, sizes: TableSizes = TABLE_SIZES) -> None:
        self._sizes = sizes
        self._tail = sizes.tail
        self._strays: set[int] = set()
        self._lay_out(0)
        self._count = 0

    def _lay_out(self, moves: int) -> None:
        """Allocate empty memory for the regions as they are after `moves` moves."""
        self._moves = moves
        self._regions = 1 << self._sizes.region_bits
        self._shift = 64 - self._sizes.region_bits
        self._widths = array("Q", _widths(moves, self._sizes))
        self._bases = array("Q", bytes(8 * self._regions))
        self._end = 0
        for k in range(moves, moves + self._regions):
            self._bases[k % self._regions] = self._end
            self._end += self._widths[k % self._regions]
        self._memory = mmap.mmap(
            -1, (self._end + self._tail) * 8, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
        )
        self._slots = memoryview(self._memory).cast("Q")
        self._given_back = 0
        self._room = int(self._end * _LOAD)
        self._move_at = 0

    @property
    def _first(self) -> int:
        return self._moves % self._regions

    def __len__(self) -> int:
        return self._count

    def __repr__(self) -> str:
        slots = self._end - self._bases[self._first]
        return f"<FingerprintTable {self._count} in {slots} slots, {self._moves} moves>"

    def _home(self, fingerprint: int) -> int:
        region = fingerprint >> self._shift
        return self._bases[region] + fingerprint % self._widths[region]

    def __contains__(self, fingerprint: int) -> bool:
        slot = self._home(fingerprint)
        while known := self._slots[slot]:
            if known == fingerprint:
                return True
            slot += 1
        return fingerprint in self._strays

    def absent(self, batch: list[int]) -> list[bool]:
        """For each of `batch`, in order: whether it is not in the table."""
        if native is None or self._strays:
            return self._python_absent(batch)
        fresh: list[bool] = native.absent(self._slots, self._bases, self._widths, batch)
        return fresh

    def _python_absent(self, batch: list[int]) -> list[bool]:
        _, away = self._look(batch)
        for k in compress(range(len(batch)), away):
            away[k] = batch[k] not in self
        return away

    def _look(self, batch: list[int]) -> tuple[list[int], list[bool]]:
        """The home of each of `batch`, and whether that slot holds another value or none."""
        bases, widths, shift = self._bases, self._widths, self._shift
        homes = [bases[region := f >> shift] + f % widths[region] for f in batch]
        # With two more indexes itemgetter returns a tuple for a batch of any length.
        away = list(map(ne, itemgetter(*homes, 0, 0)(self._slots), batch))
        if not all(batch):
            # An empty slot equals the fingerprint 0.
            away = [is_away or not f for is_away, f in zip(away, batch, strict=True)]
        return homes, away

    def add(self, batch: list[int]) -> list[bool]:
        """Add `batch`; for each, in order: whether it was new.

        Batches of some hundreds are fastest. `grow` must be called between them.
        """
        fresh: list[bool] = []
        if native is not None and not self._strays:
            # It ends before the first fingerprint that becomes a stray.
            last = self._end + self._tail - 1
            fresh = native.add(self._slots, self._bases, self._widths, last, batch)
        if len(fresh) < len(batch):
            fresh += self._python_add(batch[len(fresh) :])
        self._count += fresh.count(True)
        return fresh

    def _python_add(self, batch: list[int]) -> list[bool]:
        homes, fresh = self._look(batch)
        slots, strays = self._slots, self._strays
        last = self._end + self._tail - 1
        for k in compress(range(len(batch)), fresh):
            f = batch[k]
            slot = homes[k]
            while known := slots[slot]:
                if known == f:
                    fresh[k] = False
                    break
                slot += 1
            else:
                if strays and f in strays:
                    fresh[k] = False
                elif f and slot != last:
                    slots[slot] = f
                else:
                    strays.add(f)
        return fresh

    def recount(self, count: int) -> None:
        """Set the number of fingerprints.

        Those added while an image was made may be in the image, and `add` does not count them.
        """
        self._count = count

    @property
    def full(self) -> bool:
        """Whether the table should grow now; growth that was postponed is spread over calls."""
        return self._count > self._room and self._count >= self._move_at

    @property
    def crowded(self) -> bool:
        """Whether the table must grow, even if that ends an image being written."""
        return self._count > self._room * 9 // 8

    def grow(self) -> None:
        """Move some regions if the table is `full`; takes a few milliseconds at most.

        MemoryError leaves the table unchanged.
        """
        for _ in range(max(1, self._sizes.growth // self._widths[self._first])):
            if not self.full:
                break
            room = self._room
            self._move(self._first)
            self._give_back()
            self._room = int((self._end - self._bases[self._first]) * _LOAD)
            # Moves come four times as often as is needed to keep up with the additions.
            since = max(self._move_at, self._count - self._sizes.batch)
            self._move_at = since + (self._room - room + 3) // 4

    def _move(self, region: int) -> None:
        """Move `region`, the first, behind the last one, twice as wide."""
        self._make_room(self._end + 2 * self._widths[region] + self._tail)
        if native is None or self._strays:
            self._python_move(region)
            return
        start, end = self._lay_last(region)
        last = self._end + self._tail - 1
        strays = native.move(self._slots, self._bases, self._widths, start, end, last)
        self._strays.update(strays)

    def _lay_last(self, region: int) -> tuple[int, int]:
        """Let `region` lie behind the last one, twice as wide; return where it began and ended."""
        start, width = self._bases[region], self._widths[region]
        self._bases[region], self._widths[region] = self._end, 2 * width
        self._end += 2 * width
        self._moves += 1
        return start, start + width

    def _python_move(self, region: int) -> None:
        moved, others = self._take_first(region)
        # Fingerprints that ran over the end of the last region are put back after the new one.
        base = self._end
        others += self._take(base, self._empty_from(base))
        self._lay_last(region)
        width = self._widths[region]
        # A list: reading and setting its items takes a third of the time of a memoryview's.
        places = [0] * (width + len(moved))
        for f in moved:
            slot = f % width
            while places[slot]:
                slot += 1
            places[slot] = f
        others += filter(None, places[width:])
        self._slots[base : base + width] = array("Q", places[:width])
        for f in others:
            self._put(f)

    def _take_first(self, region: int) -> tuple[list[int], list[int]]:
        """Take the fingerprints of `region`, the first, and those of the next one among them."""
        start = self._bases[region]
        end = start + self._widths[region]
        own = list(filter(None, self._slots[start:end].tolist()))
        over = self._take(end, self._empty_from(end))
        own += [f for f in over if f >> self._shift == region]
        if self._strays:
            back = [f for f in self._strays if f and f >> self._shift == region]
            self._strays.difference_update(back)
            own += back
        return own, [f for f in over if f >> self._shift != region]

    def _take(self, start: int, end: int) -> list[int]:
        taken = self._slots[start:end].tolist()
        self._memory[start * 8 : end * 8] = bytes((end - start) * 8)
        return taken

    def _put(self, fingerprint: int) -> None:
        slot = self._empty_from(self._home(fingerprint))
        if slot == self._end + self._tail - 1:
            self._strays.add(fingerprint)
        else:
            self._slots[slot] = fingerprint

    def _empty_from(self, slot: int) -> int:
        """The first empty slot from `slot` on."""
        slots = self._slots
        while slots[slot]:
            slot += 1
        return slot

    def _make_room(self, slots: int) -> None:
        """Make room for at least `slots`. Unused memory only costs address space."""
        if slots <= len(self._slots):
            return
        self._slots.release()
        try:
            self._memory.resize(slots * 5 // 4 * 8)
        except OSError as error:
            raise MemoryError(str(error)) from error
        finally:
            self._slots = memoryview(self._memory).cast("Q")

    def _give_back(self) -> None:
        """Give the memory before the first region back to the system, in whole pages."""
        page = _HUGE if len(self._slots) * 8 >= _WHEN_HUGE else mmap.PAGESIZE
        free = self._bases[self._first] * 8 // page * page
        if free > self._given_back:
            start, self._given_back = self._given_back, free
            self._memory.madvise(mmap.MADV_DONTNEED, start, free - start)

    def image(self, size: int) -> Iterator[memoryview]:
        """The table as bytes, in pieces of at most `size` bytes, a multiple of 8.

        Fingerprints may be added between two pieces: the image holds all that were there at the
        first piece, and some of the later ones. Pieces must be released before `grow` is called.
        """
        yield memoryview(
            _HEADER.pack(
                _MAGIC, self._regions, self._sizes.width, self._tail, self._moves, self._count
            )
        )
        start, end = self._bases[self._first], self._end + self._tail
        for at in range(start, end, size // 8):
            yield self._slots[at : min(at + size // 8, end)].cast("B")
        yield memoryview(array("Q", self._strays).tobytes())

    @classmethod
    def restore(
        cls, length: int, read: Callable[[memoryview], None], sizes: TableSizes = TABLE_SIZES
    ) -> "FingerprintTable":
        """The table whose image is the next `length` bytes of `read`, which fills a buffer.

        Raises `ValueError` if they are no image. The fingerprints are not checked: the caller
        verifies a checksum.
        """
        table = cls(sizes)
        header = bytearray(_HEADER.size)
        read(memoryview(header))
        magic, *layout, moves, count = _HEADER.unpack(header)
        if magic != _MAGIC or layout != [table._regions, sizes.width, sizes.tail]:
            raise ValueError("not a table of this version")
        # With more moves than this there are more slots than any file has bytes.
        slots = sum(_widths(moves, sizes)) + sizes.tail if moves < table._regions * 64 else length
        strays = length - _HEADER.size - slots * 8
        if strays < 0 or strays % 8:
            raise ValueError("not a table")
        table._lay_out(moves)
        table._count = count
        read(table._slots.cast("B"))
        others = array("Q", bytes(strays))
        read(memoryview(others).cast("B"))
        table._strays.update(others)
        return table


def _widths(moves: int, sizes: TableSizes) -> list[int]:
    """The width in slots of each region after `moves` moves.

    At first widths rise evenly to twice that of the first region, so its double comes next.
    """
    regions, width = 1 << sizes.region_bits, sizes.width
    rounds, first = divmod(moves, regions)
    return [
        (width + width * region // regions) << (rounds + (region < first))
        for region in range(regions)
    ]
