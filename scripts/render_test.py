"""A crawl of pages that scripts make: kills of it and of its browser; memory, and what it costs."""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random, SystemRandom
from typing import Any

from larbinpy.loop.poller import Poller
from tests.support.browser import Browser
from tests.support.crawling import read_log
from tests.support.processes import children, command, kill
from tests.support.rendercrawl import crawl, saved
from tests.support.scriptpages import FAULTS, ODD, OTHER, SITE, path_of, site_of, words
from tests.support.scriptweb import served
from tests.support.scriptweb import words as words_of

_LARBINPY = (sys.executable, "-m", "larbinpy")
_CONF = """\
From t@example.com UserAgent larbinpy allowPrivate guessSitemap off
waitDuration 0 renderWait 0.01 maxConnexionsBySite 8 waitBy site maxWait 0 depthInSite 100
outputMode save render **
"""


def browser_of(crawl_pid: int) -> int | None:
    """The leader of the browser's session, while there is one."""
    return next(
        (pid for pid in children(crawl_pid) if "--remote-debugging-pipe" in command(pid)), None
    )


class Session:
    """All processes of the session that a browser leads."""

    def __init__(self, leader: int) -> None:
        self.pids = [
            int(path.name) for path in Path("/proc").glob("[0-9]*") if _is_in(path, leader)
        ]

    def kill_browser(self) -> bool:
        """Kill its main process, if there is one; return whether there was."""
        kinds = {pid: command(pid) for pid in self.pids}
        main = (pid for pid, words in kinds.items() if " --type=" not in words and _is_main(words))
        return kill(next(main, None))

    def cpu(self) -> float:
        """Seconds of processor, of those that have ended, too."""
        return sum(sum(map(int, _stat(pid)[11:15])) for pid in self.pids) / os.sysconf("SC_CLK_TCK")

    def memory(self) -> int:
        """Bytes; those that processes share count once."""
        return sum(_pss(pid) for pid in self.pids)


def _is_main(words: str) -> bool:
    program = words.partition(" ")[0].rpartition("/")[2]
    return program.startswith("chrom") and "crashpad" not in program


def _is_in(path: Path, session: int) -> bool:
    try:
        return os.getsid(int(path.name)) == session
    except ProcessLookupError:
        return False


def _stat(pid: int) -> list[str]:
    try:
        return Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()
    except OSError:
        return ["0"] * 20


def _pss(pid: int) -> int:
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) << 10 for line in lines if line.startswith("Pss:"))


