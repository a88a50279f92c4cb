"""How much the store and the frontier keep in memory and do in one turn; tests have small sizes."""

from dataclasses import dataclass

#: Bits of a line's place for the number of the line, and for the offset of its block.
LINE_BITS = 10
OFFSET_BITS = 25


@dataclass(frozen=True, slots=True)
class StoreSizes:
    """Sizes of the queues of URLs and their files."""

    #: Lines that a block holds at most.
    lines: int = 1000
    #: Bytes after which a new file is begun. One URL that waits long keeps a file of this size.
    file_size: int = 1 << OFFSET_BITS
    #: URLs of one site that are written together.
    site_lines: int = 50
    #: Bytes that a line takes in memory besides its characters (16,000 at most).
    line_cost: int = 150
    #: Bytes of URLs set aside that wait in memory for more of their site, all sites together:
    #: some 200,000 URLs. They are owed from where they were read. With more sites than this,
    #: blocks have a line or two; the smaller blocks are, the more are begun, read and remembered.
    most_tails: int = 50_000_000
    #: Bytes of the sites' blocks in memory, all sites together; the others are read again.
    most_read: int = 25_000_000
    #: A backlog drops the positions of blocks that were read once there are at least this many,
    #: and they are half of all.
    forget: int = 16

    def __post_init__(self) -> None:
        if not (0 < self.lines <= 1 << LINE_BITS and 0 < self.site_lines <= 1 << LINE_BITS):
            raise ValueError(f"a block has 1 to {1 << LINE_BITS} lines")
        if not 0 < self.file_size <= 1 << OFFSET_BITS:
            raise ValueError(f"a block begins within {1 << OFFSET_BITS} bytes")


@dataclass(frozen=True, slots=True)
class TableSizes:
    """Sizes of a table of fingerprints."""

    #: The table has 2**region_bits regions. At a hundred million fingerprints each of 4,096
    #: regions holds 24,000, which take some 4 ms to move. More regions would make more work
    #: while there are few fingerprints.
    region_bits: int = 12
    #: Slots of the first region at first; the last has almost twice as many.
    width: int = 8
    #: Slots behind the last region, for runs that go over its end.
    tail: int = 64
    #: Most fingerprints that are added between two calls of `grow`.
    batch: int = 1024
    #: Slots that one `grow` moves, in whole regions but at least one.
    growth: int = 8192


@dataclass(frozen=True, slots=True)
class SeenSizes:
    """Sizes of a set of fingerprints and its files."""

    #: Fingerprints that are looked up at once.
    batch: int = 1024
    #: Fingerprints that wait in memory at most, if `step` is called.
    waiting: int = 1 << 13
    #: A new image of the table is made after this many fingerprints, or after one in
    #: `image_share` of all. Those in the log take a microsecond each when a crawl is resumed,
    #: so three seconds at a hundred million.
    image_after: int = 1_000_000
    image_share: int = 40
    #: Bytes of an image written in a step, which take a millisecond.
    piece: int = 1 << 19
    #: Bytes after which the system is asked to write them to the disk and to drop earlier ones
    #: from its cache. This keeps the final fsync short and other files cached.
    write_back: int = 8 << 20
    #: Bytes by which a large file is shortened in a step before it is removed: removing a
    #: gigabyte at once takes a third of a second.
    cut_off: int = 8 << 20
    table: TableSizes = TableSizes()


STORE_SIZES = StoreSizes()
TABLE_SIZES = TableSizes()
SEEN_SIZES = SeenSizes()


@dataclass(slots=True, frozen=True)
class FrontierSizes:
    """Bounds of memory and of the work of one turn; tests use small ones."""

    #: Most URLs in memory, all sites together. Larbin's ramUrls is 100,000.
    ram_urls: int = 500_000
    #: Most bytes of long URLs in memory. An ordinary URL takes some 200, including the URL of the
    #: page that links to it; a hostile one takes 16,000.
    ram_size: int = 200_000_000
    #: Most URLs of one site in memory: enough for the fastest site from one turn to the next.
    #: The share shrinks to `least_share` as memory fills up, so that a full memory holds many
    #: sites with a few URLs each.
    share: int = 400
    least_share: int = 16
    #: URLs that leave the store in one turn; Larbin's maxPerCall.
    batch: int = 100
    #: URLs set aside in one turn (5 ms).
    moves: int = 1000

    #: Idle sites that are kept, because their robots.txt and address save a fetch and a DNS
    #: query: some 30 MB with small files.
    idle_sites: int = 20_000
    #: A robots.txt of more than `expensive_robots` bytes (compressed) is expensive; all expensive
    #: ones together take at most `expensive_total` bytes.
    expensive_robots: int = 1024
    expensive_total: int = 32 << 20
    #: Lines of all robots.txt matchers: some 30 MB at most, 2,500 sites of 40 lines. Making a
    #: matcher again takes about 4 us a line.
    robots_lines: int = 100_000

    #: URLs of a site that become ready at once.
    admitted: int = 200
    #: Most sites that continue in one turn after a wait, and most that continue because their
    #: name was answered.
    wakes: int = 200
    #: Sites of one host that continue as soon as its name is answered; the others follow in later
    #: turns. There may be one site for each port.
    arrivals: int = 10
    #: Sites and addresses whose waits are shortened in one turn: a millisecond.
    shortened: int = 1000
    #: URLs in memory that are compared with changed rules in one turn: 2 ms.
    swept: int = 500
    #: URLs in memory that are dropped in one turn because another node gets their sites: 8 ms.
    withdrawn: int = 2000

    #: Up to this many active sites, a snapshot examines all of them for those to show.
    watched_directly: int = 2000
    #: With more sites: the number examined in one step, and the number kept of each kind.
    watch_step: int = 50
    watch_kept: int = 50

    #: Entries examined in one turn for times that have passed.
    expiry_step: int = 100


DEFAULT_SIZES = FrontierSizes()
