"""Conditions as expressions of MATCH ... AGAINST in boolean mode. Only words reach the server."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from larbinpy.database.conditions import AllOf, AnyOf, Condition, Within, plain
from larbinpy.database.mysql.words import MARKS, beginning, encoded
from larbinpy.search.query import Form, Item

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
