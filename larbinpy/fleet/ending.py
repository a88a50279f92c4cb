"""Is all done, everywhere?"""

from collections.abc import Sequence

from larbinpy.fleet.vault import Standing


class Ending:
    """Two looks that find nothing owed and no letter, and the same numbers, prove the end.

    A look is not of one moment. But without a commit between two looks, nothing was owed all
    the time from one to the other; and as only a commit removes letters, there was none either.
    A page that is being fetched is owed, and so is one whose links are on their way.
    """

    def __init__(self) -> None:
        self._numbers: list[int] | None = None

    def __repr__(self) -> str:
        return f"<Ending {'seen once' if self._numbers else 'not seen'}>"

    @property
    def is_near(self) -> bool:
        """Whether the last look found nothing, so that another one may prove the end."""
        return self._numbers is not None

    def proven(self, look: Sequence[Standing]) -> bool:
        """Whether this look and the one before prove that the crawl is finished."""
        before, self._numbers = self._numbers, None
        if not any(shard.owing or shard.inbox for shard in look):
            self._numbers = [shard.n for shard in look]
        return before is not None and before == self._numbers
