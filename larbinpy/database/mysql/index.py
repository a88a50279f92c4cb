"""The full-text index on a server: asked, through the filters of one query, and filled.

The server counts and pre-ranks matches by its own relevance, which knows neither columns nor
lengths; the best of these get their score from their words: BM25 as FTS5 computes it, over weighted
columns. Conditions are expressions of MATCH ... AGAINST in boolean mode. Only words reach the
server.

InnoDB's own parser separates words at all characters that it does not know as letters; those of
some scripts and all beyond U+FFFF are among these. So each character that is not surely a letter
to it becomes ``_hex_``: words that begin with the same token begin the same. Words have three
characters at least (`innodb_ft_min_token_size`) and 84 at most.

The words of a page are one text: the tokens of the columns, then those of title, anchor and url
once more with a mark before them, for searches in these columns. A lone "_", too short to be
indexed, keeps phrases within their column. All is in lower case: InnoDB folds the words of phrases.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import lru_cache
from hashlib import blake2b
from math import log
from typing import Any as Value
from typing import NamedTuple

from larbinpy.database.base import (
    FIELDS,
    WEIGHTS,
    AllOf,
    AnyOf,
    Condition,
    Tokens,
    Within,
    filters,
    fingerprint,
    one_of,
    plain,
)
from larbinpy.database.mysql.server import ServerTables
from larbinpy.database.ranking import CANDIDATES, FOUND, Late, Matches, Scored
from larbinpy.database.search.query import Form, Item, Query
from larbinpy.database.writing.batch import stored_tokens

#: Before the words of a column; no other word begins with two of these.
MARKS = {"title": "__t", "anchor": "__a", "url": "__u"}
#: The columns in the order of the words: short ones first, so that the beginning has them.
_ORDER = ("title", "anchor", "url", "heading", "body", "rest")
_END = " _ "

#: Ranges of which MariaDB's parser takes each character for a letter (tried one by one).
_LETTERS = (
    "a-z0-9\xc0-\xd6\xd8-\xf6\xf8-\u024f\u0250-\u02af\u0386\u0388-\u038a\u038c\u038e-\u03a1"
    "\u03a3-\u03ce\u0400-\u0481\u05d0-\u05ea\u0904-\u0939\u0e01-\u0e30\u3041-\u3096\u30a1-\u30fa"
    "\u4e00-\u9fa5\uac00-\ud7a3"
)
_FOREIGN = re.compile(f"[^{_LETTERS} ]")
#: Characters of a word, of which longer ones keep the beginning and get a hash.
_LEAST, _MOST, _BEGINNING = 3, 80, 60
#: Columns of pages that are remembered: those of a batch.
_REMEMBERED = 4000


def encoded(tokens: str) -> list[str]:
    """The words of tokens that are separated by blanks."""
    words = _FOREIGN.sub(_escaped, tokens).split()
    return [word if _LEAST <= len(word) <= _MOST else _fitted(word) for word in words]


def beginning(token: str) -> str:
    """The beginning of all words of tokens that begin with `token`."""
    return _FOREIGN.sub(_escaped, token)[:_BEGINNING]


def _escaped(match: re.Match[str]) -> str:
    return f"_{ord(match[0]):x}_"


def _fitted(word: str) -> str:
    if len(word) < _LEAST:
        return word.ljust(_LEAST, "_")
    return f"{word[:_BEGINNING]}__{blake2b(word.encode(), digest_size=8).hexdigest()}"


@lru_cache(_REMEMBERED)
def spelt(tokens: str) -> str:
    """The words as a text."""
    return " ".join(encoded(tokens))


def index_words(tokens: Tokens, most: int) -> tuple[str, int]:
    """The words of a page, of `most` bytes, and the number of its tokens."""
    columns = {name: spelt(text) for name, text in zip(FIELDS, tokens, strict=True)}
    marked = [
        " ".join(mark + word for word in columns[name].split()) for name, mark in MARKS.items()
    ]
    size = sum(text.count(" ") + 1 for text in columns.values() if text)
    first, last = _ORDER[:4], _ORDER[4:]
    parts = [*(columns[name] for name in first), *marked, *(columns[name] for name in last)]
    text = f" {_END.join(parts)} "
    if len(text.encode()) > most:
        # Half a character or word at the end matches nothing.
        text = text.encode()[:most].decode("utf-8", "ignore").rpartition(" ")[0] + " "
    return text, size


def columns_in(words: str) -> dict[str, list[str]]:
    """The words by column; columns that were cut off are empty."""
    parts = words[1:-1].split(_END)
    names: Sequence[str | None] = (*_ORDER[:4], *[None] * len(MARKS), *_ORDER[4:])
    parts += [""] * (len(names) - len(parts))
    return {name: part.split() for name, part in zip(names, parts, strict=False) if name}


#: Words of a phrase; InnoDB takes 128.
_PHRASE = 100


class Match(NamedTuple):
    """Conditions on the table `ft`, each after "AND", and their arguments."""

    sql: str
    arguments: list[str]


def match(condition: Condition, unwanted: Iterable[Item] = ()) -> Match | None:
    """The pages that match `condition` without the `unwanted`; None: no page does."""
    without = [item for item in unwanted if _compile(item, (), True)]
    # After a phrase InnoDB does not add the pages with the beginning of a word: "a b" c* lacks
    # some. Then phrases are looked for in the pages that have their words.
    phrases = not any(map(_has_beginning, (condition, *without)))
    wanted = _compile(condition, (), phrases)
    if not wanted:
        return None
    excluded = [item for item in without if not _needs_look(item, phrases)]
    expression = [f"+{wanted}", *(f"-{_compile(item, (), phrases)}" for item in excluded)]
    parts = ["MATCH(ft.words) AGAINST(? IN BOOLEAN MODE)"]
    arguments = [" ".join(expression)]
    looks = [(condition, "({})")] if _needs_look(condition, phrases) else []
    looks += [(item, "NOT ({})") for item in without if item not in excluded]
    for looked, form in looks:
        sql, found = _look(looked, ())
        parts.append(form.format(sql))
        arguments += found
    return Match(" AND ".join(parts), arguments)


def relevance(condition: Condition) -> str:
    """An expression whose relevance is larger for pages with the words in title and links."""
    wanted = _compile(condition, (), False)
    return f"+{wanted} >{_compile(condition, tuple(MARKS), False)}" if wanted else ""


def words_of(form: Form, columns: Sequence[str]) -> list[list[str]]:
    """The words of `form`, once for each of `columns`, or for all as a whole; the last one of
    a prefix is the beginning of a word."""
    tokens = plain(form)
    words = encoded(tokens)
    if words and form.prefix:
        words[-1] = beginning(tokens.split()[-1])
    if not words or not columns:
        return [words] if words else []
    return [[MARKS[column] + word for word in words] for column in columns]


def columns_of(item: Item, columns: Sequence[str]) -> Sequence[str]:
    return (item.field,) if item.field else columns


def _compile(condition: Condition, columns: Sequence[str], phrases: bool) -> str:
    """A word, a phrase or a group; "" if no page can match. Without `phrases` these are all of
    their words, which more pages have."""
    match condition:
        case Item():
            within = columns_of(condition, columns)
            return _any(
                _words(words, phrases, form.prefix)
                for form in condition.forms
                for words in words_of(form, within)
            )
        case Within(within, part):
            return _compile(part, within, phrases)
        case AllOf(parts):
            return _all([_compile(part, columns, phrases) for part in parts])
        case AnyOf(parts):
            return _any(_compile(part, columns, phrases) for part in parts)


def _any(parts: Iterable[str]) -> str:
    used = list(dict.fromkeys(part for part in parts if part))
    return used[0] if len(used) == 1 else f"({' '.join(used)})" if used else ""


def _all(parts: Sequence[str]) -> str:
    if not parts or not all(parts):
        return ""
    used = list(dict.fromkeys(parts))
    return used[0] if len(used) == 1 else f"({' '.join(f'+{part}' for part in used)})"


def _words(words: list[str], phrases: bool, is_prefix: bool) -> str:
    if is_prefix:
        return _all([*words[:-1], f"{words[-1]}*"])
    if len(words) == 1 or not phrases:
        return _all(words)
    return f'"{" ".join(words[:_PHRASE])}"'


def _has_beginning(condition: Condition) -> bool:
    match condition:
        case Item():
            return any(form.prefix for form in condition.forms)
        case Within(_, part):
            return _has_beginning(part)
        case AllOf(parts) | AnyOf(parts):
            return any(map(_has_beginning, parts))


def _needs_look(condition: Condition, phrases: bool) -> bool:
    """Whether the words of pages have to be looked at: the expression lets others pass, too."""
    match condition:
        case Item():
            return any(
                len(words) > 1 and (form.prefix or not phrases or len(words) > _PHRASE)
                for form in condition.forms
                for words in words_of(form, ())
            )
        case Within(_, part):
            return _needs_look(part, phrases)
        case AllOf(parts) | AnyOf(parts):
            return any(_needs_look(part, phrases) for part in parts)


def _look(condition: Condition, columns: Sequence[str]) -> tuple[str, list[str]]:
    """SQL that looks at the words, and its arguments."""
    match condition:
        case Item():
            within = columns_of(condition, columns)
            needles = [
                f" {' '.join(words)}" + ("" if form.prefix else " ")
                for form in condition.forms
                for words in words_of(form, within)
            ]
            return " OR ".join(["LOCATE(?, ft.words) > 0"] * len(needles)) or "FALSE", needles
        case Within(within, part):
            return _look(part, within)
        case AllOf(parts):
            return _joined(" AND ", [_look(part, columns) for part in parts])
        case AnyOf(parts):
            return _joined(" OR ", [_look(part, columns) for part in parts])


def _joined(operator: str, looked: list[tuple[str, list[str]]]) -> tuple[str, list[str]]:
    sql = operator.join(f"({part})" for part, _ in looked) or "TRUE"
    return sql, [argument for _, arguments in looked for argument in arguments]


_K1, _B = 1.2, 0.75
#: The weight of words that most pages have.
_LEAST_WEIGHT = 1e-6

#: The weights of terms.
Weights = Mapping["Term", float]
#: The words of a page by column.
Columns = Mapping[str, Sequence[str]]


class Term(NamedTuple):
    """A form of a word, and the columns it may stand in; none: all."""

    form: Form
    columns: tuple[str, ...]

    def item(self) -> Item:
        """The condition that a page has it."""
        item = Item("", (self.form,))
        return item if len(self.columns) != 1 else Item("", (self.form,), self.columns[0])

    def condition(self) -> Condition:
        return Within(self.columns, Item("", (self.form,))) if self.columns else self.item()

    def frequency(self, page: Columns) -> float:
        """Its frequency in a page, by the weights of the columns."""
        words = next(iter(words_of(self.form, ())), [])
        return sum(
            WEIGHTS[name] * occurrences(words, page[name], is_prefix=self.form.prefix)
            for name in self.columns or WEIGHTS
        )


def terms(condition: Condition, columns: tuple[str, ...] = ()) -> Iterator[Term]:
    """All the forms in a condition."""
    match condition:
        case Item():
            within = tuple(columns_of(condition, columns))
            yield from (Term(form, within) for form in condition.forms)
        case Within(within, part):
            yield from terms(part, within)
        case AllOf(parts) | AnyOf(parts):
            for part in parts:
                yield from terms(part, columns)


def occurrences(words: Sequence[str], column: Sequence[str], *, is_prefix: bool) -> int:
    """The number of times that the phrase `words` stands in a column."""
    if not words:
        return 0
    if len(words) == 1:
        (word,) = words
        if is_prefix:
            return sum(other.startswith(word) for other in column)
        return column.count(word)
    found = 0
    start = -1
    *first, last = words
    for _ in range(column.count(words[0])):
        start = column.index(words[0], start + 1)
        end = start + len(first)
        if end < len(column) and list(column[start:end]) == first:
            found += column[end].startswith(last) if is_prefix else column[end] == last
    return found


def found(
    condition: Condition, page: Columns, columns: tuple[str, ...] = ()
) -> list[tuple[Term, float]]:
    """The terms by which a page matches, and how often it has them; none if it does not match.

    A term in two alternatives counts for each of them that the page matches.
    """
    match condition:
        case Item():
            often = [(term, term.frequency(page)) for term in terms(condition, columns)]
            return [pair for pair in often if pair[1]]
        case Within(within, part):
            return found(part, page, within)
        case AllOf(parts):
            each = [found(part, page, columns) for part in parts]
            return [pair for pairs in each for pair in pairs] if all(each) else []
        case AnyOf(parts):
            return [pair for part in parts for pair in found(part, page, columns)]


def score(frequencies: Iterable[tuple[Term, float]], weights: Weights, length: float) -> float:
    """The score of a page: how often it has each term, the terms' weights, and the number of its
    words as a share of that of a mean page."""
    return sum(
        weights[term] * often * (_K1 + 1) / (often + _K1 * (1 - _B + _B * length))
        for term, often in frequencies
    )


def weight(pages: int, having: int) -> float:
    """The weight of a term that `having` of all `pages` have."""
    value = log((pages - having + 0.5) / (having + 0.5)) if having <= pages else 0.0
    return value if value > 0 else _LEAST_WEIGHT


class ServerIndexing:
    """The changes of the index in one transaction; a page is removed by its number."""

    def __init__(self, server: ServerTables, table: str = "ft") -> None:
        self._server = server
        self._table = table
        self._put: dict[int, Tokens] = {}
        self._dropped: set[int] = set()

    def put(self, page: int, tokens: Tokens) -> None:
        """Add a page that is not in the index, or that was dropped from it."""
        self._put[page] = tokens

    def drop(self, page: int, indexed: int) -> bool:
        """Remove a page."""
        self._put.pop(page, None)
        self._dropped.add(page)
        return True

    def put_with_anchors(self, page: int, anchors: str) -> int:
        """Add a dropped page again, with other tokens of links; return its fingerprint."""
        tokens = stored_tokens(self._server, page) or ("",) * len(FIELDS)
        place = FIELDS.index("anchor")
        tokens = (*tokens[:place], anchors, *tokens[place + 1 :])
        self._put[page] = tokens
        return fingerprint(tokens)

    def apply(self) -> None:
        """Write the changes, and the numbers of pages and tokens that ranking needs."""
        rows = [
            (page, size, words)
            for page, tokens in sorted(self._put.items())
            for words, size in (index_words(tokens, _most(self._server)),)
        ]
        pages, size = len(rows), sum(row[1] for row in rows)
        if self._dropped:
            where, numbers = one_of("page", sorted(self._dropped))
            lost, words = self._server.execute(
                f"SELECT count(*), coalesce(sum(size), 0) FROM {self._table} WHERE {where}", numbers
            ).fetchone()
            pages, size = pages - int(lost), size - int(words)
            self._server.execute(f"DELETE FROM {self._table} WHERE {where}", numbers)
        self._server.executemany(f"INSERT INTO {self._table} VALUES (?, ?, ?)", rows)
        if pages or size:
            self._count(pages, size)
        self._put.clear()
        self._dropped.clear()

    def _count(self, pages: int, size: int) -> None:
        key = "indexed" if self._table == "ft" else f"indexed:{self._table}"
        row = self._server.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
        old_pages, old_size = map(int, row[0].split()) if row else (0, 0)
        value = f"{old_pages + pages} {old_size + size}"
        self._server.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, value))


def kept_words(server: ServerTables, tokens: Tokens) -> str:
    """The words that the index has of a page with these tokens."""
    return index_words(tokens, _most(server))[0]


def _most(server: ServerTables) -> int:
    """Bytes of the words of a page."""
    return server.packet // 4


@contextmanager
def prepared(pages: Iterable[Mapping[str, str]]) -> Iterator[None]:
    """Do the work on the tokens of pages that needs no database, and remember it meanwhile."""
    for tokens in pages:
        for text in tokens.values():
            spelt(text)
    try:
        yield
    finally:
        spelt.cache_clear()


#: Pages that get their score from their words, and words that are read for that.
_SCORED, _WORDS = 300, 400_000
#: Bytes of a page's words that are read; titles and texts of links come first.
_LENGTH = 200_000
#: Seconds that numbers of pages with a word are kept.
_KEPT = 60.0
_MOST_KEPT = 10_000

#: The rows of a SELECT. Raises `Late` after a time of the clock.
Ask = Callable[[str, Sequence[Value], float], list[Value]]


class Frequencies:
    """The numbers of pages that have a word, remembered for some time."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._known: dict[Term, tuple[float, int]] = {}

    def get(self, term: Term, count: Callable[[], int]) -> int:
        now = self._clock()
        until, number = self._known.get(term, (now, 0))
        if until <= now:
            number = count()
            if len(self._known) >= _MOST_KEPT:
                self._known.clear()
            self._known[term] = now + _KEPT, number
        return number


