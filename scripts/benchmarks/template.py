"""A page of some documentation as a template: its markup, with slots for links and words.

Everything that makes the page expensive to parse stays: tags, attributes, scripts, odd
spellings. Only the targets of links and every eighth word are replaced.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import Enum

#: A comment, a script or style sheet with its tags, or a tag.
_MARKUP = re.compile(
    rb"<!--.*?-->|<(script|style)\b[^>]*>.*?</\1\s*>|</?[a-z!][^<>]*>", re.DOTALL | re.IGNORECASE
)
_ATTRIBUTE = re.compile(
    rb"(\s(?:href|src|action|poster|data|background|cite)\s*=\s*)(\"[^\"]*\"|'[^']*')",
    re.IGNORECASE,
)
#: Lists of image candidates, which are removed: no documentation needs them.
_SRCSET = re.compile(rb"\s(?:srcset|imagesrcset)\s*=\s*(?:\"[^\"]*\"|'[^']*')", re.IGNORECASE)
_ANCHOR = re.compile(rb"<a\s", re.IGNORECASE)
_NOFOLLOW = re.compile(
    rb"\srel\s*=\s*(?:\"[^\"]*|'[^']*|[^\s>\"']*)\b(?:nofollow|ugc|sponsored)\b", re.IGNORECASE
)
_HREF = re.compile(rb"\s*href\s*=\s*", re.IGNORECASE)
#: Links to no other page: to a fragment, a mailbox, data.
_STAYS = re.compile(rb"#|(?!https?:)[a-z][a-z0-9+.-]*:", re.IGNORECASE)
_WORD = re.compile(rb"(?<![\w&#;.])[a-z]{4,12}(?![\w;.])")
_EVERY = 8


class Slot(Enum):
    """Content of the place between two pieces of a template."""

    #: A link that every crawler follows.
    ANCHOR = "anchor"
    #: Another link: of a <link>, an image, a script, a form, or with nofollow.
    OTHER = "other"
    WORD = "word"


@dataclass(frozen=True, slots=True)
class Template:
    """Pieces of a page, with a slot between each two."""

    #: Name of the page's file without folder and extension.
    stem: str
    pieces: tuple[bytes, ...]
    slots: tuple[Slot, ...]
    #: The original words of the slots.
    words: tuple[bytes, ...]
    #: Bytes of the original page.
    size: int

    def count(self, slot: Slot) -> int:
        return self.slots.count(slot)

    def fill(
        self, anchors: Iterable[bytes], others: Iterable[bytes], words: Iterable[bytes]
    ) -> bytes:
        """The page with these links and words, exactly one for each slot."""
        sources = {Slot.ANCHOR: iter(anchors), Slot.OTHER: iter(others), Slot.WORD: iter(words)}
        parts: list[bytes] = [b""] * (len(self.pieces) + len(self.slots))
        parts[::2] = self.pieces
        parts[1::2] = [next(sources[slot]) for slot in self.slots]
        return b"".join(parts)


def template(stem: str, page: bytes) -> Template:
    """Read a page of HTML."""
    pieces, slots, words = [], [], []
    begin, count, size = 0, 0, len(page)
    page = _SRCSET.sub(b"", page)
    for slot, start, end in _slots(page):
        if slot is Slot.WORD:
            count += 1
            if count % _EVERY:
                continue
            words.append(page[start:end])
        pieces.append(page[begin:start])
        slots.append(slot)
        begin = end
    return Template(stem, (*pieces, page[begin:]), tuple(slots), tuple(words), size)


def _slots(page: bytes) -> Iterator[tuple[Slot, int, int]]:
    """All possible slots: kind, start and end."""
    end = 0
    for match in _MARKUP.finditer(page):
        yield from _words(page, end, match.start())
        yield from _links(page, match)
        end = match.end()
    yield from _words(page, end, len(page))


def _words(page: bytes, start: int, end: int) -> Iterator[tuple[Slot, int, int]]:
    for word in _WORD.finditer(page, start, end):
        yield Slot.WORD, word.start(), word.end()


def _links(page: bytes, match: re.Match[bytes]) -> Iterator[tuple[Slot, int, int]]:
    if page.startswith(b"<!--", match.start()):
        return
    end = page.find(b">", match.start()) + 1
    anchor = _ANCHOR.match(page, match.start()) is not None
    followed = anchor and _NOFOLLOW.search(page, match.start(), end) is None
    for attribute in _ATTRIBUTE.finditer(page, match.start(), end):
        start, stop = attribute.start(2) + 1, attribute.end(2) - 1
        if _STAYS.match(page, start, stop) or start == stop:
            continue
        part = page.find(b"#", start, stop)
        hyperlink = followed and _HREF.fullmatch(attribute[1]) is not None
        yield Slot.ANCHOR if hyperlink else Slot.OTHER, start, stop if part < 0 else part


def piece(page: bytes, size: int, anchors: int) -> bytes:
    """A part of `page` of about `size` bytes with at least `anchors` links, as a page.

    It begins with a link and ends with a tag; HTML closes elements that stay open. The middle
    one of the possible parts is taken.
    """
    starts = [match.start() for match in _ANCHOR.finditer(page)]
    ends = starts[anchors:]
    dense = [start for start, end in zip(starts, ends, strict=False) if end - start < size]
    start = dense[len(dense) // 2] if dense else 0
    end = page.rfind(b">", start, start + size) + 1 or start + size
    return b"<!DOCTYPE html>\n<title>A part</title>\n" + page[start:end] + b"\n"
