"""Removes from a tree what a reader cannot see: what HTML or CSS hides, and what is no text.

The style sheets of the page itself count, and `style` attributes; linked sheets are other pages.
A rule hides an element if it applies to every reader with a screen, and if no rule that goes
before it shows the element on any screen. Menus, tabs and answers that a script opens are hidden
where the page hides them; `<details>` opens without a script and is shown.
"""

import re
from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import NamedTuple

from turbohtml import Document, Element, Node, SelectorSyntaxError

from larbinpy.content import visibility
from larbinpy.content.styles import Block, Declarations, Sheet, declarations, sheet, specificity

#: Elements without text, or whose text browsers do not show.
_NO_TEXT = (
    *("head", "title", "script", "style", "noscript", "template", "noembed", "noframes"),
    *("iframe", "object", "video", "audio", "canvas", "desc", "metadata"),
    *("rp", "datalist", "annotation", "annotation-xml"),
)
#: Attributes by which HTML hides; `until-found` is shown when it is searched for.
_HIDDEN = "[hidden]:not([hidden=until-found]),dialog:not([open]),[popover]"
#: A part of every `style` attribute that may hide.
_HINT = re.compile(
    r":\s*+(?:none|hidden|collapse|-\d{3}|\d{4}|rect|inset|circle|polygon|scale|translate)"
    r"|clip|font(?:-size)?\s*:\s*0"
)
#: Bounds of the work for a page. What is beyond them hides nothing, or is not shown again. One page
#: in ten has more style sheets than 64 kB; they took half of the time of all pages.
_SHEETS = 1 << 16
_SELECTORS = 300
_MATCHES = 20_000
_INNER = 20_000


#: An element with its `style` attribute in lower case.
Styled = tuple[Element, str]


class _Rule(NamedTuple):
    """A selector that some element of the page may match, and what is declared for it."""

    selector: str
    #: Importance, specificity, number of the sheet, place in it: the greater one counts.
    precedence: tuple[bool, tuple[int, int, int], int, int]
    style: Declarations
    always: bool


class Sheets:
    """The style sheets of a page."""

    def __init__(self, tree: Document) -> None:
        self._sheets: list[Sheet] = []
        #: Whether it has others, which are not known.
        self.linked = any(
            "stylesheet" in (element.attr("rel") or "").lower()
            for element in tree.iter_elements("link")
        )
        self._tree = tree
        left = _SHEETS
        for element in tree.iter_elements("style"):
            css = element.text
            left -= len(css)
            if left >= 0 and "{" in css:
                self._sheets.append(sheet(css, element.attr("media")))

    @cached_property
    def _names(self) -> set[str]:
        """The classes and ids of the page, with a dot or a hash."""
        names: set[str] = set()
        # Those of <html> and <body> change when a script runs.
        for body in self._tree.iter_elements("body"):
            classes = {each.attr("class") or "" for each in body.select("[class]")}
            names.update([f".{name}" for name in set(" ".join(classes).split())])
            names.update([f"#{each.attr('id') or ''}" for each in body.select("[id]")])
        return names

    def hiding(self) -> Iterator[_Rule]:
        """Yield the rules that may hide elements of the page."""
        return self._rules(each.hiding for each in self._sheets)

    def declaring(self, name: str) -> Iterator[_Rule]:
        """Yield the rules that declare the property `name` and may match elements of the page."""
        return self._rules(each.declaring(name) for each in self._sheets)

    def _rules(self, found: Iterable[list[Block]]) -> Iterator[_Rule]:
        left = _SELECTORS
        for number, blocks in enumerate(found):
            for block in blocks:
                some = [each for each in block.selectors if self._names.issuperset(each[2])]
                always = self._sheets[number].applies(block) if some else None
                if always is None:
                    continue
                left -= len(some)
                if left < 0:
                    return
                for each in some:
                    precedence = (block.is_important, specificity(each), number, block.at)
                    yield _Rule(each[0], precedence, block.style, always)

    @staticmethod
    def select(node: Node, selector: str) -> list[Element]:
        """Return the elements in `node` that a selector of a sheet means."""
        try:
            return node.select(selector)
        except SelectorSyntaxError:
            return []


