"""Main text and the rest of the visible text of an HTML page, from its tree.

Boilerplate is told from content by the tags, roles, classes and ids of elements, as long as what
they leave is the text of the page. The words are those that sites agree on. Each was kept because
it made the main text better, on pages of several kinds and in both halves of two sets of pages.
"""

import re
from collections import Counter
from collections.abc import Iterator
from itertools import chain, islice
from typing import NamedTuple

from turbohtml import Document, Element, Node, PlainText, Text

from larbinpy.database.content.content import CELL, lines
from larbinpy.database.content.hidden import (
    Openers,
    Sheets,
    Styled,
    hidden,
    is_opener,
    remove_unseen,
    styled,
    unreadable,
)
from larbinpy.database.content.prose import INLINE, Prose

#: Elements that are never main text, by tag and by role, and those that most often are none.
TAGS = frozenset(("nav", "header", "footer", "menu", "button", "select", "textarea"))
UNSURE = frozenset(("form", "aside", "figcaption"))
ROLES = frozenset(
    (
        *("banner", "navigation", "menu", "menubar", "toolbar", "tablist", "search"),
        *("complementary", "contentinfo", "dialog", "alertdialog"),
    )
)
#: Words of a class or id, which stand between separators or at changes of case.
_LIST = """
    nav navbar navigation sidenav topnav mainnav subnav menu megamenu submenu toolbar topbar footer
    masthead banner sidebar sidebars aside rail breadcrumb breadcrumbs crumbs pager pagination jump
    skiplink language leftsidebar rightsidebar
    ad ads advert adverts advertisement advertising sponsor sponsors sponsored promo promos
    promotion outbrain taboola
    share sharing social socials newsletter newsletters subscribe subscription signup signin login
    cookie cookies consent gdpr popup popups modal lightbox offcanvas drawer tooltip notice notices
    disclaimer copyright
    related recommend recommended recommendations recirc trending popular
    comment comments respond reviews customerreview productreview feedback ratings
    bio author byline timestamp meta metadata avatar flair badge badges signature tag tags
    postprofile extras shipping
    caption credit credits attribution gallery
    filters facet sort actions buttons button btn
    visuallyhidden visually sr screenreader
"""
_WORDS = frozenset(
    form for word in _LIST.split() for form in (word, word.capitalize(), word.upper())
)
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+")
#: Characters of names that are looked at, and classes that are remembered.
_LONGEST = 300
_MOST = 1 << 14


def boilerplate(names: str) -> str:
    """The word for which an element with the classes, or the id, `names` most likely is none."""
    names = names[:_LONGEST]
    if names.islower():
        # Faster than an expression, and true of most names.
        words = names.replace("_", "-").replace(" ", "-").split("-")
    else:
        words = _WORD.findall(names)
    if _WORDS.isdisjoint(words):
        return ""
    return next(word for word in words if word in _WORDS).lower()


class _Classes(dict[str, str]):
    """`boilerplate` of classes, which the pages of a site share; most ids are of one page."""

    def __missing__(self, names: str) -> str:
        found = boilerplate(names)
        if len(names) <= _LONGEST:
            if len(self) >= _MOST:
                self.clear()
            self[names] = found
        return found


CLASSES = _Classes()


