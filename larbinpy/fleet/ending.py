"""Is all done, everywhere?"""

from collections.abc import Sequence

from larbinpy.fleet.vault import NOBODY, Standing


class Ending:
    """Two looks that find nothing owed and no letter, without a commit between, prove the end.

    A look is not of one moment. But without a commit between two looks, nothing was owed all
    the time from one to the other; and as only a commit removes letters, there was none either.
    A page that is being fetched is owed, and so is one whose links are on their way.
    """

    def __init__(self) -> None:
        self._look: Sequence[Standing] | None = None

    def __repr__(self) -> str:
        return f"<Ending {'seen once' if self._look else 'not seen'}>"

    @property
    def is_near(self) -> bool:
        """Whether the last look found nothing, so that another one may prove the end."""
        return self._look is not None

    def proven(self, look: Sequence[Standing]) -> bool:
        """Whether this look and the one before prove that the crawl is finished."""
        before, self._look = self._look, None
        if any(shard.owing or shard.inbox for shard in look):
            return False
        self._look = look
        return before is not None and all(map(_is_unchanged, before, look))


def _is_unchanged(before: Standing, after: Standing) -> bool:
    """Whether there was certainly no commit of a shard between these two.

    A take counts the number up by one, too. Only a take makes a session the owner, so it was that
    one. A shard without an owner may have got a commit before it was left.
    """
    if after.n == before.n:
        return True
    was_taken = after.own not in (NOBODY, before.own)
    return was_taken and after.n == before.n + 1
