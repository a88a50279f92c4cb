"""HTML pages with odd markup: from a grammar of each kind of oddity, and from real pages.

A page depends on a seed and its number only, so that processes can share the work and any page can
be made again.
"""

from collections.abc import Callable, Iterator, Sequence
from random import Random
from typing import NamedTuple

from tests.support.oddmarkup import (
    ATTRIBUTES,
    CHARSETS,
    CODECS,
    ENDS,
    GRAMMARS,
    KINDS,
    LINKS,
    NAMES,
    REFERENCES,
    RULES,
    STARTS,
    TEXTS,
    VALUES,
    Grammar,
)

#: The address of most pages, and others, which references are resolved against.
HERE = "http://h.example/dir/sub/page.html"
_ADDRESSES = [HERE] * 8 + [
    "https://h.example/",
    "http://h.example:8080/a/b/c/d/?q=/x/../y",
    "http://[2001:db8::1]/a/",
    "http://h.example/%7Euser/a%2Fb/",
]
#: The product token of the crawler that reads the pages.
AGENT = "larbinpy"
#: Most bytes of a real page that a page is made of, but for the first ones.
_LONGEST = 6000


class Page(NamedTuple):
    """A page and its circumstances."""

    #: A key of `GRAMMARS`, or "real".
    kind: str
    body: bytes
    http_charset: str | None = None
    url: str = HERE


class _Writer:
    """Writes one page."""

    def __init__(self, dice: Random) -> None:
        self._dice = dice
        self._fill: dict[str, Callable[[], str]] = {
            "U": self.reference,
            "A": self.attributes,
            "L": self.link,
            "C": lambda: dice.choice(CHARSETS),
            "N": lambda: dice.choice(NAMES),
            "R": lambda: dice.choice(RULES),
            "D": self._depth,
        }
        self._depth_tag = "div"

    def page(self, kind: str) -> str:
        dice, grammar = self._dice, GRAMMARS[kind]
        pieces = [dice.choice(STARTS)]
        most = 4 if kind == "deep" else 14
        for _ in range(min(dice.choice((1, 1, 2, 2, 3, 4, 6, 9, 14)), most)):
            pieces.append(self.piece(grammar))
            if dice.random() < 0.25:
                pieces.append(self.link())
        pieces += [self.link(), dice.choice(ENDS)]
        return "".join(pieces)

    def piece(self, grammar: Grammar) -> str:
        dice = self._dice
        chance = dice.random()
        self._depth_tag = dice.choice(grammar.tags)
        if chance < 0.55:
            return self.filled(dice.choice(grammar.pieces))
        if chance < 0.7:
            tag = self.cased(dice.choice(grammar.tags))
            return f"<{tag} {self.attributes()}>"
        if chance < 0.85:
            return f"</{self.cased(dice.choice(grammar.tags))}>"
        if chance < 0.9:
            return self.filled(dice.choice(GRAMMARS[dice.choice(KINDS)].pieces))
        return dice.choice(TEXTS)

    def filled(self, piece: str) -> str:
        parts = piece.split("%")
        if len(parts) < 3:
            return piece
        # A percent sign that is no part of a mark keeps its place.
        out, place = [parts[0]], 1
        while place < len(parts):
            fill = self._fill.get(parts[place]) if place + 1 < len(parts) else None
            out.append("%" + parts[place] if fill is None else fill() + parts[place + 1])
            place += 1 if fill is None else 2
        return "".join(out)

    def link(self) -> str:
        return self.filled(self._dice.choice(LINKS))

    def reference(self) -> str:
        dice = self._dice
        chance = dice.random()
        if chance < 0.45:
            return f"p{dice.randrange(40)}"
        if chance < 0.9:
            return dice.choice(REFERENCES)
        if chance < 0.996:
            return "".join(dice.choice(REFERENCES) for _ in range(dice.randint(2, 4)))
        return dice.choice(REFERENCES) + dice.choice("x/?.é&") * dice.choice(
            (300, 7990, 8001, 33000)
        )

    def attributes(self) -> str:
        dice = self._dice
        return dice.choice((" ", " ", " ", "/", "")).join(
            self._attribute() for _ in range(dice.choice((0, 0, 1, 1, 2, 3)))
        )

    def _attribute(self) -> str:
        dice = self._dice
        value = self.reference() if dice.random() < 0.6 else dice.choice(VALUES)
        quote = dice.choice(('"', '"', "'", "", ""))
        equals = dice.choice(("=", "=", "=", "=", " = ", "\n="))
        name = dice.choice(ATTRIBUTES)
        return name if dice.random() < 0.05 else f"{name}{equals}{quote}{value}{quote}"

    def cased(self, tag: str) -> str:
        return tag.upper() if self._dice.random() < 0.1 else tag

    def _depth(self) -> str:
        return f"<{self._depth_tag}>" * self._dice.choice((5, 20, 60, 130, 300, 520, 700))


