"""Pages on their way into the tables, with the position of the spool that they come from.

Trouble in a database, as far as it shows in tables that all kinds have.
"""

from collections.abc import Callable, Iterator, Sequence
from random import Random

from larbinpy.database.base import DatabaseError, Index, Position, Tables, fingerprint
from larbinpy.database.preparation import Gone, Prepared, Unchanged, Visit
from larbinpy.database.records import Records
from larbinpy.database.writing.anchors import Anchors
from larbinpy.database.writing.batch import Batch, Samples, stored_tokens
from larbinpy.database.writing.scheduling import Scheduling, due_pages
from larbinpy.loop.clock import wall
from larbinpy.page import timestamp
from larbinpy.revisit.plan import Schedule
from larbinpy.revisit.round import DueAsk, DuePage
from larbinpy.search.segment import VERSION

#: Names of hosts whose numbers are remembered.
_HOSTS = 100_000
#: Targets that `tend` looks at in one piece, and pages that it indexes again: 50 ms.
_LOOKS, _TENDED = 250, 12


class Filling:
    """The work of a `Writer` within its transactions; after one that failed, make a new one."""

    def __init__(
        self,
        base: Tables,
        index: Index,
        schedule: Schedule | None = None,
        seat: int = 0,
        *,
        skip_near: bool = False,
    ) -> None:
        """`seat`: see `Anchors`; two processes must not have the same. `skip_near`: see `Batch`."""
        self._base = base
        self._scheduling = Scheduling(base, schedule or Schedule())
        self._index = index
        self._hosts: dict[str, int] = {}
        self._samples = Samples(base)
        self._anchors = Anchors(base, seat)
        self._skip_near = skip_near

    def position(self, spool: str) -> Position | None:
        """As `Writer.position`."""
        name, _, run = spool.partition("-")
        key = (f"spool:{name}",)
        row = self._base.execute("SELECT value FROM meta WHERE key = ?", key).fetchone()
        if row is None:
            return None
        segment, offset, *known = row[0].split()
        return Position(int(segment), int(offset)) if known == run.split() else Position(0, 0)

    def write(self, pages: Sequence[Visit], spool: str | None, position: Position | None) -> None:
        self._samples.renew()
        self._scheduling.plan(wall())
        self._scheduling.note(pages)
        batch = self._batch(pages)
        for page in pages:
            match page:
                case Gone():
                    batch.gone(page)
                case Unchanged():
                    batch.unchanged(page)
                case Prepared():
                    batch.put(page)
        batch.apply()
        self._scheduling.write(pages)
        self._anchors.merge()
        if spool is not None and position is not None:
            name, _, run = spool.partition("-")
            at = f"{position.segment} {position.offset} {run}".rstrip()
            self._base.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (f"spool:{name}", at))
        if len(self._hosts) > _HOSTS:
            self._hosts.clear()

    def due(self, ask: DueAsk) -> list[DuePage]:
        """As `Writer.due`."""
        return due_pages(self._base, ask, wall())

    def _batch(self, pages: Sequence[Visit] = ()) -> Batch:
        now = timestamp(wall())
        return Batch(
            *(self._base, self._index, self._hosts, self._samples, self._anchors),
            now,
            pages,
            skip_near=self._skip_near,
        )

    def tend(self) -> bool:
        """Merge texts of links, or index some pages again that links found later have texts for.

        Returns whether more is left.
        """
        if self._anchors.is_done:
            return False
        if self._anchors.settle():
            return True
        batch = self._batch()
        brought = 0
        targets = list(self._anchors.take(_LOOKS))
        for number, target in enumerate(targets, 1):
            brought += batch.bring_in(target)
            if brought >= _TENDED:
                self._anchors.note(targets[number:])
                break
        batch.apply()
        return not self._anchors.is_done


#: Called with what is done now, how much of it is done, and how much there is.
Progress = Callable[[str, int, int], None]
#: Whether the index finds a page by a word; else what is wrong, in words.
Finds = Callable[[int, str], bool | str]

#: Pages that are indexed, or checked, in one piece.
PIECE = 500
#: Lines of one kind of trouble that are told one by one.
MOST_LINES = 20

#: Said of what cannot be read, which no `rebuild` repairs.
DAMAGED = "is damaged"
#: The pages that should be in the index.
INDEXED = "FROM page WHERE gone IS NULL AND same_as IS NULL"


def count(base: Tables, query: str) -> int:
    """The number that a SELECT has in its first row; 0 without a row."""
    row = base.execute(query).fetchone()
    return int(row[0]) if row else 0


