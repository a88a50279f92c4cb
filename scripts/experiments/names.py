"""Names for the experiments: distinct ones, and zones."""

from collections.abc import Iterable
from pathlib import Path

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
