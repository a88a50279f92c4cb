"""Conditions as expressions of FTS5's MATCH. Only tokens in quotes come from the query's text."""

from collections.abc import Iterable

from larbinpy.database.conditions import AllOf, AnyOf, Condition, Within, plain
from larbinpy.search.query import Form, Item


def expression(condition: Condition, unwanted: Iterable[Item] = ()) -> str:
    """The expression that matches `condition` without the `unwanted`; "" matches nothing."""
    wanted = _compile(condition)
    without = _join(" OR ", [_item(item) for item in unwanted]) if wanted else ""
    return f"{wanted} NOT {without}" if without else wanted


def _compile(condition: Condition) -> str:
    match condition:
        case Item():
            return _item(condition)
        case Within(columns, part):
            inner = _compile(part)
            return f"({{{' '.join(columns)}}} : {inner})" if inner else ""
        case AllOf(parts):
            compiled = [_compile(part) for part in parts]
            return _join(" AND ", compiled) if all(compiled) else ""
        case AnyOf(parts):
            return _join(" OR ", [_compile(part) for part in parts])


def _join(operator: str, parts: list[str]) -> str:
    used = [part for part in parts if part]
    return used[0] if len(used) == 1 else f"({operator.join(used)})" if used else ""


def _item(item: Item) -> str:
    forms = _join(" OR ", [_form(form) for form in item.forms])
    return f"({{{item.field}}} : {forms})" if forms and item.field else forms


def _form(form: Form) -> str:
    text = plain(form)
    return f'"{text}"' + (" *" if form.prefix else "") if text else ""
