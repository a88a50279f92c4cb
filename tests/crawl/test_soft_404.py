"""Whole crawls of sites that answer to names that do not exist as if they did."""

from dataclasses import dataclass

import pytest

from larbinpy.url import split
from tests.support.smallworld import World, Worlds
from tests.support.softsites import SITES, SoftSite

pytest_plugins = ["tests.support.smallcrawls"]


@dataclass
class Judged:
    """How well the crawl of a site judged."""

    site: SoftSite
    world: World

    @property
    def found(self) -> list[str]:
        """Soft 404s that were found, or that redirect to one that was."""
        return [path for path in self.site.gone if self._is_soft(path)]

    def _is_soft(self, path: str) -> bool:
        fate = self.world.fates.get(f"{self.site.host}{path}", {})
        if fate.get("outcome") == "err30X":
            return self._is_soft(split(fate["detail"]).path)
        return fate.get("outcome") == "err40X" and fate["detail"].startswith("soft 404: ")

    @property
    def lost(self) -> list[str]:
        """Real pages that were not fetched or not kept."""
        places = {path: f"{self.site.host}{path}" for path in ["/", *self.site.real]}
        return [path for path, place in places.items() if place not in self.world.kept]

    @property
    def probes(self) -> list[str]:
        return [asked.path for asked in self.world.asked if "larbinpy-" in asked.path]

    def __str__(self) -> str:
        return (
            f"{self.site.name}: {len(self.found)}/{len(self.site.gone)} found, lost {self.lost},"
            f" {len(self.probes)} probes {self.probes}, {sorted(set(self.site.gone) - set(self.found))}"
        )


def judged(site: SoftSite, crawl: Worlds, *lines: str) -> Judged:
    site.put(crawl.web)
    settings = (*site.settings, "probeSoft404", "noExternalLinks", *lines)
    return Judged(site, crawl(*settings, seeds=[f"{site.host}/"]))


@pytest.mark.parametrize("site", SITES, ids=lambda site: site.name)
def test_soft_404s_are_found(site: SoftSite, crawl: Worlds) -> None:
    got = judged(site, crawl)
    print(got)
    assert len(got.found) == len(site.gone)
    assert got.lost == []
    assert len(got.probes) <= 2
