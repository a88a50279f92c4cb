"""The probes of all sites: which names are asked for, and which pages are like the answers.

The names cannot exist at a site. Some URLs, such as start pages, are not compared with the answer.
`SavedProbes` is a part of the state: a line for each step, written before its request.
"""

import json
import re
from base64 import b64decode, b64encode
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, TypedDict

from larbinpy.frontier.soft404.answers import (
    Answer,
    AnswerText,
    Body,
    Redirect,
    answers_in,
    target_of,
)
from larbinpy.page import Page, soft_404
from larbinpy.storage.caches import LruBudget
from larbinpy.storage.files import LineFile
from larbinpy.storage.state import Journal, SavedPart
from larbinpy.url import PAGE, Url, site_of

#: Some servers route by extension.
_EXTENSION = re.compile(r"\.[a-z]{1,5}\Z", re.IGNORECASE).search
#: The last path segment of a page that is often the same as its folder.
_INDEX = re.compile(r"(?:index|default|home|main|welcome)(?:\.\w{1,5})?", re.IGNORECASE).fullmatch


class Shape(NamedTuple):
    """A place in which a site has names: all but the name itself."""

    before: str
    after: str

    def named(self, name: str) -> str:
        """The URL of `name` there."""
        return f"{self.before}{name}{self.after}"

    @property
    def is_page(self) -> bool:
        """Whether it is the query of one page, for all names."""
        return "?" in self.before


def shape_of(href: str) -> Shape:
    """The place of the name in `href`: its last segment, or the last value of its query."""
    path, mark, query = href.partition("?")
    if "=" in query:
        return Shape(f"{path}{mark}{query.rpartition('=')[0]}=", "")
    slash = "/" if path.endswith("/") else ""
    folder, _, last = path.removesuffix("/").rpartition("/")
    extension = _EXTENSION(last)
    return Shape(f"{folder}/", (extension[0] if extension else "") + slash)


def commonest_shape(hrefs: Iterable[str]) -> Shape | None:
    """The place of most of `hrefs`, home pages left out; None if there is none."""
    shapes = Counter(shape_of(href) for href in hrefs if not is_home(href))
    return max(shapes, key=shapes.__getitem__) if shapes else None


def is_home(href: str) -> bool:
    """Whether `href` is the home page of its site."""
    return href == f"{site_of(href)}/"


def is_start(href: str) -> bool:
    """Whether `href` is the start page of a site or of a folder by one of its usual names."""
    return is_home(href) or _INDEX(href.rpartition("/")[2]) is not None


def is_above(href: str, probe: str) -> bool:
    """Whether `href` is a folder of `probe`, or its page without the query.

    A server may answer to a name that does not exist with the page above it.
    """
    stem = href.removesuffix("/")
    return probe.startswith(stem) and probe[len(stem) : len(stem) + 1] in ("/", "?")


#: Requests a site.
_MOST_PROBES = 2
#: Bytes of a site without answers to keep, which most are.
_SITE = 300
#: Most bytes of all answers: those of 10,000 sites.
MOST_BYTES = 40_000_000


class Probed(NamedTuple):
    """A site that was asked for names, and what it answered so far."""

    site: str
    #: Requests that it may still get.
    left: int
    #: The URLs of those names.
    probes: Sequence[str]
    answers: Sequence[Answer]


@dataclass(slots=True)
class _Site:
    #: Requests that it may still get; 0 from its end on.
    left: int = _MOST_PROBES
    #: The names that were asked for, and the URLs.
    names: list[str] = field(default_factory=list)
    probes: list[str] = field(default_factory=list)
    #: Pages and redirects, while it is being probed.
    replies: list[Page] = field(default_factory=list)
    answers: list[Answer] = field(default_factory=list)


