"""The grammar of larbin.conf: text -> values, by a table of settings.

Larbin's grammar: blanks separate words, "#" starts a comment, double quotes enclose a word
with blanks. A keyword, in any case, is followed by as many words as its kind requires: none
for a switch, all up to "end" for a list ("end end" for a list of pairs). A repeated keyword
adds to a list and replaces other values. Additions: a switch may be followed by on or off,
"#" within quotes is part of the word, and a site block (`SiteBlock`) holds settings for the sites
that match its pattern, up to its "end".

An error names the file and the line. If a keyword stands where a value is expected, the value
or the "end" was forgotten: the error names the line of the keyword that lacks it. `checked` checks
the values that a program gives in the same way.
"""

import os
import re
from collections.abc import Callable, Container, Iterator, Mapping
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from functools import lru_cache
from typing import Any, NamedTuple

from larbinpy.config.kinds import NONE, SWITCH_WORDS, Setting, ValueKind
from larbinpy.config.patterns import HostPattern
from larbinpy.errors import UserError
from larbinpy.url import masked_typed


@dataclass(frozen=True, slots=True)
class SiteValue:
    """A setting within a site block."""

    row: Setting
    value: Any
    #: The place where it was set: "larbin.conf:12" or "command line".
    source: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class SiteBlock:
    """``site PATTERN KEYWORD VALUE... end``: settings of the sites that the pattern matches."""

    pattern: HostPattern
    values: tuple[SiteValue, ...]
    #: The place where it begins: "larbin.conf:12" or "command line".
    source: str = field(default="", compare=False)

    def get(self, attribute: str) -> SiteValue | None:
        """The value of the setting that is `attribute` of a Config; None if it has none."""
        return next((each for each in self.values if each.row.attribute == attribute), None)

    def lines(self) -> list[str]:
        """The block as lines of a file."""
        inner = [line for each in self.values for line in each.row.lines(each.value)]
        return [f"site {self.pattern.show()}", *(f"    {line}" for line in inner), "end"]

    def show(self) -> str:
        """The block in one line, without the keyword."""
        inner = [line for each in self.values for line in each.row.lines(each.value)]
        return " ".join([self.pattern.show(), *inner, "end"])


def _made_by_the_grammar(*_words: str) -> SiteBlock:
    raise AssertionError("a block has more than the words of one item")


SITE: ValueKind[SiteBlock] = ValueKind(
    "PATTERN KEYWORD VALUE... end", _made_by_the_grammar, SiteBlock.show
)


Table = Mapping[str, Setting]

#: Likeness of words from which one may be meant for the other; "depth" and depthInSite have 0.62,
#: "include" and punycode 0.53.
_LIKE = 0.6

# Only Larbin's blanks count. A quote that is not closed becomes part of a bare word, which
# `_split` refuses.
_WORD = re.compile(r'(?P<comment>#[^\n]*)|"(?P<quoted>[^"\n]*)"|(?P<bare>[^ \t\r\n#]+)|(?P<end>\n)')
#: Editors and web pages insert blanks that look like plain ones, and marks that nobody sees; the
#: last one ends a DOS file.
_AS_PLAIN = str.maketrans(
    dict.fromkeys("\xa0\u2002\u2003\u2007\u2009\u202f\u3000", " ")
    | dict.fromkeys("\u200b\u2060\ufeff\x1a", None)
)
#: Marks that nobody sees, but that words of Persian and Hindi need.
_JOINERS = str.maketrans("", "", "\u200c\u200d")
#: Units by the first letter of their names, by the usage of the kind.
_TIMES = {"s": "s", "m": "m", "h": "h", "d": "d"}
_UNITS = {"SECONDS": _TIMES, "MINUTES": _TIMES, "BYTES": {"k": "K", "m": "M", "g": "G"}}
_WORD_ALONE = re.compile(r'"(?P<quoted>[^"\n]*)"|(?P<bare>[^ \t\r\n]+)')


class ConfigError(UserError, ValueError):
    """A configuration that cannot be used: one line with the place, the reason and a remedy."""


#: Called with each error; if it returns, reading continues after the error.
Report = Callable[[ConfigError], object]


def at_once(error: ConfigError) -> None:
    """Raise the first error."""
    raise error


class Word(NamedTuple):
    text: str
    line: int
    quoted: bool = False
    #: Why the word is invalid; empty if it is valid.
    fault: str = ""