class ServerIndex:
    """A `SearchIndex`: the pages that match conditions and pass the filters of `query`."""

    def __init__(self, ask: Ask, query: Query, frequencies: Frequencies, limit: float) -> None:
        """`limit` is for reading hosts and types, a time of the clock."""
        self.rows = ask
        self.frequencies = frequencies
        self.unwanted = query.unwanted
        self.filter, self.arguments = filters(
            query,
            lambda statement, arguments: ask(statement, arguments, limit),
            lambda: [
                name
                for (name,) in ask("SELECT DISTINCT type FROM page", (), limit)
                if name is not None
            ],
            one_of,
        )
        row = ask("SELECT value FROM meta WHERE key = 'indexed'", (), limit)
        pages, words = map(int, row[0][0].split()) if row else (0, 0)
        self.pages = pages
        self.mean = words / pages if pages and words else 1.0

    def match(self, condition: Condition, until: float) -> Matches:
        matched = match(condition, self.unwanted)
        if matched is None:
            return Matches(0)
        arguments = [*matched.arguments, *self.arguments]
        if self.filter:
            some = f"{self.matching('1', matched)} LIMIT {CANDIDATES + 1}"
            statement = f"SELECT count(*) FROM ({some}) AS found"
        else:
            statement = self.matching("count(*)", matched)
        total = int(self.rows(statement, arguments, until)[0][0])
        newest = f"{self.matching('ft.page', matched)} ORDER BY ft.page DESC LIMIT {CANDIDATES}"
        select = f"SELECT {FOUND} FROM ({newest}) AS newest JOIN page ON page.id = newest.page"
        return Matches(total, select, arguments, condition)

    def listed(self, until: float) -> Matches:
        without = match(AnyOf(self.unwanted))
        join, arguments = "", self.arguments
        if without is not None:
            # Joined as a table: asked for once, not for each page.
            found = f"SELECT ft.page FROM ft WHERE {without.sql}"
            join = f" LEFT JOIN ({found}) AS unwanted ON unwanted.page = page.id"
            arguments = [*without.arguments, *arguments]
        select = (
            f"SELECT {FOUND} FROM page{join} WHERE "
            f"page.gone IS NULL AND page.same_as IS NULL{self.filter}"
            f"{' AND unwanted.page IS NULL' if join else ''}"
            f" ORDER BY page.id DESC LIMIT {CANDIDATES + 1}"
        )
        count = f"SELECT count(*) FROM ({select}) AS found"
        return Matches(int(self.rows(count, arguments, until)[0][0]), select, arguments)

    def some(self, condition: Condition, n: int, until: float) -> Scored:
        matched = match(condition, self.unwanted)
        if matched is not None:
            statement = f"{self.matching('ft.page', matched)} ORDER BY ft.page DESC LIMIT {n}"
            with suppress(Late):
                rows = self.rows(statement, [*matched.arguments, *self.arguments], until)
                return [(page, 0.0) for (page,) in rows]
        return []

    def has(self, page: int, condition: Condition, until: float) -> bool:
        rows = self.rows("SELECT words FROM ft WHERE page = ?", (page,), until)
        return bool(rows and found(condition, columns_in(rows[0][0])))

    def best(
        self, condition: Condition, n: int, until: float, among: Matches | None = None
    ) -> Scored:
        sizes = dict(self._pre_ranked(condition, n, until))
        taken: list[int] = []
        words = 0
        for page, size in list(sizes.items())[:_SCORED]:
            words += min(size, _LENGTH // 5)
            if words > _WORDS and taken:
                break
            taken.append(page)
        scores = self._scores(condition, taken, sizes, until) if taken else {}
        best = sorted(scores.items(), key=lambda pair: (-pair[1], -pair[0]))[:n]
        # The others as the server ranks them, after these.
        least = best[-1][1] if best else 0.0
        others = list(sizes)[len(taken) : n]
        return best + [(page, least / (2 + place)) for place, page in enumerate(others)]

    def _pre_ranked(self, condition: Condition, n: int, until: float) -> list[tuple[int, int]]:
        """The best pages by the server's own relevance, and their numbers of words."""
        matched = match(condition, self.unwanted)
        if matched is None:
            return []
        by = "MATCH(ft.words) AGAINST(? IN BOOLEAN MODE)"
        statement = (
            f"SELECT page, size FROM ({self.matching(f'ft.page, ft.size, {by} AS score', matched)}"
            f" ORDER BY score DESC, ft.page DESC LIMIT {max(n, _SCORED)}) AS found"
        )
        arguments = [relevance(condition), *matched.arguments, *self.arguments]
        return self.rows(statement, arguments, until)

    def _scores(
        self, condition: Condition, pages: list[int], sizes: dict[int, int], until: float
    ) -> dict[int, float]:
        weights = {
            term: weight(self.pages, self.frequency(term, until)) for term in set(terms(condition))
        }
        where, arguments = one_of("page", pages)
        rows = self.rows(
            f"SELECT page, LEFT(words, {_LENGTH}) FROM ft WHERE {where}", arguments, until
        )
        scores = {}
        for page, words in rows:
            often = found(condition, columns_in(words))
            scores[page] = score(often, weights, sizes[page] / self.mean)
        return scores

    def matching(self, columns: str, matched: Match) -> str:
        """A SELECT of the matches that pass the filters; their arguments come in that order."""
        join = " JOIN page ON page.id = ft.page" if self.filter else ""
        return f"SELECT {columns} FROM ft{join} WHERE {matched.sql}{self.filter}"

    def frequency(self, term: Term, until: float) -> int:
        def count() -> int:
            matched = match(term.condition())
            if matched is None:
                return 0
            statement = f"SELECT count(*) FROM ft WHERE {matched.sql}"
            return int(self.rows(statement, matched.arguments, until)[0][0])

        return self.frequencies.get(term, count)
