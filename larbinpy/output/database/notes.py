"""The lines for the terminal: when trouble begins, and when it is over."""

from collections.abc import Iterator


class Notes:
    """Turns the trouble of each second into lines."""

    def __init__(self) -> None:
        self._troubled = False

    def __repr__(self) -> str:
        return f"<Notes {'troubled' if self._troubled else 'well'}>"

    def look(self, trouble: str) -> Iterator[str]:
        """The line to print now, if there is one."""
        if bool(trouble) is not self._troubled:
            self._troubled = not self._troubled
            yield f"database: {trouble or 'pages are taken again'}"
