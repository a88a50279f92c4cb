"""Crawls pages from nginx on loopback into a database, and asks for them by `larbinpy search`.

The command runs in this process: a process for each of some 7,000 questions would take half an
hour.
"""

import getpass
import io
import json
import os
import random
import re
import socket
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import redirect_stderr, redirect_stdout, suppress
from html import escape
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple
from urllib.parse import quote, urlsplit

from experiments.nginx import running, temporary_paths
from experiments.runs import PYTHON
from experiments.searchscores import Score, known, score
from larbinpy.cli.database import search
from larbinpy.database.finder import DatabaseFinder

#: Debian's packages libreoffice-help-en-us and -zh-cn.
HELP = Path("/usr/share/libreoffice/help")
_LANGUAGES = ("en-US", "zh-CN")

_NGINX = """\
daemon off; pid {folder}/pid; error_log stderr crit; {user}
events {{ worker_connections 1024; }}
http {{
    types {{ text/html html; }} charset utf-8; access_log off; {temporary}
    server {{ listen 127.0.0.1:{port}; root {root}; }}
}}
"""
_CRAWL = """\
outputMode database
database {file}
stateDir {folder}/state
waitDuration 0
allowPrivate
stay page
"""
_LONGEST_CRAWL = 600.0

#: Pages of which substrings are drawn, and the longest substring.
_PAGES, _LONGEST = 200, 4
#: Most hits that the command prints.
_MOST_HITS = 1000


class Recall(NamedTuple):
    substrings: int
    #: Pages that have them, and how many of these were found.
    pages: int
    found: int

    def __str__(self) -> str:
        share = self.found / (self.pages or 1)
        return f"{self.substrings} substrings, {self.found} of {self.pages} pages: {share:.4f}"


def crawl(file: Path, root: Path, folder: str = "") -> None:
    """Crawl the HTML files of `folder` in `root` into the database `file`."""
    names = [path.relative_to(root) for path in sorted((root / folder).rglob("*.html"))]
    port = _free_port()
    with TemporaryDirectory(prefix="searchcrawled-") as name:
        own = Path(name)
        # nginx's own user may not be able to read the files.
        user = f"user {getpass.getuser()};" if os.geteuid() == 0 else ""
        server = _NGINX.format(
            folder=own, root=root, port=port, user=user, temporary=temporary_paths(own)
        )
        seeds = [f"http://127.0.0.1:{port}/{quote(path.as_posix())}\n" for path in names]
        (own / "seeds").write_text("".join(seeds))
        (own / "larbin.conf").write_text(_CRAWL.format(file=file.absolute(), folder=own))
        options = ["-c", str(own / "larbin.conf"), "-i", str(own / "seeds"), "--progress", "none"]
        with running(server, own, port):
            subprocess.run(
                [PYTHON, "-m", "larbinpy", "crawl", *options],
                check=True,
                cwd=own,
                timeout=_LONGEST_CRAWL,
            )


def _free_port() -> int:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return int(listening.getsockname()[1])


def command(file: Path, hits: int = 10) -> Callable[[str], list[str]]:
    """The URLs of hits, as `larbinpy search --json` prints them for a text."""
    options = ["-d", str(file), "--json", "-n", str(hits), "--"]

    def ask(text: str) -> list[str]:
        out = io.StringIO()
        # It exits if nothing is found.
        with redirect_stdout(out), redirect_stderr(io.StringIO()), suppress(SystemExit):
            search.main([*options, text], standalone_mode=False)
        return [json.loads(line)["url"] for line in out.getvalue().splitlines()]

    return ask


def measure(
    folder: Path, suites: Path, count: int, seed: int, help_root: Path = HELP
) -> Iterator[tuple[str, Score | Recall]]:
    """Scores of questions, titles, texts of links and substrings; databases stay in `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    suite = json.loads((suites / "chinese-search/cmrc.json").read_bytes())
    paragraphs = suite["paragraphs"]
    file = folder / "chinese-search.db"
    if not file.exists():
        crawl_texts(file, paragraphs)
    site = site_of(file)
    cases = [(text, {f"{site}{right}.html"}) for text, right in suite["questions"]]
    yield "chinese-search, questions", score(command(file), cases)
    yield "chinese-search, substrings", recall(file, paragraphs, count * 2, seed)
    for language in _LANGUAGES:
        file = folder / f"{language}.db"
        if not file.exists():
            crawl(file, help_root, language)
        for kind, found in known(file, site_of(file), count, seed, command(file)):
            yield f"{language}, {kind}", found


def crawl_texts(file: Path, texts: Sequence[str]) -> None:
    """Crawl a page for each of some Chinese texts into the database `file`: 0.html, 1.html ..."""
    with TemporaryDirectory(prefix="searchcrawled-") as name:
        for number, text in enumerate(texts):
            page = f"<!DOCTYPE html><html lang=zh><meta charset=utf-8><p>{escape(text)}"
            (Path(name) / f"{number}.html").write_text(page)
        crawl(file, Path(name))


def site_of(file: Path) -> str:
    """The URL of the server that the pages of the database come from."""
    finder = DatabaseFinder(str(file))
    url = next(finder.pages()).columns["url"]
    finder.close()
    return f"http://{urlsplit(url).netloc}/"


def recall(file: Path, texts: Sequence[str], count: int, seed: int) -> Recall:
    """Ask for `count` substrings of letters, digits and characters of some of the pages.

    `texts` are those that `crawl_texts` got. A page that has the substring is to be found.
    """
    rng = random.Random(seed)
    numbers = rng.sample(range(len(texts)), min(_PAGES, len(texts)))
    site, ask = site_of(file), command(file, _MOST_HITS)
    pages = found = 0
    for _ in range(count):
        part = _substring(texts[rng.choice(numbers)], rng)
        having = {f"{site}{number}.html" for number in numbers if part in texts[number]}
        pages += len(having)
        found += len(having.intersection(ask(part)))
    return Recall(count, pages, found)


def _substring(text: str, rng: random.Random) -> str:
    """One to four neighbours that are no punctuation."""
    length = rng.randint(1, _LONGEST)
    places = re.finditer(rf"(?=([^\W_]{{1,{length}}}))", text)
    return rng.choice([place[1] for place in places])