class Probes:
    """Asks sites for names that do not exist, and compares their pages with the answers.

    A site is probed once, unless so many others were probed since that it was forgotten.
    `new_name` makes a name; `is_read` is whether the reply to a URL is read, so that its site is
    worth a probe. `report` is called with each change of a site, before a request that comes of it;
    `load` takes the latest such report of each site, in another run.
    """

    def __init__(
        self,
        new_name: Callable[[], str],
        is_read: Callable[[Url], bool] = lambda _url: True,
        most_bytes: int = MOST_BYTES,
    ) -> None:
        self._new_name = new_name
        self._is_read = is_read
        self._sites: dict[str, _Site] = {}
        self._budget: LruBudget[str] = LruBudget(most_bytes)
        self.report: Callable[[Probed], object] = lambda _site: None

    # Probing.

    def wants(self, url: Url) -> bool:
        """Whether `url` is a reason to probe its site, which has others."""
        named = url.purpose is PAGE and not url.requisite
        state = self._sites.get(url.site) if named else None
        return named and (state is None or state.left > 0) and self._is_read(url)

    def next(self, site: str, waiting: Sequence[str]) -> str | None:
        """The next URL to ask `site` for, None if there is none; `waiting` are URLs of it.

        First a name in the top folder, then one in the place of most URLs that wait. If they are
        in the top folder, too, it is asked for a second name only if it answered to the first: two
        answers show what differs from one to the next.
        """
        state = self._sites.setdefault(site, _Site())
        if not state.probes:
            self._count(site, state)
        shape = self._next_shape(site, state, waiting)
        if shape is None:
            self.end(site)
            return None
        name = self._new_name()
        probe = shape.named(name)
        state.names.append(name)
        state.probes.append(probe)
        state.left -= 1
        self._report(site, state, answers_in(state.replies, state.names))
        return probe

    def _next_shape(self, site: str, state: _Site, waiting: Sequence[str]) -> Shape | None:
        if not state.left:
            return None
        if not state.probes:
            return Shape(f"{site}/", "")
        top, place = Shape(f"{site}/", ""), commonest_shape(waiting)
        led = self._led_to(site, state)
        if led is not None and (place is None or led.is_page):
            return led
        if place is not None and place != top:
            return place
        return top if answers_in(state.replies, state.names) else None

    @staticmethod
    def _led_to(site: str, state: _Site) -> Shape | None:
        """The place in `site` that its reply leads to by a redirect, with the name in it."""
        target = target_of(state.replies[-1]) if state.replies else None
        before, name, after = (target or "").partition(state.names[-1])
        return Shape(before, after) if name and site_of(before) == site else None

    def replied(self, site: str, page: Page) -> None:
        """Take the reply to the last probe of `site`."""
        state = self._sites.get(site)
        # Errors, which most sites answer with, would take memory until the second probe ends.
        if state is not None and 200 <= page.status < 400:
            state.replies.append(page)

    def end(self, site: str) -> None:
        """Send no further probe to `site`: of the replies, what pages are compared with is kept."""
        state = self._sites.get(site)
        if state is not None:
            state.answers = answers_in(state.replies, state.names)
            state.replies, state.left = [], 0
            self._count(site, state)
            self._report(site, state, state.answers)

    def _count(self, site: str, state: _Site) -> None:
        self._budget.use(site, _SITE + sum(answer.size for answer in state.answers))
        for old in self._budget.surplus():
            del self._sites[old]

    # The state of sites, as it is saved.

    def _report(self, site: str, state: _Site, answers: Sequence[Answer]) -> None:
        self.report(Probed(site, state.left, state.probes, answers))

    def load(self, probed: Probed) -> None:
        """Continue with a site of an earlier run.

        If its first probe was lost with that run, it is asked again for a name in the top folder.
        """
        site, left, probes, answers = probed
        state = _Site(left) if left else _Site(0, probes=list(probes), answers=list(answers))
        self._sites[site] = state
        self._count(site, state)

    # Judging.

    def judge(self, page: Page) -> str:
        """Why `page`, a page or a redirect, is a soft 404, as its detail; empty if it is none."""
        state = self._sites.get(page.url.site)
        if state is None or not state.answers:
            return ""
        href = page.url.href
        above = [probe for probe in state.probes if is_above(href, probe)]
        if any("?" in probe for probe in above):
            # A value that it does not know may count as none: lists show their first page.
            answers = [answer for answer in state.answers if not answer.is_like(page)]
            if len(answers) < len(state.answers):
                state.answers = answers
                self._report(page.url.site, state, answers)
        if above or is_start(href):
            return ""
        for answer in state.answers:
            if answer.is_like(page):
                return soft_404(answer.probe, target_of(page))
        return ""


#: Bytes after which the next file begins. A site has three lines at most, unless its answers turn
#: out to be none; they take up to three times its memory.
_MOST = 3 * MOST_BYTES
#: The kinds of answers by their names in a line.
_KINDS: dict[str, type[Answer]] = {"redirect": Redirect, "body": Body, "text": AnswerText}


class Mark(TypedDict):
    """A state: the files from `first` to `number`, the last one up to `length` bytes."""

    first: int
    number: int
    length: int


