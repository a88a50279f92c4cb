"""How much the frontier keeps in memory, and how much it does in one turn."""

from dataclasses import dataclass


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
