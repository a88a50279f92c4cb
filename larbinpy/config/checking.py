"""Checks values that a program gives, as the grammar checks those of a file."""

import os
from functools import lru_cache
from typing import Any

from larbinpy.config.grammar import ConfigError, nearest, words_of
from larbinpy.config.kinds import Setting

#: Settings whose checked values are remembered. `dataclasses.replace` checks all values again, and
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


@lru_cache(_REMEMBERED, typed=True)
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
