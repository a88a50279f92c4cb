"""Seeds on their way to the nodes that own their shards: as letters, whoever gives them."""

from collections import defaultdict
from collections.abc import Callable, Iterable

from larbinpy.crawl.fleet.frontier import AGAIN, FULL_DEPTH
from larbinpy.fleet.area import entries_of
from larbinpy.fleet.letters import pack
from larbinpy.fleet.redis.asking import Asker
from larbinpy.fleet.redis.board import RedisBoard
from larbinpy.fleet.vault import Away, CrawlState, Then
from larbinpy.storage.store import encode
from larbinpy.url import Url, typed

#: Seeds that are posted together.
_TOGETHER = 2000


class Seeding:
    """Posts seeds, some at a time, and again if the connection ended."""

    def __init__(self, board: RedisBoard, shard_of: Callable[[str], int], stay: str) -> None:
        self._board = board
        self._shard_of = shard_of
        self._stay = stay
        self._waiting: list[tuple[int, str]] = []
        self._sent: list[tuple[int, str]] = []

    def __repr__(self) -> str:
        return f"<Seeding {len(self._waiting)} wait>"

    @property
    def is_done(self) -> bool:
        """Whether all seeds are in their inboxes."""
        return not self._waiting and not self._sent

    @property
    def is_full(self) -> bool:
        """Whether no more seeds should be added now."""
        return len(self._waiting) >= _TOGETHER

    def add(
        self, text: str, *, depth: int | None = None, priority: bool = False, again: bool = False
    ) -> bool:
        """Add a seed; False if it is no URL."""
        href = typed(text)
        if href is None:
            return False
        url = Url(href, FULL_DEPTH if depth is None else depth, priority=priority, seed=True)
        line = (AGAIN if again else "") + encode(url)
        self._waiting.append((self._shard_of(url.host), line))
        if self._board.area is not None:
            # Before the letters: a node may find links to a seed before it gets the seed.
            for entry in entries_of(self._stay, [href]):
                self._board.area.widen(entry)
        return True

    def step(self) -> None:
        """Post what waits, unless a post is under way."""
        if not self._sent and self._waiting:
            self.post(lambda state: None)

    def post(self, then: Then[CrawlState]) -> None:
        """Post what waits, or the first part of it; what was lost on its way waits again."""

        def posted(state: CrawlState | Away) -> None:
            if isinstance(state, Away):
                self._waiting[:0] = self._sent
            self._sent = []
            then(state)

        self._sent = self._waiting[:_TOGETHER]
        del self._waiting[:_TOGETHER]
        self._board.seed(_letters(self._sent), posted)


def post_all(seeding: Seeding, asker: Asker) -> None:
    """Post the seeds that were added. Raises UserError."""
    while not seeding.is_done:
        asker.ask(seeding.post)


def _letters(lines: Iterable[tuple[int, str]]) -> dict[int, bytes]:
    letters = defaultdict(list)
    for shard, line in lines:
        letters[shard].append(line)
    return {shard: pack(some) for shard, some in letters.items()}
