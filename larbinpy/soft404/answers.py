"""The answers of a site to names that do not exist, and the pages that are like them."""

import json
import zlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple, Protocol, TypeVar

from larbinpy.outcome import Outcome
from larbinpy.page import Page
from larbinpy.parse import redirect_target
from larbinpy.soft404.words import COMPARED, Words, own_words, words_of
from larbinpy.url import hash64

#: Two answers of which more differs are of two templates.
_MOST_VARYING = 0.3
#: A page of another size than the answers (bytes), by this factor and some for its URL, is not
#: read: most pages are not.
_FACTOR = 2
_URL_IN_PAGE = 4096
#: Bytes of an answer beside its words.
_OVERHEAD = 500


Sample = TypeVar("Sample", "Redirect", "Text")


class Answer(Protocol):
    """An answer to a name that does not exist."""

    @property
    def probe(self) -> str:
        """The URL of that name."""

    @property
    def size(self) -> int:
        """Bytes that it takes, about."""

    def is_like(self, page: Page) -> bool:
        """Whether `page` is the same answer to another name."""


@dataclass(frozen=True, slots=True)
class Redirect:
    """A redirect to one URL, whatever the name is; its query may change."""

    probe: str
    target: str
    #: Whether the query of `target` counts.
    has_query: bool = True

    @property
    def size(self) -> int:
        return _OVERHEAD + len(self.target)

    def joined(self, other: "Redirect") -> "Redirect | None":
        """The redirect of which both are samples; None if they lead to two places."""
        if self.target == other.target:
            return self
        place = self.target.partition("?")[0]
        same = place == other.target.partition("?")[0]
        return Redirect(self.probe, place, has_query=False) if same else None

    def is_like(self, page: Page) -> bool:
        target = target_of(page) or ""
        return self.target == (target if self.has_query else target.partition("?")[0])


@dataclass(frozen=True, slots=True)
class Body:
    """A body that is no text, such as an image in place of those that are missing."""

    probe: str
    digest: int

    @property
    def size(self) -> int:
        return _OVERHEAD

    def is_like(self, page: Page) -> bool:
        return page.outcome is Outcome.SUCCESS and hash64(page.body[:COMPARED]) == self.digest


class _Template(NamedTuple):
    """The words of an answer: those that all samples have, those that any has.

    The words of the URLs of samples are in `most` alone.
    """

    common: Words
    most: Words
    #: Words, and elements, that the samples do not have in common.
    varying: tuple[int, int] = (0, 0)


class Text:
    """A text, of which one or two samples are known.

    A page is like it if it has all words that the samples have in common, each as often, and adds
    nothing: only words of its own URL, and at most twice as many words or elements as differ
    between the samples. So a page with little text of its own (a stub, a product that is sold
    out) is not like it, even if most of it is the same: it lacks the message of the error.

    The words are kept packed, in some 3 kB for a page of 600 different words.
    """

    def __init__(self, probe: str, type_: str, sizes: Sequence[int], template: _Template) -> None:
        self.probe = probe
        self._type = type_
        self._sizes = sizes
        self._packed = _pack(template)

    def __repr__(self) -> str:
        return f"<Text {self._type}, {len(self._sizes)} samples>"

    @classmethod
    def of(cls, page: Page, words: Words) -> "Text":
        """The answer of which `page` is a sample."""
        common = Words(_without(words.shown, own_words(page.url.href)), words.elements)
        sizes = [len(page.body[:COMPARED])]
        return cls(page.url.href, page.type, sizes, _Template(common, words))

    @property
    def size(self) -> int:
        return _OVERHEAD + len(self._packed)

    def joined(self, other: "Text") -> "Text | None":
        """The answer of which both are samples; None if they are of two templates."""
        if self._type != other._type:
            return None
        mine, others = _unpacked(self._packed), _unpacked(other._packed)
        pairs = list(zip(mine.common, others.common, strict=True))
        shown, elements = ((a | b).total() - (a & b).total() for a, b in pairs)
        if shown + elements > _MOST_VARYING * sum((a | b).total() for a, b in pairs):
            return None
        common = Words(*(a & b for a, b in pairs))
        most = Words(*(a | b for a, b in zip(mine.most, others.most, strict=True)))
        template = _Template(common, most, (shown, elements))
        return Text(self.probe, self._type, [*self._sizes, *other._sizes], template)

    def is_like(self, page: Page) -> bool:
        size = len(page.body[:COMPARED])
        least, greatest = min(self._sizes), max(self._sizes)
        if page.type != self._type or page.outcome is not Outcome.SUCCESS:
            return False
        if not least / _FACTOR <= size <= greatest * _FACTOR + _URL_IN_PAGE:
            return False
        words = words_of(page)
        return words is not None and self._covers(words, own_words(page.url.href))

    def _covers(self, words: Words, own: frozenset[str]) -> bool:
        for found, common, most, varying in zip(words, *_unpacked(self._packed), strict=True):
            if common - found or _without(found - most, own).total() > 2 * varying:
                return False
        return True


def target_of(page: Page) -> str | None:
    """The URL that `page` redirects to; None if it does not."""
    if page.outcome is not Outcome.ERR_30X or page.not_modified:
        return None
    found = redirect_target(page)
    return found[0].url if found else None


def answers_in(pages: Sequence[Page], names: Sequence[str]) -> list[Answer]:
    """The answers in the replies to probes; none if the site says that there are no such pages.

    `names` are the names that were asked for: a redirect to a URL with such a name tells nothing,
    because that of a real page would have its name.
    """
    redirects: list[Redirect] = []
    bodies: list[Body] = []
    texts: list[Text] = []
    for page in pages:
        target = target_of(page)
        if target is not None and not any(name in target for name in names):
            redirects.append(Redirect(page.url.href, target))
        elif 200 <= page.status < 300 and page.truncated != "disconnect":
            words = words_of(page)
            if words is None:
                bodies.append(Body(page.url.href, hash64(page.body[:COMPARED])))
            else:
                texts.append(Text.of(page, words))
    return [*_joined(redirects), *bodies, *_joined(texts)]


def _joined(samples: Sequence[Sample]) -> Sequence[Sample]:
    """The answers of two samples at most."""
    if len(samples) < 2:
        return samples
    joined = samples[0].joined(samples[1])
    return samples if joined is None else [joined]


def _without(counted: Counter[str], own: frozenset[str]) -> Counter[str]:
    return Counter({word: number for word, number in counted.items() if word not in own})


def _pack(template: _Template) -> bytes:
    return zlib.compress(json.dumps(template).encode())


# Most pages of a site come one after the other.
@lru_cache(64)
def _unpacked(packed: bytes) -> _Template:
    common, most, (shown, elements) = json.loads(zlib.decompress(packed))
    return _Template(Words(*map(Counter, common)), Words(*map(Counter, most)), (shown, elements))
