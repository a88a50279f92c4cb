"""Archive mode: all requests and replies, in WARC files that replay software reads.

A fetch is stored as a response, its request, and metadata: how the URL was found, how long the
fetch took and the links of the page. A payload that was stored before is not stored again: a
revisit record refers to the first one, as long as that is remembered. Replies that are not pages
are stored, too, because replaying a site needs its redirects, and so is each robots.txt. A name
lookup is stored before the first capture of its host.

A resumed crawl fetches the pages since its last checkpoint again, so their records are cut off.
"""

import os
from collections.abc import Callable, Mapping
from typing import NamedTuple

from larbinpy.dns.lookup import Answer
from larbinpy.outcome import Outcome
from larbinpy.output.warc.cdxj import MERGED_LINES
from larbinpy.output.warc.records import Original, digest
from larbinpy.output.warc.series import FILE_SIZE, Series, SeriesMark
from larbinpy.page import Page, timestamp
from larbinpy.storage.files import open_folder
from larbinpy.url import Url

#: Payloads that are remembered, the most recently used (some 350 bytes each).
_ORIGINALS = 100_000
#: Names whose addresses are remembered until something is fetched from them (some 350 bytes each);
#: names of links are resolved long before that.
_ANSWERS = 50_000


class _LookUp(NamedTuple):
    """The addresses in the answer of a name server, and the Unix time of the answer."""

    addresses: tuple[str, ...]
    at: float


class WarcOutput:
    """WARC files in `directory`, which is made if it is missing; several crawls may share it.

    `about` are fields of the warcinfo records; `wall` returns the Unix time. After `file_size`
    bytes a new file is begun. `originals` payloads and `answers` names are remembered;
    `merged_lines` lines of an index are merged in a step.
    """

    def __init__(
        self,
        directory: str | os.PathLike[str],
        about: Mapping[str, str],
        wall: Callable[[], float],
        *,
        file_size: int = FILE_SIZE,
        originals: int = _ORIGINALS,
        answers: int = _ANSWERS,
        merged_lines: int = MERGED_LINES,
    ) -> None:
        self._wall = wall
        self._folder = open_folder(directory)
        self._series = Series(self._folder, about, file_size=file_size, merged_lines=merged_lines)
        self._most_originals, self._most_answers = originals, answers
        self._originals: dict[str, Original] = {}
        self._answers: dict[str, _LookUp] = {}
        self._captures = self._revisits = self._bytes = 0

    def __repr__(self) -> str:
        return f"WarcOutput({self._captures} captures, {self._series!r})"

    def loaded(self, page: Page) -> None:
        self._archive(page)

    def failed(self, url: Url, outcome: Outcome) -> None:
        pass

    def replied(self, page: Page) -> None:
        """Archive a reply unless its body was not read: the record would show an empty one."""
        # The body of a 2xx reply is refused for its type, its size or by a rule.
        refused = 200 <= page.status < 300 and page.outcome is not Outcome.DUPLICATE
        if page.body or not (refused or page.truncated):
            self._archive(page)

    def resolved(self, answer: Answer) -> None:
        if answer.addresses and answer.name not in answer.addresses:
            self._answers[answer.name] = _LookUp(answer.addresses, self._wall())
            if len(self._answers) > self._most_answers:
                del self._answers[next(iter(self._answers))]

    def stats(self) -> dict[str, object]:
        return {
            "captures": self._captures,
            "revisits": self._revisits,
            "files": self._series.files,
            "bytes": self._bytes,
        }

    def _archive(self, page: Page) -> None:
        self._series.tend()
        now = self._wall()
        date, payload = _date(now - page.ms / 1000), digest(page.body)
        original = self._originals.get(payload) if page.body else None
        name = page.url.host.removesuffix(".")
        look_up = self._answers.get(name)
        make = self._series.ready(_date(now))
        records = [*make.capture(page, date, payload, original)]
        if look_up is not None:
            records.insert(0, make.look_up(name, _date(look_up.at), look_up.addresses))
        self._bytes += self._series.append(records)
        self._answers.pop(name, None)
        self._captures += 1
        self._revisits += original is not None
        if page.body and not page.truncated:
            self._remember(payload, original or Original(page.url.href, date))

    def _remember(self, payload: str, original: Original) -> None:
        self._originals.pop(payload, None)
        self._originals[payload] = original
        if len(self._originals) > self._most_originals:
            del self._originals[next(iter(self._originals))]

    # As a part of the state:

    def cut(self) -> SeriesMark:
        return self._series.cut()

    def sync(self) -> None:
        self._series.sync()

    def load(self, mark: SeriesMark) -> None:
        """Cut off the records after a mark: their pages will be fetched again."""
        self._series.load(mark)

    def close(self) -> None:
        try:
            self._series.close()
        finally:
            os.close(self._folder)


def _date(at: float) -> str:
    """Return the Unix time `at` in the form of WARC fields."""
    return timestamp(at, "milliseconds")
