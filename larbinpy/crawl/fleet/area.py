"""The area around the seeds of a node, which widens the areas of the other nodes, too."""

from collections.abc import Iterable

from larbinpy.fleet.area import HOST, REDIRECT, SEED, AreaLog, entries_of
from larbinpy.frontier.scope.seed_area import SeedArea


class SharedArea(SeedArea):
    """A SeedArea that notes in `log` what widens it."""

    def __init__(self, stay: str, log: AreaLog) -> None:
        super().__init__(stay)
        self._log = log
        log.apply = self._apply

    def add(self, urls: Iterable[str], *, known: bool = False) -> None:
        for url in urls:
            [entry] = entries_of(self._stay, [url])
            if self._log.note(entry):
                super().add([url])

    def redirect(self, seed: str, targets: Iterable[str]) -> None:
        targets = list(targets)
        # With prefix it takes the folder of the seed away, which must be done once.
        is_done = self._stay == "prefix" and not self._log.note(_redirect(seed, targets))
        if not is_done:
            super().redirect(seed, targets)

    def _apply(self, entry: str) -> None:
        word, _, rest = entry.partition(" ")
        if word == HOST:
            self.load([rest], {})
        elif word == SEED:
            super().add([rest])
        elif word == REDIRECT:
            seed, *targets = rest.split(" ")
            super().redirect(seed, targets)


def _redirect(seed: str, targets: Iterable[str]) -> str:
    return " ".join((REDIRECT, seed, *targets))
