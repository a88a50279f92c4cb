"""How much the frontier keeps in memory, and how much it does in one turn."""

from dataclasses import dataclass


@dataclass(slots=True, frozen=True)
class FrontierSizes:
    """Bounds of memory and of the work of one turn; tests use small ones."""

    #: URLs in memory at most, all sites together. Larbin's ramUrls is 100,000.
    ram_urls: int = 500_000
    #: Bytes at most of the long URLs: an ordinary URL has some 200 with the page that it was
    #: found on, a hostile one 16,000.
    ram_size: int = 200_000_000
    #: URLs of one site in memory while the memory is empty: enough for the quickest site from
    #: one turn to the next. The fuller the memory, the smaller the share, so that a full one
    #: holds many sites rather than much of each.
    share: int = 400
    least_share: int = 16
    #: URLs that leave the store in one turn; Larbin's maxPerCall.
    batch: int = 100
    #: URLs set aside in one turn (5 ms).
    moves: int = 1000

    #: Idle sites that are kept, because their robots.txt and address save a fetch and a DNS
    #: query: some 30 MB with small files.
    idle_sites: int = 20_000
    #: A robots.txt above `expensive_robots` bytes is expensive; all expensive ones together
    #: get `expensive_total` bytes.
    expensive_robots: int = 1024
    expensive_total: int = 32 << 20
    #: Lines of all robots.txt matchers: some 30 MB at most, 2,500 sites of 40 lines. Making a
    #: matcher again takes about 4 us a line.
    robots_lines: int = 100_000

    #: URLs of a site that become ready at once.
    admitted: int = 200
    #: Waits after failures that end in one turn, and sites that go on in it because their
    #: name was answered.
    wakes: int = 200
    #: Sites of one name that go on as soon as it is answered. There may be one for each port.
    arrivals: int = 10
    #: Sites and addresses whose waits are shortened in one turn: a millisecond.
    shortened: int = 1000

    #: Up to this many active sites, each request for the busiest looks at all of them.
    watched_directly: int = 2000
    #: With more sites, the number looked at in one step, and the number kept of each kind.
    watch_step: int = 50
    watch_kept: int = 50

    #: Entries of expired times looked at in one turn.
    expiry_step: int = 100


DEFAULT_SIZES = FrontierSizes()