#: Characters of each text; a page keeps less.
LONGEST = 1 << 21
_PLAIN = PlainText(bullet="", table_cell_separator=CELL, layout="strict")
#: On a page with so few characters of paragraphs, an element is no boilerplate by its name if it
#: has more than this share of the text.
_LARGEST = 0.5
_FEW = 1000
#: What is parted from its neighbours.
_PARTED = ("ul", "ol", "rt", "a", "option", "blockquote", "sup", "math", "caption")
#: The end of a text that a raised number belongs to: x, km, 10.
_POWER = re.compile(r"(?:\b[^\W\d_]{1,3}|[\d)\]}])$|\s$")
#: Share of the paragraphs that the main text has.
_NEARLY_ALL = 0.8
#: A page that is empty without scripts has its text in <noscript>, if at all: these are the
#: characters that it takes, and how many times the length of all other text.
_UNSCRIPTED = 1000
_INSTEAD = 4
#: Text that a script shows has at least these bytes, and paragraphs.
_SHOWN = 300
_FEWEST = 3
#: Characters of a paragraph that counts, and elements around it that are looked at.
_PARAGRAPH = 40
_PARAGRAPHS = ("p", "pre", "blockquote")
_LEVELS = 12
#: Names of these are about the layout of the whole, or about a term, not about what they are.
_NOT_BY_NAME = frozenset(("body", "main", "article", "h1", "h2", "h3", "dt"))
#: Names of these are anchors of their text, or belong to a row.
_NOT_BY_ID = (*_NOT_BY_NAME, "p", "li", "dd", "tr", "td", "th")
#: Highlighters call parts of a program comment, tag or meta.
_PROGRAMS = "pre,code,dt,body"
_NO_PROGRAM = ":not(pre,code,dt)>"
#: Names of pages whose posts may be called comments, and of all whose text is of posts.
_THREAD = re.compile(
    r"(?<![a-z])(?:comments?-page|forum|(?:view)?(?:thread|topic)|discussion)", re.I
)
_DISCUSSION = re.compile(rf"{_THREAD.pattern}|(?<![a-z])question", re.I)
#: The share of text in what is taken beside the posts of a discussion; beside others, none is.
_POSTED = 0.3
_ALIKE = 2.0
#: Names of the posts of a discussion.
_POSTS = ("comment", "comments", "form")
#: The elements of formulas have names of the menu that belongs to them.
_FORMULA = "mjx-"
_BUTTONS = ("button", "buttons", "btn", "actions")
#: Ends of a question.
_MARKS = ("?", "\uff1f", "\u061f")
#: Boxes within a text that belong to it.
_ASIDES = ("aside", "notice", "notices", "disclaimer")
_TOLD = re.compile(
    r"(?<![a-z])(?:admonition|callout|note|warning|tip|hint|caution|danger|important|notice--\w+"
    r"|theorem|example|footnotes?)(?![a-z])",
    re.IGNORECASE,
)
_QUESTIONS = "h1,h2,h3,h4,h5,h6,dt,summary,legend"
_HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")
#: Words of an id for layout: more are those of a heading.
_LAYOUT = 2
_SLUG = re.compile(r"[\W_]+")
#: Parts of a table, and what shows whether it is one, or lays out a page.
_ROWS = ("tbody", "tr", "td")
_IN_TABLES = ("th", "thead", "table", "h1", "h2", "h3", "h4", "pre", "p", "ul", "ol")
#: Numbers of the lines of a program, which highlighters write beside it.
_LINE_NUMBER = re.compile(r"line-?n|gutter|blob-num|ln-num", re.IGNORECASE)
_IN_WORD = re.compile(r"[^\W_]{2}", re.ASCII)
#: Blocks that `to_text` does not part from what is beside them, and those in cells.
_BLOCKS_IN_LINES = (
    ":is(a,span,b,strong,em,i,font,label)>:is(div,p,h1,h2,h3,h4,h5,h6,section,article,figure,ul,ol)"
)
_BLOCKS_IN_CELLS = ":is(td,th) :is(div,p,h1,h2,h3,h4,h5,h6,ul,ol)"
_BLANKS = " \t\r\n"
_UNPARTED = "pre,code,math,.katex,svg,kbd,h1,h2"
_DIGITS = re.compile(r"[\s\d]*")
_KEEPS_LINES = re.compile(r"white-space\s*:\s*(?:pre|break-spaces)", re.IGNORECASE)
_IS_BLOCK = re.compile(r"display\s*:\s*(?:block|flex|grid|table|list-item)", re.IGNORECASE)


class Texts(NamedTuple):
    """The text that a reader sees of a page, in two parts.

    Both are normalised: no control characters, no runs of blanks but the indentation of programs,
    one block a line.
    """

    #: The main text: article, description, list, thread with its posts.
    main: str
    #: The rest of the visible text: menus, footers, sidebars, forms.
    rest: str
    #: The element of the main text, without the rest; its headings and images are those of it.
    node: Node
    #: The elements whose texts are the main text: that one, or others in its place.
    shown: list[Element] | list[Document]
    #: Elements that have other tags for the sake of the texts, with their own.
    retagged: list[tuple[Element, str]]


