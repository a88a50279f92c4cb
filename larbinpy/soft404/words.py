"""The words of a page and of its URL, without what differs from reply to reply."""

import re
from collections import Counter
from collections.abc import Sequence
from itertools import chain
from typing import NamedTuple
from urllib.parse import unquote

from turbohtml import Element, Text

from larbinpy.page import Page
from larbinpy.parse.body import is_html
from larbinpy.parse.charset import decode, document

#: Bytes of a page that are compared.
COMPARED = 256 * 1024
_HTML = frozenset({"text/html", "application/xhtml+xml"})
_TEXTS = ("text/", "application/json", "application/xml")
#: Elements of which there are often as many as a site has to offer.
_LISTED = frozenset({"a", "li", "dd", "option"})
#: Runs of ASCII, and of other letters: a name may stand in a text without spaces.
_RUN = re.compile(r"[A-Za-z0-9]+|[^\W_A-Za-z0-9]+")
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")
#: Numbers, dates, and most identifiers and nonces have a digit.
_VARIABLE = re.compile(r"\d").search
#: An identifier of several parts, such as a UUID: some parts may have letters alone.
_IDENTIFIER = re.compile(r"\b[0-9a-f]{2,32}+(?:[-:][0-9a-f]{2,32}+){3,}+\b", re.IGNORECASE)
#: Longer words (characters) are identifiers, too.
_LONGEST_WORD = 40
#: Numbers that may be all that an error page says.
_STATUSES = frozenset({"404", "410"})
#: Parts of a URL in other letters than ASCII that are looked for in its page, the last ones.
_MOST_NAMES = 4


class Run(NamedTuple):
    """A text without elements in it."""

    words: tuple[str, ...]
    #: Whether it is a link, or an item of a list.
    listed: bool = False


class Shown(NamedTuple):
    """The content of a page: its texts, in their order, and its elements with their numbers."""

    runs: list[Run]
    elements: Counter[str]

    @property
    def words(self) -> Counter[str]:
        """The words of all texts, with their numbers."""
        return Counter(chain.from_iterable(run.words for run in self.runs))


def shown_by(page: Page) -> Shown | None:
    """The content of the beginning of `page`; None if it is no text."""
    body, charset = page.body[:COMPARED], page.http_charset
    elements: Counter[str] = Counter()
    if page.type in _HTML or is_html(page):
        texts = []
        for node in document(body, charset).descendants:
            if type(node) is Element:
                elements[node.tag] += 1
            elif type(node) is Text and type(parent := node.parent) is Element and _shows(parent):
                texts.append((node.data, parent.tag in _LISTED))
    elif page.type.startswith(_TEXTS) or page.type.endswith(("+json", "+xml")):
        texts = [(text, False) for text in decode(body, charset)[0].splitlines()]
    else:
        return None
    names = [part for part in _parts(page.url.href) if not part.isascii()][-_MOST_NAMES:]
    runs = [Run(words, listed) for text, listed in texts if (words := _words_of(text, names))]
    return Shown(runs, elements)


def _shows(element: Element) -> bool:
    """Whether the text in `element` is shown, or is data that a script may show."""
    if element.tag == "script":
        return (element.attr("type") or "").lower().endswith("json")
    return element.tag != "style"


def _words_of(text: str, names: Sequence[str]) -> tuple[str, ...]:
    """The words of `text`; each of `names` is one, even in a text without spaces."""
    for name in names:
        text = text.replace(name, f" {name} ")
    text = _IDENTIFIER.sub(" ", text)
    return tuple(
        word.lower()
        for word in _RUN.findall(text)
        if len(word) <= _LONGEST_WORD and (not _VARIABLE(word) or word in _STATUSES)
    )


def own_words(href: str) -> frozenset[str]:
    """The words that a page may show because they are in its URL, which it repeats."""
    words = set(_RUN.findall(href))
    for part in _parts(href):
        words.update(_RUN.findall(part))
        words.update(_RUN.findall(_CAMEL.sub(" ", part)))
        words.add("".join(_RUN.findall(part)))
    return frozenset(word.lower() for word in words)


def _parts(href: str) -> list[str]:
    """The segments of the path and of the query, without escapes."""
    path = href.partition("//")[2].partition("/")[2]
    return [unquote(part) for part in re.split(r"[/?&=]", path) if part]
