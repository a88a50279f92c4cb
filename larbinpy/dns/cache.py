"""The name cache.

Addresses, absences and failures are kept apart, so that pages full of dead names cannot evict the
live ones: addresses in a compact table (`_Table`), names that do not exist in a Bloom filter, and
the few that failed otherwise in a small dict.
"""

import struct
from collections import OrderedDict
from mmap import MAP_ANONYMOUS, MAP_PRIVATE, PAGESIZE, mmap
from socket import AF_INET, inet_pton
from typing import NamedTuple

from larbinpy.storage.caches import BloomFilter

#: Bounds in seconds on how long a name is remembered to have no address (NODATA), around the
#: time in the zone's SOA (RFC 2308 section 5). Below the lower one a page full of links to a dead
#: host would ask again and again; the upper one is typical of SOAs.
NEGATIVE_MIN = 30.0
NEGATIVE_MAX = 900.0

#: Seconds for which a failed lookup (no reply, SERVFAIL, REFUSED) is remembered. RFC 9520
#: section 3.2: at least 1 s, at most 5 min.
FAILURE_TIME = 30.0

# Seconds after its expiry for which an address is used while lookups fail; RFC 8767 section 5
# suggests 1 to 3 days.
_STALE_MAX = 86400.0

# Some 3 MB; more names fail at a time only without a network.
_MOST_FAILURES = 10_000


class Known(NamedTuple):
    """Entry for a name: its addresses, or the reason why it has none."""

    addresses: tuple[str, ...]
    reason: str | None


_ABSENT = Known((), "nxdomain")


class _Failure(NamedTuple):
    until: float
    known: Known


class NameCache:
    """Addresses of at most `size` names, and which names do not exist, at most `absences`.

    With a `size` of 0 nothing is remembered, neither absences nor failures.

    Names are spelled as by `wire.host_name`. An expired address stays until it is evicted, to
    be used for another day while lookups fail (RFC 8767).

    Absences are forgotten all at once: `absence_time` seconds after the first of them, or when
    no more fit. Until then up to one in a million of the existing names is taken for absent by
    mistake, but no name whose address is here, even if expired.
    """

    def __init__(self, size: int, absences: int = 1_000_000, absence_time: float = 1800.0) -> None:
        self._found = _Table(size)
        self._absent = BloomFilter(absences)
        self._absence_time = absence_time
        self._absent_until = 0.0
        self._failed: OrderedDict[str, _Failure] = OrderedDict()
        self._stale_served = 0

    def __len__(self) -> int:
        return len(self._found) + len(self._failed)

    def __repr__(self) -> str:
        return f"<NameCache {len(self._found)} found, {len(self._failed)} failed, {self._absent}>"

    def get(self, name: str, now: float) -> Known | None:
        """The entry for `name` if it has not expired; None if a server must be asked."""
        known = self._found.get(name, now)
        if known is not None:
            return known
        failure = self._failed.get(name)
        if failure is not None and now < failure.until:
            self._stale_served += failure.known.reason is None
            return failure.known
        # A name that is in the table, even expired, was found to exist later than any absence.
        if now < self._absent_until and name in self._absent and name not in self._found:
            return _ABSENT
        return None

    def put(self, name: str, addresses: tuple[str, ...], time: float, now: float) -> None:
        """Keep `addresses` for `time` seconds, at least a minute and at most 45 days."""
        self._failed.pop(name, None)
        self._found.put(name, addresses, time, now)

    def put_absence(self, name: str, now: float) -> None:
        """Remember that the name does not exist (NXDOMAIN)."""
        if self._found.size == 0:
            return
        self._found.remove(name)
        self._failed.pop(name, None)
        if now >= self._absent_until or len(self._absent) >= self._absent.capacity:
            self._absent.clear()
            self._absent_until = now + self._absence_time
        self._absent.add(name)

    def put_nodata(self, name: str, reason: str, ttl: float | None, now: float) -> None:
        """Remember for `ttl` seconds, within bounds, that a name has no address; None counts
        as the lower bound."""
        self._found.remove(name)
        until = now + min(max(ttl or 0, NEGATIVE_MIN), NEGATIVE_MAX)
        self._remember(name, _Failure(until, Known((), reason)))

    def put_failure(self, name: str, reason: str, now: float) -> Known:
        """Remember that the lookup failed; return the entry that holds until it is forgotten.

        It has the last known addresses, if there are any, and `reason` otherwise.
        """
        known = self._found.get(name, now)
        if known is None:
            # An address that was valid up to a day ago may be used.
            known = self._found.get(name, now - _STALE_MAX)
            self._stale_served += known is not None
        if known is None:
            known = Known((), reason)
        self._remember(name, _Failure(now + FAILURE_TIME, known))
        return known

    def _remember(self, name: str, failure: _Failure) -> None:
        if self._found.size == 0:
            return
        self._failed.pop(name, None)
        self._failed[name] = failure
        if len(self._failed) > _MOST_FAILURES:
            self._failed.popitem(last=False)

    def stats(self) -> dict[str, int]:
        """The current state, and counts since the start (`evicted`, `stale_served`).

        `bytes` is the memory of the `names`, `absent_bytes` that of a full filter.
        """
        return {
            "names": len(self._found),
            "size": self._found.size,
            "bytes": self._found.size_bytes,
            "evicted": self._found.evicted,
            "absent": len(self._absent),
            "absent_size": self._absent.capacity,
            "absent_bytes": self._absent.size_bytes,
            "failures": len(self._failed),
            "stale_served": self._stale_served,
        }


