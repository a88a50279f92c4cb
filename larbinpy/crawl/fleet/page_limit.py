"""limitPage of the whole crawl: a node draws its share of it from Redis."""

from collections.abc import Callable
from math import inf

from larbinpy.crawl.control.mode import Mode
from larbinpy.fleet.board import Drawn
from larbinpy.fleet.redis.board import RedisBoard
from larbinpy.fleet.share import PageShare
from larbinpy.fleet.vault import Away

#: Seconds between two draws if there is nothing to draw.
_PAUSE = 2.0


class PageLimit:
    """Draws shares as they are used up, and lets the engine have them through its mode."""

    def __init__(self, board: RedisBoard, limit: int, first_limit: int, mode: Mode) -> None:
        """`limit` is limitPage now, and `first_limit` as the crawl was made with it."""
        self._board = board
        self._first_limit = first_limit
        self._share = PageShare(limit)
        self._name = ""
        self._mode = mode
        self._is_drawing = False
        self._draw_at = -inf
        # Number of changes of limitPage: an answer to an earlier question may be of the old one.
        self._changes = 0

    def __repr__(self) -> str:
        return f"<PageLimit {self._share!r}>"

    @property
    def limit(self) -> int:
        """limitPage; 0 for none."""
        return self._share.limit

    @property
    def holds(self) -> str:
        """Why no request may be opened; empty if they may."""
        if self._share.most == 0 and self._share.may_grow:
            return "this node waits for its share of limitPage"
        return ""

    def begin(self, name: str, before: int) -> None:
        """Draw under this name, for a state that has `before` pages."""
        self._name = name
        self._share.before = before
        self._apply()

    def change(self, limit: int) -> None:
        """limitPage was changed."""
        self._changes += 1
        self._share.change(limit)
        self._draw_at = -inf
        self._apply()

    def step(self, fetched: int, busy: int, handles: int, members: int, now: float) -> None:
        """Draw, if the share is nearly used up, as `PageShare.wanted` tells."""
        self._apply()
        if self._is_drawing or now < self._draw_at:
            return
        total = self._share.wanted(fetched, busy, handles, members)
        if total is not None:
            self._draw_at = now + (0.0 if self._share.may_grow else _PAUSE)
            self._draw(total, self._share.drawn)

    def give_back(self, fetched: int) -> bool:
        """Give back the rest of the share; True when that is done."""
        if not self._share.is_given_back and not self._is_drawing:
            self._draw(self._share.used(fetched), self._share.gave_back)
        return self._share.is_given_back

    def _apply(self) -> None:
        self._mode.share = self._share.most
        self._mode.share_may_grow = self._share.may_grow

    def _draw(self, total: int, then: Callable[[Drawn], None]) -> None:
        changes = self._changes

        def drawn(answer: Drawn | Away | None) -> None:
            self._is_drawing = False
            if isinstance(answer, Drawn) and changes == self._changes:
                then(answer)
                self._apply()

        self._is_drawing = True
        self._board.draw(self._name, total, self._first_limit, drawn)