class SavedProbes(SavedPart):
    """Saves `probes`, None without probeSoft404, as ``probes.000001.jsonl`` in `folder`.

    The latest line of a site holds, even if it was written after the mark: that a site was asked
    for a name stays true after a kill. So no site gets too many probes.

    When a file is full, the next one begins, and the one before the last is removed: the sites that
    it alone has are those that `probes` forgets first.
    """

    def __init__(self, folder: Path, probes: Probes | None, most: int = _MOST) -> None:
        self._folder = folder
        self._probes = probes
        self._most = most
        # The numbers of the files that count.
        self._first = self._number = 0
        self._file: _Lines | None = None
        # The file before, until it is on the disk.
        self._full: _Lines | None = None
        if probes is not None:
            probes.report = self._write

    def _write(self, probed: Probed) -> None:
        assert self._file is not None, "the first cut comes before the first request"
        self._file.write(_line(probed))

    def cut(self) -> Mark | None:
        if self._probes is None:
            return None
        if self._file is None:
            # Files that are there are those of a run that has left no state.
            self._first = max(self._numbers(), default=0) + 1
        file = self._file or self._open(self._first)
        file.flush()
        if file.size > self._most and self._full is None:
            full, file = file, self._open(self._number + 1)
            self._full, self._first = full, self._number - 1
        return Mark(first=self._first, number=self._number, length=file.size)

    def _open(self, number: int) -> "_Lines":
        self._file = _Lines(LineFile(self._path(number)))
        self._number = number
        return self._file

    def sync(self) -> None:
        """Flush the lines; the name of a new file is flushed with that of the manifest."""
        if self._full is not None:
            self._full.sync()
            self._full.close()
            self._full = None
        if self._file is not None:
            self._file.sync()

    def load(self, mark: Mark | None) -> None:
        if mark is None or self._probes is None:
            return
        self._first, length = mark["first"], 0
        # The last file may be one that no checkpoint has.
        for number in range(self._first, max([mark["number"], *self._numbers()]) + 1):
            certain = mark["length"] if number == mark["number"] else 0
            length = self._load(self._probes, number, certain)
            self._number = number
        self._open(self._number).cut_to(length)

    def _load(self, probes: Probes, number: int, certain: int) -> int:
        """Load the lines of a file; return their length, beyond which a kill has torn one.

        Raises ValueError if its first `certain` bytes are damaged.
        """
        length = 0
        with self._path(number).open("rb") as file:
            for line in file:
                try:
                    probed = _probed(line)
                except ValueError:
                    break
                probes.load(probed)
                length += len(line)
        if length < certain:
            raise ValueError(f"{self._path(number)}: damaged after {length} bytes")
        return length

    def tidy(self, mark: Mark | None) -> None:
        self._remove(None if mark is None else mark["first"])

    def clear(self) -> None:
        self._remove(None)

    def _remove(self, first_kept: int | None) -> None:
        for number in self._numbers():
            if first_kept is None or number < first_kept:
                self._path(number).unlink(missing_ok=True)

    def close(self) -> None:
        for file in (self._full, self._file):
            if file is not None:
                # The last checkpoint has reported an error.
                with suppress(OSError):
                    file.close()

    def _path(self, number: int) -> Path:
        return self._folder / f"probes.{number:06}.jsonl"

    def _numbers(self) -> list[int]:
        """The numbers of all files, in order; other files with a similar name are not ours."""
        found = [(path, path.name.split(".")[1]) for path in self._folder.glob("probes.*.jsonl")]
        return sorted(int(n) for path, n in found if n.isdecimal() and path == self._path(int(n)))


class _Lines(Journal):
    @property
    def size(self) -> int:
        return self._file.size

    def write(self, line: bytes) -> None:
        """Write a line at once, or with the next one if that fails; `cut` reports an error."""
        self._waiting.append(line)
        with suppress(OSError):
            self.flush()

    def cut_to(self, size: int) -> None:
        self._file.cut_to(size)


def _line(probed: Probed) -> bytes:
    values = {**probed._asdict(), "answers": [_value(answer) for answer in probed.answers]}
    return json.dumps(values).encode() + b"\n"


def _probed(line: bytes) -> Probed:
    """Raises ValueError if the line is torn, and other errors if it was another's."""
    if not line.endswith(b"\n"):
        raise ValueError("torn")
    values = json.loads(line)
    return Probed(**{**values, "answers": [_answer(value) for value in values["answers"]]})


def _value(answer: Answer) -> list[Any]:
    fields = asdict(answer)
    if isinstance(answer, AnswerText):
        fields["packed"] = b64encode(answer.packed).decode()
    kind = next(name for name, kind in _KINDS.items() if isinstance(answer, kind))
    return [kind, fields]


def _answer(value: list[Any]) -> Answer:
    kind, fields = value
    if "packed" in fields:
        fields["packed"] = b64decode(fields["packed"])
    answer: Answer = _KINDS[kind](**fields)
    return answer
