"""Checks of a killed crawl, after each kill and at the end.

The checks use the files, the output of ``larbinpy frontier``, and the log of the web server.
The web is known (`killweb`), so the content of the frontier is known, too.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

from larbinpy.output.links import LinkReader
from tests.support.killweb import KnownWeb

#: Most time between the arrival of a page and its decision, on a busy machine (s).
_SLACK = 1.0
#: Longest checkpoint, on a busy machine (s).
_SAVING = 2.0


@dataclass
class Life:
    """One process of the crawl, with the state after its end."""

    kind: str
    started: float
    ended: float = 0.0
    #: Pages decided by the part of the crawl log that the last checkpoint covers.
    decided: set[int] = field(default_factory=set)
    #: Begin of that checkpoint, by the log, and its end; 0 if there is none.
    cut: float = 0.0
    saved: float = 0.0
    #: Lines of the log after that part.
    beyond: int = 0
    owed: int = 0
    #: Pages requested with a reply, and without one.
    answered: dict[int, float] = field(default_factory=dict)
    in_flight: set[int] = field(default_factory=set)
    #: Pages fetched again in a later life, and those that may be.
    repeats: set[int] = field(default_factory=set)
    may_repeat: set[int] = field(default_factory=set)


class Checker:
    """Checks the crawl of `web` in `folder`; errors go to `findings`.

    `frontier` runs ``larbinpy frontier`` on it.
    """

    def __init__(
        self, folder: Path, web: KnownWeb, frontier: Callable[[], "CompletedProcess[str]"]
    ) -> None:
        self.findings: list[str] = []
        self.lives: list[Life] = []
        self._folder = folder
        self._state = folder / "state"
        self._web = web
        self._frontier = frontier
        self._reachable = web.reachable()

    @property
    def owed(self) -> int:
        """URLs not decided at the last checkpoint, including those not found yet."""
        decided = self.lives[-1].decided if self.lives else set()
        return len(self._reachable) - len(decided)

    def find(self, what: str) -> None:
        self.findings.append(f"life {len(self.lives)}: {what}")

    # Checks after a kill.

    def after(self, life: Life) -> None:
        """Check the state after `life`, and add it to `lives`."""
        before = self.lives[-1] if self.lives else None
        self.lives.append(life)
        manifest = self._manifest()
        if manifest is None:
            if before is not None and before.cut:
                self.find("the state is missing")
            return
        self._read_log(manifest, life)
        lost = before.decided - life.decided if before else set()
        if lost:
            self.find(f"{len(lost)} URLs are no longer decided: {self._some(lost)}")
        self._check_frontier(life)
        self._check_mirror(life.decided - (before.decided if before else set()))

    def _manifest(self) -> dict[str, Any] | None:
        try:
            manifest: dict[str, Any] = json.loads((self._state / "state.json").read_bytes())
        except FileNotFoundError:
            return None
        except ValueError:
            self.find("state.json is not JSON")
            return None
        return manifest

    def _read_log(self, manifest: dict[str, Any], life: Life) -> None:
        """Fill in the decided pages, by the part of the log that the checkpoint covers."""
        path = self._state / "crawl.jsonl"
        data = path.read_bytes() if path.exists() else b""
        saved = life.saved = mtime(self._state / "state.json")
        whole = data.rfind(b"\n") + 1
        length = manifest["log"]["length"]
        if length > whole:
            self.find(f"the log has {whole} bytes in whole lines, the checkpoint {length}")
        offset = 0
        for line in data[:whole].splitlines(keepends=True):
            fate = self._parse(line)
            moment = _seconds(fate["ts"])
            if offset < length:
                life.decided.add(self._number(fate))
                life.cut = max(life.cut, moment)
            else:
                life.beyond += 1
            offset += len(line)
        life.cut = life.cut or saved

    def _number(self, fate: dict[str, Any]) -> int:
        """The page of a line of the log; -1 for other URLs."""
        return self._web.numbers.get(fate["url"], -1)

    def _parse(self, line: bytes) -> dict[str, Any]:
        try:
            fate: dict[str, Any] = json.loads(line)
        except ValueError:
            self.find(f"a line of the log is not JSON: {line[:60]!r}")
            fate = {"ts": "1970-01-01T00:00:00Z", "url": ""}
        return fate

    def _check_frontier(self, life: Life) -> None:
        listed = self._frontier()
        if listed.returncode != 0:
            self.find(f"frontier exits with {listed.returncode}: {listed.stderr.strip()}")
            return
        numbers = [self._web.numbers.get(url, -1) for url in listed.stdout.split()]
        owed = set(numbers)
        life.owed = len(owed)
        found = {0}.union(*(self._web.links(number) for number in life.decided))
        expected = found - life.decided
        for what, urls in (
            ("not listed", expected - owed),
            ("listed without reason", owed - expected),
        ):
            if urls:
                self.find(
                    f"{len(urls)} of {len(expected)} URLs owed are {what}: {self._some(urls)}"
                )
        if len(owed) < len(numbers):
            self.find(f"{len(numbers) - len(owed)} URLs owed are listed twice")

    def _check_mirror(self, numbers: Iterable[int]) -> None:
        wrong = [
            number
            for number in numbers
            if self._web.outcome(number) == "success"
            and _read(self._folder / "mirror" / self._web.file(number)) != self._web.body(number)
        ]
        if wrong:
            self.find(f"{len(wrong)} pages of the mirror are wrong: {self._some(wrong)}")

    def _some(self, numbers: Iterable[int]) -> str:
        return " ".join(str(number) for number in sorted(numbers)[:5])

    # Checks at the end.

    def at_the_end(self, requests: Path) -> None:
        """Check everything, with the server's log of `requests`."""
        self._read_requests(requests)
        self._check_requests()
        self._check_log()
        self._check_mirror(self._reachable)
        self._check_leftovers()
        self._check_links()

    def _read_requests(self, requests: Path) -> None:
        """Assign each request to its life."""
        ends = [life.started for life in self.lives[1:]] + [float("inf")]
        current = 0
        twice = []
        for line in requests.read_text().splitlines():
            moment, what, number = line.split(" ")
            while float(moment) >= ends[current]:
                current += 1
            # A URL that is not of the web has no number.
            life, page = self.lives[current], int(number.replace("None", "-1"))
            if what == "sent":
                life.in_flight.discard(page)
                life.answered[page] = float(moment)
                continue
            if page in life.in_flight or page in life.answered:
                twice.append(page)
            life.in_flight.add(page)
        if twice:
            self.find(f"{len(twice)} requests were made twice in one life: {self._some(twice)}")

    def _check_requests(self) -> None:
        asked_in: dict[int, Life] = {}
        decided: set[int] = set()
        for number, life in enumerate(self.lives, 1):
            asked = life.in_flight | life.answered.keys()
            again = asked & decided
            if again:
                self.find(
                    f"{len(again)} pages fetched in life {number} were decided at the "
                    f"checkpoint before: {self._some(again)}"
                )
            for page in asked & asked_in.keys():
                asked_in[page].repeats.add(page)
            asked_in.update(dict.fromkeys(asked, life))
            decided = life.decided
            since = max(life.cut, life.saved - _SAVING) - _SLACK
            lately = {page for page, moment in life.answered.items() if moment >= since}
            life.may_repeat = (life.in_flight | lately) - life.decided
        for number, life in enumerate(self.lives, 1):
            surplus = life.repeats - life.may_repeat
            if surplus:
                self.find(
                    f"{len(surplus)} pages of life {number} were fetched again, although done "
                    f"before its last checkpoint: {self._some(surplus)}"
                )
        fetched = {n for n in self._reachable if self._web.outcome(n) != "forbiddenRobots"}
        missing = fetched - asked_in.keys()
        if missing:
            self.find(f"{len(missing)} pages were never fetched: {self._some(missing)}")
        trespasses = asked_in.keys() - fetched
        if trespasses:
            some = self._some(trespasses)
            self.find(f"{len(trespasses)} requests were for disallowed or unknown URLs: {some}")

    def _check_log(self) -> None:
        path = self._state / "crawl.jsonl"
        data = _read(path) or b""
        fates = [self._parse(line) for line in data.splitlines()]
        if not data.endswith(b"\n"):
            self.find("the log's last line is torn")
        count = Counter(self._number(fate) for fate in fates)
        often = [number for number, times in count.items() if times > 1]
        if often:
            self.find(f"{len(often)} URLs are in the log more than once: {self._some(often)}")
        missing = self._reachable - count.keys()
        if missing:
            self.find(f"{len(missing)} URLs are not in the log: {self._some(missing)}")
        wrong = [fate for fate in fates if not self._is_right(fate)]
        if wrong:
            some = self._some(map(self._number, wrong))
            self.find(f"{len(wrong)} lines of the log have another outcome: {some}")
        unsaved = count.keys() - self.lives[-1].decided
        if unsaved:
            self.find(f"{len(unsaved)} URLs are not in the last checkpoint: {self._some(unsaved)}")

    def _is_right(self, fate: dict[str, Any]) -> bool:
        # The outcome is fastRobots if the rules were known when the URL was found.
        outcome = fate.get("outcome", "").replace("fastRobots", "forbiddenRobots")
        return self._number(fate) >= 0 and outcome == self._web.outcome(self._number(fate))

    def _check_links(self) -> None:
        """The record of links has each page once, with all its links."""
        record = LinkReader(self._folder / "state" / "links.bin")
        noted = [(url, set(hashes)) for url, hashes in record.pages()]
        web, expected = self._web, {}
        for page in self._reachable:
            if web.outcome(page) == "success" and web.links(page):
                expected[web.url(page)] = {record.hash.one(web.url(n)) for n in web.links(page)}
        if len(noted) != len(expected) or dict(noted) != expected:
            self.find(f"the record of links has {len(noted)} pages, not {len(expected)}")

    def _check_leftovers(self) -> None:
        pages = (n for n in self._reachable if self._web.outcome(n) == "success")
        expected = {self._web.file(number) for number in pages} | {".larbinpy-names"}
        mirror = self._folder / "mirror"
        found = {str(p.relative_to(mirror)) for p in mirror.rglob("*") if p.is_file()}
        left = sorted(found - expected)
        left += [
            p.name for p in self._state.iterdir() if p.name.endswith(".part") or p.name == "reserve"
        ]
        if left:
            self.find(f"{len(left)} files were left behind: {' '.join(left[:5])}")


def mtime(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except FileNotFoundError:
        return 0.0


def _read(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None


def _seconds(ts: str) -> float:
    return datetime.fromisoformat(ts).timestamp()