def split(tree: Document) -> Texts:
    """Return the texts of an HTML page. Changes the tree: what else it says is read before.

    Texts in JSON-LD are not asked: where they are longer than what a reader sees, they are no
    better (WCXB, AEB). Never raises.
    """
    sheets = Sheets(tree)
    covered: list[Element] = []
    opened = Openers(tree)
    unseen = remove_unseen(tree, opened, covered.append)
    unscripted = [each for each in unseen if each.tag == "noscript"]
    body = next(tree.iter_elements("body"), None)
    if body is None:
        return Texts(lines(tree.to_text(_PLAIN), LONGEST), "", tree, [tree], [])
    inline = styled(tree)
    gone = _remove_hidden(tree, sheets, inline, opened, covered)
    if gone and any(each.tag == "script" for each in unseen):
        _show_hidden(body, gone)
    aside = Element("div")
    body.append(aside)
    aside.extract()  # an element that was in the tree takes others faster
    retagged = _part(body, aside)
    _part_spans(body)
    _part_blocks(body)
    _shape(body, inline)
    for each in covered:
        _move(each, aside)
    prose = _prune(body, aside)
    node, main = _main(body, prose)
    if _unfold_layouts(node):
        main = node.to_text(_PLAIN)
    rest = ""
    if node is not body:
        node.extract()
        rest = body.to_text(_PLAIN)
    main, rest = lines(main, LONGEST), lines(f"{rest}\n{aside.to_text(_PLAIN)}", LONGEST)
    if unscripted:
        instead = "\n".join(each.to_text(_PLAIN) for each in unscripted)
        if len(instead) >= max(_UNSCRIPTED, _INSTEAD * (len(main) + len(rest))):
            return Texts(lines(instead, LONGEST), rest, node, unscripted, retagged)
    return Texts(main, rest, node, [node], retagged)


def _part(body: Element, aside: Element) -> list[tuple[Element, str]]:
    """Part what a reader sees apart, but `to_text` does not.

    Returns the elements that got another tag, with their own.
    """
    retagged: list[tuple[Element, str]] = []
    for each in list(body.iter_elements(_PARTED)):
        tag, before = each.tag, each.previous_sibling
        retagged.append((each, tag))
        if tag in ("ul", "ol"):
            each.tag = "div"  # numbers of items are no text, and what is between items is
        elif tag == "blockquote":
            each.tag = "p"  # a quotation is indented as if it were a program
        elif tag == "rt":
            _move(each, aside)  # how to read a word, in the middle of it
        elif tag == "sup":
            _raise(each)
        elif tag == "math":
            _show_once(each)
        elif tag == "caption":
            _stand_before(each)
        elif tag == "option" or (isinstance(before, Element) and before.tag in ("a", "div")):
            each.tag = "div"
    return retagged


def _unfold_layouts(node: Element) -> bool:
    """Make blocks of tables that lay out a page; whether there are any.

    One has no heads of columns, and in a cell a heading, another table, a program or paragraphs.
    """
    found = {each for each in node.iter_elements("table") if _is_layout(each)}
    if not found:
        return False
    rows = [each for each in node.iter_elements(_ROWS) if each.closest("table") in found]
    for each in chain(found, rows):
        each.tag = "div"
    return True


def _is_layout(table: Element) -> bool:
    paragraphs = Counter[Node | None]()
    for each in table.iter_elements(_IN_TABLES):
        if each.tag in ("th", "thead"):
            return False
        if each.tag in ("p", "ul", "ol"):
            paragraphs[each.parent] += len(each.text) >= _PARAGRAPH
            if paragraphs[each.parent] > 1:
                return True
        elif each.tag != "pre" or "\n" in each.text.strip():
            return True
    return False


def _part_spans(body: Element) -> None:
    """Part elements of a line that the layout parts: those that touch have classes of their own."""
    for each in list(body.iter_elements("span")):
        before = each.previous_sibling
        if (
            isinstance(before, Element)
            and before.tag == "span"
            and _IN_WORD.match(before.text[-2:])
            and _IN_WORD.match(each.text[:2])
            and before.attr("class")
            and each.attr("class")
            and each.closest(_UNPARTED) is None
        ):
            each.insert_before(Text(" "))


