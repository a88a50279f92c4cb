"""Finds text in the colour of its background, which a reader cannot see."""

from collections.abc import Iterable, Iterator
from itertools import chain, islice

from turbohtml import Document, Element, Node

from larbinpy.content import visibility
from larbinpy.content.hidden import Sheets, Styled
from larbinpy.content.styles import Declarations, declarations
from larbinpy.content.visibility import Color, color, same_color

_WHITE = (255, 255, 255)
#: Elements around one that are looked at for their background.
_LEVELS = 64
#: Elements with a colour that are looked at.
_COLORED = 2000
#: Elements within those without a readable colour that are looked at.
_INNER = 20_000


def unreadable(tree: Document, sheets: Sheets, styled: list[Styled]) -> Iterator[Element]:
    """Yield elements whose text has the colour of what is behind it.

    Elements in them that have a colour of their own are moved before them. Text is taken as
    readable if the background is a picture, is declared in a linked sheet, or is not declared at
    all on a page with linked sheets.
    """
    styles = [
        (each, declarations(text)) for each, text in styled if "color" in text or "back" in text
    ]
    colors = dict(islice(_colors(tree, sheets, styles), _COLORED))
    canvas = None if sheets.linked else _WHITE
    if not colors or (canvas is None and not _suspects(colors, _own_backgrounds(tree, styles))):
        return
    behind = dict(_backgrounds(tree, sheets, styles))
    suspects = _suspects(colors, chain(behind.items(), ((tree, canvas),)))
    left = _INNER
    for element, own in colors.items():
        if own in suspects and element.parent is not None:
            ground = _ground(element, behind, canvas)
            if ground is not None and same_color(own, ground):
                inner = list(islice(element.iter_elements(), left + 1))
                left -= len(inner)
                if left < 0:
                    return
                for each in inner:
                    if each in colors or each in behind or _is_link(each):
                        element.insert_before(each)
                yield element


def _suspects(
    colors: dict[Element, Color], backgrounds: Iterable[tuple[Node, Color | None]]
) -> set[Color]:
    """Return the colours of text that some background has."""
    known = {each for _, each in backgrounds if each is not None}
    return {each for each in set(colors.values()) if any(same_color(each, one) for one in known)}


def _is_link(element: Element) -> bool:
    """Whether it has a colour of its own, the one of links."""
    return element.tag == "a" and "href" in element.attrs


def _ground(
    element: Element, behind: dict[Element, Color | None], canvas: Color | None
) -> Color | None:
    for each in islice(chain((element,), element.ancestors), _LEVELS):
        if not isinstance(each, Element):
            return canvas
        if each in behind:
            return behind[each]
    return None


def _colors(
    tree: Document, sheets: Sheets, styles: list[tuple[Element, Declarations]]
) -> Iterator[tuple[Element, Color]]:
    """Yield elements with the colour of their text, the one that counts last."""
    # Linked sheets may say otherwise.
    rules = () if sheets.linked else sheets.declaring("color")
    for rule in sorted((each for each in rules if each.always), key=lambda each: each.precedence):
        found = color(rule.style.get("color"))
        if found is not None and not visibility.is_clipped_background(rule.style):
            for element in sheets.select(tree, rule.selector):
                yield element, found
    for element in tree.iter_elements("font"):
        found = color((element.attr("color") or "").lower())
        if found is not None:
            yield element, found
    for element, style in styles:
        found = color(style.get("color"))
        if found is not None and not visibility.is_clipped_background(style):
            yield element, found


def _backgrounds(
    tree: Document, sheets: Sheets, styles: list[tuple[Element, Declarations]]
) -> Iterator[tuple[Element, Color | None]]:
    """Yield elements with their background, the one that counts last; None: a picture."""
    names = ("background", "background-color", "background-image")
    rules = sorted(
        chain.from_iterable(sheets.declaring(name) for name in names),
        key=lambda each: each.precedence,
    )
    for rule in rules:
        if visibility.has_background(rule.style):
            found = visibility.background(rule.style) if rule.always else None
            for element in sheets.select(tree, rule.selector):
                yield element, found
    yield from _own_backgrounds(tree, styles)


def _own_backgrounds(
    tree: Document, styles: list[tuple[Element, Declarations]]
) -> Iterator[tuple[Element, Color | None]]:
    for element in tree.select("[bgcolor]"):
        yield element, color((element.attr("bgcolor") or "").lower())
    for element, style in styles:
        if visibility.has_background(style):
            yield element, visibility.background(style)
