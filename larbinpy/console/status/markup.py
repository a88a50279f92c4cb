"""HTML that is safe from injection: a str becomes markup only through `el`."""

import re
from collections.abc import Iterable
from functools import cache
from html import escape

from larbinpy.console.text import printable, readable

#: Characters that a page shows of a text; a URL may have 8,000.
_LONGEST = 300

#: Short printable ASCII without markup characters, as most texts are: needs no escaping.
_PLAIN = re.compile(rf"[ !#-%(-;=?-~]{{0,{_LONGEST}}}")

_VOID = frozenset({"meta", "link", "br", "input"})

_COLUMNS = {"#": "n", "*": "w"}
#: A table with this many columns is too wide for a phone.
_WIDE = 5

_NAME = re.compile(r"[a-zA-Z][a-zA-Z0-9:-]*")


class Html(str):
    """Markup made by this module; `el` does not escape it again."""

    __slots__ = ()


Child = str | int | float | None


def text(value: object) -> Html:
    """`value` as safe text: markup and unsafe characters escaped, long text cut."""
    if isinstance(value, Html):
        return value
    shown = "" if value is None else str(value)
    if _PLAIN.fullmatch(shown):
        return Html(shown)
    return Html(escape(printable(shown, _LONGEST)))


def prose(value: str) -> Html:
    """Stored text of any length for readers: markup escaped, unsafe characters left out."""
    return Html(escape(readable(value)))


def join(children: Iterable[Child]) -> Html:
    """The concatenated children, without those that are None."""
    return Html("".join(text(child) for child in children if child is not None))


def el(tag: str, *children: Child, **attributes: Child) -> Html:
    """An element. In attribute names one trailing ``_`` is dropped and others become ``-``;
    attributes that are None are left out.
    """
    head = [tag]
    for name, value in attributes.items():
        if value is not None:
            head.append(f'{_attribute(name)}="{text(value)}"')
    opening = f"<{' '.join(head)}>"
    return Html(opening if tag in _VOID else f"{opening}{join(children)}</{tag}>")


@cache
def _attribute(name: str) -> str:
    spelled = name.removesuffix("_").replace("_", "-")
    assert _NAME.fullmatch(spelled), spelled
    return spelled


def raw(tag: str, content: str) -> Html:
    """An element whose content is not escaped: the style sheet and the script only."""
    return Html(f"<{tag}>{content}</{tag}>")


def table(head: Iterable[str], rows: Iterable[Iterable[Child]], empty: str = "None.") -> Html:
    """A table; ``#`` at the start of a heading marks a column of numbers, ``*`` of long text.

    On narrow screens the style sheet breaks up the rows of wide tables, and each cell shows the
    heading of its column.
    """
    columns = [(name.lstrip("#*"), _COLUMNS.get(name[:1])) for name in head]
    is_wide = len(columns) >= _WIDE
    starts = [_cell(name if is_wide else None, kind) for name, kind in columns]
    body = [
        "".join(f"{start}{text(cell)}</td>" for start, cell in zip(starts, row, strict=True))
        for row in rows
    ]
    if not body:
        return el("p", empty, class_="none")
    heads = el("tr", *(el("th", name, scope="col", class_=kind) for name, kind in columns))
    lines = Html("".join(f"<tr>{row}</tr>" for row in body))
    whole = el("table", el("thead", heads), el("tbody", lines), class_="wide" if is_wide else None)
    return el("div", whole, class_="scroll")


def _cell(name: str | None, kind: str | None) -> str:
    """The opening tag of a cell; the same for all rows of a column."""
    return el("td", class_=kind, data_name=name).removesuffix("</td>")