def pieces(base: Tables, pages: str) -> Iterator[list[int]]:
    """The numbers of the rows of `pages`, some hundred at a time, with no query left open."""
    last = -1
    while True:
        rows = base.execute(
            f"SELECT id {pages} AND id > ? ORDER BY id LIMIT {PIECE}",
            (last,),
        ).fetchall()
        # A damaged tree may give rows again, or in another order.
        numbers = sorted(number for (number,) in rows if number > last)
        if not numbers:
            return
        yield numbers
        last = numbers[-1]


def counted(base: Tables, table: str, column: str) -> Iterator[str]:
    """Trouble that shows in numbers of rows; `column` of `table` has the pages of the index."""
    version = count(base, "SELECT value FROM meta WHERE key = 'segmenter'")
    if version != VERSION:
        yield f"index: words of version {version}, not {VERSION}; --rebuild renews it"
    for query, trouble in (
        ("page WHERE id NOT IN (SELECT page FROM content)", "pages have no content"),
        (
            "content WHERE page NOT IN (SELECT id FROM page)",
            "contents have no page; --rebuild removes them",
        ),
        ("page WHERE host NOT IN (SELECT id FROM host)", "pages have no host"),
        (
            f"(SELECT id {INDEXED} AND indexed IS NULL) AS lost",
            "pages are not in the index; --rebuild adds them",
        ),
        (
            "page WHERE indexed IS NOT NULL AND (gone IS NOT NULL OR same_as IS NOT NULL)",
            "pages are in the index that should not be; --rebuild removes them",
        ),
        (
            f"page WHERE indexed IS NOT NULL AND id NOT IN (SELECT {column} FROM {table})",
            "pages are missing in the index; --rebuild adds them",
        ),
        (
            f"{table} WHERE {column} NOT IN (SELECT id FROM page WHERE indexed IS NOT NULL)",
            "entries of the index have no page; --rebuild removes them",
        ),
        (
            "page WHERE same_as NOT IN (SELECT id FROM page WHERE same_as IS NULL)",
            "copies have no original; --rebuild finds them one",
        ),
        (
            "page WHERE near IS NOT NULL AND near NOT IN (SELECT id FROM page"
            " WHERE near IS NULL AND same_as IS NULL AND gone IS NULL)",
            "near copies have no original; --rebuild forgets it",
        ),
    ):
        number = count(base, f"SELECT count(*) FROM {query}")
        if number:
            yield f"{number} {trouble}"


def lost_pages(base: Tables, finds: Finds, progress: Progress) -> Iterator[str]:
    """Pages that cannot be read, that the index does not find by one of their words, or whose words
    it had changed."""
    total = count(base, "SELECT count(*) FROM page")
    random = Random(17)
    records = Records(base.execute)
    done = unread = lost = 0
    for pages in pieces(base, "FROM page WHERE 1"):
        progress("looking for each page", done, total)
        for page in pages:
            if trouble := _unread(records, page):
                unread += 1
                number = unread
            else:
                trouble = _lost(base, page, finds, random)
                lost += bool(trouble)
                number = lost
            if trouble and number <= MOST_LINES:
                yield trouble
        done += len(pages)
    progress("looking for each page", done, total)
    if unread > MOST_LINES:
        yield f"{unread - MOST_LINES} other pages of which something {DAMAGED}"
    if lost > MOST_LINES:
        yield f"{lost - MOST_LINES} other pages of that kind; --rebuild indexes all again"


def _unread(records: Records, page: int) -> str:
    """Why a page cannot be read; empty if it can."""
    try:
        stored = records.read(page)
    except DatabaseError as error:
        return str(error)
    except UnicodeDecodeError as error:
        return f"page {page}: its row {DAMAGED} ({error.reason})"
    return "" if stored is not None else f"page {page}: its row {DAMAGED}"


def _lost(base: Tables, page: int, finds: Finds, random: Random) -> str:
    url, indexed = base.execute("SELECT url, indexed FROM page WHERE id = ?", (page,)).fetchone()
    if indexed is None:
        return ""
    tokens = stored_tokens(base, page)
    if tokens is None:
        return f"{url}: what is stored {DAMAGED}"
    if fingerprint(tokens) != indexed:
        return f"{url}: the index has other words than the page; --rebuild"
    words = list(dict.fromkeys(" ".join(tokens).split()))
    if not words:
        return ""
    # The longest of a few words is a rare one, so that it is found fast.
    word = max(random.sample(words, min(len(words), 5)), key=len)
    found = finds(page, word)
    if isinstance(found, str):
        return f"{url}: {found}; --rebuild"
    return "" if found else f"{url}: not found by its word '{word}'; --rebuild"
