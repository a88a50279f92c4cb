"""The share of a node in limitPage, which is that of the whole crawl."""

from larbinpy.fleet.board import Drawn

#: Pages drawn in advance, besides one for each transfer that may run.
_AHEAD = 50


class PageShare:
    """Draws pages in advance by small shares, so that all nodes together never fetch more.

    A share belongs to the state of its node: if that is resumed, it is used up. The share of a
    node that is killed and does not come back is lost, so that the crawl ends with fewer pages.
    """

    def __init__(self, limit: int) -> None:
        """`limit` is limitPage; 0 is no limit."""
        self.limit = limit
        #: Pages that the state of this node had at its start.
        self.before = 0
        #: Pages of the share in all; None before the first answer.
        self._total: int | None = None
        self._left = 0
        # Whether there was an answer since the limit changed: before, nobody knows what is left.
        self._is_known = False
        self._given_back = False

    def __repr__(self) -> str:
        return f"<PageShare {self._total}, {self._left} left of {self.limit}>"

    @property
    def most(self) -> int | None:
        """The pages that this run may fetch in all; None for any number."""
        return max(0, (self._total or 0) - self.before) if self.limit else None

    @property
    def may_grow(self) -> bool:
        """Whether the crawl has pages that no node has drawn."""
        return self.limit > 0 and (not self._is_known or self._left > 0)

    @property
    def is_given_back(self) -> bool:
        """Whether nothing is left that other nodes could fetch."""
        return self._total is None or self._given_back

    def change(self, limit: int) -> None:
        """limitPage was changed. Nothing more is fetched until it is known what is left of it."""
        self.limit = limit
        self._is_known = False

    def wanted(self, fetched: int, busy: int, handles: int, nodes: int) -> int | None:
        """The total to ask for; None if the share is large enough. Without limit, what it is.

        `fetched`: pages of this run; `busy`: transfers that run; `handles`: those that may run;
        `nodes`: their number.
        """
        used = self.before + fetched
        if not self.limit:
            return used
        if self._total is None or not self._is_known:
            # Transfers in flight count before any that may follow.
            return used + busy + 1
        if self._left < 0:
            # The limit was lowered.
            return min(used, self._total)
        ahead = min(handles + _AHEAD, 1 + self._left // (2 * max(1, nodes)))
        return used + ahead if self._total - used < (ahead + 1) // 2 else None

    def used(self, fetched: int) -> int:
        """The total to ask for at the end, to give the rest back."""
        return self.before + fetched

    def drawn(self, answer: Drawn) -> None:
        self.limit, self._left, self._total = answer.limit, answer.left, answer.total
        self._is_known = True

    def gave_back(self, answer: Drawn) -> None:
        self.drawn(answer)
        self._given_back = True
