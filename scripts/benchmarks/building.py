"""Builds the web as files, once. nginx serves them like any site.

One page that nginx changes on the fly (sub_filter) would take CPU time of the measured cores
and disable sendfile. larbinpy's parser is imported inside functions, so that only the process
that builds has it in memory (see `plans`).
"""

import hashlib
import json
import os
import random
import re
import shutil
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path

from experiments.runs import say

from benchmarks import template as templates
from benchmarks import web as webs
from benchmarks.template import Slot, Template, piece, template
from benchmarks.web import ANCHORS, ROBOTS, Author, Web, choose

#: Pages with different markup; hosts and pages repeat them with other words.
TEMPLATES = 100
#: Largest pages, as a multiple of the mean size; larger ones are ignored.
_MOST = 6
#: Smaller pages are cut from pages of this size, because no documentation has such small ones.
_SMALL = 4000
_ENDINGS = (".html", ".htm")
#: Web for the check that no link of a template leads out of the web.
_PROBE = Web(pages=300, size=0, group=3)
#: Most bytes that a file takes on the disk beyond its size.
_BLOCK = 4096
#: An attribute with a link.
LINK = re.compile(rb"\s(?:href|src)\s*=", re.IGNORECASE)


class CannotBuild(Exception):
    """Raised if there are no pages, or not enough disk space."""


@dataclass(frozen=True)
class Site:
    """A web on the disk."""

    web: Web
    folder: Path
    #: Means over the pages of some hosts: bytes, links, distinct URLs.
    size: float
    links: float
    urls: float

    def paths(self, hosts: int) -> Iterator[list[str]]:
        """The paths of the pages of each of the first `hosts` hosts."""
        with (self.folder / "paths").open() as lines:
            yield from map(json.loads, islice(lines, hosts))

    def file(self, host: int, path: str) -> Path:
        """The file of a page."""
        return self.folder / self.web.host(host) / (path or "index.html")


def site(web: Web, hosts: int, documents: Sequence[Path], cache: Path) -> Site:
    """The site of `web` with at least `hosts` hosts; builds it if it is missing.

    Raises CannotBuild.
    """
    found = list(pages_of(documents))
    folder = cache / f"{web.pages}x{web.size}-{_key(web, found)}"
    built = folder / "built.json"
    hosts = web.closed(hosts)
    if not built.exists() or json.loads(built.read_text())["hosts"] < hosts:
        folder.mkdir(parents=True, exist_ok=True)
        _check_space(folder, hosts * web.pages * (web.size + _BLOCK))
        author = Author(web, _templates(web, found))
        measured = _build(author, folder, hosts)
        built.write_text(json.dumps({"hosts": hosts, **measured}))
    state = json.loads(built.read_text())
    return Site(web, folder, state["size"], state["links"], state["urls"])


def pages_of(folders: Iterable[Path]) -> Iterator[tuple[Path, int]]:
    """All pages of the folders, with their sizes."""
    for folder in folders:
        for place, inner, names in os.walk(folder.resolve()):
            inner.sort()
            paths = (Path(place, name) for name in sorted(names) if name.endswith(_ENDINGS))
            yield from ((path, path.stat().st_size) for path in paths)


def _key(web: Web, found: Iterable[tuple[Path, int]]) -> str:
    """A hash of everything that the pages depend on."""
    text = [repr(web), *(f"{path} {size}" for path, size in found)]
    sources = [Path(module.__file__ or "").read_text() for module in (webs, templates)]
    return hashlib.sha256("\n".join(text + sources).encode()).hexdigest()[:12]


def _check_space(folder: Path, needed: int) -> None:
    free = shutil.disk_usage(folder).free
    if needed > free:
        raise CannotBuild(
            f"{folder}: needs {needed / 1e9:.1f} GB, {free / 1e9:.1f} GB are free; "
            "give --cache FOLDER or fewer --hosts"
        )


def _templates(web: Web, found: Iterable[tuple[Path, int]]) -> list[Template]:
    """Templates for pages of the web's size."""
    small = web.size < _SMALL
    mean = 8 * _SMALL if small else web.size
    read = [path for path, size in found if mean // 3 <= size <= _MOST * mean]
    step = max(1, len(read) // (3 * TEMPLATES))
    pages = ((path.stem, path.read_bytes()) for path in read[::step])
    parts = ((stem, piece(page, web.size, ANCHORS) if small else page) for stem, page in pages)
    made = [one for one in (template(stem, page) for stem, page in parts) if usable(one)]
    if not made:
        raise CannotBuild(
            f"no pages of {mean // 3:,} bytes or more with some links; give --pages FOLDER"
        )
    chosen = [made[n] for n in choose([one.size for one in made], TEMPLATES, web.size)]
    # Gives each host pages of all sizes.
    random.Random(0).shuffle(chosen)
    return chosen


def usable(made: Template) -> bool:
    """Whether it has enough links, and all lead to the URLs that were filled in.

    Excludes pages with a <base> or with links in style sheets.
    """
    if made.count(Slot.ANCHOR) < ANCHORS:
        return False
    from larbinpy.parse import links

    author = Author(_PROBE, [made])
    urls = {url for host in range(_PROBE.group) for url in author.urls(host)}
    found = links(author.page(1, 1), author.urls(1)[1], "utf-8")
    return len(found) >= webs.CHILDREN and urls.issuperset(found)


def _build(author: Author, folder: Path, hosts: int) -> dict[str, float]:
    say(f"building {hosts * author.web.pages:,} pages in {folder} (only once)")
    groups = range(0, hosts, author.web.group)
    with ProcessPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        write = partial(_write_group, author.web, author.templates, folder)
        paths = [host for group in pool.map(write, groups) for host in group]
    (folder / "paths").write_text("".join(f"{json.dumps(host)}\n" for host in paths))
    return _measured(author, folder)


def _write_group(web: Web, made: Sequence[Template], folder: Path, first: int) -> list[list[str]]:
    author = Author(web, made)
    hosts = range(first, first + web.group)
    for host in hosts:
        _write_host(author, folder / web.host(host), host)
    return list(map(author.paths, hosts))


def _write_host(author: Author, folder: Path, host: int) -> None:
    folder.mkdir(exist_ok=True)
    (folder / "robots.txt").write_text(ROBOTS)
    for number, path in enumerate(author.paths(host)):
        file = folder / (path or "index.html")
        file.parent.mkdir(exist_ok=True)
        file.write_bytes(author.page(host, number))


def _measured(author: Author, folder: Path) -> dict[str, float]:
    """Means over some pages of the first hosts."""
    from larbinpy.parse import links

    sizes, attributes, urls = [], [], []
    for host in range(min(author.web.group, 20)):
        for number, path in enumerate(author.paths(host)[:100]):
            body = (folder / author.web.host(host) / (path or "index.html")).read_bytes()
            sizes.append(len(body))
            attributes.append(len(LINK.findall(body)))
            urls.append(len(links(body, author.urls(host)[number], "utf-8")))
    sums = {"size": sizes, "links": attributes, "urls": urls}
    return {name: sum(values) / len(values) for name, values in sums.items()}
