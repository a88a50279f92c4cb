"""The grammar of larbin.conf: text -> values, by a table of settings.

Larbin's: words between blanks, "#" to the end of the line, double quotes around a word
with blanks in it. A keyword, in any case, is followed by as many words as its kind wants:
none for a switch, up to "end" for a list ("end end" for a list of pairs). Given twice, a
keyword adds to a list and otherwise replaces. Added: a switch may be followed by on or
off, and "#" within quotes is part of the word.

An error names the file and the line. A keyword where a value should be means that the
value, or the "end", was forgotten; it is reported there and not many lines later.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from difflib import SequenceMatcher
from typing import Any, NamedTuple

from larbinpy.config.kinds import SWITCH_WORDS, Setting
from larbinpy.errors import UserError

Table = Mapping[str, Setting]

# Larbin's blanks and no others; an unclosed quote is a word of its own, to be refused.
_WORD = re.compile(r'(?P<comment>#[^\n]*)|"(?P<quoted>[^"\n]*)"|(?P<bare>[^ \t\r\n#]+)|(?P<end>\n)')
_WORD_ALONE = re.compile(r'"(?P<quoted>[^"\n]*)"|(?P<bare>[^ \t\r\n]+)')


class ConfigError(UserError, ValueError):
    """A configuration that cannot be used: one line that says where, what, and what to do."""


#: What becomes of an error; where it returns, reading goes on behind what is wrong.
Report = Callable[[ConfigError], object]


def at_once(error: ConfigError) -> None:
    """Raise it: the first error is the last."""
    raise error


class Word(NamedTuple):
    text: str
    line: int
    quoted: bool = False
    #: Why it is none.
    fault: str = ""


class _Words:
    """The words of one file, one by one."""

    def __init__(self, text: str, name: str) -> None:
        self.name = name
        self._words = _split(text)
        self._next = next(self._words, None)
        self.line = 1

    def __repr__(self) -> str:
        return f"<_Words of {self.name}, line {self.line}, next {self._next}>"

    def peek(self) -> Word | None:
        return self._next

    def take(self) -> Word | None:
        word, self._next = self._next, next(self._words, None)
        if word is not None:
            self.line = word.line
            if word.fault:
                raise self.error(word.fault)
        return word

    def leave(self) -> None:
        """Leave the next word out, whatever is wrong with it."""
        self._next = next(self._words, None)

    def leave_line(self) -> None:
        """Leave out what is left of the line."""
        while self._next is not None and self._next.line == self.line:
            self.leave()

    def error(self, reason: str, line: int | None = None) -> ConfigError:
        return ConfigError(f"{self.name}:{line or self.line}: {reason}")


def _split(text: str) -> Iterator[Word]:
    line = 1
    for match in _WORD.finditer(text):
        kind, found = match.lastgroup, match[match.lastgroup or 0]
        if kind == "end":
            line += 1
        elif kind != "comment":
            fault = ""
            if not found.isprintable():
                fault = f"{found[:40]!r} is not plain text in UTF-8"
            elif kind == "bare" and found.startswith('"'):
                fault = "a double quote is not closed on its line"
            yield Word(found, line, kind == "quoted", fault)


def read(text: str, name: str, table: Table, report: Report = at_once) -> dict[str, Any]:
    """The values that a file's `text` sets, by attribute; `name` is the file in errors.

    Raises ConfigError, unless `report` takes it.
    """
    words = _Words(text, name)
    values: dict[str, Any] = {}
    finished = 0
    while words.peek() is not None:
        try:
            finished = _read_setting(words, values, table, finished, report)
        except ConfigError as error:
            report(error)
            words.leave_line()
    return _sealed(values, table)


def _read_setting(
    words: _Words, values: dict[str, Any], table: Table, finished: int, report: Report
) -> int:
    """A keyword and its value; the line where a value of one word is `finished`, else 0."""
    word = words.take()
    assert word is not None
    row = table.get(word.text.lower())
    if row is None:
        hint = "; a value with blanks needs double quotes" if word.line == finished else ""
        wrong = words.error(unknown(word.text, table) + hint)
        _leave_list(words, table, _nearest(word.text, table))
        raise wrong
    for item in _items(row, words, table):
        try:
            _store(values, row, item)
        except ValueError as error:
            report(words.error(f"{row.keyword}: {error}"))
    return words.line if row.kind.words and not row.kind.closed else 0


def _leave_list(words: _Words, table: Table, row: Setting) -> None:
    """Leave out the items of a list, if what was meant is `row`, up to the next keyword."""
    ends = row.kind.words if row.kind.closed else 0
    while ends and (word := words.peek()) is not None and word.text.lower() not in table:
        words.leave()
        ends -= word.text.lower() == "end"


def _items(row: Setting, words: _Words, table: Table) -> Iterator[list[str]]:
    """The items that follow a keyword, each as its words."""
    start = words.line
    if row.kind.words == 0:
        word = words.peek()
        given = word is not None and word.text.lower() in SWITCH_WORDS and words.take()
        yield [given.text if given else "on"]
    elif not row.kind.closed:
        yield [_value(row, words, table, start) for _ in range(row.kind.words)]
    else:
        end = " ".join(["end"] * row.kind.words)
        while True:
            item = [_value(row, words, table, start) for _ in range(row.kind.words)]
            closing = [word.lower() == "end" for word in item]
            if all(closing):
                return
            if any(closing):
                raise words.error(f"{row.keyword}: the list is not closed by {end!r}")
            yield item


def _value(row: Setting, words: _Words, table: Table, start: int) -> str:
    """The next word, which must not be the keyword of the next line or the end of the file."""
    word = words.peek()
    forgotten = word is None or (
        word.line > start and not word.quoted and word.text.lower() in table
    )
    if word is None or forgotten:
        before = "the end of the file" if word is None else f"{word.text} in line {word.line}"
        missing = "the list is not closed" if row.kind.closed else "its value is missing"
        wanted = f"{row.keyword} {row.kind.usage}"
        raise words.error(f"{row.keyword}: {missing} before {before}; wanted: {wanted}", start)
    words.take()
    return word.text


def read_value(text: str, row: Setting) -> Any:
    """The value of one setting from text of its own, as a command line or environment gives it.

    A list needs no "end", a text no quotes. Raises ValueError with a reason.
    """
    size = row.kind.words
    values: dict[str, Any] = {}
    if size < 2 and not row.many:
        _store(values, row, [text.strip()])
        return values[row.attribute]
    words = [match["quoted"] or match["bare"] or "" for match in _WORD_ALONE.finditer(text)]
    while row.kind.closed and words and words[-1].lower() == "end":
        words.pop()
    if not words or len(words) % size or (len(words) > size and not row.many):
        raise ValueError(f"{text[:60]!r} is not of the form {row.kind.usage}")
    for start in range(0, len(words), size):
        _store(values, row, words[start : start + size])
    return tuple(dict.fromkeys(values[row.attribute])) if row.many else values[row.attribute]


def _store(values: dict[str, Any], row: Setting, item: list[str]) -> None:
    value = row.kind.parse(*item)
    if row.many:
        values.setdefault(row.attribute, []).append(value)
    else:
        values[row.attribute] = value


def _sealed(values: dict[str, Any], table: Table) -> dict[str, Any]:
    """`values` with lists as tuples, each item once."""
    many = {row.attribute for row in table.values() if row.many}
    return {
        name: tuple(dict.fromkeys(value)) if name in many else value
        for name, value in values.items()
    }


def unknown(word: str, table: Table) -> str:
    """What to say about a keyword that is none, with the nearest that is one."""
    nearest = _nearest(word, table).keyword
    return f"unknown keyword {word[:60]!r}; the nearest known one is {nearest}"


def _nearest(word: str, table: Table) -> Setting:
    short = word[:60].lower()
    return table[max(table, key=lambda name: SequenceMatcher(None, short, name).ratio())]
