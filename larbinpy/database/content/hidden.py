"""Removes from a tree what a reader cannot see: what HTML or CSS hides, and what is no text.

The style sheets of the page itself count, and `style` attributes; linked sheets are other pages.
A rule hides an element if it applies to every reader with a screen, and if no rule that goes
before it shows the element on any screen. Menus, tabs and answers that a script opens are hidden
where the page hides them; `<details>` opens without a script and is shown. Text in the colour of
its background is hidden, too (`unreadable`).

The reader of CSS (`sheet`, `declarations`) is no complete parser: escapes, nested rules and braces
within strings are not understood. Sheets are searched for the few rules that matter, because most
of a sheet is about other things.
"""

import re
from bisect import bisect
from collections.abc import Callable, Iterable, Iterator
from functools import cache, cached_property, lru_cache
from itertools import chain, islice
from typing import NamedTuple

import re2
from turbohtml import Document, Element, Node, SelectorSyntaxError, Text

#: Values of properties by their names, both in lower case.
Declarations = dict[str, str]

#: Characters of a sheet that is kept for the next page.
_SHORT = 1 << 16
_SMALL = r"(?:height|width)\s*:\s*[01](?:\.0*)?(?:px|em|rem|%)?\s*[;}!]"
#: Declarations that may hide an element.
_HIDES = (
    r"display\s*:\s*none|visibility\s*:\s*(?:hidden|collapse)|clip(?:-path)?\s*:"
    r"|text-indent\s*:\s*-|font-size\s*:\s*0|(?:left|right|top|bottom)\s*:\s*(?:-\d{3}|\d{4})"
    r"|transform\s*:[^;}]*(?:scale\w*\(\s*0|-\d{3})"
    rf"|{_SMALL}[^}}]*overflow|overflow[^}}]*{_SMALL}"
    r"|[\s;{]color\s*:[^}]*background|background[^}]*[\s;]color\s*:"
)
_OPTIONS = re2.Options()
_OPTIONS.encoding = re2.Options.Encoding.LATIN1
_OPTIONS.case_sensitive = False
_HIDING = re2.compile(_HIDES.encode(), _OPTIONS)
_COMMENT = re.compile(r"/\*.*?(?:\*/|\Z)", re.DOTALL)
#: At-rules around other rules. Those that do not end with `_END` are rare, and make rules in the
#: rest of the sheet conditional.
_AT_RULE = re.compile(r"@(?:media|container|(?:-\w+-)?keyframes)\b[^{};]*+\{", re.IGNORECASE)
_END = re.compile(r"\}\s*+\}")
#: At-rules in which rules apply to every reader with a screen, and those in which to some.
_ALL_SCREENS = re.compile(r"@media\s*+(?:(?:only\s++)?(?:screen|all)\s*+)?(?:,|\{)", re.IGNORECASE)
_SOME_SCREENS = re.compile(r"@(?:media(?!\s++print\s*+\{)|container)", re.IGNORECASE)
#: Characters of a list of selectors with brackets; splitting takes the square of it.
_LONGEST = 4000
#: A list of selectors is split at the commas that stand in no parentheses or brackets.
_SELECTOR = re.compile(r"(?:[^,()\[\]]++|\((?:[^()]++|\([^()]*+\))*+\)|\[[^\]]*+\])++")
_GROUPED = re.compile(r"\((?:[^()]++|\([^()]*+\))*+\)|\[[^\]]*+\]")
_PSEUDO = re.compile(r":(?!not\b|is\b|where\b|root\b|first-|last-|nth-|only-|empty\b)")
_NAME = re.compile(r"[.#][\w-]+")
_TYPE = re.compile(r"(?:^|[\s>+~])[a-zA-Z]")


#: One selector of a list: as it stands there, without what stands in brackets, and its classes and
#: ids with a dot or a hash.
Selector = tuple[str, str, list[str]]


class Block:
    """A rule of a style sheet."""

    __slots__ = ("_body", "_style", "at", "selectors")

    def __init__(self, prelude: str, body: str, at: int) -> None:
        self._body = body
        self._style: Declarations | None = None
        #: Its place in the sheet.
        self.at = at
        #: The selectors that may match an element of a page as it is.
        self.selectors = selectors(prelude)

    @property
    def style(self) -> Declarations:
        """Its declarations."""
        if self._style is None:
            self._style = declarations(self._body.lower())
        return self._style

    @property
    def is_important(self) -> bool:
        """Whether a declaration of it counts more than those of other rules."""
        return "!important" in self._body


