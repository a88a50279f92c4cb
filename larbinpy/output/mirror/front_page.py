"""The page at the top of a mirror that links to its start pages: ``index.html``.

It is written only where nothing else has that name, or what larbinpy itself wrote: the catalog
knows its digest. So a page of the user's own stays as it is.
"""

import re
from collections.abc import Generator, Iterator
from html import escape, unescape
from itertools import islice

from larbinpy.output.mirror.catalog import Catalog
from larbinpy.output.mirror.links import reference
from larbinpy.output.mirror.originals import Originals
from larbinpy.output.mirror.paths import INDEX
from larbinpy.output.mirror.tree import Tree
from larbinpy.url import hash64, host_of

#: Start pages that are listed. The rest of a longer list would not be read.
_MOST = 1000
#: Linear: neither part can match at many places of one text.
_TITLE = re.compile(rb"<title[^<>]*>", re.I)
_TITLE_END = re.compile(rb"</title", re.I)
_LONGEST_TITLE = 1000
#: Bytes of a page in which its title is looked for.
_HEAD = 1 << 16
_LONGEST = 200
#: The fact that keeps the digests of what was written: the last one, and the one before while
#: a kill may leave either.
_FACT = "front page"
_PAGE = """\
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta name="generator" content="larbinpy">
<title>Mirror of {hosts}</title>
</head>
<body>
<h1>Mirror of {hosts}</h1>
<ul>
{items}
</ul>
</body>
</html>
"""


class FrontPage:
    """Writes the front page of the mirror that has `catalog`."""

    def __init__(self, catalog: Catalog, tree: Tree, originals: Originals) -> None:
        self._catalog = catalog
        self._tree = tree
        self._originals = originals

    def __repr__(self) -> str:
        return f"<FrontPage {INDEX}>"

    def steps(self) -> Iterator[None]:
        """Write the page if it has changed, and if nobody else has put a file there.

        Each step reads one start page.
        """
        text = yield from self._text()
        if text is None:
            return
        base = self._catalog.base
        digest, own = _digest(text), base.fact(_FACT).split()
        if self._tree.exists(INDEX):
            size = self._tree.size(INDEX)
            found = self._tree.read(INDEX, size) if size is not None else None
            if found == text or found is None or _digest(found) not in own:
                return
        base.note_fact(_FACT, " ".join((digest, *own[:1])))
        # Commit first: after a kill the page must be known as larbinpy's.
        base.commit()
        self._tree.write(INDEX, text)

    def _text(self) -> Generator[None, None, bytes | None]:
        """The page; None if no start page is in the mirror."""
        paths: dict[str, str] = {}
        for start in islice(self._catalog.account.starts(), _MOST):
            path = self._catalog.path_of(start)
            if path is not None:
                paths.setdefault(path, start)
        if not paths:
            return None
        hosts = ", ".join(dict.fromkeys(host_of(start) for start in paths.values()))
        items = []
        for path, start in paths.items():
            items.append(self._item(path, start))
            yield
        page = _PAGE.format(hosts=escape(_cut(hosts)), items="\n".join(items))
        return page.encode(errors="replace")

    def _item(self, path: str, start: str) -> str:
        title = self._title(path) or start
        shown = "" if title == start else f" &ndash; {escape(start)}"
        return f'<li><a href="{escape(reference((), path))}">{escape(title)}</a>{shown}</li>'

    def _title(self, path: str) -> str:
        entry = self._catalog.at(path)
        body = entry and entry.form and self._originals.read(entry.url, entry.size)
        found = title_in(body[:_HEAD]) if body else b""
        if entry is None or not found:
            return ""
        try:
            text = found.decode(entry.charset or "utf-8", "replace")
        except LookupError:
            return ""
        words = " ".join(unescape(text).split())
        return _cut("".join(char for char in words if char.isprintable()))


def title_in(head: bytes) -> bytes:
    """The first title in the beginning of a page, as it is there; empty if there is none."""
    begin = _TITLE.search(head)
    end = begin and _TITLE_END.search(head, begin.end(), begin.end() + _LONGEST_TITLE)
    return head[begin.end() : end.start()] if begin and end else b""


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "..."


def _digest(text: bytes) -> str:
    return f"{hash64(text):016x}"