class _Words:
    """The words of a file, or of a text that is `in_line`, one by one."""

    def __init__(self, text: str, name: str, *, in_line: bool = False) -> None:
        self.name = name
        self._in_line = in_line
        self._words = _split(text)
        self._next = next(self._words, None)
        self.line = 1
        #: The line, the setting and the value that were read last, if that is one word.
        self.done: tuple[int, Setting, str] | None = None

    def peek(self) -> Word | None:
        return self._next

    def take(self) -> Word | None:
        word, self._next = self._next, next(self._words, None)
        if word is not None:
            self.line = word.line
            if word.fault:
                raise self.error(word.fault)
        return word

    def skip(self) -> None:
        """Skip the next word, valid or not."""
        self._next = next(self._words, None)

    def skip_line(self) -> None:
        """Skip the rest of the line."""
        while self._next is not None and self._next.line == self.line:
            self.skip()

    def place(self, line: int | None = None) -> str:
        """The place of a line, or of the word taken last."""
        return self.name if self._in_line else f"{self.name}:{line or self.line}"

    def error(self, reason: str, line: int | None = None) -> ConfigError:
        return ConfigError(f"{self.place(line)}: {reason}")


def _split(text: str) -> Iterator[Word]:
    line = 1
    for match in _WORD.finditer(text.translate(_AS_PLAIN)):
        kind, found = match.lastgroup, match[match.lastgroup or 0]
        if kind == "end":
            line += 1
        elif kind != "comment":
            fault = ""
            if not found.translate(_JOINERS).isprintable():
                fault = f"{found[:40]!r} is not plain text in UTF-8"
            elif kind == "bare" and found.startswith('"'):
                fault = "a double quote is not closed on its line"
            yield Word(found, line, kind == "quoted", fault)


def read(text: str, name: str, table: Table, report: Report = at_once) -> dict[str, Any]:
    """Attribute -> value for the settings in `text`; `name` names the file in errors.

    Calls `report` with each ConfigError.
    """
    words = _Words(text, name)
    values: dict[str, Any] = {}
    while words.peek() is not None:
        try:
            _read_setting(words, values, table, report)
        except ConfigError as error:
            report(error)
            words.skip_line()
    return _sealed(values, table)


def _read_setting(words: _Words, values: dict[str, Any], table: Table, report: Report) -> None:
    """Read a keyword and its value."""
    word = words.take()
    assert word is not None
    row = table.get(word.text.lower())
    if row is None:
        wrong = words.error(_stray(word, words, table))
        _skip_list(words, table, nearest(word.text, table))
        raise wrong
    if row.kind is SITE:
        block = _block(row, words, table, report)
        if block is not None:
            values.setdefault(row.attribute, []).append(block)
        return
    _read_items(row, words, values, table, report)


def _read_items(
    row: Setting, words: _Words, values: dict[str, Any], stops: Container[str], report: Report
) -> None:
    """Read the value of `row`."""
    words.done = None
    if row.kind.closed:
        values.setdefault(row.attribute, [])  # A list without items replaces a default one.
    for item in _items(row, words, stops):
        try:
            _store(values, row, item, words.place())
        except ValueError as error:
            report(words.error(f"{row.keyword}: {error}"))
        if row.kind.words and not row.kind.closed:
            words.done = words.line, row, item[-1]


def _block(row: Setting, words: _Words, table: Table, report: Report) -> SiteBlock | None:
    """The site block that begins; None if its pattern is wrong."""
    start, place = words.line, words.place()
    words.done = None
    pattern = None
    # A keyword that begins a line is the next setting, not a value that was forgotten.
    stops = {*table, "end"}
    try:
        pattern = HostPattern.parse(_value(row, words, stops, start))
    except ConfigError:
        raise
    except ValueError as error:
        report(words.error(f"{row.keyword}: {error}"))
    allowed = {name: inner for name, inner in table.items() if inner.by_site}
    values: dict[str, Any] = {}
    places: dict[str, tuple[Setting, str]] = {}
    while True:
        word = words.peek()
        if word is None or word.text.lower() == row.keyword.lower():
            before = "the end of the file" if word is None else f"the block in line {word.line}"
            wanted = f"expected {row.keyword} {row.kind.usage}"
            raise words.error(
                f"{row.keyword}: the block is not closed before {before}; {wanted}", start
            )
        words.take()
        if word.text.lower() == "end":
            break
        inner = allowed.get(word.text.lower())
        try:
            if inner is None:
                raise words.error(_misplaced(word, words, table, allowed, start))
            places[inner.attribute] = inner, words.place()
            _read_items(inner, words, values, stops, report)
        except ConfigError as error:
            report(error)
            words.skip_line()
    sealed = _sealed(values, table)
    inside = [
        SiteValue(inner, sealed[name], where)
        for name, (inner, where) in places.items()
        if name in sealed
    ]
    return None if pattern is None else SiteBlock(pattern, tuple(inside), place)