class Sheet:
    """A style sheet that can be searched for its few rules that matter."""

    def __init__(self, css: str, media: str | None) -> None:
        """`media` is the attribute of the element of the sheet."""
        if "/*" in css:
            css = _COMMENT.sub("", css)
        if media:
            css = f"@media {media}{{{css}}}"
        self._css = css
        self._declaring: dict[str, list[Block]] = {}
        self._blocks: dict[int, Block | None] = {}

    @cached_property
    def _conditions(self) -> tuple[list[int], list[bool | None]]:
        """The ends of conditions; whether rules after each apply always, None: on no screen."""
        places: list[int] = [0]
        found: list[bool | None] = [True]
        end = 0
        while opening := _AT_RULE.search(self._css, end):
            close = _END.search(self._css, opening.end())
            end = close.end() if close else len(self._css)
            if not _ALL_SCREENS.match(opening[0]):
                places += (opening.end(), end)
                found += (False if _SOME_SCREENS.match(opening[0]) else None, True)
        return places, found

    def applies(self, block: Block) -> bool | None:
        """Whether every reader with a screen gets a rule; None if none of them does."""
        places, found = self._conditions
        return found[bisect(places, block.at) - 1]

    @cached_property
    def hiding(self) -> list[Block]:
        """The rules that may hide elements."""
        # One byte a character, so places in it are places in the text.
        found = _HIDING.finditer(self._css.encode("latin-1", "replace"))
        return list(self._found(match.end() - 1 for match in found))

    @cached_property
    def _lower(self) -> str:
        lower = self._css.lower()
        return lower if len(lower) == len(self._css) else self._css

    def declaring(self, name: str) -> list[Block]:
        """Return the rules that declare the property `name`, except those that are `none`."""
        if name not in self._declaring:
            found = _declaring(name).finditer(self._lower)
            self._declaring[name] = list(self._found(match.start() for match in found))
        return self._declaring[name]

    def _found(self, places: Iterable[int]) -> Iterator[Block]:
        """Yield the rules with a declaration at `places`."""
        css, closed = self._css, 0
        for at in places:
            if at < closed:
                continue
            open_ = css.rfind("{", closed, at)
            closed = css.find("}", at) + 1
            if open_ < 0 or not closed:
                continue
            if open_ not in self._blocks:
                self._blocks[open_] = self._block(open_, closed - 1)
            block = self._blocks[open_]
            if block is not None:
                yield block

    def _block(self, open_: int, close: int) -> Block | None:
        css = self._css
        begin = css.rfind("}", 0, open_) + 1
        begin = max(begin, css.rfind("{", begin, open_) + 1, css.rfind(";", begin, open_) + 1)
        prelude = css[begin:open_].strip()
        if not prelude or prelude[0] == "@":
            return None
        return Block(prelude, css[open_ + 1 : close], open_)


@cache
def _declaring(name: str) -> re.Pattern[str]:
    # The name first, which is found faster, and then what is before it.
    return re.compile(rf"{name}(?<=[\s;{{]{name})\s*+:(?!\s*+none\b)")


def sheet(css: str, media: str | None) -> Sheet:
    """Return the style sheet `css`; `media` is the attribute of its element."""
    return _repeated(css, media) if len(css) <= _SHORT else Sheet(css, media)


#: The pages of a site have the same sheets.
_repeated = lru_cache(maxsize=64)(Sheet)


def declarations(body: str) -> Declarations:
    """Return what the body of a rule, or a `style` attribute, declares; in lower case."""
    found: Declarations = {}
    for each in body.split(";"):
        name, colon, value = each.partition(":")
        if colon:
            name, value = name.strip(), value.strip()
            # An important one is not overridden by a later one beside it.
            if not found.get(name, "").endswith("!important") or value.endswith("!important"):
                found[name] = value
    return found


