"""The crawl on the terminal that started it."""

from collections.abc import Callable, Sequence

from larbinpy.console.terminal.progress import Progress, Terminal, status_line
from larbinpy.exit_status import Ending

#: Returns a snapshot; after an ending, its reason is the state that is shown.
Status = Callable[[Ending | None], dict[str, object]]


class Display:
    """Shows progress and prints messages. `shown` are the configured kinds of progress."""

    def __init__(self, terminal: Terminal, shown: Sequence[Progress], status: Status) -> None:
        self._terminal = terminal
        self._shown = shown
        self._status = status

    def __repr__(self) -> str:
        return f"<Display {len(self._shown)} shown>"

    def say(self, text: str) -> None:
        """Print a message, with the name of the program."""
        self._terminal.say(f"larbinpy: {text}")

    def say_plainly(self, line: str) -> None:
        """Print a line without the name of the program (for `debug`)."""
        self._terminal.say(line)

    def say_status(self) -> None:
        """Print the status of the crawl in one line (SIGUSR1)."""
        self._terminal.say(status_line(self._status(None)))

    def show(self, ending: Ending | None = None) -> None:
        """Update the progress; a snapshot is made only if any progress is shown."""
        if self._shown:
            snapshot = self._status(ending)
            for progress in self._shown:
                progress.update(snapshot)
