"""The frontier's parts of the saved state: queues, fingerprints, seed hosts and waits."""

from collections.abc import Generator

from larbinpy.frontier.frontier import Frontier
from larbinpy.frontier.scope import Scope
from larbinpy.storage.state import Disk, Saved, SavedPart, SavedValue


class SavedSeedHosts(SavedValue):
    """The hosts of the seeds: a list."""

    def __init__(self, scope: Scope) -> None:
        self._scope = scope

    def cut(self, now: float, *, ended: bool) -> list[str]:
        return list(self._scope.seed_hosts)

    def load(self, value: list[str], now: float) -> None:
        self._scope.allow_hosts(map(str, value))


class SavedWaits(SavedValue):
    """Seconds for which sites and addresses must still be left alone, by their keys."""

    def __init__(self, frontier: Frontier) -> None:
        self._frontier = frontier

    def cut(self, now: float, *, ended: bool) -> Generator[None, None, dict[str, float]]:
        waits: dict[str, float] = {}
        for some in self._frontier.waits(now, ended=ended):
            waits |= {key: max(wait, waits.get(key, 0.0)) for key, wait in some.items()}
            yield
        return waits

    def load(self, value: dict[str, float], now: float) -> None:
        self._frontier.leave_alone({key: now + float(wait) for key, wait in dict(value).items()})


def saved_by(
    frontier: Frontier, log: SavedPart, outputs: SavedPart | None = None, disk: Disk | None = None
) -> Saved:
    """The saved state of a whole crawl. `disk` flushes the files of `outputs`."""
    written = {} if outputs is None else {"outputs": outputs}
    return Saved(
        # The log first: it must hold every URL that the store no longer owes.
        parts={"log": log, **written, **frontier.parts()},
        values={"seed_hosts": SavedSeedHosts(frontier.view.scope), "waits": SavedWaits(frontier)},
        disks={} if disk is None else {"outputs": disk},
    )
