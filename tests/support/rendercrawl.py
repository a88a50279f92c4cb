"""Whole crawls with a browser: what they saved, logged and asked for."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from tests.support.browser import chromium
from tests.support.crawling import Answer, Asked, Fate, World


@dataclass(frozen=True)
class Rendered:
    """A crawl that has ended."""

    code: int
    said: str
    #: URL without the port -> the page as it was saved.
    pages: dict[str, str]
    fates: list[Fate]
    asked: list[Asked]

    def of(self, host: str) -> str:
        """All saved pages of a host."""
        return "\n".join(text for url, text in self.pages.items() if urlsplit(url).hostname == host)

    def fates_of(self, host: str, path: str) -> list[Fate]:
        found = ((fate, urlsplit(fate["url"])) for fate in self.fates)
        return [fate for fate, url in found if (url.hostname, url.path) == (host, path)]


def crawl(
    folder: Path,
    answer: Answer,
    hosts: Iterable[str],
    *lines: str,
    files: dict[str, str] | None = None,
    patience: float = 150,
) -> Rendered:
    """Crawl `hosts` from their home pages; {PORT} stands for their port in `lines` and `files`."""
    chromium()
    folder.mkdir(parents=True, exist_ok=True)
    world = World(folder)
    try:
        web = world.web(answer, *hosts)
        for name, text in (files or {}).items():
            (folder / name).write_text(text.replace("{PORT}", str(web.port)))
            (folder / name).chmod(0o600)
        seeds = [f"startUrl {web.url('/', host)}" for host in hosts]
        world.conf(
            "limitTime 3", *(line.replace("{PORT}", str(web.port)) for line in lines), *seeds
        )
        crawler = world.crawl("--set", "outputMode=save")
        code = world.finish(crawler, patience)
        pages = {url.replace(f":{web.port}", ""): text for url, text in saved(world.out)}
        return Rendered(code, crawler.out + crawler.err, pages, world.fates, list(web.asked))
    finally:
        world.close()


def saved(out: Path) -> Iterable[tuple[str, str]]:
    """The URL and the text of each page that outputMode save has written."""
    for index in sorted(out.glob("d*/index")):
        for line in index.read_text().splitlines():
            number, url = line.split(" ", 1)
            file = index.parent / f"f{int(number):05d}"
            if file.exists():
                yield url, file.read_text(errors="replace")


def by_host(asked: Iterable[Asked]) -> dict[str, list[str]]:
    """Host -> the paths that were asked for, in their order."""
    paths = defaultdict(list)
    for one in asked:
        paths[one.host].append(one.path)
    return dict(paths)
