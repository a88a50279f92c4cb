"""The defaults of a crawl that has no configuration: those for a newcomer."""

from collections.abc import Sequence
from dataclasses import dataclass

from larbinpy.config import Config, Given, in_environment
from larbinpy.url import host_of, typed

#: Keywords that choose how far a crawl goes; with one of them, nothing is assumed about it.
_SCOPE = frozenset({"stay", "locksite", "noexternallinks", "limittodomain", "accept", "reject"})


@dataclass(frozen=True, slots=True)
class Defaults:
    """The defaults of a crawl, and which of them are not those of larbin.conf."""

    config: Config
    #: It stays on the hosts of its seeds.
    stays: bool = False
    #: It keeps its pages, in a folder that the user has not named.
    keeps: bool = False

    def said(self, folder: str, urls: Sequence[str]) -> str:
        """A line about them for a crawl from `urls` with this outputDir; empty for none."""
        said = []
        if self.stays:
            hosts = dict.fromkeys(map(host_of, filter(None, map(typed, urls))))
            few = " and ".join(hosts) if 0 < len(hosts) < 3 else "the hosts of the seeds"
            said.append(f"staying on {few} (--set stay=any follows all links)")
        if self.keeps:
            folder = folder.rstrip("/")
            said.append(f"keeping pages in {folder}/, a mirror (-o DIR or --set outputMode=none)")
        return "; ".join(said)


def defaults_of(given: Given) -> Defaults:
    """The defaults for a crawl with this configuration."""
    if given.has_file:
        return Defaults(Config())
    variables = in_environment(given.environ)
    keywords = given.keywords | {name.partition("_")[2].lower() for name in variables}
    stays, keeps = keywords.isdisjoint(_SCOPE), "outputmode" not in keywords
    config = Config(stay="host" if stays else "any", output_mode=("mirror",) if keeps else ())
    return Defaults(config, stays, keeps and "outputdir" not in keywords)