# -- faults, for any page

_MARKUP = tuple(piece for grammar in GRAMMARS.values() for piece in grammar.pieces)
_OCTETS = b"<>\"'=/&;#! \n\r\t\0-?\\%:@\x1b\x80\xa9\xc3\xe3\xff" + b"aAsSxX09"


def _flip(body: bytearray, dice: Random) -> None:
    body[dice.randrange(len(body))] ^= 1 << dice.randrange(8)


def _set(body: bytearray, dice: Random) -> None:
    body[dice.randrange(len(body))] = dice.choice(_OCTETS)


def _insert(body: bytearray, dice: Random) -> None:
    at = dice.randrange(len(body))
    body[at:at] = bytes(dice.choices(_OCTETS, k=dice.choice((1, 1, 2, 3))))


def _delete(body: bytearray, dice: Random) -> None:
    at = dice.randrange(1, len(body) + 1)
    del body[at : at + dice.choice((1, 1, 2, 5, 20, 100))]


def _repeat(body: bytearray, dice: Random) -> None:
    at, to = dice.randrange(len(body)), dice.randrange(len(body))
    body[to:to] = body[at : at + dice.choice((1, 4, 20, 100, 400))] * dice.choice((1, 1, 2, 5))


def _add_markup(body: bytearray, dice: Random) -> None:
    at = dice.randrange(len(body))
    piece = _Writer(dice).filled(dice.choice(_MARKUP))
    body[at:at] = piece.encode("utf-8", "surrogateescape")


def _tag_fault(body: bytearray, dice: Random) -> None:
    """Delete or repeat one tag."""
    start = body.find(b"<", dice.randrange(len(body)))
    end = body.find(b">", start) + 1
    if 0 <= start < end:
        body[start:end] = body[start:end] * dice.choice((0, 0, 2))
    if not body:
        body += b"<"


_FAULTS = (_flip, _set, _insert, _delete, _repeat, _add_markup, _add_markup, _tag_fault)


class OddPages:
    """The pages of one seed.

    The first ones are the `real` pages, unchanged. A third of the others are made of real pages,
    if there are any. One page in four gets faults, and one in ten is cut short.
    """

    def __init__(self, seed: int, real: Sequence[bytes] = ()) -> None:
        self._seed = seed
        self._real = real

    def page(self, number: int) -> Page:
        """The page of this number, from 0 on."""
        if number < len(self._real):
            return Page("real", self._real[number])
        dice = Random(f"{self._seed}/{number}")
        if self._real and dice.random() < 0.35:
            kind, body = "real", self._from_real(dice)
            spoilt = dice.random() < 0.9
        else:
            kind = dice.choice(KINDS)
            body = bytearray(_encoded(_Writer(dice).page(kind), kind, dice))
            spoilt = dice.random() < 0.25
        if spoilt:
            for _ in range(dice.choice((1, 1, 2, 3, 6))):
                dice.choice(_FAULTS)(body, dice)
        if dice.random() < 0.1:
            del body[dice.randint(1, len(body)) :]
        label = dice.choice(CHARSETS) if dice.random() < 0.15 else None
        return Page(kind, bytes(body), label, dice.choice(_ADDRESSES))

    def pieces(self, kind: str) -> Iterator[Page]:
        """A page for each piece of markup of `kind`, with a link behind it."""
        for piece in GRAMMARS[kind].pieces:
            text = _Writer(Random(f"{self._seed}/{piece!r}")).filled(f"{piece}<a href=behind>")
            yield Page(kind, text.encode("utf-8", "surrogateescape"))

    def _from_real(self, dice: Random) -> bytearray:
        page = dice.choice(self._real)
        start = 0 if dice.random() < 0.4 else dice.randrange(len(page))
        body = bytearray(page[start : start + dice.choice((300, 1000, 3000, _LONGEST))])
        if dice.random() < 0.3:
            other = dice.choice(self._real)
            start = dice.randrange(len(other))
            body[dice.randrange(len(body)) :] = other[
                start : start + dice.choice((100, 1000, 3000))
            ]
        return body


def _encoded(text: str, kind: str, dice: Random) -> bytes:
    codec = "utf-8"
    if (kind == "charsets" and dice.random() < 0.6) or dice.random() < 0.03:
        codec = dice.choice(CODECS)
    if kind in ("charsets", "meta") and dice.random() < 0.15:
        # The label lies at the end of the bytes that are searched for it, or beyond them.
        text = f"<!--{'x' * dice.randrange(900, 1050)}-->" + text
    try:
        return text.encode(codec, "surrogateescape") or b"<"
    except UnicodeEncodeError:
        return text.encode(codec, "xmlcharrefreplace" if codec != "utf-7" else "ignore") or b"<"