def selectors(text: str) -> list[Selector]:
    """Return the selectors of a list that may match an element of a page as it is.

    Those with `:hover` and the like match none.
    """
    grouped = "(" in text or "[" in text
    if grouped and len(text) > _LONGEST:
        return []
    found = []
    for each in _SELECTOR.findall(text) if grouped else text.split(","):
        plain = _GROUPED.sub("", each) if grouped else each
        if (":" not in plain or not _PSEUDO.search(plain)) and (each := each.strip()):
            found.append((each, plain, _NAME.findall(plain)))
    return found


def specificity(selector: Selector) -> tuple[int, int, int]:
    """Return the weight of a selector against others: the greater one counts."""
    text, plain, names = selector
    ids = sum(name[0] == "#" for name in names)
    classes = len(names) - ids + text.count("[") + plain.count(":")
    return ids, classes, len(_TYPE.findall(plain))


#: Properties that decide together whether an element is shown.
Culprits = tuple[str, ...]

#: Pixels from the edge of the window, on which no part of a box shows any more.
_FAR = 500
_LENGTH = re.compile(r"([-+]?(?:\d+\.?\d*|\.\d+))(px|em|rem|ex|ch|pt|vw|vh|%)?(?![\w.%])")
_PIXELS = {"": 1.0, "px": 1, "em": 16, "rem": 16, "ex": 8, "ch": 8, "pt": 1.33, "vw": 13, "vh": 8}
_RECT = re.compile(r"rect\(([^)]*)\)")
_CLIPPED = re.compile(r"(?:inset\(\s*(?:[5-9]\d|100)%|circle\(\s*0|polygon\(\s*(?:0\w*[\s,]*)+\))")
_SCALED = re.compile(r"scale(?:3d|x|y)?\(\s*0(?:\.0+)?\s*[,)]")
_MOVED = re.compile(r"translate(?:3d|x|y)?\(([^)]*)\)")
_SHOWS_OVERFLOW = ("", "visible", "auto", "scroll", "initial", "unset", "revert")

_NAMED = {
    "white": (255, 255, 255),
    "black": (0, 0, 0),
    "red": (255, 0, 0),
    "green": (0, 128, 0),
    "lime": (0, 255, 0),
    "blue": (0, 0, 255),
    "yellow": (255, 255, 0),
    "gray": (128, 128, 128),
    "grey": (128, 128, 128),
    "silver": (192, 192, 192),
    "navy": (0, 0, 128),
    "maroon": (128, 0, 0),
    "purple": (128, 0, 128),
    "teal": (0, 128, 128),
    "aqua": (0, 255, 255),
    "cyan": (0, 255, 255),
    "fuchsia": (255, 0, 255),
    "magenta": (255, 0, 255),
    "olive": (128, 128, 0),
    "orange": (255, 165, 0),
    "pink": (255, 192, 203),
    "brown": (165, 42, 42),
    "gold": (255, 215, 0),
    "ivory": (255, 255, 240),
    "snow": (255, 250, 250),
    "beige": (245, 245, 220),
    "whitesmoke": (245, 245, 245),
    "ghostwhite": (248, 248, 255),
    "lightgray": (211, 211, 211),
    "lightgrey": (211, 211, 211),
    "darkgray": (169, 169, 169),
    "darkgrey": (169, 169, 169),
}
_NO_BACKGROUND = ("none", "transparent", "inherit", "initial", "unset", "0", "")
_RGB = re.compile(
    r"rgba?\(\s*([\d.]+%?)[\s,]+([\d.]+%?)[\s,]+([\d.]+%?)(?:[\s,/]+([\d.]+%?))?\s*\)"
)
_COLOR = re.compile(r"#[0-9a-f]{3,8}\b|rgba?\([^)]*\)|[a-z]+")
#: Steps of a channel, of 256, that no reader tells from each other.
_INDISTINCT = 8

Color = tuple[int, int, int]


