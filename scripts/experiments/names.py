"""Names for the experiments: distinct ones, lists with the repetition of a crawl, and zones."""

import random
from collections.abc import Iterable, Iterator
from itertools import accumulate
from pathlib import Path

#: A crawl needs few hosts often and many only once. Names in DNS traffic follow a Zipf
#: distribution with an exponent near 0.9 (Jung, Sit, Balakrishnan, Morris: DNS Performance
#: and the Effectiveness of Caching, IEEE/ACM Transactions on Networking 10(5), 2002).
EXPONENT = 0.9
#: Hosts to draw from. A million draws give 307,000 of them, and a cache of 50,000 names without
#: expiry answers 55 %: a factor of 2.2, where crawlers report 2 to 3.
HOSTS = 1_000_000

_DRAWN_AT_ONCE = 100_000

_ZONE = """\
$ORIGIN bench.
$TTL 3600
@ SOA ns.bench. hostmaster.bench. 1 3600 600 86400 300
@ NS ns.bench.
ns A 192.0.2.1
"""


def host(number: int) -> str:
    return f"www.s{number:07d}.bench"


def address(number: int) -> str:
    """The address of `host(number)` in the zone."""
    return f"10.{number >> 16 & 255}.{number >> 8 & 255}.{number & 255}"


def zipf(count: int, seed: int = 1, *, hosts: int = HOSTS) -> Iterator[int]:
    """Draw `count` numbers below `hosts`; the weight of n is (n + 1) ** -EXPONENT."""
    rng = random.Random(seed)
    weights = list(accumulate(rank**-EXPONENT for rank in range(1, hosts + 1)))
    everyone = range(hosts)
    for start in range(0, count, _DRAWN_AT_ONCE):
        size = min(_DRAWN_AT_ONCE, count - start)
        yield from rng.choices(everyone, cum_weights=weights, k=size)


def write_lines(path: Path, lines: Iterable[str]) -> Path:
    with path.open("w") as file:
        file.writelines(f"{line}\n" for line in lines)
    return path


def write_zone(path: Path, count: int) -> Path:
    """Write the zone "bench" with an address for each of `count` hosts."""
    with path.open("w") as file:
        file.write(_ZONE)
        file.writelines(f"{host(n)}. A {address(n)}\n" for n in range(count))
    return path