class RenderTest:
    """A crawl of `pages` pages in `folder`."""

    def __init__(self, folder: Path, pages: int, port: int, random: Random) -> None:
        self._folder = folder
        self._pages = pages
        self._url = f"http://127.0.0.1:{port}/"
        self._random = random
        self.kills: Counter[str] = Counter()
        #: Bytes: the most that the crawl and its browser took.
        self.memory = {"crawl": 0, "browser": 0}
        (folder / "larbin.conf").write_text(f"{_CONF}startUrl {self._url}0\n")

    def run(self, of_crawl: int, of_browser: int) -> list[str]:
        """Crawl with so many kills, which fall on equal parts of the pages; returns findings."""
        plan = ["crawl"] * of_crawl + ["browser"] * of_browser
        self._random.shuffle(plan)
        due = [(n + 1) * self._pages // (len(plan) + 1) for n in range(len(plan))]
        kills = list(zip(due, plan, strict=True))
        while self._live(kills):
            pass
        return [f"a kill of the {kind} did not come" for _, kind in kills] + self._findings()

    def _live(self, kills: list[tuple[int, str]]) -> bool:
        """Run the crawl to its end, or to its next kill; returns whether it was killed."""
        with self._started() as process:
            while process.poll() is None:
                self._look(process.pid)
                if kills and self._done() >= kills[0][0] and self._killed(process.pid, kills[0][1]):
                    self.kills[kills[0][1]] += 1
                    if kills.pop(0)[1] == "crawl":
                        process.wait()
                        return True
                time.sleep(0.2)
            if process.returncode:
                raise SystemExit(f"the crawl ended with {process.returncode}")
        return False

    @staticmethod
    def _killed(pid: int, kind: str) -> bool:
        if kind == "crawl":
            return kill(pid)
        leader = browser_of(pid)
        return leader is not None and Session(leader).kill_browser()

    @contextmanager
    def _started(self) -> Iterator["subprocess.Popen[bytes]"]:
        resume = ["--resume"] if (self._folder / "state" / "state.json").exists() else ["--scratch"]
        process = subprocess.Popen(
            [*_LARBINPY, "crawl", *resume, "--progress", "none"],
            cwd=self._folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
        )
        try:
            yield process
        finally:
            process.kill()
            process.wait()

    def _done(self) -> int:
        return len(read_log(self._folder / "state" / "crawl.jsonl"))

    def _look(self, pid: int) -> None:
        self.memory["crawl"] = max(self.memory["crawl"], _pss(pid))
        browser = browser_of(pid)
        if browser is not None:
            self.memory["browser"] = max(self.memory["browser"], Session(browser).memory())

    def _findings(self) -> list[str]:
        fates = read_log(self._folder / "state" / "crawl.jsonl")
        urls = Counter(fate["url"] for fate in fates)
        texts: dict[str, list[str]] = {}
        for url, text in saved(self._folder / "save"):
            texts.setdefault(url, []).append(text)
        found = []
        for number in range(self._pages):
            url = f"{self._url}{number}"
            if urls[url] != 1:
                found.append(f"{url} has {urls[url]} lines in the log")
            if len(texts.get(url, ())) != 1 or words_of(number) not in texts[url][0]:
                found.append(f"{url} was saved {len(texts.get(url, ()))} times, or without words")
        odd = Counter(f"{fate['outcome']} {fate.get('detail')}" for fate in fates)
        return [*found, *(f"{n} x {what}" for what, n in odd.items() if what != "success None")]

    def cost(self) -> float:
        """CPU seconds of the browser from its start to the end of the crawl."""
        seconds = 0.0
        with self._started() as process:
            while process.poll() is None:
                browser = browser_of(process.pid)
                if browser is not None:
                    seconds = max(seconds, Session(browser).cpu())
                time.sleep(0.02)
        return seconds


class Alone:
    """Chromium that loads pages by itself, and gives their documents, as --dump-dom does."""

    def __init__(self, folder: Path) -> None:
        self._poller = Poller()
        self._over = False
        self._browser = Browser(folder, self._poller, lambda: None)
        target = self._browser.call("Target.createTarget", url="about:blank")["targetId"]
        attached = self._browser.call("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        self._browser.tabs[self._session] = self  # type: ignore[assignment]
        self._browser.call("Page.enable", self._session)

    def take(self, method: str, _params: dict[str, Any]) -> None:
        self._over = self._over or method == "Emulation.virtualTimeBudgetExpired"

    def cost(self, port: int, pages: range) -> float:
        """CPU seconds for a page."""
        before = Session(self._browser.process.pid).cpu()
        for number in pages:
            assert words_of(number) in self._document(f"http://127.0.0.1:{port}/{number}")
        return (Session(self._browser.process.pid).cpu() - before) / len(pages)

    def _document(self, url: str) -> str:
        call, session = self._browser.call, self._session
        self._over = False
        call("Page.navigate", session, url=url)
        policy = {"policy": "pauseIfNetworkFetchesPending", "budget": 8000}
        call("Emulation.setVirtualTimePolicy", session, **policy)
        self._browser.until(lambda: self._over)
        expression = "document.documentElement.outerHTML"
        return str(call("Runtime.evaluate", session, expression=expression)["result"]["value"])

    def close(self) -> None:
        self._browser.close()
        self._poller.close()


def _kills(folder: Path, options: argparse.Namespace) -> list[str]:
    seed = SystemRandom().getrandbits(32) if options.seed is None else options.seed
    print(f"seed {seed}", flush=True)
    started = time.monotonic()
    with served(options.pages) as port:
        test = RenderTest(folder, options.pages, port, Random(seed))
        findings = test.run(options.kills, options.browser_kills)
    memory = ", ".join(f"{name} {size >> 20} MB" for name, size in test.memory.items())
    seconds = time.monotonic() - started
    print(f"{options.pages} pages in {seconds:.0f} s, kills {dict(test.kills)}; most {memory}")
    return findings


def _cost(folder: Path, options: argparse.Namespace) -> list[str]:
    ratios = []
    few = options.pages // 5
    for turn in range(3):
        part = folder / str(turn)
        part.mkdir()
        with served(options.pages) as port:
            alone = Alone(part / "profile")
            alone.cost(port, range(few))
            own = alone.cost(port, range(few, options.pages))
            alone.close()
        # The start is the same in both.
        most, least = (_crawled(part / str(pages), pages) for pages in (options.pages, few))
        with_crawl = (most - least) / (options.pages - few)
        ratios.append(with_crawl / own)
        print(f"a page: {with_crawl * 1000:.1f} ms of CPU, Chromium alone {own * 1000:.1f} ms")
    print(f"ratio {sorted(ratios)[1]:.2f}")
    return []


def _crawled(folder: Path, pages: int) -> float:
    folder.mkdir()
    with served(pages) as port:
        return RenderTest(folder, pages, port, Random(pages)).cost()


def _faults(folder: Path, options: argparse.Namespace) -> list[str]:
    """Every page that is hard on a browser."""
    lines = [f"render http://{SITE}:{{PORT}}/**", "timeoutPage 2", "renderWait 0.01"]
    lines += ["depthInSite 1", "limitTime 20", "useCookies", "acceptLanguage de,en;q=0.5"]
    done = crawl(folder, site_of(ODD | FAULTS), [SITE, OTHER], *lines, patience=900)
    findings = []
    for name in ODD | FAULTS:
        text = done.pages.get(f"http://{SITE}{path_of(name)}", "")
        fates = [fate["outcome"] for fate in done.fates_of(SITE, path_of(name))]
        if fates != ["success"] or (name in ODD and words(name) not in text) or not text:
            findings.append(f"{name}: {fates}, {len(text)} characters")
    print(json.dumps(Counter(str(fate.get("detail")) for fate in done.fates), indent=1))
    return findings


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="render-test",
        description="Run crawls with a browser: kills, costs, or pages that harm browsers.",
        epilog="Exits with 1 if a page is missing, is there twice, or is not as it should be.",
    )
    parser.add_argument("what", choices=("kills", "cost", "faults"))
    parser.add_argument("--pages", type=int, default=1000, help="pages of the web (%(default)s)")
    parser.add_argument("--kills", type=int, default=10, help="of the crawl (%(default)s)")
    parser.add_argument("--browser-kills", type=int, default=20, help="(%(default)s)")
    parser.add_argument("--seed", type=int, help="repeats a run (chosen and printed)")
    options = parser.parse_args()
    run = {"kills": _kills, "cost": _cost, "faults": _faults}[options.what]
    with tempfile.TemporaryDirectory(prefix="render-test-") as folder:
        findings = run(Path(folder), options)
    print(*findings, f"{len(findings)} findings", sep="\n")
    return int(bool(findings))


if __name__ == "__main__":
    sys.exit(main())
