"""The store: what is known and not yet with its site, in queues on disk."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from larbinpy.frontier.disk_queue import DiskQueue, Saved
from larbinpy.frontier.wait_queue import WaitQueue
from larbinpy.url import Url

#: URLs a segment. Larbin's 100,000 would keep 20 MB of each queue in memory.
SEGMENT = 10_000


class Store:
    """The four queues: priority and ordinary, each with its wait queue."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.priority = DiskQueue(folder, "priority", SEGMENT)
        self.ordinary = DiskQueue(folder, "ordinary", SEGMENT)
        self.priority_wait = WaitQueue(folder, "priority_wait")
        self.ordinary_wait = WaitQueue(folder, "ordinary_wait")
        waits = [*self.priority_wait.lanes, *self.ordinary_wait.lanes]
        self._files = {queue.name: queue for queue in (self.priority, self.ordinary, *waits)}

    def __repr__(self) -> str:
        return f"<Store {self.lengths()}>"

    def __len__(self) -> int:
        return sum(self.lengths().values())

    def __iter__(self) -> Iterator[Url]:
        """All URLs, without taking them."""
        for queue in self._files.values():
            yield from queue

    def lengths(self) -> dict[str, int]:
        return {
            "priority": len(self.priority),
            "ordinary": len(self.ordinary),
            "priority_wait": len(self.priority_wait),
            "ordinary_wait": len(self.ordinary_wait),
        }

    def spill(self) -> None:
        """Bring to disk what need not be in memory."""
        for queue in self._files.values():
            queue.spill()

    def save(self, in_memory: Sequence[Url]) -> dict[str, Saved]:
        """Write all queues; returns what `load` needs.

        The URLs `in_memory` had left the queues for their sites: they come first when
        the crawl goes on.
        """
        saved = {self.priority.name: self.priority.save(in_memory)}
        for name, queue in self._files.items():
            if queue is not self.priority:
                saved[name] = queue.save()
        return saved

    def load(self, saved: dict[str, Saved]) -> None:
        """Take up what `save` returned; an error where a part is missing or not whole."""
        for name, queue in self._files.items():
            queue.load(saved[name])
        self.priority_wait.count_again()
        self.ordinary_wait.count_again()

    def tidy(self, saved: dict[str, Saved]) -> None:
        """Delete the segments that the state just saved does not name; no queue needs them."""
        needed = {name for queue in saved.values() for name in queue["segments"]}
        self._delete_all_but(needed)

    def clear(self) -> None:
        """Delete all segments."""
        self._delete_all_but(set())

    def _delete_all_but(self, needed: set[str]) -> None:
        for path in self._folder.iterdir():
            is_segment = path.stem in self._files and path.suffix[1:].isdigit()
            if is_segment and path.name not in needed:
                path.unlink(missing_ok=True)
