"""HTML that cannot be injected into: a str becomes markup only through `el`."""

import re
from collections.abc import Iterable
from functools import cache
from html import escape

from larbinpy.console.text import printable

#: Characters of one piece of crawled text that a page shows; a URL may have 8,000.
_LONGEST = 300

#: Most text is: of printable ASCII without what markup is made of, and short.
_PLAIN = re.compile(rf"[ !#-%(-;=?-~]{{0,{_LONGEST}}}")

_VOID = frozenset({"meta", "link", "br", "input"})

_COLUMNS = {"#": "n", "*": "w"}
#: Columns from which on a table is too wide for a phone.
_WIDE = 5

_NAME = re.compile(r"[a-zA-Z][a-zA-Z0-9:-]*")


class Html(str):
    """Markup made by this module, which `el` therefore does not escape again."""

    __slots__ = ()


Child = str | int | float | None


def text(value: object) -> Html:
    """`value` as harmless text: escaped, controls spelled out, not longer than a page bears."""
    if isinstance(value, Html):
        return value
    shown = "" if value is None else str(value)
    if _PLAIN.fullmatch(shown):
        return Html(shown)
    return Html(escape(printable(shown, _LONGEST)))


def join(children: Iterable[Child]) -> Html:
    """The children one after the other; None is nothing."""
    return Html("".join(text(child) for child in children if child is not None))


def el(tag: str, *children: Child, **attributes: Child) -> Html:
    """An element. Attribute names lose one trailing ``_`` and write ``-`` for other ones;
    those that are None are left out.
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
    """An element whose content is the program's own and is not to be escaped (style)."""
    return Html(f"<{tag}>{content}</{tag}>")


def table(head: Iterable[str], rows: Iterable[Iterable[Child]], empty: str = "None.") -> Html:
    """A table; columns whose heading starts with ``#`` hold numbers, with ``*`` long text.

    Where a wide one has no room the style sheet breaks its rows up, and then each cell says
    what it is.
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
    """How a cell of a column begins; the same for all rows, which may be many."""
    return el("td", class_=kind, data_name=name).removesuffix("</td>")