def _part_blocks(body: Element) -> None:
    """Part blocks within elements of a line, or in cells, from what stands beside them."""
    cell = next(body.iter_elements(("td", "th")), None)
    in_cells = [] if cell is None else body.select(_BLOCKS_IN_CELLS)
    for each in chain(body.select(_BLOCKS_IN_LINES), in_cells):
        behind, before = each.next_sibling, each.previous_sibling
        if behind is not None and _touches(behind, 0):
            behind.insert_before(Text(" "))
        if before is not None and _touches(before, -1):
            first: Node = each
            while isinstance(first, Element) and len(first):
                first = first[0]
            if isinstance(first, Text):
                first.data = f" {first.data}"  # blanks before a block are taken out


def _touches(beside: Node, end: int) -> bool:
    """Whether a text, or an element of a line, has no blank at an end of it."""
    if isinstance(beside, Text):
        text = beside.data if end == 0 else beside.data.rstrip(_BLANKS)
        return text != "" and not text[end].isspace()
    return isinstance(beside, Element) and beside.tag in INLINE


def _shape(body: Element, inline: list[Styled]) -> None:
    """Give lines to what has them by its style, and to programs those that elements make."""
    for each, style in inline:
        if "display" in style and each.tag == "span" and _IS_BLOCK.search(style):
            each.tag = "div"
        elif (
            "white-space" in style
            and _KEEPS_LINES.search(style)
            and "\n" in each.text.strip()
            and not _has_blocks(each)
        ):
            each.tag = "pre"
    for program in body.iter_elements("pre"):
        cell = program.closest("td")
        if cell is not None:
            _free(cell)
        for each in list(program.iter_elements(("br", "div", "p", "li", "tr", "span", "a"))):
            if each.tag == "br":
                each.insert_before(Text("\n"))
                each.extract()
            elif each.tag in ("span", "a"):
                if _LINE_NUMBER.search(each.attr("class") or "") and _DIGITS.fullmatch(each.text):
                    each.extract()
            else:
                _break_before(each)
                each.tag = "span"


def _has_blocks(element: Element) -> bool:
    return any(
        isinstance(each, Element) and each.tag not in INLINE and each.tag != "br"
        for each in element.descendants
    )


def _break_before(element: Element) -> None:
    """A line break before an element of a program, unless there is one, or it is the first."""
    before = element.previous_sibling
    if before is not None and not before.text.endswith("\n"):
        element.insert_before(Text("\n"))


def _free(cell: Element) -> None:
    """Make a program of a table that has only its numbers of lines beside it, or nothing."""
    row = cell.parent
    table = cell.closest("table")
    if table is None or not isinstance(row, Element):
        return
    cells = list(table.iter_elements("td"))
    for each in cells:
        if each != cell and _DIGITS.fullmatch(each.text):
            each.extract()
    if sum(1 for each in table.iter_elements("td")) == 1:
        for each in (cell, row, *([row.parent] if isinstance(row.parent, Element) else ()), table):
            each.tag = "div"


def _raise(element: Element) -> None:
    """Part the number of a note from the word that it touches; x² stays one word."""
    place: Node = element
    while place.previous_sibling is None and isinstance(place.parent, Element):
        if place.parent.tag not in INLINE:
            return
        place = place.parent
    before, text = place.previous_sibling, element.text.strip()
    if before is None or not before.text or text.isalpha() or _POWER.search(before.text):
        return
    place.insert_before(Text(" "))


def _stand_before(caption: Element) -> None:
    """Put the caption of a table before it: `to_text` has none."""
    table = caption.closest("table")
    if table is not None and table.parent is not None:
        caption.tag = "div"
        table.insert_before(caption)


def _show_once(math: Element) -> None:
    """Remove the drawing of a formula beside its text."""
    around = math.closest(".katex,mjx-container")
    for each in [] if around is None else around.select("[aria-hidden=true]"):
        each.extract()


#: An element that was taken out, with the one around it and what follows it.
_Taken = tuple[Element, Node | None, Node | None]