def _misplaced(word: Word, words: _Words, table: Table, allowed: Table, start: int) -> str:
    """The message for a word that is no keyword of a site block."""
    known = table.get(word.text.lower())
    if known is not None:
        near = nearest(word.text, allowed)
        inside = f" (the nearest one allowed inside is {near.keyword})" if near else ""
        return (
            f"{known.keyword} cannot be set by site; close the block of line {start} with 'end' "
            f"before it{inside}"
        )
    return _stray(word, words, allowed)


def _stray(word: Word, words: _Words, table: Table) -> str:
    """The message for a word that is no keyword; it may belong to the value before it."""
    assigned = table.get(re.split("[=:]", word.text, maxsplit=1)[0].lower())
    if assigned is not None:
        return _assigned(assigned)
    if words.done is None or words.done[0] != word.line:
        return unknown(word.text, table)
    _, row, before = words.done
    unit = _UNITS.get(row.kind.usage, {}).get(word.text[:1].lower())
    if unit is not None:
        return f"{row.keyword}: a number and its unit are one word: {before[:20]}{unit}"
    if row.kind.spaced:
        both = f'{row.keyword} "{before[:60]} {word.text[:60]}"'
        return f"{word.text[:60]!r} is no keyword; several conditions are one quoted word: {both}"
    return f"{unknown(word.text, table)}; put a value with blanks in double quotes"


def _assigned(row: Setting) -> str:
    """The message for a setting with a sign between keyword and value, as other programs have."""
    return (
        f"{row.keyword}: no = or : before its value; write {row.keyword} {row.kind.usage}".rstrip()
    )


def _skip_list(words: _Words, table: Table, row: Setting | None) -> None:
    """If `row`, which was probably meant, is a list, skip its items up to the next keyword."""
    ends = row.kind.words if row is not None and row.kind.closed else 0
    while ends and (word := words.peek()) is not None and word.text.lower() not in table:
        words.skip()
        ends -= word.text.lower() == "end"


def _items(row: Setting, words: _Words, stops: Container[str]) -> Iterator[list[str]]:
    """The items after a keyword, each a list of words."""
    start = words.line
    if row.kind.words == 0:
        word = words.peek()
        given = word is not None and word.text.lower() in SWITCH_WORDS and words.take()
        yield [given.text if given else "on"]
    elif not row.kind.closed:
        first = _value(row, words, stops, start)
        item = None if row.kind.split is None else row.kind.split(first)
        rest = (_value(row, words, stops, start) for _ in range(1, row.kind.words))
        yield item or [first, *rest]
    else:
        end = " ".join(["end"] * row.kind.words)
        while True:
            item = [_value(row, words, stops, start) for _ in range(row.kind.words)]
            closing = [word.lower() == "end" for word in item]
            if all(closing):
                return
            if any(closing):
                raise words.error(f"{row.keyword}: the list is not closed by {end!r}")
            yield item


def _value(row: Setting, words: _Words, stops: Container[str], start: int) -> str:
    """The next word. An error if it is one of `stops` on a later line, or the end of the file."""
    word = words.peek()
    forgotten = word is None or (
        word.line > start and not word.quoted and word.text.lower() in stops
    )
    if word is None or forgotten:
        before = "the end of the file" if word is None else f"{word.text} in line {word.line}"
        missing = "the list is not closed" if row.kind.closed else "its value is missing"
        wanted = f"{row.keyword} {row.kind.usage}"
        raise words.error(f"{row.keyword}: {missing} before {before}; expected {wanted}", start)
    words.take()
    if word.text in ("=", ":") and not word.quoted:
        raise words.error(_assigned(row))
    return word.text