def hidden_by(style: Declarations) -> Culprits:
    """Return the properties by which `style` hides an element with all in it; () if it does not.

    Opacity is not among them: pages fade in what they show.
    """
    get = style.get
    if _value(get("display")) == "none":
        return ("display",)
    if _value(get("content-visibility")) == "hidden":
        return ("content-visibility",)
    if _far(get("text-indent")) < 0:
        return ("text-indent",)
    if _value(get("position")) in ("absolute", "fixed"):
        for side in ("left", "top", "right", "bottom"):
            if _far(get(side)):
                return ("position", side)
        if _clipped(get("clip")):
            return ("position", "clip")
    if _CLIPPED.match(get("clip-path", "")):
        return ("clip-path",)
    for side in ("margin-left", "margin-top"):
        if _far(get(side)) < 0:
            return (side,)
    transform = get("transform")
    if transform and (_SCALED.search(transform) or _moved(transform)):
        return ("transform",)
    overflow = _value(get("overflow")) or _value(get("overflow-y")) or _value(get("overflow-x"))
    if overflow not in _SHOWS_OVERFLOW and not any(name.startswith("padding") for name in style):
        for side in ("height", "max-height", "width", "max-width"):
            length = pixels(get(side))
            if length is not None and length <= 1:
                return (side, "overflow")
    own = color(get("color")) if "color" in style and has_background(style) else None
    behind = background(style) if own else None
    if own and behind and same_color(own, behind) and not is_clipped_background(style):
        return ("color", "background", "background-color")
    return ()


def is_invisible(style: Declarations) -> bool:
    """Whether `style` hides the text of an element, but not of inner ones that say otherwise."""
    return _value(style.get("visibility")) in ("hidden", "collapse") or font_size(style) == 0


def is_visible(style: Declarations) -> bool:
    """Whether `style` shows an element within one that is invisible."""
    return _value(style.get("visibility")) == "visible" or bool(font_size(style))


def culprits_of(style: Declarations) -> Culprits:
    """Return the properties by which `style` hides text in one way or the other."""
    found = hidden_by(style)
    if found or not is_invisible(style):
        return found
    return ("visibility",) if font_size(style) != 0 else ("font-size",)


def font_size(style: Declarations) -> float | None:
    """Return the font size in pixels; None if it is not declared or relative."""
    if "font-size" in style:
        return pixels(style["font-size"])
    if "font" in style:
        sizes = [match for match in _LENGTH.finditer(style["font"]) if match[2] or match[1] == "0"]
        return pixels(sizes[0][0]) if sizes else None
    return None


def pixels(value: str | None) -> float | None:
    """Return a length in pixels, for letters of 16 pixels; None if it is none, or a share."""
    match = _LENGTH.match(value) if value else None
    if match is None:
        return None
    number = float(match[1])
    if match[2] == "%":
        return None if number else 0.0
    return number * _PIXELS[match[2] or ""]


def has_background(style: Declarations) -> bool:
    """Whether `style` puts something behind the text."""
    return any(
        style.get(name, "none").partition("!")[0].strip() not in _NO_BACKGROUND
        for name in ("background", "background-color", "background-image")
    )


def background(style: Declarations) -> Color | None:
    """Return the colour behind the text; None if it is not known, or a picture."""
    image = style.get("background-image", "") + style.get("background", "")
    if "(" in image.replace("rgb(", "").replace("rgba(", ""):
        return None
    return color(style.get("background-color")) or color(style.get("background"))


def is_clipped_background(style: Declarations) -> bool:
    """Whether the text is a window on its background, so that its colour does not show."""
    return any(name.endswith("background-clip") for name in style)


def color(value: str | None) -> Color | None:
    """Return the first colour in `value`; None if there is none, or one that is not known."""
    for match in _COLOR.finditer(value or ""):
        found = _color(match[0])
        if found is not None:
            return found
    return None


def same_color(one: Color, other: Color) -> bool:
    """Whether a reader cannot tell them from each other."""
    return all(abs(a - b) <= _INDISTINCT for a, b in zip(one, other, strict=True))


def _color(text: str) -> Color | None:
    if text[0] == "#":
        digits = text[1:]
        if len(digits) in (3, 4):
            digits = "".join(2 * digit for digit in digits)
        if len(digits) not in (6, 8) or digits[6:] not in ("", "ff"):
            return None
        return int(digits[:2], 16), int(digits[2:4], 16), int(digits[4:6], 16)
    match = _RGB.match(text)
    if match is None:
        return _NAMED.get(text)
    if match[4] not in (None, "1", "1.0", "100%"):
        return None
    red, green, blue = (
        min(255, round(float(each.rstrip("%")) * (2.55 if each.endswith("%") else 1)))
        for each in match.group(1, 2, 3)
    )
    return red, green, blue


