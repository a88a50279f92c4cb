"""The journal: what changed in the shards of this node since their last commits.

A URL that is admitted gets an *origin*: the take of its shard, its block and its line. The origin
stays with the URL until its outcome is decided, and then says which bit of which block to clear;
so no table leads from URLs to blocks.

A URL that is done is reported one round late. Its page must be on the disk, so it waits for a
local checkpoint. Its links must be in the vault, so it waits until the next round, which has them,
is acknowledged. The round after that clears its bit. So the writes of one round need no order: a
crash between two of them repeats pages and loses no link.

A page is counted for its site by the commit that clears its bit. So a page that is fetched again
after a crash counts once, and the limit of a site neither costs it a page nor gives it one more.

A block stays in the vault until all its lines are done. Where a slow site has some lines in many
blocks, these are written again with empty lines for those that are done, so that lines keep their
numbers.

`pack` makes the text in which lines go through the vault.
"""

from array import array
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from isal import isal_zlib
from isal.igzip_lib import IsalError

from larbinpy.fleet.vault import Commit, SiteWait
from larbinpy.storage.deflate import compress
from larbinpy.storage.state import SavedPart

_PLAIN, _DEFLATED = b"=", b"~"
_RAW = -15  # deflate without header and checksum
_LEVEL = 2
#: Shorter texts (bytes) hardly shrink.
_SHORT = 150
#: Bytes of a text at most: 256 lines of two URLs of 8,000 characters each, and more.
_LONGEST = 16 << 20


def pack(lines: Iterable[str]) -> bytes:
    """Lines without newlines as bytes."""
    text = "\n".join(lines).encode()
    if len(text) < _SHORT:
        return _PLAIN + text
    return _DEFLATED + compress(text, _LEVEL, _RAW)


def unpack(packed: bytes) -> list[str]:
    """The lines of `pack`; ValueError for other bytes."""
    kind, text = packed[:1], packed[1:]
    if kind == _DEFLATED:
        inflating = isal_zlib.decompressobj(_RAW)
        try:
            text = inflating.decompress(text, _LONGEST)
        except IsalError as error:  # type: ignore[misc]  # a class, whatever its stub says
            raise ValueError(f"damaged lines: {error}") from error
        if not inflating.eof:
            raise ValueError("lines that are cut off or too long")
    elif kind != _PLAIN:
        raise ValueError("no packed lines")
    return text.decode().split("\n")


# The bits of an origin, lowest first: line (8), block (28), take. Below 2^24 takes it has at most
# 60 bits, and so fits a small int.
_LINE_BITS = 8
_BLOCK_BITS = 28
_TAKE_SHIFT = _LINE_BITS + _BLOCK_BITS
_LINE = (1 << _LINE_BITS) - 1
_BLOCK = (1 << _BLOCK_BITS) - 1
#: Lines of a block, at most 256. Longer blocks pack better, but the block that grows is packed as
#: a whole in each commit.
_LINES = 128
#: Blocks are thinned out if a shard has more lines in the vault than so many for each owed one.
_LOOSE = 1.5
#: Blocks that are read and thinned out at once.
_THINNED = 16


class JournalRound(NamedTuple):
    """The changes of all shards up to a moment."""

    #: Packed lines by the shard that they go to.
    letters: dict[int, bytes]
    #: By shard: the number it has before the commit.
    commits: dict[int, tuple[int, Commit]]


