"""The answers of a site to names that do not exist, and the pages that are like them.

They are compared by the words of a page and of its URL, without what differs from reply to reply.
"""

import json
import re
import zlib
from collections import Counter
from collections.abc import Sequence, Set
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from typing import NamedTuple
from urllib.parse import unquote

from turbohtml import Element, Text

from larbinpy.page import Outcome, Page
from larbinpy.parse import redirect_target
from larbinpy.parse.body import is_html
from larbinpy.parse.charset import decode, document
from larbinpy.url import hash64

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


#: Two answers are of one template if they have this share of their words and elements in common.
_LEAST_ALIKE = 0.7
#: A page may differ this much more from two answers than they do from each other.
_FACTOR = 2
#: Tags by which a page may differ besides, within its scripts.
_TAGS_IN_SCRIPTS = 4
#: Bytes of an answer beside its words.
_OVERHEAD = 500


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


class _Sample(NamedTuple):
    """A text that answered to a name."""

    page: Page
    shown: Shown

    @property
    def own(self) -> frozenset[str]:
        """The words of its URL."""
        return own_words(self.page.url.href)

    def texts(self, own: Set[str]) -> Counter[Run]:
        """Its texts, without `own` words."""
        return Counter(
            Run(tuple([word for word in run.words if word not in own]), run.listed)
            for run in self.shown.runs
        )


class _Template(NamedTuple):
    """The words and the elements that all samples have, those that any has, and their difference.

    The words of the URLs of samples are in `most` alone.
    """

    common: tuple[Counter[str], Counter[str]]
    most: tuple[Counter[str], Counter[str]]
    varying: tuple[int, int]

    @classmethod
    def of(cls, samples: Sequence[_Sample]) -> "_Template":
        """The knowledge from one or two `samples`.

        Words that texts have in common that differ are there by chance. So are links and items that
        are the same in both, if others are not: some of a choice.
        """
        one, other = samples[0], samples[-1]
        own = one.own | other.own
        texts, others = one.texts(own), other.texts(own)
        elements, other_elements = one.shown.elements, other.shown.elements
        either = elements | other_elements
        both = elements & other_elements
        mine, theirs, common = texts - others, others - texts, texts & others
        if any(run.listed for run in [*mine, *theirs]):
            common = Counter({run: number for run, number in common.items() if not run.listed})
        words = max(_words(mine).total(), _words(theirs).total())
        return cls(
            (_words(common), both),
            (one.shown.words | other.shown.words, either),
            (words, either.total() - both.total()),
        )

    def covers(self, shown: Shown, own: frozenset[str]) -> bool:
        """Whether a page of which this is `shown` is like the samples; `own` words may be more."""
        found = (shown.words, shown.elements)
        for has, common, most, varying in zip(found, *self, strict=True):
            if common - has or _strange(has - most, own) > _FACTOR * varying:
                return False
        return True


@dataclass(frozen=True, slots=True)
class AnswerText:
    """A text, of which one or two samples are known.

    A page is like it if it has all words that the samples have in common, each as often, and adds
    nothing: only words of its own URL, and at most twice as many words or elements as differ
    between the samples. So a page with little text of its own (a stub, a product that is sold
    out) is not like it, even if most of it is the same: it lacks the message of the error.

    The words are kept packed, in some 3 kB for a page of 600 different words.
    """

    probe: str
    type: str
    #: The least and the most tags that a page has that is like it.
    least_tags: int
    most_tags: int
    packed: bytes

    @classmethod
    def of(cls, *samples: _Sample) -> "AnswerText":
        """The knowledge from one or two `samples`."""
        first = samples[0].page
        tags = [_tags(sample.page) for sample in samples]
        least, most = min(tags), max(tags)
        spare = _FACTOR * (most - least) + _TAGS_IN_SCRIPTS
        packed = _pack(_Template.of(samples))
        return cls(first.url.href, first.type, least - spare, most + spare, packed)

    def __repr__(self) -> str:
        return f"<Text {self.type} of {self.probe}>"

    @property
    def size(self) -> int:
        return _OVERHEAD + len(self.packed)

    def is_like(self, page: Page) -> bool:
        if page.outcome is not Outcome.SUCCESS or page.type != self.type:
            return False
        # Most pages are not read.
        if not self.least_tags <= _tags(page) <= self.most_tags:
            return False
        shown = shown_by(page)
        return shown is not None and _unpacked(self.packed).covers(shown, own_words(page.url.href))