def _value(text: str | None) -> str:
    return text.partition("!")[0].strip() if text else ""


def _far(text: str | None) -> int:
    """-1 or 1 if a length leads out of the window, else 0."""
    if not text or text[0] not in "-.0123456789":
        return 0
    length = pixels(text)
    if length is None:
        # A share of the box around it, which is most often the window.
        return -(text.startswith("-") and float(text.partition("%")[0]) <= -100)
    if abs(length) < _FAR:
        return 0
    # Boxes are placed far to the right or below on long pages; nobody needs 5,000 pixels.
    return -1 if length < 0 else int(length >= 10 * _FAR)


def _clipped(text: str | None) -> bool:
    match = _RECT.match(text) if text else None
    if match is None:
        return False
    sides = [pixels(each) for each in re.split(r"[\s,]+", match[1].strip())]
    return all(side is not None and abs(side) <= 1 for side in sides)


def _moved(transform: str) -> bool:
    match = _MOVED.search(transform)
    return match is not None and any(_far(each.strip()) for each in match[1].split(","))


#: Elements without text, or whose text browsers do not show.
_NO_TEXT = (
    *("head", "title", "script", "style", "noscript", "template", "noembed", "noframes"),
    *("iframe", "object", "video", "audio", "canvas", "desc", "metadata"),
    *("rp", "datalist", "annotation", "annotation-xml"),
)
#: Attributes by which HTML hides; `until-found` is shown when it is searched for.
_HIDDEN = "[hidden]:not([hidden=until-found]),dialog:not([open]),[popover]"
_WHOLE = ("html", "body", "main")
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
        self.linked = False
        self._tree = tree
        left = _SHEETS
        for element in tree.iter_elements(("link", "style")):
            if element.tag == "link":
                self.linked |= "stylesheet" in (element.attr("rel") or "").lower()
                continue
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


#: What shows an element that is hidden: a tab, or a button that opens an answer.
_OPENERS = (
    "[aria-controls],[data-target],[data-bs-target],[href^='#'][data-toggle],[href^='#'][role=tab]"
    ",[href^='#'][data-bs-toggle]"
)
#: Elements, each the first in another, of which one may open what follows: h3, button.
_HEADED = 3
#: Names of what opens text.
_OPENER = re.compile(r"accordion|collaps|toggle|expand|faq|question|spoiler", re.IGNORECASE)


def remove_unseen(
    tree: Document, opened: Callable[[Element], bool], covered: Callable[[Element], object]
) -> list[Element]:
    """Remove the elements that HTML hides, and those whose text is none; return the latter.

    Those that a click has `opened` are `covered`.
    """
    unseen = list(tree.iter_elements(_NO_TEXT))
    shadows = [each for each in unseen if each.tag == "template" and "shadowrootmode" in each.attrs]
    if shadows:
        for template in shadows:
            _open_shadow(template)
        unseen = list(tree.iter_elements(_NO_TEXT))
    for element in unseen:
        element.extract()
    for element in tree.select(_HIDDEN):
        if opened(element):
            covered(element)
        else:
            element.extract()
    return unseen


def _open_shadow(template: Element) -> None:
    """Put what a declarative shadow root shows in its place, with what stands in its slots."""
    host = template.parent
    if not isinstance(host, Element):
        return
    light = [each for each in host.children if each is not template]
    for slot in template.select("slot"):
        name = slot.attr("name") or ""
        for each in light:
            if name == ((each.attr("slot") or "") if isinstance(each, Element) else ""):
                slot.insert_before(each)
    for content in template.children:
        for each in content.children:
            template.insert_before(each)


class Openers:
    """Tells whether an element that is hidden is a panel of tabs, or an answer that opens."""

    def __init__(self, tree: Document) -> None:
        self._tree = tree

    @cached_property
    def _names(self) -> set[str | None]:
        return {
            name
            for each in self._tree.select(_OPENERS)
            for key in ("aria-controls", "data-target", "data-bs-target", "href")
            for name in (each.attr(key) or "").replace("#", "").split()
        }

    def __call__(self, element: Element) -> bool:
        if element.attr("role") == "tabpanel" or element.attr("id") in self._names:
            return True
        before = element.previous_sibling
        while isinstance(before, Text) and before.data.isspace():
            before = before.previous_sibling
        for _ in range(_HEADED):
            if not isinstance(before, Element):
                return False
            if is_opener(before):
                return True
            before = next((each for each in before.children if isinstance(each, Element)), None)
        return False