def _remove_hidden(
    tree: Document, sheets: Sheets, inline: list[Styled], opened: Openers, covered: list[Element]
) -> list[_Taken]:
    """Remove what CSS hides, and return it; add what a click shows to `covered`."""
    taken: list[_Taken] = []
    has_formulas = next(tree.iter_elements("math"), None) is not None
    for found in (hidden, unreadable):
        for each in list(found(tree, sheets, inline)):
            if opened(each):
                covered.append(each)
            elif not (has_formulas and _is_formula(each)):
                taken.append((each, each.parent, each.next_sibling))
                each.extract()
            elif "-" not in each.tag:  # those of MathJax have blanks that mean some
                _tighten(each)
    return taken


def _is_formula(element: Element) -> bool:
    """Whether an element is no more than the text of a formula, hidden for its drawing has none."""
    math = next(element.iter_elements("math"), None)
    return math is not None and element.text.strip() == math.text.strip()


def _tighten(formula: Element) -> None:
    """Take the blanks of the source out of a formula; those of words in it stay."""
    for text in formula.descendants:
        if isinstance(text, Text) and isinstance(text.parent, Element):
            text.data = text.data.strip(_BLANKS if text.parent.tag != "mtext" else "\n")


def _show_hidden(body: Element, taken: list[_Taken]) -> None:
    """Put the longest element back that was taken out, if hardly any other text is left.

    A script shows it. What is hidden for other reasons has few paragraphs.
    """
    around = [each for each in taken if isinstance(each[1], Element) and each[1].closest("body")]
    element, parent, behind = max(
        around, key=lambda each: len(each[0].text), default=(None, None, None)
    )
    if element is None or not isinstance(parent, Element):
        return
    length = _size(element)
    lines_of = list(islice(element.iter_elements(("p", "br", "section", "li")), _FEWEST))
    if length < _SHOWN or length < _INSTEAD * _size(body) or len(lines_of) < _FEWEST:
        return
    if behind is not None and behind.parent == parent:
        behind.insert_before(element)
    else:
        parent.append(element)


def _size(element: Element) -> int:
    """The bytes of a text without blanks: a character says more in scripts with longer ones."""
    return len("".join(element.text.split()).encode("utf-8", "replace"))


def _main(body: Element, prose: Prose) -> tuple[Element, str]:
    """Return the element that the main text stands in, and its text."""
    node = prose.article() or body
    text = node.to_text(_PLAIN)
    parts = list(node.iter_elements(("main", "article")))
    for found in (
        [*(each for each in parts if each.tag == "main"), *node.select("[role=main]")],
        [each for each in parts if each.tag == "article"],
    ):
        inner = found[0].to_text(_PLAIN) if len(found) == 1 else ""
        if 2 * len(inner) > len(text):
            node, text = found[0], inner
            break
    smallest = _around_paragraphs(node)
    if smallest != node:
        dense = _POSTED if _is_discussion(body, _DISCUSSION) else _ALIKE
        smallest = prose.widened(smallest, node, dense)
        inner = smallest.to_text(_PLAIN)
        if 2 * len(inner) > len(text):
            return smallest, inner
    return node, text


def _around_paragraphs(node: Element) -> Element:
    """Return the smallest element that holds nearly all paragraphs of `node`."""
    own: dict[Element, int] = {}
    for paragraph in node.iter_elements(_PARAGRAPHS):
        length = len(paragraph.text)
        parent = paragraph.parent
        if length >= _PARAGRAPH and isinstance(parent, Element):
            own[parent] = own.get(parent, 0) + length
    if not own:
        return node
    within: dict[Element, int] = {}
    for parent, length in own.items():
        for each in islice(chain((parent,), parent.ancestors), _LEVELS):
            if each == node or not isinstance(each, Element):
                break
            within[each] = within.get(each, 0) + length
    enough = _NEARLY_ALL * sum(own.values())
    heaviest = max(own, key=own.__getitem__)
    for each in islice(chain((heaviest,), heaviest.ancestors), _LEVELS):
        if each == node or not isinstance(each, Element):
            break
        if within[each] >= enough:
            return each
    return node