#: Each has `probe`, the URL of a name that does not exist; `is_like`, which says whether a page is
#: the same answer to another name; and `size`, the bytes that it takes, about.
Answer = Redirect | Body | AnswerText


def target_of(page: Page) -> str | None:
    """The URL that `page` redirects to; None if it does not."""
    if page.outcome is not Outcome.ERR_30X or page.not_modified:
        return None
    found = redirect_target(page)
    return found[0].url if found else None


def answers_in(pages: Sequence[Page], names: Sequence[str]) -> list[Answer]:
    """The answers in the replies to two probes at most.

    None if the site says that there are no such pages. `names` are the names that were asked for:
    a redirect to a URL with such a name tells nothing, because that of a real page would have its
    name.
    """
    redirects: list[Redirect] = []
    bodies: list[Body] = []
    samples: list[_Sample] = []
    for page in pages:
        target = target_of(page)
        if target is not None and not any(name in target for name in names):
            redirects.append(Redirect(page.url.href, target))
        elif 200 <= page.status < 300 and page.truncated != "disconnect":
            shown = shown_by(page)
            if shown is None:
                bodies.append(Body(page.url.href, hash64(page.body[:COMPARED])))
            else:
                samples.append(_Sample(page, shown))
    return [*_joined(redirects), *bodies, *_texts(samples)]


def _tags(page: Page) -> int:
    """About the number of tags of the beginning of `page`."""
    return page.body.count(b"<", 0, COMPARED)


def _joined(redirects: list[Redirect]) -> list[Redirect]:
    if len(redirects) < 2:
        return redirects
    joined = redirects[0].joined(redirects[1])
    return redirects if joined is None else [joined]


def _texts(samples: list[_Sample]) -> list[AnswerText]:
    if len(samples) == 2 and _are_of_one_template(*samples):
        return [AnswerText.of(*samples)]
    return [AnswerText.of(sample) for sample in samples]


def _are_of_one_template(one: _Sample, other: _Sample) -> bool:
    if one.page.type != other.page.type:
        return False
    pairs = zip(
        (one.shown.words, one.shown.elements),
        (other.shown.words, other.shown.elements),
        strict=True,
    )
    counts = [((a & b).total(), (a | b).total()) for a, b in pairs]
    return sum(both for both, _ in counts) >= _LEAST_ALIKE * sum(either for _, either in counts)


def _strange(added: Counter[str], own: Set[str]) -> int:
    """The number of words that are not `own`; a URL may be cut within a word."""
    others = {word: number for word, number in added.items() if word not in own}
    if others:
        begun = {word[:end] for word in own for end in range(1, len(word))}
        others = {word: number for word, number in others.items() if word not in begun}
    return sum(others.values())


def _words(runs: Counter[Run]) -> Counter[str]:
    """The words of texts, with their numbers."""
    words: Counter[str] = Counter()
    for run, number in runs.items():
        words.update({word: number * count for word, count in Counter(run.words).items()})
    return words


def _pack(template: _Template) -> bytes:
    return zlib.compress(json.dumps(template).encode())


# Most pages of a site come one after the other.
@lru_cache(64)
def _unpacked(packed: bytes) -> _Template:
    common, most, (words, elements) = json.loads(zlib.decompress(packed))
    return _Template(
        (Counter(common[0]), Counter(common[1])),
        (Counter(most[0]), Counter(most[1])),
        (words, elements),
    )
