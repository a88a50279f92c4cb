"""Finds the running text of a page by what its blocks hold, whatever they are called.

Blocks count by their characters outside links. Lists of links and of other stories have few of
them, or have them in blocks that stand apart; the paragraphs of an article are neighbours.
"""

import re
from collections import Counter, defaultdict
from itertools import chain, islice

from turbohtml import Element, Node, Text

#: Elements within a line.
INLINE = frozenset(
    (
        *("a", "abbr", "acronym", "b", "bdi", "bdo", "big", "cite", "code", "data", "del", "dfn"),
        *("em", "font", "i", "ins", "kbd", "label", "mark", "nobr", "q", "rb", "ruby", "s", "samp"),
        *("small", "span", "strike", "strong", "sub", "sup", "time", "tt", "u", "var", "wbr"),
    )
)
#: Blocks that are units of text and never hold an article.
_UNITS = frozenset(
    ("p", "pre", "blockquote", "li", "dd", "figcaption", "h1", "h2", "h3", "h4", "h5", "h6")
)
_TABLES = frozenset(("tbody", "thead", "tr", "table"))
#: Characters of a text that counts, of one that may be a paragraph, and of a real paragraph.
_TEXT = 25
_SENTENCE = 40
_PARAGRAPH = 80
#: Elements around one that are looked at, and those in which an article is looked for.
_LEVELS = 40
_AROUND = 8
#: What is left by what goes: this many characters, or this share, are a page of its own.
_PAGE = 1000
_PAGE_SHARE = 0.2
#: The least share for which a name is spared.
_SPARED = 0.1
#: An article: characters of its paragraphs, their share in one element, and in all of it.
_ARTICLE = 300
_NEIGHBOURS = 0.4
_MOST = 0.6
#: The share of the text in an article, at most: where it is most, what is beside it belongs to it.
_PART = 0.48
#: The share of the text before an article, at most; a single block that is one has this many
#: characters, this share of all, and less before it.
_BEFORE = 0.35
_BEFORE_ONE = 0.3
_ONE = 1000
_ONE_SHARE = 0.1
#: The share of paragraphs in what is taken to an article, and how much they add.
_DENSE = 0.6
_MORE = 0.03
#: The least size of a part of an article beside another.
_TWIN = 0.1
_NUMBER = re.compile(r"\d+")
#: Characters by which an article is found in the text of the page.
_BEGINNING = 300


#: A line break of the source between characters of Chinese or Japanese, which CSS takes out.
_WIDE = "\u2e80-\u312f\u3190-\uabff\uf900-\ufaff\ufe30-\ufe4f\uff00-\uffef\U00020000-\U0003ffff"
_BLANKS = " \t\r\n"
_IS_WIDE = re.compile(f"[{_WIDE}]")
_BROKEN = re.compile(rf"\n(?<=[{_WIDE}]\n)\s*(?=[{_WIDE}])")


