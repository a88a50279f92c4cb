"""Reads what style sheets and `style` attributes declare, as far as it can hide text.

It is no complete parser of CSS: escapes, nested rules and braces within strings are not
understood. Sheets are searched for the few rules that matter, because most of a sheet is about
other things.
"""

import re
from bisect import bisect
from collections.abc import Iterable, Iterator
from functools import cache, cached_property, lru_cache

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
