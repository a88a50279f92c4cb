"""Links of ordinary HTML pages without a tree, by the compiled module.

`native/links.c` says which pages are ordinary. The scan reads the frequent elements itself; for
the others it asks `_Answers`, which uses the tree and the other modules here for single tags.
"""

from larbinpy.native import native
from larbinpy.parse import charset
from larbinpy.parse.html import base_of, read_fragment, read_tree
from larbinpy.parse.link import (
    KINDS,
    Collector,
    Kind,
    PackedLinks,
    packed_flags,
    relation_kind,
    unendorsed,
)
from larbinpy.url import is_plain_origin

#: Encodings in which bytes below 0x40 may not be ASCII.
_INCOMPATIBLE = frozenset({"UTF-16LE", "UTF-16BE", "ISO-2022-JP", "replacement"})
_UTF8_MARK = b"\xef\xbb\xbf"
#: Stands for a <link> that is not followed.
_NOT_FOLLOWED = len(KINDS)


def read_html(body: bytes, http_charset: str | None, out: Collector) -> str | None:
    """Add the links of an HTML page; return its encoding."""
    # The scan passes over references that are no URLs.
    scans = native is not None and out.malformed is None
    found = read_scan(body, http_charset, out) if scans else None
    return found or read_tree(body, http_charset, out)


def read_scan(body: bytes, http_charset: str | None, out: Collector) -> str | None:
    """As `read_tree`, with the compiled module; None if the page is left to the tree."""
    assert native is not None
    name = _declared(body, http_charset)
    body = charset.shortened(body)
    if name in _INCOMPATIBLE or b"\0" in body:
        return None
    answers = _Answers(out, body, name)
    known = [(link.url, packed_flags(link.kind, link.nofollow)) for link in out.links]
    found = native.scan(body, out.agent, out.host, name is not None, known, answers)
    if found is None:
        return None
    out.noindex = out.noindex or answers.noindex
    out.nofollow = out.nofollow or answers.nofollow
    out.replace(PackedLinks(*found))
    return answers.charset


def _declared(body: bytes, http_charset: str | None) -> str | None:
    """Return the encoding that a mark or HTTP declares; "replacement" if in doubt."""
    if charset.is_marked(body):
        return "UTF-8" if body.startswith(_UTF8_MARK) else "replacement"
    return charset.named(http_charset) if http_charset else None


class _Answers(Collector):
    """Answers the questions of a scan of `body`; `name` is its encoding, None if not known yet."""

    def __init__(self, out: Collector, body: bytes, name: str | None) -> None:
        super().__init__(out._base, out.agent)
        self._body = body
        self._found: list[tuple[str, int]] = []
        self._rebased = False
        self.charset = name

    def read(self, context: bytes, markup: bytes) -> tuple[tuple[str, int], ...] | None:
        """Return the references in a tag, each with its flags; `context` is the tag around it.

        None if the tag has letters whose encoding is not known, or a document with a base.
        """
        if self.charset is None and not markup.isascii():
            return None
        self._found = []
        read_fragment(context + markup, self.charset, self)
        return None if self._rebased else tuple(self._found)

    def rebase(self, base: str) -> None:
        """Note that references in the tag have a base of their own, which the scan cannot obey."""
        self._rebased = self._rebased or base != self.base

    def add(self, reference: str, kind: Kind, nofollow: bool = False) -> None:
        self._found.append((reference, packed_flags(kind, nofollow)))

    def declare(self, meta: bytes) -> bool:
        """Take the encoding that a <meta> declares; return whether it declares one."""
        self.charset = charset.declared_by(meta)
        if charset.may_be_replaced(self._body):
            self.charset = "replacement"
        return self.charset is not None

    def rebase_by(self, element: bytes) -> bool | None:
        """Obey a <base>; None if its encoding is not known."""
        if self.charset is None and not element.isascii():
            return None
        super().rebase(base_of(element, self.charset, self.base))
        return True

    def settle(self) -> str | None:
        """Return the base, empty if no reference may be appended to it.

        All tags were read. None if the encoding is not known even now, or not compatible.
        """
        self.charset = self.charset or charset.undeclared(self._body)
        if self.charset is None or self.charset in _INCOMPATIBLE:
            return None
        self.encode = charset.query_encoder(self.charset)
        return self._base.url if self._base.is_plain else ""

    @staticmethod
    def is_origin(origin: str) -> bool:
        """Whether paths may be appended to `origin`."""
        return is_plain_origin(origin)

    @staticmethod
    def relation(rel: str, destination: str) -> int:
        """Return the flags of a <link> with these values of `rel` and `as`."""
        kind = relation_kind(rel, destination)
        number = _NOT_FOLLOWED if kind is None else KINDS.index(kind)
        return packed_flags(Kind.PAGE, unendorsed(rel)) | number