class Prose:
    """The blocks of a page with running text, in their order, and the characters of each.

    Lines of Chinese and Japanese that the source breaks are joined on the way.
    """

    def __init__(self, body: Element) -> None:
        self._body = body
        self._blocks: dict[Element, int] = {}
        joint = _Joint()
        for node in body.descendants:
            if type(node) is Text:
                text = node.data
                if not text.isascii():
                    if "\n" in text and _BROKEN.search(text):
                        text = _joined(node)
                    joint.take(node, text)
                elif joint.waits:
                    joint.take(node, text)
                if len(text) >= _TEXT and not text.isspace():
                    self._add(node, text.strip())
        joint.join()
        around: dict[Node | None, list[Element]] = {}
        self._paths = {block: self._path(block, around) for block in self._blocks}
        self._within: dict[int, dict[Element, int]] = {}

    def _add(self, node: Text, text: str) -> None:
        length = len(text)
        if length < _TEXT:
            return
        block = node.parent
        for _ in range(_LEVELS):
            if not isinstance(block, Element) or block.tag == "a":
                return
            if block.tag not in INLINE:
                break
            block = block.parent
        if not text.isascii():
            # Letters say more in scripts whose letters take more bytes.
            length = (length + len(text.encode("utf-8", "replace"))) // 2
        if isinstance(block, Element):
            self._blocks[block] = self._blocks.get(block, 0) + length

    def _path(self, block: Element, known: dict[Node | None, list[Element]]) -> list[Element]:
        """A block and the elements around it, without the body; `known` are those of others."""
        new: list[Element] = []
        each: Node | None = block
        while isinstance(each, Element) and each not in known and len(new) < _LEVELS:
            if each == self._body:
                break
            new.append(each)
            each = each.parent
        path = known.get(each, [])
        for one in reversed(new):
            path = known[one] = [one, *path[:_LEVELS]]
        return path

    def spare(self, gone: dict[Element, str]) -> int:
        """Delete from `gone` the names that most of the text has; return what is left without.

        `gone` has elements that are boilerplate, each with the name that says so. The paragraphs
        in them are taken out.
        """
        held = [
            (length, {gone[each] for each in self._paths[block] if each in gone})
            for block, length in self._blocks.items()
            if length >= _SENTENCE
        ]
        total = sum(length for length, _ in held)
        enough = min(_PAGE, _PAGE_SHARE * total)
        while (left := sum(length for length, names in held if not names)) < enough:
            shares = Counter[str]()
            for length, names in held:
                shares.update(dict.fromkeys(names, length))
            if not shares:
                break
            ((name, share),) = shares.most_common(1)
            if share < _SPARED * total:
                break
            for _, names in held:
                names.discard(name)
            for each in [each for each, its in gone.items() if its == name]:
                del gone[each]
        return left

    def leave(self, gone: dict[Element, str]) -> None:
        """Forget the blocks in `gone`."""
        for block, path in self._paths.items():
            if not gone.keys().isdisjoint(path):
                del self._blocks[block]

    def within(self, least: int) -> dict[Element, int]:
        """The characters of the blocks of at least `least`, in all elements of the body."""
        if least not in self._within:
            found = self._within[least] = defaultdict(int)
            for block, length in self._blocks.items():
                if length >= least:
                    found[self._body] += length
                    for each in self._paths[block]:
                        found[each] += length
        return self._within[least]

    def article(self) -> Element | None:
        """The element with most paragraphs of the page, if they are neighbours."""
        best, share = self._neighbours()
        if best is None or share < _ARTICLE:
            return None
        within = self.within(_PARAGRAPH)
        total = within[self._body]
        if share < _NEIGHBOURS * total:
            return None
        while best.tag in _TABLES and isinstance(best.parent, Element):
            best = best.parent
        best = self.widened(best, self._body, _DENSE)
        if best == self._body or within[best] < _MOST * total:
            return None
        return best if self._stands_first(best, within[best]) else None

    def _neighbours(self) -> tuple[Element | None, float]:
        score: dict[Element, float] = {}
        for block, length in self._blocks.items():
            if length < _PARAGRAPH:
                continue
            if block.tag not in _UNITS and length >= 500:
                score[block] = score.get(block, 0) + length
            weight = float(length)
            for each in self._paths[block][1:4]:
                score[each] = score.get(each, 0) + weight
                weight /= 2
        best = max(score, key=score.__getitem__, default=None)
        return best, score[best] if best is not None else 0

    def _stands_first(self, article: Element, length: int) -> bool:
        """Whether an article is not what shops write below their lists, nor most of a page."""
        whole, own = self._body.text, article.text
        if len(own) > _PART * len(whole):
            return False
        before = whole.find(own[:_BEGINNING]) / len(whole)
        if before > _BEFORE:
            return False
        paragraphs = (
            block
            for block, chars in self._blocks.items()
            if chars >= _PARAGRAPH and article in self._paths[block]
        )
        if len(list(islice(paragraphs, 2))) > 1:
            return True
        if length < _ONE or before > _BEFORE_ONE:
            return False
        return len("".join(own.split())) >= _ONE_SHARE * len("".join(whole.split()))

    def widened(self, element: Element, top: Element, dense: float) -> Element:
        """`element`, or one around it up to `top` that has more of the text beside it.

        What it adds is paragraphs in the share `dense`, or stands in elements like it, as the posts
        of a thread and the parts of an article do.
        """
        within = self.within(_TEXT)
        found, child = element, element
        for each in islice(element.ancestors, _AROUND):
            if found == top or not isinstance(each, Element):
                break
            more = within[each] - within[found]
            if more > _MORE * within[found] and (
                more >= dense * (len(each.text) - len(found.text)) or _has_twin(child, within)
            ):
                found = each
            if each == top:
                break
            child = each
        return found


def _has_twin(element: Element, within: dict[Element, int]) -> bool:
    """Whether an element with the same tag and class beside it has text, too.

    Layout has names such as row or section: a twin is large, or a text with the same parts.
    """
    name = _kind(element)
    twins = [
        each
        for each in chain(element.next_siblings, element.previous_siblings)
        if isinstance(each, Element)
        and each.tag == element.tag
        and within[each] > 0
        and _kind(each) == name
    ]
    return name != "" and any(
        within[each] > _TWIN * within[element]
        or (2 * within[each] > len(each.text) and _parts(each) == _parts(element) != [])
        for each in twins
    )


def _kind(element: Element) -> str:
    """The class of an element without numbers, which tell rows and posts from each other."""
    return _NUMBER.sub("", element.attr("class") or "")


def _parts(element: Element) -> list[tuple[str, str | None]]:
    """The tags and classes of the elements in an element, if any has a class."""
    found = [
        (each.tag, each.attr("class")) for each in element.children if isinstance(each, Element)
    ]
    return found if any(name for _, name in found) else []


class _Joint:
    """Joins lines of Chinese and Japanese that are broken where an element begins or ends."""

    def __init__(self) -> None:
        #: The last text, if it ends in a wide character, and what is between it and the next.
        self.waits: Text | None = None
        self._between: list[Text] = []
        #: Texts whose blanks go: those at the beginning, or else at the end.
        self._joined: list[tuple[Text, bool]] = []

    def join(self) -> None:
        """Take the line breaks out, when all texts have been taken."""
        for node, at_start in self._joined:
            node.data = node.data.lstrip(_BLANKS) if at_start else node.data.rstrip(_BLANKS)

    def take(self, node: Text, text: str) -> None:
        stripped = text.strip()
        if not stripped:
            self._between.append(node)
            return
        before, between = self.waits, self._between
        if before is not None and not stripped[0].isascii() and _IS_WIDE.match(stripped[0]):
            gap = before.data[len(before.data.rstrip()) :] + text[: -len(text.lstrip())]
            gap += "".join(each.data for each in between)
            block = _block_of(node)
            if "\n" in gap and block is not None and _block_of(before) == block:
                self._joined += [(before, False), (node, True), *((each, True) for each in between)]
        self.waits = node if _IS_WIDE.match(stripped[-1]) else None
        self._between = []


def _block_of(node: Node) -> Node | None:
    block = node.parent
    while isinstance(block, Element) and block.tag in INLINE:
        block = block.parent
    return None if isinstance(block, Element) and block.tag in ("pre", "textarea") else block


def _joined(node: Text) -> str:
    """Take out the line breaks of the source within Chinese and Japanese; return what is left."""
    parent = node.parent
    if isinstance(parent, Element) and parent.closest("pre,textarea") is None:
        node.data = _BROKEN.sub("", node.data)
    return node.data