def is_opener(element: Element) -> bool:
    """Whether a click on an element opens the text behind it."""
    names = element.attrs
    return (
        "aria-expanded" in names
        or "aria-controls" in names
        or "data-toggle" in names
        or _OPENER.search(element.attr("class") or "") is not None
    )


def styled(tree: Document) -> list[Styled]:
    """Return the elements with a `style` attribute, and that in lower case."""
    return [(each, (each.attr("style") or "").lower()) for each in tree.select("[style]")]


def hidden(tree: Document, sheets: Sheets, styled: list[Styled]) -> Iterator[Element]:
    """Yield the elements that CSS hides, some of them within others.

    Elements within them that CSS shows are moved before them. Those around the whole page are not
    among them: many a page hides all of itself until its script has run.
    """
    inner = _Inner(sheets)
    for element, text in styled:
        if _HINT.search(text) and element.tag not in _WHOLE:
            style = declarations(text)
            if hidden_by(style):
                yield element
            elif is_invisible(style):
                inner.move_out(element, style)
                yield element
    for element, rule in _hidden_by_rules(tree, sheets):
        if is_invisible(rule.style):
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
            each for each in styled if is_visible(declarations((each.attr("style") or "").lower()))
        ]
        name = "font-size" if font_size(style) == 0 else "visibility"
        for rule in self._showing(name):
            shown += self._sheets.select(element, rule.selector)
        own = declarations((element.attr("style") or "").lower())
        if self._sheets.linked and font_size(own) == 0:
            # Lists are often without a size, to close the gaps between items that have one.
            shown += element.select("[class]")
        self._left -= len(shown)
        for each in shown:
            element.insert_before(each)

    def _showing(self, name: str) -> list[_Rule]:
        if name not in self._rules:
            found = self._sheets.declaring(name)
            self._rules[name] = [each for each in found if is_visible(each.style)]
        return self._rules[name]


def _hidden_by_rules(tree: Document, sheets: Sheets) -> Iterator[tuple[Element, _Rule]]:
    matches = _MATCHES
    others: dict[str, list[_Rule]] = {}
    for rule in sheets.hiding():
        culprits = culprits_of(rule.style) if rule.always else ()
        found = sheets.select(tree, rule.selector) if culprits else ()
        found = [each for each in found if each.tag not in _WHOLE and each.text.strip()]
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
            if not culprits_of(style):
                return False
    own = declarations((element.attr("style") or "").lower())
    style |= {name: own[name] for name in culprits if name in own}
    return bool(culprits_of(style))


def _matches(element: Element, selector: str) -> bool:
    try:
        return element.matches(selector)
    except SelectorSyntaxError:
        return False


_WHITE = (255, 255, 255)
#: Elements around one that are looked at for their background.
_LEVELS = 64
#: Elements with a colour that are looked at.
_COLORED = 2000
#: Elements within those without a readable colour that are looked at.
_MOST_INNER = 20_000


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
    left = _MOST_INNER
    for element, own in colors.items():
        if own in suspects and element.parent is not None and element.tag not in _WHOLE:
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
        if found is not None and not is_clipped_background(rule.style):
            for element in sheets.select(tree, rule.selector):
                yield element, found
    for element in tree.iter_elements("font"):
        found = color((element.attr("color") or "").lower())
        if found is not None:
            yield element, found
    for element, style in styles:
        found = color(style.get("color"))
        if found is not None and not is_clipped_background(style):
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
        if has_background(rule.style):
            found = background(rule.style) if rule.always else None
            for element in sheets.select(tree, rule.selector):
                yield element, found
    yield from _own_backgrounds(tree, styles)


def _own_backgrounds(
    tree: Document, styles: list[tuple[Element, Declarations]]
) -> Iterator[tuple[Element, Color | None]]:
    for element in tree.select("[bgcolor]"):
        yield element, color((element.attr("bgcolor") or "").lower())
    for element, style in styles:
        if has_background(style):
            yield element, background(style)
