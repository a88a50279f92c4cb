"""A round of visits to a site that has changed; the tests run a small one."""

import argparse
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from random import SystemRandom

from tests.support.revisits import KilledRound, Site, all_due, check_report, run, served

#: Seconds of a life of a crawl that is killed, on average, and the part of a round that is left
#: for the last one.
_LIFE, _LAST = 2.75, 0.1
#: Most bytes of a page that has not changed, as a part of those of the first crawl.
_MOST = 0.06


def main() -> int:
    options = _options()
    seed = SystemRandom().getrandbits(32) if options.seed is None else options.seed
    failures = 0
    if not options.only_kills:
        with tempfile.TemporaryDirectory(prefix="revisit-test-") as folder:
            failures += _in_peace(Path(folder), options.pages)
    if options.kills:
        print(f"seed {seed}", flush=True)
        with tempfile.TemporaryDirectory(prefix="revisit-test-") as folder:
            failures += _with_kills(Path(folder), options.pages, options.kills, seed)
    return int(failures > 0)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="revisit-test",
        description="Visit a site again of which 5 % of the pages changed, 2 % are new, 1 % are"
        " gone, 0.5 % fail and 3 % have another shell.",
        epilog="Exits with 1 if the list of changes is not exact, a copy was lost, a page was"
        " visited twice, or pages that had not changed took more than 6 % of their bytes.",
    )
    parser.add_argument("--pages", type=int, default=10_000, help="of the site (%(default)s)")
    parser.add_argument("--kills", type=int, default=20, help="of the second round (%(default)s)")
    parser.add_argument("--only-kills", action="store_true", help="leave out the round in peace")
    parser.add_argument("--seed", type=int, help="repeats a run (chosen and printed)")
    return parser.parse_args()


def _crawled(folder: Path, site: Site) -> dict[str, int]:
    """Crawl the site for the first time; returns the bytes of each path."""
    began = time.monotonic()
    run(folder, "crawl", "--progress", "none")
    sizes = {request.path: request.size for request in site.requests()}
    seconds = time.monotonic() - began
    print(f"crawl: {len(sizes)} pages, {sum(sizes.values())} bytes, {seconds:.0f} s", flush=True)
    all_due(folder)
    return sizes


def _in_peace(folder: Path, pages: int) -> bool:
    with served(folder, pages) as site:
        sizes = _crawled(folder, site)
        site.set(1)
        began, clock = time.time(), time.monotonic()
        run(folder, "revisit", "--progress", "none")
        seconds = time.monotonic() - clock
        requests = site.requests(began)
        twice = [path for path, n in Counter(each.path for each in requests).items() if n > 1]
        same = {site.web.path(number) for number in site.web.groups["same"]}
        spent = sum(each.size for each in requests if each.path in same)
        share = spent / sum(sizes[path] for path in same)
        all_bytes = sum(each.size for each in requests)
        print(
            f"round: {len(requests)} requests, {all_bytes} bytes, {seconds:.0f} s; pages that had"
            f" not changed took {share:.2%} of their bytes; {len(twice)} were visited twice"
        )
        is_exact = _is_exact(folder, site, began)
    return bool(twice) or share > _MOST or not is_exact


def _with_kills(folder: Path, pages: int, kills: int, seed: int) -> bool:
    with served(folder, pages) as site:
        _crawled(folder, site)
        # So slow that work is left for each kill.
        site.set(1, (1 - _LAST) * pages / (kills * _LIFE))
        test = KilledRound(folder, site, kills, seed)
        test.run()
        requests = site.requests(test.began)
        paths = {each.path for each in requests}
        print(
            f"killed round: {dict(test.kills)}; {len(requests)} requests for {len(paths)} paths,"
            f" {len(requests) - len(paths)} of them repeats of what no state had"
        )
        for finding in test.findings:
            print(finding)
        is_exact = _is_exact(folder, site, test.began)
    return bool(test.findings) or not is_exact


def _is_exact(folder: Path, site: Site, began: float) -> bool:
    try:
        check_report(folder, site.web, began)
    except AssertionError as error:
        print(f"the list of changes is not exact: {error}"[:1000])
        return False
    numbers = {kind: len(all_) for kind, all_ in site.web.groups.items()}
    print(f"the list of changes is exact: {numbers}", flush=True)
    return True


if __name__ == "__main__":
    sys.exit(main())
