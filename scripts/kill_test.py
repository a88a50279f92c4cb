"""The long run of what the tests do for a moment: see `killing` among them."""

import argparse
import sys
import tempfile
import time
from pathlib import Path
from random import SystemRandom

from tests.support.killcheck import Life
from tests.support.killing import KillTest, kinds


def main() -> int:
    options = _options()
    seed = SystemRandom().getrandbits(32) if options.seed is None else options.seed
    print(f"seed {seed}", flush=True)
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="kill-test-") as folder:
        test = KillTest(
            Path(options.keep or folder), options.pages, kinds(options.kills), seed, tell=_tell
        )
        checker = test.run()
    lives = checker.lives
    _table(lives)
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
        description="One crawl, killed (SIGKILL) and resumed again and again.",
        epilog="Exits with 1 when something was lost, torn or fetched twice without need.",
    )
    parser.add_argument("--kills", type=int, default=50, help="how many (%(default)s)")
    parser.add_argument("--pages", type=int, default=20_000, help="of the web (%(default)s)")
    parser.add_argument("--seed", type=int, help="to have the same again (chosen and printed)")
    parser.add_argument("--keep", help="an empty folder to work in, which is left as it is then")
    return parser.parse_args()


def _tell(life: Life) -> None:
    print(f"{life.kind} {life.ended - life.started:.2f} s, {len(life.decided)} decided", flush=True)


def _table(lives: list[Life]) -> None:
    """A line a life. Repeats are pages asked for again later; at most `allowed` may be."""
    names = ("life", "kill", "s", "decided", "beyond", "owed", "asked", "flying", "repeats")
    print("".join(f"{name:>9}" for name in (*names, "allowed")))
    for number, life in enumerate(lives, 1):
        asked = len(life.answered) + len(life.in_flight)
        numbers = [len(life.decided), life.beyond, life.owed, asked, len(life.in_flight)]
        numbers += [len(life.repeats), len(life.may_repeat)]
        row = (str(number), life.kind, f"{life.ended - life.started:.2f}", *map(str, numbers))
        print("".join(f"{text:>9}" for text in row))


if __name__ == "__main__":
    sys.exit(main())