class _Shard:
    """A shard from its take until it is dropped."""

    __slots__ = (
        "block",
        "cleared",
        "count",
        "counts",
        "fingerprints",
        "first",
        "full",
        "is_loaded",
        "is_withdrawn",
        "lines",
        "n",
        "origins",
        "owed",
        "received",
        "sent",
        "shard",
        "size",
        "sizes",
        "sparse",
        "waits",
    )

    def __init__(self, shard: int, n: int, take: int) -> None:
        self.shard = shard
        #: Number of the last commit.
        self.n = n
        #: The origin of line 0 of block 0.
        self.first = take << _TAKE_SHIFT
        self.is_loaded = False
        self.is_withdrawn = False
        #: Fingerprints since the last commit.
        self.fingerprints = array("Q")
        #: Owed bits by block, as of the last commit; and their number.
        self.owed: dict[int, int] = {}
        self.count = 0
        #: Blocks with bits cleared since the last commit.
        self.cleared: set[int] = set()
        #: Full blocks since the last commit: lines, and how many of them it has.
        self.full: dict[int, tuple[list[str], int]] = {}
        #: Inbox elements received since the last commit.
        self.received = 0
        #: The counts of its sites since the last commit, and their waits that changed.
        self.counts: Counter[str] = Counter()
        self.waits: dict[str, SiteWait] = {}
        #: Number of lines that the vault has by block, without the empty ones; and their sum.
        self.sizes: dict[int, int] = {}
        self.size = 0
        #: Blocks of which at most half of these lines are owed.
        self.sparse: set[int] = set()
        self.begin_block(0)

    def begin_block(self, block: int) -> None:
        """Let `block` grow: it has no lines yet."""
        self.block = block
        self.lines: list[str] = []
        #: How many of these lines the last commit has.
        self.sent = 0
        #: The origin of the first of these lines.
        self.origins = self.first | block << _LINE_BITS

    def clear(self, block: int, line: int) -> None:
        """The URL of a line is not owed any more."""
        owed = self.owed.get(block, 0)
        if owed >> line & 1:
            self.owed[block] = owed & ~(1 << line)
            self.count -= 1
            self.cleared.add(block)
            if block == self.block:
                # It is packed again when the block grows, and needed no more.
                self.lines[line] = ""

    def resize(self, block: int, size: int) -> None:
        """The vault has so many lines of a block."""
        self.size += size - self.sizes.pop(block, 0)
        if size:
            self.sizes[block] = size
        if block != self.block and 0 < 2 * self.owed[block].bit_count() <= size:
            self.sparse.add(block)
        else:
            self.sparse.discard(block)

    def is_loose(self, most: int) -> bool:
        """Whether the vault has many lines more than are owed, and than a block of `most` lines."""
        return bool(self.sparse) and self.size > _LOOSE * self.count + most

    def thin(self, block: int, lines: list[str]) -> None:
        """Write a block of the vault again, without the lines that are not owed any more."""
        owed = self.owed.get(block, 0)
        if owed and block != self.block:
            self.full[block] = (
                [line if owed >> k & 1 else "" for k, line in enumerate(lines)],
                len(lines),
            )
            self.resize(block, owed.bit_count())

    def commit(self) -> Commit:
        """The changes since the last commit."""
        blocks = self.full
        if len(self.lines) > self.sent:
            blocks[self.block] = self.lines, self.sent
            self.sent = len(self.lines)
        for block, (lines, sent) in blocks.items():
            fresh = (1 << len(lines)) - (1 << sent)
            self.owed[block] = self.owed.get(block, 0) | fresh
            self.count += len(lines) - sent
            if sent < len(lines):
                self.resize(block, len(lines))
        bits, finished = {}, []
        for block in self.cleared:
            owed = self.owed[block]
            if owed:
                bits[block] = owed.to_bytes(owed.bit_length() + 7 >> 3, "little")
                self.resize(block, self.sizes[block])
            else:
                finished.append(block)
                # It may have been thinned out before.
                blocks.pop(block, None)
                self.resize(block, 0)
                del self.owed[block]
                if block == self.block:
                    self.begin_block(block + 1)
        # A block that was cleared before and grows now needs new bits, too.
        for block, (lines, _) in blocks.items():
            owed = self.owed[block]
            if owed.bit_count() < len(lines):
                bits[block] = owed.to_bytes(owed.bit_length() + 7 >> 3, "little")
        commit = Commit(
            fingerprints=self.fingerprints.tobytes(),
            blocks={block: pack(lines) for block, (lines, _) in blocks.items()},
            owed=bits,
            finished=finished,
            owing=self.count,
            received=self.received,
            counts=self.counts,
            waits=self.waits,
        )
        self.fingerprints = array("Q")
        self.full, self.cleared, self.received = {}, set(), 0
        self.counts, self.waits = Counter(), {}
        return commit


