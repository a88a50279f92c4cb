"""fetchInfo: a line for each URL whose fate is decided, as Larbin prints it."""

from typing import TextIO

from larbinpy.console.stream import reader_may_leave
from larbinpy.console.text import printable
from larbinpy.outcome import Outcome
from larbinpy.page import Page
from larbinpy.url import Url


class FetchInfo:
    """An output that only tells."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def loaded(self, page: Page) -> None:
        self._tell(Outcome.SUCCESS, page.url)

    def failed(self, url: Url, outcome: Outcome) -> None:
        self._tell(outcome, url)

    def stats(self) -> dict[str, object]:
        return {}

    def close(self) -> None:
        with reader_may_leave(self._stream):
            self._stream.flush()

    def _tell(self, outcome: Outcome, url: Url) -> None:
        with reader_may_leave(self._stream):
            print(f"[{outcome.value}] {printable(url.href)}", file=self._stream)
