"""The corpora: documentations of which the webs of the benchmarks are made.

Figures depend on the pages: on their size, their links and the habits of their authors. Those of
one documentation say little about others.
"""

from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from experiments.runs import say

from benchmarks.building import CannotBuild, Site, site
from benchmarks.web import Web


@dataclass(frozen=True)
class Corpus:
    """Folders of HTML."""

    name: str
    folders: tuple[Path, ...]
    #: Mean bytes of a page of its webs, unless a scenario wants another size.
    size: int
    #: The Debian package that has the folders; empty if none has.
    package: str = ""

    @property
    def installed(self) -> bool:
        return all(folder.is_dir() for folder in self.folders)


#: Written with Sphinx: an inline SVG and nine scripts a page.
_PYTHON = Corpus("python", (Path("/usr/share/doc/python3-doc/html"),), 33_000, "python3-doc")
#: Written by javadoc: small pages with many links, `&amp;` in most.
_OPENJDK = Corpus("openjdk", (Path("/usr/share/doc/openjdk-17-doc/api"),), 20_000, "openjdk-17-doc")
#: Written by hand: single quotes, a form with a <select> in each page, tables, diagrams as SVG.
_SQLITE = Corpus("sqlite", (Path("/usr/share/doc/sqlite3"),), 12_000, "sqlite3-doc")

CORPORA = {corpus.name: corpus for corpus in (_PYTHON, _OPENJDK, _SQLITE)}
#: Size for the pages of `--pages`.
_OWN_SIZE = 33_000


def chosen(
    names: Sequence[str], folders: Sequence[Path], known: Mapping[str, Corpus] = CORPORA
) -> list[Corpus]:
    """The corpora with these names and one of these folders; without both, all installed ones.

    Raises CannotBuild if one with a name, or every one, is not installed.
    """
    own = [Corpus("pages", tuple(folders), _OWN_SIZE)] if folders else []
    wanted = [known[name] for name in dict.fromkeys(names)] if names or own else known.values()
    lacking = [corpus for corpus in wanted if not corpus.installed]
    needed = ", ".join(f"{corpus.name} (Debian's {corpus.package})" for corpus in lacking)
    if names and lacking:
        raise CannotBuild(f"not installed: {needed}")
    if lacking:
        say(f"not installed and left out: {needed}")
    found = [corpus for corpus in wanted if corpus.installed] + own
    if not found:
        raise CannotBuild("no documentation is installed; give --pages FOLDER")
    return found


@dataclass(frozen=True)
class Source:
    """A corpus, and the folder for its webs."""

    corpus: Corpus
    cache: Path

    def site(self, web: Web, hosts: int) -> Site:
        """Build in a new process, so that this one stays small.

        The peak memory of a child is never less than that of its parent (see
        `experiments.runs.Run`).
        """
        with ProcessPoolExecutor(1) as pool:
            return pool.submit(site, web, hosts, self.corpus.folders, self.cache).result()
