"""Long runs of two short tests: `tests/support/dnsfuzz.py` and `forgery.py`."""

import argparse
import os
import sys
import time
from itertools import islice
from pathlib import Path
from random import Random, SystemRandom

from tests.support.dnsfuzz import Case, Mutator, Tally
from tests.support.forgery import forge

_SUITES = os.environ.get("LARBINPY_SUITES")
_PACKETS = Path(_SUITES) / "c-ares-fuzz/fuzzinput" if _SUITES else None
_PORTION = 10_000
_SHOWN = 20


def main() -> int:
    options = _options()
    seed = SystemRandom().getrandbits(32) if options.seed is None else options.seed
    print(f"seed {seed}", flush=True)
    bad = False
    if options.what in ("messages", "both"):
        bad |= _messages(options.count, options.minutes, options.compare, seed, options.packets)
    if options.what in ("forgeries", "both"):
        bad |= _forgeries(options.count, options.names, seed)
    return int(bad)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="fuzz-dns",
        description="Broken messages through the decoder, forged answers to the resolver.",
        epilog="Exits with 1 when something was believed, escaped or took too long.",
    )
    parser.add_argument(
        "what", nargs="?", choices=["messages", "forgeries", "both"], default="both"
    )
    parser.add_argument("--count", type=int, default=1_000_000, help="of each (%(default)s)")
    parser.add_argument("--seed", type=int, help="to have the same again (chosen and printed)")
    parser.add_argument(
        "--minutes", type=float, default=float("inf"), help="the most that messages may take"
    )
    parser.add_argument(
        "--compare", type=int, default=10, help="ask dnspython about each Nth that is read (10)"
    )
    parser.add_argument(
        "--names", type=int, default=1000, help="that wait for their answers (%(default)s)"
    )
    parser.add_argument(
        "--packets", type=Path, default=_PACKETS, help="folder of further packets to start from"
    )
    return parser.parse_args()


def _messages(count: int, minutes: float, compare: int, seed: int, folder: Path | None) -> bool:
    files = sorted(folder.iterdir()) if folder is not None else []
    packets = [path.read_bytes() for path in files]
    print(f"{len(packets)} packets of others, from {folder}")
    cases = iter(Mutator(Random(seed), packets))
    tally = Tally()
    started = time.monotonic()
    while tally.messages < count and time.monotonic() - started < 60 * minutes:
        before = len(tally.findings)
        tally.run(islice(cases, min(_PORTION, count - tally.messages)), compare)
        for what, case in tally.findings[before:][:_SHOWN]:
            print(f"{what}\n  packet {case.packet.hex()}\n  question {case.section.hex()}")
        if len(tally.findings) >= _SHOWN:
            break
    _report(tally, time.monotonic() - started)
    return bool(tally.findings)


def _report(tally: Tally, elapsed: float) -> None:
    rate = tally.messages / max(tally.spent, 1e-9)
    print(
        f"{tally.messages} messages in {elapsed:.0f} s, decoded at {rate:.0f}/s of CPU time\n"
        f"{tally.accepted / max(tally.messages, 1):.1%} read, the others refused\n"
        f"{tally.compared} compared with dnspython\n"
        f"slowest: {1000 * tally.slowest:.1f} ms, {_shown(tally.slowest_case)}\n"
        f"{len(tally.findings)} findings",
        flush=True,
    )


def _shown(case: Case | None) -> str:
    return "none" if case is None else f"{len(case.packet)} octets: {case.packet[:40].hex()}..."


def _forgeries(count: int, names: int, seed: int) -> bool:
    started = time.monotonic()
    outcome = forge(count, names, seed)
    print(
        f"{outcome.sent} forged answers in {time.monotonic() - started:.0f} s,"
        f" {outcome.rejected} of them rejected\n"
        f"{outcome.resolved} names resolved afterwards, {len(outcome.fooled)} fooled"
    )
    for name in outcome.fooled[:_SHOWN]:
        print(f"  {name}")
    return bool(outcome.fooled) or outcome.rejected != outcome.sent or outcome.resolved != names


if __name__ == "__main__":
    sys.exit(main())
