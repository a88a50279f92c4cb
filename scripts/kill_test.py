"""A long run of the kill test; the tests run a short one. See tests/support/killing.py."""

import argparse
import sys
import tempfile
import time
from pathlib import Path
from random import SystemRandom

from tests.support.databasekills import CONF, DatabaseKills, in_sqlite
from tests.support.killcheck import Life
from tests.support.killing import KillTest, kinds


def main() -> int:
    options = _options()
    seed = SystemRandom().getrandbits(32) if options.seed is None else options.seed
    print(f"seed {seed}", flush=True)
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="kill-test-") as folder:
        where = Path(options.keep or folder)
        harm = None
        if options.database:
            harm = DatabaseKills(lambda: in_sqlite(where / "crawl.db"), seed)
        test = KillTest(
            where,
            options.pages,
            kinds(options.kills),
            seed,
            conf=CONF if options.database else "",
            report=_report,
            harm=harm,
        )
        checker = test.run()
    if harm is not None:
        print("kills of children:", dict(harm.kills))
    lives = checker.lives
    _print_table(lives)
    for finding in checker.findings:
        print(finding)
    requests = sum(len(life.answered) + len(life.in_flight) for life in lives)
    repeats = sum(len(life.repeats) for life in lives)
    print(
        f"{len(lives) - 1} kills in {time.monotonic() - started:.0f} s, "
        f"{len(lives[-1].decided)} URLs decided, {requests} requests, {repeats} of them "
        f"repeats; {len(checker.findings)} findings"
    )
    return int(bool(checker.findings))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="kill-test",
        description="Kill (SIGKILL) and resume one crawl many times.",
        epilog="Exits with 1 if a URL was lost or fetched without need, or a file is torn.",
    )
    parser.add_argument("--kills", type=int, default=50, help="number of kills (%(default)s)")
    parser.add_argument("--pages", type=int, default=20_000, help="pages of the web (%(default)s)")
    parser.add_argument("--seed", type=int, help="repeats a run (chosen and printed)")
    parser.add_argument(
        "--database", action="store_true", help="fill a database, too, and kill its processes"
    )
    parser.add_argument("--keep", help="an empty folder for the files, which are kept")
    return parser.parse_args()


def _report(life: Life) -> None:
    print(f"{life.kind} {life.ended - life.started:.2f} s, {len(life.decided)} decided", flush=True)


def _print_table(lives: list[Life]) -> None:
    """One line a run. Repeats are pages fetched again later, `allowed` the most that may be."""
    names = ("life", "kill", "s", "decided", "beyond", "owed", "fetched", "flying", "repeats")
    print("".join(f"{name:>9}" for name in (*names, "allowed")))
    for number, life in enumerate(lives, 1):
        fetched = len(life.answered) + len(life.in_flight)
        numbers = [len(life.decided), life.beyond, life.owed, fetched, len(life.in_flight)]
        numbers += [len(life.repeats), len(life.may_repeat)]
        row = (str(number), life.kind, f"{life.ended - life.started:.2f}", *map(str, numbers))
        print("".join(f"{text:>9}" for text in row))


if __name__ == "__main__":
    sys.exit(main())