def remove_unseen(tree: Document) -> None:
    """Remove the elements that HTML hides, and those whose text is none: scripts, styles."""
    for element in list(tree.iter_elements(_NO_TEXT)):
        element.extract()
    tree.remove(_HIDDEN)


def styled(tree: Document) -> list[Styled]:
    """Return the elements with a `style` attribute, and that in lower case."""
    return [(each, (each.attr("style") or "").lower()) for each in tree.select("[style]")]


def hidden(tree: Document, sheets: Sheets, styled: list[Styled]) -> Iterator[Element]:
    """Yield the elements that CSS hides, some of them within others.

    Elements within them that CSS shows are moved before them.
    """
    inner = _Inner(sheets)
    for element, text in styled:
        if _HINT.search(text):
            style = declarations(text)
            if visibility.hidden_by(style):
                yield element
            elif visibility.is_invisible(style):
                inner.move_out(element, style)
                yield element
    for element, rule in _hidden_by_rules(tree, sheets):
        if visibility.is_invisible(rule.style):
            inner.move_out(element, rule.style)
        yield element


class _Inner:
    """The elements that are shown within those that are not."""

    def __init__(self, sheets: Sheets) -> None:
        self._sheets = sheets
        self._rules: dict[str, list[_Rule]] = {}
        self._left = _INNER

    def move_out(self, element: Element, style: Declarations) -> None:
        """Move what is shown in `element`, which `style` makes invisible, before it."""
        if element.parent is None or self._left < 0:
            return
        styled = element.select("[style]")
        self._left -= 1 + len(styled)
        shown = [
            each
            for each in styled
            if visibility.is_visible(declarations((each.attr("style") or "").lower()))
        ]
        name = "font-size" if visibility.font_size(style) == 0 else "visibility"
        for rule in self._showing(name):
            shown += self._sheets.select(element, rule.selector)
        own = declarations((element.attr("style") or "").lower())
        if self._sheets.linked and visibility.font_size(own) == 0:
            # Lists are often without a size, to close the gaps between items that have one.
            shown += element.select("[class]")
        self._left -= len(shown)
        for each in shown:
            element.insert_before(each)

    def _showing(self, name: str) -> list[_Rule]:
        if name not in self._rules:
            found = self._sheets.declaring(name)
            self._rules[name] = [each for each in found if visibility.is_visible(each.style)]
        return self._rules[name]


def _hidden_by_rules(tree: Document, sheets: Sheets) -> Iterator[tuple[Element, _Rule]]:
    matches = _MATCHES
    others: dict[str, list[_Rule]] = {}
    for rule in sheets.hiding():
        culprits = visibility.culprits(rule.style) if rule.always else ()
        found = sheets.select(tree, rule.selector) if culprits else ()
        found = [element for element in found if element.text.strip()]
        if not found:
            continue
        rivals: list[_Rule] = []
        for name in culprits:
            if name not in others:
                others[name] = list(sheets.declaring(name))
            rivals += [each for each in others[name] if each.precedence > rule.precedence]
        rivals.sort(key=lambda each: each.precedence)
        for element in found:
            matches -= len(rivals)
            if matches < 0:
                return
            if _stays(element, rule, culprits, rivals):
                yield element, rule


def _stays(element: Element, rule: _Rule, culprits: Iterable[str], rivals: list[_Rule]) -> bool:
    """Whether `rule` hides `element` in spite of `rivals`, which count more, on every screen."""
    style = dict(rule.style)
    for other in rivals:
        if _matches(element, other.selector):
            style |= {name: other.style[name] for name in culprits if name in other.style}
            if not visibility.culprits(style):
                return False
    own = declarations((element.attr("style") or "").lower())
    style |= {name: own[name] for name in culprits if name in own}
    return bool(visibility.culprits(style))


def _matches(element: Element, selector: str) -> bool:
    try:
        return element.matches(selector)
    except SelectorSyntaxError:
        return False
