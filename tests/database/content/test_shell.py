"""Pages of the suite main-text (WCXB) whose shell changes: how often that changes the main text.

In a piece of text that people did not mark as main text, the digits become others, as those of
dates, counters and prices do.
"""

import re
from collections import defaultdict
from random import Random
from statistics import mean
from typing import Any

import lxml.html
import pytest
from experiments.contents import Case, cases

from larbinpy.database.content import read
from larbinpy.database.preparation import text_hash
from larbinpy.page import Page
from tests.support.contents import AT
from tests.support.suites import suite

pytestmark = pytest.mark.slow

#: Pieces of a page that are changed, one at a time.
_PIECES = 8
_TYPE = "text/html; charset=utf-8"
_UNSEEN = ("script", "style", "title", "noscript", "template")


def _digits(tree: Any, main: str) -> list[tuple[Any, str, str]]:
    """The pieces of text with digits that are not in `main`: element, attribute, text."""
    return [
        (element, name, text)
        for element in tree.iter(lxml.etree.Element)
        if element.tag not in _UNSEEN
        for name in ("text", "tail")
        if (text := getattr(element, name))
        and re.search(r"\d", text)
        and " ".join(text.split()) not in main
    ]


def _hash(tree: Any, case: Case) -> int:
    body = lxml.html.tostring(tree, encoding="utf-8")
    page = Page(case.page.url, case.page.outcome, 200, [("content-type", _TYPE)], body)
    return text_hash(read(page, AT).text)


def _unchanged(case: Case, random: Random) -> list[bool]:
    """For some pieces of the shell, each changed alone: whether the main text stays."""
    parser = lxml.html.HTMLParser(encoding="utf-8")
    body = case.page.body.decode("utf-8", "replace").encode()
    tree = lxml.html.fromstring(body, parser=parser)
    pieces = _digits(tree, " ".join((case.truth["main_content"] or "").split()))
    before = _hash(tree, case) if pieces else 0
    found = []
    for element, name, text in random.sample(pieces, min(_PIECES, len(pieces))):
        setattr(element, name, re.sub(r"\d", lambda digit: str((int(digit[0]) + 3) % 10), text))
        found.append(_hash(tree, case) == before)
        setattr(element, name, text)
    return found


def test_the_shell_of_most_pages_is_not_their_main_text() -> None:
    """75 %. The rest are prices, and times of posts, that larbinpy takes for text."""
    random = Random(5)
    kinds: dict[str, list[bool]] = defaultdict(list)
    for case in cases(suite("main-text")):
        kinds[case.kind] += _unchanged(case, random)
    print({kind: f"{mean(found):.2f} of {len(found)}" for kind, found in kinds.items()})
    assert mean(each for found in kinds.values() for each in found) >= 0.72
    assert mean(kinds["article"]) >= 0.84
    assert mean(kinds["collection"]) >= 0.88