class ShardJournal(SavedPart):
    """The changes, by shard, and the letters to shards of others.

    A shard is *loading* from `take_up` to `serve`, then *served*, then *withdrawn*, and forgotten
    by `drop`. New URLs are put into served shards only. URLs of loading and served shards may be
    fetched; what is done of withdrawn ones still counts. A loading shard has no commits, because
    the number of its owed lines is not known yet.
    """

    def __init__(self, lines: int = _LINES) -> None:
        self._most = lines
        self._takes = 0
        #: Number of URLs done, ever; and how many of these are on the disk.
        self.noted = 0
        self._on_disk = 0
        self.clear_all()

    def clear_all(self) -> None:
        """Forget all shards and letters: the session has ended."""
        self._by_take: dict[int, _Shard] = {}
        self._shards: dict[int, _Shard] = {}
        self._served: dict[int, _Shard] = {}
        self._changed: set[int] = set()
        self._loose: set[int] = set()
        self._letters: defaultdict[int, list[str]] = defaultdict(list)
        # By origin: what counts when the URL is reported as done.
        self._counts: dict[int, Mapping[str, int]] = {}
        # Origins done but not in a round, and those whose links are in the last round.
        self._done: list[int] = []
        self._ripe: list[int] = []
        #: Number of URLs done, ever, of which the vault knows, and will know after this round.
        self.known = self._sent = self.noted
        #: Whether there was a local checkpoint since the last round.
        self.is_due = False

    # -- what the frontier reports

    def serves(self, shard: int) -> bool:
        """Whether URLs of `shard` are put here; those of other shards are letters."""
        return shard in self._served

    def put(self, shard: int, fingerprint: int, line: str) -> int:
        """Note a new URL of a shard that is served; return its origin, which is not 0."""
        entry = self._served[shard]
        number = len(entry.lines)
        if number == self._most:
            if entry.sent < number:
                entry.full[entry.block] = entry.lines, entry.sent
            entry.begin_block(entry.block + 1)
            number = 0
        entry.lines.append(line)
        entry.fingerprints.append(fingerprint)
        self._changed.add(shard)
        return entry.origins | number

    def letter(self, shard: int, line: str) -> None:
        """Note a URL of a shard that is not served here."""
        self._letters[shard].append(line)

    def received(self, shard: int, elements: int) -> None:
        """The lines of so many inbox elements were put."""
        self._served[shard].received += elements
        self._changed.add(shard)

    def done(self, origin: int) -> None:
        """The outcome of a URL is decided, logged and output, and all its links are noted."""
        self._done.append(origin)
        self.noted += 1

    def holds(self, origin: int) -> bool:
        """Whether the URL with this origin may be fetched by this node."""
        entry = self._by_take.get(origin >> _TAKE_SHIFT)
        return entry is not None and not entry.is_withdrawn

    def count(self, shard: int, counts: Mapping[str, int]) -> None:
        """Count for sites of a shard, by any names."""
        entry = self._shards.get(shard)
        if entry is not None:
            entry.counts.update(counts)
            self._changed.add(shard)

    def count_page(self, origin: int, counts: Mapping[str, int]) -> None:
        """Count for the site of a URL that is going to be done, in the commit that says so."""
        self._counts[origin] = counts

    def wait(self, shard: int, site: str, wait: SiteWait) -> None:
        """Note the waits of a site, for the node that loads its shard next."""
        entry = self._shards.get(shard)
        if entry is not None:
            entry.waits[site] = wait
            self._changed.add(shard)

    # -- local checkpoints

    def cut(self) -> int:
        return self.noted

    def sync(self) -> None:
        return

    def load(self, mark: int) -> None:
        return  # All shards are loaded from the vault.

    def tidy(self, mark: int) -> None:
        self._on_disk = mark
        self.is_due = True

    # -- the life of a shard

    def take_up(self, shard: int, n: int) -> None:
        """Begin with a shard that was taken and has number `n`."""
        self._takes += 1
        self._shards[shard] = self._by_take[self._takes] = _Shard(shard, n, self._takes)

    def adopt(
        self, shard: int, blocks: Sequence[tuple[int, bytes, bytes]]
    ) -> list[tuple[int, str]]:
        """Take over blocks of a loading shard; return the origins and lines that are owed.

        Raises ValueError if a block is damaged.
        """
        entry = self._shards[shard]
        found = []
        for block, packed, bits in blocks:
            lines = unpack(packed)
            owed = int.from_bytes(bits, "little") if bits else (1 << len(lines)) - 1
            if not 0 < owed < 1 << len(lines):
                raise ValueError(f"shard {shard}: no block of {len(lines)} lines")
            first = entry.first | block << _LINE_BITS
            found += [(first | k, line) for k, line in enumerate(lines) if owed >> k & 1]
            entry.owed[block] = owed
            entry.count += owed.bit_count()
            if block >= entry.block:
                entry.begin_block(block + 1)
            entry.resize(block, sum(map(bool, lines)))
        return found

    def serve(self, shard: int) -> None:
        """All of a loading shard was adopted."""
        entry = self._served[shard] = self._shards[shard]
        entry.is_loaded = True
        if entry.is_loose(self._most):
            self._loose.add(shard)

    def withdraw(self, shard: int) -> None:
        """Serve a shard no longer; what is done of it still counts."""
        self._served.pop(shard).is_withdrawn = True

    def has_changes(self, shard: int) -> bool:
        """Whether there are changes of `shard` that are in no round."""
        return shard in self._changed

    def number(self, shard: int) -> int:
        """The number of the shard's last acknowledged commit."""
        return self._shards[shard].n

    def inbox_at(self) -> dict[int, int]:
        """By shard served: how many elements at the head of its inbox were received."""
        return {shard: entry.received for shard, entry in self._served.items()}

    def drop(self, shard: int) -> None:
        """Forget a withdrawn shard."""
        entry = self._shards.pop(shard)
        del self._by_take[entry.first >> _TAKE_SHIFT]
        self._changed.discard(shard)

    # -- sparse blocks

    def sparse(self) -> tuple[int, int, list[int]] | None:
        """A shard, its take, and some blocks to read, so that `thin` gets them; None: nothing."""
        while self._loose:
            shard = self._loose.pop()
            entry = self._served.get(shard)
            if entry is not None and entry.is_loose(self._most):
                # The sparsest yield most. One whose read fails is sparse again at its next bit.
                by_owed = sorted(entry.sparse, key=lambda block: entry.owed[block].bit_count())
                entry.sparse.difference_update(by_owed[:_THINNED])
                return shard, entry.first >> _TAKE_SHIFT, by_owed[:_THINNED]
        return None

    def thin(self, take: int, blocks: Sequence[tuple[int, bytes, bytes]]) -> None:
        """Thin out blocks of a shard, if it is still of that take."""
        entry = self._by_take.get(take)
        if entry is not None and not entry.is_withdrawn and blocks:
            for block, packed, _ in blocks:
                entry.thin(block, unpack(packed))
            self._changed.add(entry.shard)

    # -- rounds

    @property
    def owes(self) -> bool:
        """Whether something is not in the vault yet, or is owed in a shard served here."""
        return self.has_news or any(entry.count for entry in self._served.values())

    @property
    def has_news(self) -> bool:
        """Whether something is not in the vault yet."""
        return bool(self._letters or self._changed or self.known < self.noted)

    def next_round(self) -> JournalRound:
        """Take the changes up to now. The round before must be acknowledged."""
        for origin in self._ripe:
            entry = self._by_take.get(origin >> _TAKE_SHIFT)
            counts = self._counts.pop(origin, None)
            if entry is not None:
                if counts:
                    entry.counts.update(counts)
                entry.clear(origin >> _LINE_BITS & _BLOCK, origin & _LINE)
                self._changed.add(entry.shard)
        self._sent += len(self._ripe)
        ripe = max(0, self._on_disk - self.noted + len(self._done))
        self._ripe, self._done = self._done[:ripe], self._done[ripe:]
        commits = {}
        for shard in [shard for shard in self._changed if self._shards[shard].is_loaded]:
            self._changed.remove(shard)
            entry = self._shards[shard]
            commits[shard] = entry.n, entry.commit()
            if entry.is_loose(self._most):
                self._loose.add(shard)
        letters = {shard: pack(lines) for shard, lines in self._letters.items()}
        self._letters.clear()
        self.is_due = False
        return JournalRound(letters, commits)

    def settle(self, done: JournalRound) -> None:
        """All of a round is in the vault."""
        for shard in done.commits:
            self._shards[shard].n += 1
        self.known = self._sent