# A row of the table: the hash of the name and the code of its top level; the minute it expires;
# its IPv4 address; the rows used before and after it; the next row of its bucket. An address is
# written as bytes and read as four numbers.
_read_key = struct.Struct("=qH").unpack_from
_read_links = struct.Struct("=q8xIII").unpack_from
_read = struct.Struct("=qHH4BIII").unpack_from
_ROW = struct.Struct("=qHH4sIII")
_write = _ROW.pack_into
_WORDS = _ROW.size // 4
_OLDER, _NEWER, _FOLLOWING = 4, 5, 6

# The code of all top-level domains after the first 4095; fewer exist.
_LAST_CODE = 0xFFF
# The largest number of 16 bits: on the 45th day.
_LAST_MINUTE = 0xFFFF
# The most rows whose words can be numbered with 32 bits.
_MOST_NAMES = 0xFFFFFFFF // _WORDS
_MOST_ADDRESSES = 16

# Bytes of two addresses in `_several`: the text, its key, and a share of the dict.
_SEVERAL_BYTES = 150

_OCTETS = [str(octet) for octet in range(256)]
# Known(...) takes 0.1 us more: it calls a function written in Python.
_make = tuple.__new__


class _Table:
    """Addresses of at most `size` names, 36 bytes each; the least recently used is evicted.

    A name is identified by 76 bits: a code of 12 bits for its top-level domain, and a hash of 64
    bits of the whole name, which most likely has no collision among a million names. (The dual
    name cache also takes 76 bits, but hashes the second level and the rest to 32 bits each. Then
    32 bits have to distinguish all names that begin with "www" or end with "co.uk", and of a
    million such names a hundred share their key with another.) Python keys its hash anew in each
    process, so attackers cannot choose names that collide, unless PYTHONHASHSEED is set.

    The rows are in one piece of memory, which the system allocates page by page as they are
    used. A row is identified by the number of its first word, so that a view of the words that
    begins at a field finds this field of every row; row 0 stands for none. A row in use is in two
    lists: its bucket's, from `_heads` along `_following`, and that of all rows in the order of
    use, from `_newest` along `_older` and from row 0 along `_newer`, up to `_newest`. Free rows
    are in a list of their own, from `_free` along `_following`.

    Addresses other than a single IPv4 one are kept as text in `_several`: 150 bytes more for a
    name with two addresses.
    """

    def __init__(self, size: int) -> None:
        self.size = min(size, _MOST_NAMES)
        self.evicted = 0
        self._buckets = 2 * self.size or 1
        self._clear()

    def _clear(self) -> None:
        self._memory = _zeroed(_ROW.size * (self.size + 1))
        words = memoryview(self._memory).cast("I")
        self._older = words[_OLDER:]
        self._newer = words[_NEWER:]
        self._following = words[_FOLLOWING:]
        self._heads = memoryview(_zeroed(4 * self._buckets)).cast("I")
        self._several: dict[int, str] = {}
        self._codes: dict[str, int] = {}
        self._newest = 0
        self._free = 0
        self._touched = 0
        self._names = 0
        self._start = 0.0

    def __len__(self) -> int:
        return self._names

    def __contains__(self, name: str) -> bool:
        return self._row(name) != 0

    @property
    def size_bytes(self) -> int:
        """Memory in use. Buckets are hit at random: each of the first names costs a page."""
        heads = min(self._heads.nbytes, PAGESIZE * self._touched)
        return _ROW.size * self._touched + heads + _SEVERAL_BYTES * len(self._several)

    def get(self, name: str, now: float) -> Known | None:
        """The addresses of `name`, unless they have expired.

        Among a million names a third of the time is spent waiting for memory: the name, its
        bucket, its row, and that row's neighbours in the order of use. To keep the rest small,
        the code that other methods share is inlined here.
        """
        whole = hash(name)
        row = self._heads[whole % self._buckets]
        while row:
            hashed, code, minute, a, b, c, d, older, newer, following = _read(self._memory, row * 4)
            if hashed == whole:
                top = name.rpartition(".")[2]
                if code == self._codes.get(top, _LAST_CODE):
                    break
            row = following
        if not row or now - self._start >= 60 * minute:
            return None
        newest = self._newest
        if row != newest:
            self._older[newer] = older
            self._newer[older] = newer
            self._newer[newest] = row
            self._older[row] = newest
            self._newest = row
        if a == 0 and row in self._several:
            return Known(tuple(self._several[row].split()), None)
        text = f"{_OCTETS[a]}.{_OCTETS[b]}.{_OCTETS[c]}.{_OCTETS[d]}"
        return _make(Known, ((text,), None))

    def put(self, name: str, addresses: tuple[str, ...], time: float, now: float) -> None:
        if self.size == 0:
            return
        minute = self._minute(time, now)
        whole, code = hash(name), self._code(name.rpartition(".")[2])
        known = self._find(whole, code)
        if known:
            self._drop(known)
        row = self._take_row()
        octets = b"\0\0\0\0"
        if len(addresses) == 1 and ":" not in addresses[0]:
            octets = inet_pton(AF_INET, addresses[0])
        else:
            self._several[row] = " ".join(addresses[:_MOST_ADDRESSES])
        bucket = whole % self._buckets
        older, following = self._newest, self._heads[bucket]
        _write(self._memory, row * 4, whole, code, minute, octets, older, 0, following)
        self._heads[bucket] = row
        self._newer[older] = row
        self._newest = row
        self._names += 1

    def remove(self, name: str) -> None:
        row = self._row(name)
        if row:
            self._drop(row)

    def _code(self, top: str) -> int:
        """The code of a top-level domain; a new one gets the next code while there are any."""
        code = self._codes.get(top)
        if code is None:
            code = len(self._codes)  # never more than the last
            if code < _LAST_CODE:
                self._codes[top] = code
        return code

    def _row(self, name: str) -> int:
        """The row of a name, or 0."""
        return self._find(hash(name), self._codes.get(name.rpartition(".")[2], _LAST_CODE))

    def _find(self, whole: int, code: int) -> int:
        row = self._heads[whole % self._buckets]
        while row and _read_key(self._memory, row * 4) != (whole, code):
            row = self._following[row]
        return row

    def _minute(self, time: float, now: float) -> int:
        """The minute `time` seconds from `now`, counted from when the table was last empty.

        When the count reaches its end, after 45 days, the table is cleared. To continue the
        count, all rows would have to be rewritten.
        """
        if self._names and now - self._start > 60 * (_LAST_MINUTE - 1):
            self._clear()
        if self._names == 0:
            self._start = now
        seconds = now - self._start + (time if time > 60 else 60)
        return int(-(-seconds // 60)) if seconds < 60 * _LAST_MINUTE else _LAST_MINUTE

    def _take_row(self) -> int:
        """A row for a new name: if none is free, that of the least recently used name."""
        if self._names == self.size:
            self._drop(self._newer[0])
            self.evicted += 1
        row = self._free
        if row:
            self._free = self._following[row]
        else:
            self._touched += 1
            row = self._touched * _WORDS
        return row

    def _drop(self, row: int) -> None:
        """Remove a row from its lists and free it."""
        whole, older, newer, following = _read_links(self._memory, row * 4)
        bucket = whole % self._buckets
        before = self._heads[bucket]
        if before == row:
            self._heads[bucket] = following
        else:
            while self._following[before] != row:
                before = self._following[before]
            self._following[before] = following
        if row == self._newest:
            self._newest = older
        else:
            self._newer[older] = newer
            self._older[newer] = older
        self._several.pop(row, None)
        self._following[row] = self._free
        self._free = row
        self._names -= 1


def _zeroed(size: int) -> mmap:
    """`size` bytes of zeros, which take no memory until they are written to."""
    return mmap(-1, size, flags=MAP_PRIVATE | MAP_ANONYMOUS)
