"""The crawl on the terminal that started it."""

from collections.abc import Callable, Sequence

from larbinpy.console.terminal.progress import Progress, Terminal, status_line

#: Takes the state that is shown, or None for the one the crawl is in; returns a snapshot.
Status = Callable[[str | None], dict[str, object]]


class Display:
    """Shows progress and says lines. `shown` are the kinds of progress that are wanted."""

    def __init__(self, terminal: Terminal, shown: Sequence[Progress], status: Status) -> None:
        self._terminal = terminal
        self._shown = shown
        self._status = status

    def __repr__(self) -> str:
        return f"<Display {len(self._shown)} shown>"

    def say(self, text: str) -> None:
        """A line to people."""
        self._terminal.say(f"larbinpy: {text}")

    def say_plainly(self, line: str) -> None:
        """A line without the name of the program, of the kind that people asked for."""
        self._terminal.say(line)

    def say_status(self) -> None:
        """The crawl in one line (SIGUSR1)."""
        self._terminal.say(status_line(self._status(None)))

    def show(self, state: str | None = None) -> None:
        """Bring progress up to date; a snapshot is made only if one is shown."""
        if self._shown:
            snapshot = self._status(state)
            for progress in self._shown:
                progress.update(snapshot)
