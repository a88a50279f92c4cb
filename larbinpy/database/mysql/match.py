"""Conditions as expressions of MATCH ... AGAINST in boolean mode. Only words reach the server."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from larbinpy.database.matching import All, Any, Condition, Within, plain
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
    wanted = _compile(condition, ())
    if not wanted:
        return None
    without = [item for item in unwanted if _compile(item, ())]
    expression = " ".join(
        [f"+{wanted}", *(f"-{_compile(item, ())}" for item in without if not _needs_look(item))]
    )
    parts, arguments = ["MATCH(ft.words) AGAINST(? IN BOOLEAN MODE)"], [expression]
    looks = [(condition, "{}")] if _needs_look(condition) else []
    looks += [(item, "NOT ({})") for item in without if _needs_look(item)]
    for looked, form in looks:
        sql, found = _look(looked, ())
        parts.append(form.format(sql))
        arguments += found
    return Match(" AND ".join(parts), arguments)


def relevance(condition: Condition) -> str:
    """An expression whose relevance is larger for pages with the words in title and links."""
    wanted = _compile(condition, ())
    return f"+{wanted} >{_compile(condition, tuple(MARKS))}" if wanted else ""


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


def _compile(condition: Condition, columns: Sequence[str]) -> str:
    """A word, a phrase or a group; "" if no page can match."""
    match condition:
        case Item():
            within = columns_of(condition, columns)
            return _any(
                _words(words, is_prefix=form.prefix)
                for form in condition.forms
                for words in words_of(form, within)
            )
        case Within(within, part):
            return _compile(part, within)
        case All(parts):
            return _all([_compile(part, columns) for part in parts])
        case Any(parts):
            return _any(_compile(part, columns) for part in parts)


def _any(parts: Iterable[str]) -> str:
    used = list(dict.fromkeys(part for part in parts if part))
    return used[0] if len(used) == 1 else f"({' '.join(used)})" if used else ""


def _all(parts: Sequence[str]) -> str:
    if not parts or not all(parts):
        return ""
    used = list(dict.fromkeys(parts))
    return used[0] if len(used) == 1 else f"({' '.join(f'+{part}' for part in used)})"


def _words(words: list[str], *, is_prefix: bool) -> str:
    if is_prefix:
        return _all([*words[:-1], f"{words[-1]}*"])
    if len(words) == 1:
        return words[0]
    pieces = [words[start : start + _PHRASE] for start in range(0, len(words), _PHRASE)]
    return _all([f'"{" ".join(piece)}"' for piece in pieces])


def _needs_look(condition: Condition) -> bool:
    """Whether the words of pages have to be looked at: the expression lets others pass, too."""
    match condition:
        case Item():
            return any(
                len(form.tokens) > 1 and (form.prefix or len(form.tokens) > _PHRASE)
                for form in condition.forms
            )
        case Within(_, part):
            return _needs_look(part)
        case All(parts) | Any(parts):
            return any(map(_needs_look, parts))


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
        case All(parts):
            # The expression knows the others.
            looked = [_look(part, columns) for part in parts if _needs_look(part)]
            return _joined(" AND ", looked)
        case Any(parts):
            return _joined(" OR ", [_look(part, columns) for part in parts])


def _joined(operator: str, looked: list[tuple[str, list[str]]]) -> tuple[str, list[str]]:
    sql = operator.join(f"({part})" for part, _ in looked) or "TRUE"
    return sql, [argument for _, arguments in looked for argument in arguments]