def _prune(body: Element, aside: Element) -> Prose:
    """Move boilerplate of `body` to `aside`; return the running text that is left.

    What a tag or a role says is sure. Names, and tags that are also found around the text, count
    only where what goes by them leaves the text of the page.
    """
    marked = body.select("[role],[itemprop=articleBody]")
    roles = [(each, each.attr("role") or "") for each in marked]
    kept: set[Node] = set()
    for each in (
        *body.iter_elements(("h1", "main")),
        *(each for each, role in roles if role == "main" or each.attr("itemprop") == "articleBody"),
    ):
        kept.add(each)
        kept.update(each.ancestors)
    for each in chain(
        [each for each, role in roles if role in ROLES], list(body.iter_elements(TAGS))
    ):
        # An element that was moved keeps the elements within it.
        if (
            each not in kept
            and each.closest("body")
            and (each.tag != "header" or not each.closest("article,main"))
        ):
            if each.tag == "button" and _stands_in_sentence(each):
                each.tag = "span"
            elif each.tag == "button" and _opens_answer(each):
                each.tag = "span" if each.closest(_QUESTIONS) else "div"
            else:
                _move(each, aside)
    prose = Prose(body)
    posts = _POSTS if _is_discussion(body, _THREAD) else ()
    subject = _WORD.findall(" ".join(each.text for each in body.iter_elements("h1")).lower())
    gone = {
        each: name
        for each, name in _named(body)
        if each not in kept
        and name not in subject
        and name not in posts
        and not _continues_sentence(each)
        and not (name in _BUTTONS and _opens_answer(each))
        and not (name in _ASIDES and _TOLD.search(each.attr("class") or ""))
    }
    if prose.spare(gone) < _FEW:
        largest = _LARGEST * len(body.text)
        gone = {each: name for each, name in gone.items() if len(each.text) <= largest}
    prose.leave(gone)
    for each in gone:
        if each.closest(_PROGRAMS) == body:
            _move(each, aside)
    return prose


def _opens_answer(button: Element) -> bool:
    """Whether a button is a question, or the heading of what it opens."""
    if button.closest(_QUESTIONS) is not None:
        return True
    if button.closest("nav,form,[role=tablist]") is not None or not is_opener(button):
        return False
    text, behind = button.text.strip(), button.next_sibling
    while isinstance(behind, Text) and behind.data.isspace():
        behind = behind.next_sibling
    return text.endswith(_MARKS) or (behind is not None and len(behind.text) >= _PARAGRAPH)


def _named(body: Element) -> Iterator[tuple[Element, str]]:
    """Yield what may be boilerplate by its tag, id or class, with the word that says so."""
    for each in body.iter_elements(UNSURE):
        yield each, each.tag
    for each in body.select("[id]"):
        word = boilerplate(each.attr("id") or "")
        if word and each.tag not in _NOT_BY_ID and not _is_slug(each):
            yield each, word
    for each in body.select("[class]"):
        word = CLASSES[each.attr("class") or ""]
        if word and each.tag not in _NOT_BY_NAME and each.tag[:4] != _FORMULA:
            yield each, word


def _is_discussion(body: Element, words: re.Pattern[str]) -> bool:
    """Whether a page calls all of itself one of `words`."""
    names = (body.attr(each) or "" for each in ("class", "id", "data-template"))
    return bool(words.search(" ".join(names)))


def _continues_sentence(element: Element) -> bool:
    """Whether an element stands in a line, beside other text."""
    return (element.tag in INLINE or "-" in element.tag) and any(
        isinstance(each, Text) and not each.data.isspace()
        for each in (element.previous_sibling, element.next_sibling)
    )


def _stands_in_sentence(button: Element) -> bool:
    """Whether a button stands between texts of one line."""
    return all(
        isinstance(each, Text) and not each.data.isspace()
        for each in (button.previous_sibling, button.next_sibling)
    )


def _is_slug(element: Element) -> bool:
    """Whether an element has its id from its text.

    Tools for documentation make the ids of sections of their headings: "file-menu", with a link in
    the heading to itself.
    """
    name = element.attr("id") or ""
    if element.tag in _HEADINGS:
        return True
    if element.tag not in ("section", "div"):
        return False
    heading = next(element.iter_elements(_HEADINGS), None)
    if heading is None:
        return False
    if any(link.attr("href") == f"#{name}" for link in heading.select("[href]")):
        return True
    slug = set(_SLUG.split(name.lower()))
    return len(slug) > _LAYOUT and slug <= set(_SLUG.split(heading.text.lower()))


def _move(element: Element, aside: Element) -> None:
    # A button or a badge stands apart, so it does not become one word with its neighbours.
    element.tag = "div"
    aside.append(element)
