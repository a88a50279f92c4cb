"""The cookies of a crawl in a file for other programs (saveCookies)."""

from collections.abc import Iterable

from larbinpy.config import Config
from larbinpy.fetch.cookies import NoJar
from larbinpy.fetch.cookies_txt import write


class CookieExport:
    """Writes the cookies of `jars` to a file, if the configuration names one."""

    def __init__(self, config: Config, jars: Iterable[NoJar]) -> None:
        path = config.save_cookies
        # The nodes of a machine may have the same working directory.
        self._path = f"{path}.{config.node}" if path and config.join else path
        self._jars = jars

    def __repr__(self) -> str:
        return f"<CookieExport to {self._path}>"

    def write(self) -> None:
        """Raises OSError."""
        if self._path:
            # A cookie may be in several jars.
            lines = dict.fromkeys(line for jar in self._jars for line in jar.lines())
            write(self._path, lines)
