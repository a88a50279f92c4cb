"""The checks before a node makes or joins a crawl.

They change nothing, except that a dead node of the same name is removed from the members.
"""

from functools import partial
from pathlib import Path

from larbinpy.config import Config
from larbinpy.errors import UserError
from larbinpy.fleet.identity import (
    SavedNode,
    are_namesakes,
    has_ended,
    of_another,
    session_name,
)
from larbinpy.fleet.redis.asking import Asker
from larbinpy.fleet.redis.overview import Found, Overview
from larbinpy.fleet.redis.wire import Address
from larbinpy.storage.state import Start


class Entry:
    """Checks a node with this `config`; `before` is the node whose state its folder has."""

    def __init__(
        self,
        overview: Overview,
        asker: Asker,
        address: Address,
        config: Config,
        before: SavedNode | None,
    ) -> None:
        self._overview = overview
        self._asker = asker
        self._address = address
        self._config = config
        self._before = before

    def __repr__(self) -> str:
        return f"<Entry of {self._config.node} to {self._address}>"

    def find(self, start: Start, *, begins: bool) -> Found | None:
        """The crawl to join; None if the node can make it, as it `begins` one. Raises UserError."""
        found: Found | None = self._asker.ask(self._overview.find)
        if found is None:
            self._check_beginning(start, begins)
        else:
            self._check_folder(found)
            self._check_name(found)
        return found

    def _check_beginning(self, start: Start, begins: bool) -> None:
        if self._before is not None:
            self._check_crawl(self._before)
            folder = self._config.output_dir
            stay = f"pages stay in {folder}, " if _has_files(Path(folder)) else ""
            raise UserError(
                f"{self._address}: this crawl is gone: it was forgotten, or Redis has lost its data"
                f"; {stay}--scratch begins anew"
            )
        if start is Start.RESUME:
            raise UserError(f"{self._address}: there is no such crawl; --resume needs one")
        if not begins:
            raise UserError(
                f"{self._address}: there is no such crawl; give a URL or startUrl to begin it"
            )

    def _check_folder(self, found: Found) -> None:
        if self._before is not None and self._before.crawl != found.id:
            self._check_crawl(self._before)
            raise of_another(Path(self._config.state_dir))

    def _check_crawl(self, before: SavedNode) -> None:
        if before.name and before.name != self._address.name:
            raise of_another(Path(self._config.state_dir), before.name)

    def _check_name(self, found: Found) -> None:
        """Refuse a name that another node has, and bury those that had it and are dead."""
        share = "" if self._before is None else self._before.share
        own = session_name(self._config.node, share)
        same = [session for session in found.sessions if are_namesakes(session, own)]
        if not same:
            return
        has_namesake = not all(map(has_ended, same))
        if has_namesake and self._config.node in self._asker.living(
            self._overview, found, until_dead=True
        ):
            raise UserError(
                f"{self._address}: has a node {self._config.node} already; "
                "give this one another name (--node)"
            )
        for session in same:
            bury = partial(self._overview.bury, session, found.sessions[session])
            self._asker.ask(bury)


def _has_files(folder: Path) -> bool:
    return folder.is_dir() and any(folder.iterdir())
