"""Reads what style sheets and `style` attributes declare, as far as it can hide text.

It is no complete parser of CSS: escapes, nested rules and braces within strings are not
understood. Sheets are searched for the few rules that matter, because most of a sheet is about
other things.
"""

import re
from bisect import bisect
from collections.abc import Iterable, Iterator
from functools import cache, cached_property, lru_cache
from typing import NamedTuple

import re2

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
_HIDING = re2.compile(_HIDES.encode(), _OPTIONS)
_COMMENT = re.compile(r"/\*.*?(?:\*/|\Z)", re.DOTALL)
#: At-rules around other rules. Those that do not end with `_END` are rare, and make rules in the
#: rest of the sheet conditional.
_AT_RULE = re.compile(r"@(?:media|container|(?:-\w+-)?keyframes)\b[^{};]*+\{")
_END = re.compile(r"\}\s*+\}")
#: At-rules in which rules apply to every reader with a screen, and those in which to some.
_ALL_SCREENS = re.compile(r"@media\s*+(?:(?:only\s++)?(?:screen|all)\s*+)?(?:,|\{)")
_SOME_SCREENS = re.compile(r"@(?:media(?!\s++print\s*+\{)|container)")
#: Characters of a list of selectors with brackets; splitting takes the square of it.
_LONGEST = 4000
#: A list of selectors is split at the commas that stand in no parentheses or brackets.
_SELECTOR = re.compile(r"(?:[^,()\[\]]++|\((?:[^()]++|\([^()]*+\))*+\)|\[[^\]]*+\])++")
_GROUPED = re.compile(r"\((?:[^()]++|\([^()]*+\))*+\)|\[[^\]]*+\]")
_PSEUDO = re.compile(r":(?!not\b|is\b|where\b|root\b|first-|last-|nth-|only-|empty\b)")
_NAME = re.compile(r"[.#][\w-]+")
_TYPE = re.compile(r"(?:^|[\s>+~])[a-zA-Z]")


class Block(NamedTuple):
    """A rule of a style sheet: its selectors and declarations, the latter in lower case."""

    selectors: str
    body: str
    #: Whether every reader with a screen gets it: no condition on the width of the window.
    always: bool
    #: Where it stands in the sheet.
    at: int


class Selector(NamedTuple):
    """One selector of a list."""

    text: str
    specificity: tuple[int, int, int]


class Sheet:
    """A style sheet that can be searched for its few rules that matter."""

    def __init__(self, css: str, media: str | None) -> None:
        """`media` is the attribute of the element of the sheet."""
        if "/*" in css:
            css = _COMMENT.sub("", css)
        if media:
            css = f"@media {media}{{{css}}}"
        self._css = css
        lower = css.lower()
        self._lower = lower if len(lower) == len(css) else css
        self._declaring: dict[str, list[Block]] = {}

    @cached_property
    def _conditions(self) -> list[tuple[int, bool | None]]:
        """Where conditions begin and end: whether rules apply always; None: not on a screen."""
        found: list[tuple[int, bool | None]] = [(0, True)]
        end = 0
        while opening := _AT_RULE.search(self._lower, end):
            close = _END.search(self._lower, opening.end())
            end = close.end() if close else len(self._lower)
            if not _ALL_SCREENS.match(opening[0]):
                found.append((opening.end(), False if _SOME_SCREENS.match(opening[0]) else None))
                found.append((end, True))
        return found

    @cached_property
    def hiding(self) -> list[Block]:
        """The rules that may hide elements."""
        # One byte a character, so places in it are places in the text.
        found = _HIDING.finditer(self._lower.encode("latin-1", "replace"))
        return list(self._blocks(match.start() for match in found))

    def declaring(self, name: str) -> list[Block]:
        """Return the rules that declare the property `name`, except those that are `none`."""
        if name not in self._declaring:
            found = _declaring(name).finditer(self._lower)
            self._declaring[name] = list(self._blocks(match.start() for match in found))
        return self._declaring[name]

    def _blocks(self, places: Iterable[int]) -> Iterator[Block]:
        """Yield the rules that declare something at `places`, and apply on a screen."""
        css, closed = self._lower, 0
        for at in places:
            if at < closed:
                continue
            open_ = css.rfind("{", closed, at)
            closed = css.find("}", at) + 1
            if open_ < 0 or not closed:
                continue
            begin = css.rfind("}", 0, open_) + 1
            begin = max(begin, css.rfind("{", begin, open_) + 1, css.rfind(";", begin, open_) + 1)
            always = self._conditions[bisect(self._conditions, begin, key=_place) - 1][1]
            prelude = self._css[begin:open_].strip()
            if always is not None and prelude and prelude[0] != "@":
                yield Block(prelude, css[open_ + 1 : closed - 1], always, open_)


@cache
def _declaring(name: str) -> re.Pattern[str]:
    return re.compile(rf"{name}\s*+:(?!\s*+none\b)")


def _place(condition: tuple[int, bool | None]) -> int:
    return condition[0]


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


def selectors(text: str, names: set[str]) -> Iterator[Selector]:
    """Yield the selectors of a list that may match an element of a page as it is.

    `names` are the classes and ids of the page, with a dot or a hash. Selectors with `:hover` and
    the like match none as it is.
    """
    grouped = "(" in text or "[" in text
    if grouped and len(text) > _LONGEST:
        return
    for each in _SELECTOR.findall(text) if grouped else text.split(","):
        plain = _GROUPED.sub("", each) if grouped else each
        own = _NAME.findall(plain)
        if not names.issuperset(own) or (":" in plain and _PSEUDO.search(plain)):
            continue
        if each := each.strip():
            ids = sum(name[0] == "#" for name in own)
            classes = len(own) - ids + each.count("[") + plain.count(":")
            yield Selector(each, (ids, classes, len(_TYPE.findall(plain))))