def words_of(text: str) -> list[str]:
    """The words of a value outside of a file."""
    return [match["quoted"] or match["bare"] or "" for match in _WORD_ALONE.finditer(text)]


def read_value(text: str, row: Setting, source: str = "") -> Any:
    """The value of one setting from `source`: the command line or the environment.

    Lists need no "end" and texts no quotes. Raises ValueError with a reason.
    """
    size = row.kind.words
    values: dict[str, Any] = {}
    if size < 2 and not row.many:
        _store(values, row, [text.strip()], source)
        return values[row.attribute]
    if row.kind.spaced and '"' not in text:
        text = f'"{text}"'
    words = words_of(text)
    while row.kind.closed and words and words[-1].lower() == "end":
        words.pop()
    if row.kind.split is not None and len(words) == 1:
        words = row.kind.split(words[0]) or words
    if not words or len(words) % size or (len(words) > size and not row.many):
        raise ValueError(f"{masked_typed(text)[:60]!r} is not of the form {row.kind.usage}")
    for start in range(0, len(words), size):
        _store(values, row, words[start : start + size], source)
    return _each_once(values[row.attribute], row) if row.many else values[row.attribute]


def read_blocks(text: str, row: Setting, table: Table, place: str) -> tuple[SiteBlock, ...]:
    """Site blocks from the command line or the environment, each PATTERN KEYWORD VALUE... end.

    The last needs no "end". Raises ConfigError.
    """
    closed = text if text.split()[-1:] == ["end"] else f"{text} end"
    words = _Words(closed, place, in_line=True)
    blocks = []
    while words.peek() is not None:
        block = _block(row, words, table, at_once)
        blocks += [block] if block is not None else []
    return tuple(blocks)


def _store(values: dict[str, Any], row: Setting, item: list[str], source: str) -> None:
    if row.kind.commas and "," in item[0]:
        for part in filter(None, item[0].split(",")):
            _store(values, row, [part], source)
        return
    value = row.kind.parse(*item)
    if row.keyword_of is not None:
        value = value.at(source)
    if row.many:
        values.setdefault(row.attribute, []).append(value)
    else:
        values[row.attribute] = value


def _sealed(values: dict[str, Any], table: Table) -> dict[str, Any]:
    """`values` with lists as tuples, each item once."""
    many = {row.attribute: row for row in table.values() if row.many}
    return {
        name: _each_once(value, many[name]) if name in many else value
        for name, value in values.items()
    }


def _each_once(items: list[Any], row: Setting) -> tuple[Any, ...]:
    once = tuple(dict.fromkeys(items))
    return () if row.default and once == (NONE,) else once


def unknown(word: str, table: Table) -> str:
    """The message for an unknown keyword, with the nearest known one if one is near."""
    near = nearest(word, table)
    hint = f"the nearest known one is {near.keyword}" if near else "larbinpy check-config has all"
    return f"unknown keyword {masked_typed(word)[:60]!r}; {hint}"


#: Names of settings in other programs -> the keyword, in lower case.
_ELSEWHERE = {
    **dict.fromkeys(
        ("wait", "delay", "downloaddelay", "crawldelay", "sleep", "pause"), "waitduration"
    ),
    **dict.fromkeys(("depth", "level", "maxdepth", "depthlimit", "recursive"), "depthinsite"),
    **dict.fromkeys(("rate", "ratelimit", "limitrate", "bandwidth"), "bondwidth"),
    **dict.fromkeys(("pages", "maxpages", "pagelimit"), "limitpage"),
    **dict.fromkeys(("include", "allow", "follow"), "accept"),
    **dict.fromkeys(("exclude", "deny", "skip", "ignore"), "reject"),
    **dict.fromkeys(("concurrency", "threads", "workers", "connections"), "pagesconnexions"),
    **dict.fromkeys(("timeout", "readtimeout"), "timeoutpage"),
    **dict.fromkeys(("agent", "useragentstring"), "useragent"),
    **dict.fromkeys(("output", "directory", "directoryprefix"), "outputdir"),
    **dict.fromkeys(("seed", "seeds", "url", "urls", "start"), "starturl"),
    **dict.fromkeys(("cookies", "cookie", "loadcookies"), "cookiefile"),
    **dict.fromkeys(("robots", "obeyrobots", "norobots"), "ignorerobots"),
    **dict.fromkeys(("email", "mail", "contact"), "from"),
    **dict.fromkeys(("tries", "retry", "maxretries"), "retries"),
    **dict.fromkeys(("mirror", "format", "outputformat"), "outputmode"),
    **dict.fromkeys(("quota", "maxbytes"), "limitbytesbysite"),
    **dict.fromkeys(("verify", "nocheckcertificate", "insecure"), "insecuretls"),
}


