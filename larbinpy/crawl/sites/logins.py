"""The logins that seeds gave, each for its own origin, kept with the state of the crawl."""

import json
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from larbinpy.storage.files import write_atomic
from larbinpy.url import has_control, login_of, site_of, typed

#: In stateDir. Only its owner may read it.
NAME = "logins.json"


class Logins:
    """Site key -> ``USER:PASSWORD``. The file is rewritten when a login is new.

    Logins are in no other file: URLs lose theirs before they are queued or logged.
    """

    def __init__(self, folder: Path) -> None:
        self._path = folder / NAME
        self._by_site: dict[str, str] = {}
        self._saved: dict[str, str] = {}
        #: Called when a login is new.
        self.on_change: Callable[[], None] = lambda: None

    def __repr__(self) -> str:
        return f"<Logins of {len(self._by_site)} sites>"

    def __bool__(self) -> bool:
        return bool(self._by_site)

    def learn(self, seed: str) -> None:
        """Take the login in a URL that the operator gave, if it has one."""
        login, href = login_of(seed), typed(seed)
        if not login or href is None:
            return
        site, login = site_of(href), unquote(login)
        if self._by_site.get(site) != login:
            self._by_site[site] = login
            self.on_change()

    def of(self, site: str) -> str:
        """The login for a site key; empty for none."""
        return self._by_site.get(site, "")

    # Saved with the state.

    def cut(self) -> int:
        """Write the file if a login is new; the mark is the number of logins."""
        if self._by_site != self._saved:
            write_atomic(self._path, [json.dumps(self._by_site).encode()], mode=0o600)
            self._saved = dict(self._by_site)
        return len(self._by_site)

    def sync(self) -> None:
        """`cut` has flushed the file."""

    def load(self, mark: Any) -> None:
        """Add the saved logins to those given now, which replace the ones of their sites."""
        if mark:
            self._saved = _read(self._path)
            self._by_site = self._saved | self._by_site
            self.on_change()

    def add_shared(self, folder: Path) -> None:
        """Add the logins that all nodes with a folder in `folder` have, if it has some."""
        with suppress(FileNotFoundError):
            self._by_site = _read(folder / NAME) | self._by_site
            self.on_change()

    def tidy(self, mark: Any) -> None:
        pass

    def clear(self) -> None:
        self._path.unlink(missing_ok=True)


def _read(path: Path) -> dict[str, str]:
    saved = json.loads(path.read_bytes())
    # An earlier version took logins that no request can carry.
    return {
        site: login
        for site, login in saved.items()
        if isinstance(login, str) and not has_control(login)
    }