def nearest(word: str, table: Table) -> Setting | None:
    """The setting that was probably meant by `word`; None if no keyword is like it.

    A name from another program comes before keywords that are spelled alike.
    """
    short = word[:60].lower()
    meant = table.get(_ELSEWHERE.get(short.replace("-", "").replace("_", ""), ""))
    if meant is not None:
        return meant
    likeness = {name: SequenceMatcher(None, short, name).ratio() for name in table}
    best = max(likeness, key=likeness.__getitem__)
    return table[best] if likeness[best] >= _LIKE else None


#: Values whose meaning is remembered. `dataclasses.replace` checks all values again, and
#: a file that was read once may be gone by then.
_REMEMBERED = 4096


def checked(rows: tuple[Setting, ...], value: Any) -> Any:
    """`value` of a field, which has the settings `rows`: a text as in a file, or the value itself.

    If there are several settings, a text begins with the keyword. Raises ConfigError.
    """
    row = rows[0]
    if row.many and not isinstance(value, str):
        try:
            return _checked(rows, tuple(value))
        except TypeError:
            raise _error(row, f"{value!r} is not a tuple") from None
    try:
        return _checked(rows, value)
    except TypeError:
        raise _error(row, f"{value!r} has the wrong type") from None


def _checked(rows: tuple[Setting, ...], value: Any) -> Any:
    row = rows[0]
    if not row.many:
        return _item(row, value)
    if isinstance(value, str):
        shown = value if row.keyword_of is not None else row.kind.show(value)
        raise _error(row, f"{shown[:60]!r} is a text, not a tuple of them")
    return tuple(dict.fromkeys(_item(_meant(rows, item), item) for item in value))


def _meant(rows: tuple[Setting, ...], item: Any) -> Setting:
    """The one of `rows` that `item` is for."""
    if len(rows) == 1 or not isinstance(item, str):
        return rows[0]
    for row in rows:
        if item.partition(" ")[0].lower() == row.keyword.lower():
            return row
    keywords = " or ".join(row.keyword for row in rows)
    raise _error(rows[0], f"{item[:60]!r} does not begin with {keywords}")


def _item(row: Setting, item: Any) -> Any:
    kind = row.kind
    if item is None:
        if row.default is None:
            return None
        raise _error(row, f"None is not {kind.usage or 'a switch'}")
    if isinstance(item, str) and row.keyword_of is not None:
        # A rule, which keeps where it comes from.
        return _parsed(row, item.partition(" ")[2].strip().strip('"')).at("Config")
    if isinstance(item, os.PathLike):
        item = os.fspath(item)
    if not isinstance(item, str | int | float | tuple):
        # An object that its own `parse` has made, such as a HostPattern.
        return item
    if kind.words == 0 and not isinstance(item, str | bool):
        raise _error(row, f"{item!r} is neither True nor False")
    return _parsed(row, item)


@lru_cache(_REMEMBERED, typed=True)
def _parsed(row: Setting, item: Any) -> Any:
    kind = row.kind
    try:
        text = item if isinstance(item, str) else (kind.spell or kind.show)(item)
        return kind.parse(*(words_of(text) if kind.words > 1 else [text]))
    except (ValueError, TypeError, AttributeError, LookupError) as error:
        simple = type(error) is ValueError
        reason = str(error) if simple else f"{item!r} is not {kind.usage or 'a switch'}"
        raise _error(row, reason) from None


def _error(row: Setting, reason: str) -> ConfigError:
    return ConfigError(f"Config: {row.attribute}: {reason}")


def unknown_attribute(name: str, table: dict[str, Setting]) -> ConfigError:
    """The error for a keyword argument that is no setting."""
    row = table.get(name.lower()) or nearest(name.replace("_", ""), table)
    hint = f"; write {row.attribute}" if row else ""
    return ConfigError(f"Config: no setting is called {name!r}{hint}")
