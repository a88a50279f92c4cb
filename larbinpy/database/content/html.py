"""Reads an HTML page: one parse, one pass of a selector, and then its texts.

Among these are the title, chosen from what calls itself the title (`Titles`), and the outlinks with
their anchors.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from html import unescape
from itertools import chain, islice
from typing import Any

import turbohtml
from lxml import etree
from turbohtml import Document, Element, Markdown, Namespace, Node

from larbinpy.database.content import dates
from larbinpy.database.content.content import (
    LONGEST_AUTHOR,
    LONGEST_REST,
    LONGEST_TEXT,
    LONGEST_TITLE,
    MOST_HEADINGS,
    Content,
    Image,
    Outlink,
    line,
)
from larbinpy.database.content.declared import BY, LONGEST_BYLINE, Declared, by_whom
from larbinpy.database.content.language import language
from larbinpy.database.content.main_text import Texts, split
from larbinpy.parse import grammars
from larbinpy.parse.charset import document, query_encoder, shortened
from larbinpy.parse.grammars import is_address
from larbinpy.parse.link import Collector
from larbinpy.url import MAX_LENGTH, Base, parse
from larbinpy.url import split as split_url

_WORDS = re.compile(r"\w+")
#: Separators between a title and the name of its site: hyphens, dashes (U+2013, U+2014), bullets
#: and guillemets between blanks, bars anywhere, and hyphens after a letter that takes no blanks.
_SEPARATOR = re.compile(
    r"\s+(?:[-\u2013\u2014\xb7\u2022\xab\u203a>~:]|::|//)\s+|\s*[|\xbb\uff5c]\s*"
    r"|(?<=[\u2e80-\uffff])[-_\u2013\u2014](?=\S)"
)
#: Those that stand in no title.
_BARS = ("|", "\xbb", "\uff5c", "_")
#: Fewer characters of a host's name are found in too many titles.
_SHORTEST_NAME = 3
#: Labels that `viewtopic.php` of many forums writes before the title.
_LABELS = frozenset({"viewtopic", "viewforum", "thread", "topic"})


@dataclass(slots=True)
class Titles:
    """The candidates, each in one line."""

    url: str
    #: `<title>`, and the title for cards on other sites (og:title).
    title: str = ""
    card: str = ""
    #: Name of the site, if the page declares it.
    site: str = ""
    #: Those of the first level.
    headings: Sequence[str] = ()
    #: Texts of links to the home page of the site.
    home: Sequence[str] = ()


def chosen(titles: Titles) -> str:
    """Return the title: a first-level heading if `<title>` has its words, else `<title>`, cut.

    The heading also counts if the page has only one, unless `<title>` and the card agree on
    another title. A home page is called by its whole `<title>`.
    """
    site = _Site(titles.url, (titles.site, *titles.home))
    whole = site.cut(titles.title)
    card = site.cut(titles.card)
    first, *more = _parts(titles.title) or ("",)
    if (
        more
        and _key(first) != _key(titles.site)
        and {_key(first)} == set(map(_key, titles.headings))
    ):
        return first  # even if its host is named so
    if site.is_home and titles.title:
        return site.cut_end(titles.title, 2)
    headings = [site.cut_end(heading, 1) for heading in titles.headings]
    headings = [heading for heading in headings if not site.is_named(heading)]
    words = words_of(titles.title)
    for heading in headings:
        for text in (whole, card):
            # The same letters: a heading may lack the blanks of line breaks.
            if _key(heading) == _key(text):
                return text
        if words_of(heading) <= words:
            return heading
    agreed = whole and _key(whole) == _key(card) and not site.is_named(whole)
    if len({_key(heading) for heading in headings}) == 1 and not agreed:
        heading = headings[0]
        return whole if whole and _begins(heading, whole) else heading
    if not headings and card and not site.is_named(card):
        return card
    return whole or card or next(iter(titles.headings), "")


def words_of(text: str) -> set[str]:
    """The words of a text, in lower case."""
    return set(_WORDS.findall(text.casefold()))


# The same few texts are taken apart several times for a page, and the names of the site for each.
@lru_cache(64)
def _parts(title: str) -> tuple[str, ...]:
    """The parts of a title between separators."""
    return tuple(part.strip() for part in _SEPARATOR.split(title) if part.strip())


@lru_cache(256)
def _key(text: str) -> str:
    return "".join(_WORDS.findall(text.casefold()))


def _begins(heading: str, title: str) -> bool:
    """Whether `heading` is `title` and more; a single word is no title then."""
    return len(words_of(title)) > 2 and _key(heading).startswith(_key(title))


class _Site:
    """The names of the site that a page belongs to."""

    def __init__(self, url: str, names: Iterable[str]) -> None:
        parts = split_url(url)
        self.is_home = parts.path.partition("?")[0] in ("/", "/index.html", "/index.php")
        host = parts.host.removeprefix("www.")
        self._host = _key(host)
        labels = [_key(label) for label in host.split(".")[:-1]]
        self._names = {each for each in labels if len(each) >= _SHORTEST_NAME}
        self._names.update(map(_key, names))

    def is_named(self, text: str) -> bool:
        """Whether `text` is a name of the site, or nothing."""
        key = _key(text)
        if not key or key in self._names:
            return True
        return len(key) > _SHORTEST_NAME and (
            self._host.startswith(key) or self._host.endswith(key)
        )

    def cut(self, title: str) -> str:
        """The title without the names of the site at its ends, and what a bar parts from it."""
        cut = self._cut_ends(title)
        bar = next((each for each in _SEPARATOR.finditer(cut) if each[0].strip() in _BARS), None)
        if bar is not None:
            cut = self._cut_ends(cut[: bar.start()])
        return cut if not self.is_named(cut) else title

    def _cut_ends(self, title: str) -> str:
        begin, end = 0, len(title)
        marks = list(_SEPARATOR.finditer(title))
        while marks and self.is_named(title[marks[-1].end() : end]):
            end = marks.pop().start()
        while marks and self._is_label(title[begin : marks[0].start()]):
            begin = marks.pop(0).end()
        return title[begin:end].strip()

    def _is_label(self, text: str) -> bool:
        return self.is_named(text) or _key(text) in _LABELS

    def cut_end(self, title: str, least: int) -> str:
        """The title without the name of the site at its end, if `least` words are left."""
        *_, last = [None, *_SEPARATOR.finditer(title)]
        if last is not None and self.is_named(title[last.end() :]):
            rest = title[: last.start()].strip()
            if len(words_of(rest)) >= least:
                return rest
        return title


#: Links that are kept: longer lists are maps of a site, whose texts the pages themselves have.
_MOST_LINKS = 2000
#: Characters of all URLs: with a long base, a reference of two bytes becomes a URL of 8 kB.
_MOST_CHARACTERS = 1 << 19
#: Characters of a reference; blanks and escapes may go.
_LONGEST_REFERENCE = 4 * MAX_LENGTH
LONGEST_ANCHOR = 200
_LONGEST_REL = 60
_MOST_IMAGES = 200
_LONGEST_ALT = 300
#: Images of this height or width are for counting visitors.
_TINY = frozenset({"0", "1", "2"})
#: Texts of links that are remembered, and the characters of one.
_KEPT = 1 << 13
_LONGEST_KEPT = 100
#: Scripts put the URL of late images into one of these.
_LATE = ("data-src", "data-original", "data-lazy-src")


#: Whole texts of links from a heading or a post to itself.
_SIGNS = frozenset(("¶", "§", "#", "🔗", "🔗\ufe0e", "🔗\ufe0f"))
#: Faster than the arguments one by one.
_outlink = Outlink._make


class _Anchors(dict[str, str | None]):
    """The texts of links in one line, which the pages of a site share; None for those of signs."""

    def __missing__(self, text: str) -> str | None:
        made = None if text.strip() in _SIGNS else line(text, LONGEST_ANCHOR)
        if len(text) <= _LONGEST_KEPT:
            if len(self) >= _KEPT:
                self.clear()
            self[text] = made
        return made


ANCHORS = _Anchors()


class References:
    """Resolves the references of a page, each once."""

    def __init__(self, url: str, base: str | None, encoding: str | None) -> None:
        """`base` is the href of the first `<base>`, `encoding` that of the page."""
        self.url = url
        start = parse(base, url) if base else None
        if start is None or not start.startswith(("http://", "https://")):
            start = url
        #: What references are relative to.
        self.start = start
        self._base = Base(start)
        self._encode = query_encoder(encoding)
        self._known: dict[str, str | None] = {}
        self._room = _MOST_CHARACTERS

    def resolve(self, reference: str) -> str | None:
        """The canonical URL of a reference; None if there is none, or no room for it."""
        if "#" in reference:
            reference = reference.partition("#")[0]
        url = self._known.get(reference, "")
        if url != "":
            return url
        spelled = reference
        if self._encode is not None and not reference.isascii():
            spelled = self._encode(reference)
        has_room = 0 < len(spelled) <= _LONGEST_REFERENCE and self._room > 0
        url = self._known[reference] = self._base.resolve(spelled) if has_room else None
        self._room -= len(url or "")
        return url

    def link(self, element: Element, text: str, out: dict[Outlink, None]) -> None:
        """Add the link of an element with `text`, in one line, to `out`.

        Links to this page are not added.
        """
        get = element.attr
        reference = get("href")
        if not reference or len(out) >= _MOST_LINKS:
            return
        url = self.resolve(reference)
        if url is None or url == self.url:
            return
        rel = get("rel")
        rel = line(rel, _LONGEST_REL).lower() if rel else ""
        out[_outlink((url, text or _described(element), rel))] = None

    def image(self, element: Element) -> Image | None:
        """The image of an `<img>`; None if no reader sees it."""
        get = element.attr
        if get("width") in _TINY or get("height") in _TINY:
            return None
        late = filter(is_address, (get(name) or "" for name in _LATE))
        sources = chain((get("src") or "",), late)
        source = next((each for each in sources if each and not each.startswith("data:")), "")
        url = self.resolve(source)
        return Image(url, line(get("alt") or "", _LONGEST_ALT)) if url else None

    def images(self, elements: list[Element]) -> list[Image]:
        """The images of `<img>` elements, each URL once."""
        found: dict[str, Image] = {}
        for element in elements:
            image = self.image(element)
            if image is not None and image.url not in found:
                found[image.url] = image
                if len(found) >= _MOST_IMAGES:
                    break
        return list(found.values())


def _described(element: Element) -> str:
    """The text of a link without text: that of its image, or a label of its own."""
    image = element.select_one("img[alt]") if element.tag == "a" else element
    alt = image.attr("alt") if image is not None else None
    text = alt or element.attr("aria-label") or element.attr("title") or ""
    return line(text, LONGEST_ANCHOR)


#: `iter_elements` takes a third of the time of a selector.
_TAGS = ("a", "area", "meta", "title", "desc", "h1", "html", "link", "script")
_MOST_AUTHORS = 50
#: Nodes after the heading among which a byline stands.
_NEAR = 150
#: Elements and texts of one.
_PARTS = 12
#: Characters between the links of two authors.
_LONGEST_AND = 5
_AUTHOR = '[itemprop="author" i],[rel="author" i]'
_HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")
_SHOWN = (*_HEADINGS, "img")
_PERMALINKS = "¶§🔗\ufe0e "
#: The head of most pages is in their first elements; a title after more is one of a drawing.
_MOST_FIRST_HEADINGS = 10
#: Characters of main text that are enough to tell its language.
_ENOUGH = 400
#: Characters at both ends of it, and of the rest, that may say when it was published.
_DATED = 1000


def read_html(body: bytes, http_charset: str | None, url: str, latest: str) -> Content:
    """Return what an HTML page says. Dates after `latest`, an ISO date, are not believed."""
    out = read_tree(document(body, http_charset), url, latest)
    if len(shortened(body)) < len(body):
        out.trouble = "a long text without tags was cut"
    return out


def serialised(root: Any) -> str | None:
    """Return an XHTML document, which lxml has parsed, as HTML; None if that cannot be done.

    XHTML differs in elements such as `<script/>`, which end at once.
    """
    try:
        return str(etree.tostring(root, method="html", encoding="unicode"))
    except (etree.LxmlError, UnicodeError):
        return None


def read_xhtml(markup: str, url: str, latest: str) -> Content:
    """Return what a `serialised` XHTML document says."""
    return read_tree(turbohtml.parse(markup, positions=False), url, latest)


def read_tree(tree: Document, url: str, latest: str) -> Content:
    """Return what the page of a tree says, without its headers. Changes the tree."""
    found = _Elements(tree, url)
    found.remove_unread()
    declared, resolver, titles = found.declared, found.resolver, found.titles
    out = Content(charset=tree.encoding, canonical=found.canonical)
    out.noindex = found.robots.noindex
    out.links = list(found.links)
    order = dates.day_first(found.lang or declared.language, url)
    image = declared.fill(out, latest, order) or found.image
    if not out.author:
        out.author = _author(tree, found.first_headings, far=declared.is_article)
    if out.published is None:
        out.published = dates.in_tree(tree, url, latest, order)
    out.image = resolver.resolve(image) if image else None
    titles.card = line(_once_more(declared.card), LONGEST_TITLE)
    titles.site = out.site_name
    titles.headings = list(filter(None, map(heading, found.first_headings)))
    home = parse("/", url)
    titles.home = [link.anchor for link in out.links if link.url == home]
    out.title = chosen(titles)
    texts = split(tree)
    _cut(out, texts.main, texts.rest)
    spoken = out.text if len(out.text) >= _ENOUGH else "\n".join((out.title, out.text, out.rest))
    out.lang = language(spoken, (found.lang, declared.language))
    shown = list(texts.node.iter_elements(_SHOWN))
    headings = [heading(each) for each in shown if each.tag != "img"]
    if not words_of(titles.title) <= words_of(out.title):
        headings.insert(0, titles.title)
    out.headings = list(dict.fromkeys(filter(None, headings)))[:MOST_HEADINGS]
    out.images = resolver.images([each for each in shown if each.tag == "img"])
    # It needs as much time as a tenth of the rest, and not all who read a page need it.
    out.as_markdown = lambda: _markdown(texts, resolver.start)
    if out.published is None:
        said = f"{out.text[:_DATED]}\n{out.text[_DATED:][-_DATED:]}\n{out.rest[:_DATED]}"
        out.published = dates.in_text(said, url, latest, order)
    return out


#: Characters of Markdown: its links are longer than their texts.
_LONGEST_MARKDOWN = 2 * LONGEST_TEXT
_MARKDOWN = Markdown(
    images=Markdown.Images(mode="ignore"), tables=Markdown.Tables(cell_blocks="text")
)
#: Taken out where it is no code: headings and links without text, as those of images, the
#: second of two line breaks, signs without width, and tags for what Markdown cannot say. Each
#: alternative begins with one character, no set of them, so that `re` passes over all others;
#: hence there is a line break before the first line.
_UNREAD = re.compile(
    r"(?s)\n[> ]*(?P<fence>`{3,}).*?\n[> ]*(?P=fence)|`(?P<ticks>`*)[^`].*?`(?P=ticks)"
    r"|\n(?:[> ]*\\|#{1,6} *)(?=\n|\Z)|\u00ad|\u200b|\ufeff"
    r"|\[(?<!\\\[)\s*\]\([^()\s]*\)|</?(?:strong|em|del)>|&#160;|<br>"
)
#: Each becomes a blank.
_BLANKS = ("&#160;", "<br>")
#: A class of a program, or around it, that names its language: those of Prism and highlight.js,
#: of Sphinx, GitHub and Jekyll, of SyntaxHighlighter.
_LANGUAGE = re.compile(
    r"(?:^|\s)(?:lang(?:uage)?-|highlight-(?:source-|text-)?|brush:\s*|sourceCode\s+)([\w+#.-]+)"
)
_NO_LANGUAGES = frozenset(("default", "none", "notranslate", "text", "plaintext", "plain"))
#: Elements around a program that may name its language.
_AROUND_PROGRAM = 3


#: Characters of all links of a text, resolved: a long base makes megabytes of a few bytes.
_MOST_RESOLVED = 1 << 24


def _markdown(texts: Texts, base: str) -> str:
    for element, tag in texts.retagged:
        element.tag = tag
    parts = (markdown(each, base) for each in texts.shown)
    return "\n\n".join(filter(None, parts))[:_LONGEST_MARKDOWN]


def markdown(node: Node, base: str) -> str:
    """The text of a node as Markdown; its links are resolved against `base`. Changes the node."""
    for link in list(node.iter_elements("a")):
        if link.attr("title") is not None:
            del link.attrs["title"]
        if (link.attr("href") or "")[:11].lower() == "javascript:":
            del link.attrs["href"]
        heading = next(link.iter_elements(_HEADINGS), None)
        if heading is not None:
            _lead(heading, link)
    for each in node.select("[style*=white-space],[role=heading],label"):
        _plain(each)
    for program in node.iter_elements("pre"):
        if language := _language_of(program):
            program.attrs["class"] = f"language-{language}"
    links = sum(1 for _ in node.iter_elements(("a", "img")))
    if links * len(base) <= _MOST_RESOLVED:  # else they stay as the page spells them
        node.resolve_links(base)
    return _UNREAD.sub(_read, "\n" + node.to_markdown(_MARKDOWN)).strip()


def _lead(heading: Element, link: Element) -> None:
    """Make a heading the link that is around it, and around more: a link has one line."""
    inner = Element("a")
    inner.attrs["href"] = link.attr("href") or ""
    for each in list(heading.children):
        inner.append(each)
    heading.append(inner)
    link.tag = "div"


def _plain(element: Element) -> None:
    """Write an element as what it is, where it has other tags or styles."""
    if element.tag == "label":
        for box in element.select(":scope > [type=checkbox]"):
            element.insert_before(box)  # a list has those that begin its items
    elif element.attr("role") == "heading":
        level = element.attr("aria-level") or ""
        element.tag = f"h{level}" if level in ("1", "2", "3", "4", "5", "6") else "h2"
    elif element.tag != "pre":
        del element.attrs["style"]  # editors write it on all paragraphs, which are no programs


def _read(found: re.Match[str]) -> str:
    text = found[0]
    if found.lastgroup:
        return text
    return text[:-1].rstrip(" ") if text[-1] == "\\" else " " if text in _BLANKS else ""


def _language_of(program: Element) -> str:
    """The language that a `<pre>` or an element around it names; empty for none."""
    inner = program.select_one("code[class]")
    around = islice(program.ancestors, _AROUND_PROGRAM)
    for each in (program, *([inner] if inner is not None else []), *around):
        if not isinstance(each, Element):
            break
        named = each.attr("data-lang") or each.attr("lang")
        found = _LANGUAGE.search(each.attr("class") or "")
        language = named if named and each is program else found[1] if found else ""
        if language and language not in _NO_LANGUAGES:
            return language
    return ""


class _Elements:
    """The elements of a page that say something beside its texts, gathered in one pass."""

    def __init__(self, tree: Document, url: str) -> None:
        bases = (each.attr("href") for each in tree.iter_elements("base"))
        base = next((each for each in bases if each is not None), None)
        self.resolver = References(url, base, tree.encoding)
        self.declared = Declared()
        self.robots = Collector(url)
        self.titles = Titles(url)
        self.first_headings: list[Element] = []
        self.links: dict[Outlink, None] = {}
        self.lang: str | None = None
        self.image: str | None = None
        self.canonical: str | None = None
        # Titles and descriptions of drawings: texts of links without other text, else not seen.
        self._unseen: list[Element] = []
        self._signs: list[Element] = []
        take = {
            "a": self._anchor,
            "area": self._area,
            "meta": self._meta,
            "title": self._title,
            "desc": self._unseen.append,
            "h1": self._heading,
            "html": self._html,
            "link": self._link,
            "script": self._script,
        }
        for element in tree.iter_elements(_TAGS):
            take[element.tag](element)

    def _anchor(self, element: Element) -> None:
        text = ANCHORS[element.text]
        if text is None:
            self._signs.append(element)
        else:
            self.resolver.link(element, text, self.links)

    def _area(self, element: Element) -> None:
        self.resolver.link(element, "", self.links)

    def _meta(self, element: Element) -> None:
        get = element.attr
        self.declared.meta(get)
        grammars.from_meta(get("name") or "", get("content") or "", self.robots)

    def _title(self, element: Element) -> None:
        if element.namespace is Namespace.HTML:
            self.titles.title = self.titles.title or line(_once_more(element.text), LONGEST_TITLE)
        else:
            self._unseen.append(element)

    def _heading(self, element: Element) -> None:
        if len(self.first_headings) < _MOST_FIRST_HEADINGS:
            self.first_headings.append(element)

    def _html(self, element: Element) -> None:
        self.lang = self.lang or element.attr("lang")

    def _link(self, element: Element) -> None:
        rel = (element.attr("rel") or "").lower().split()
        if "canonical" in rel:
            self.canonical = self.canonical or self.resolver.resolve(element.attr("href") or "")
        elif "image_src" in rel:
            self.image = element.attr("href")

    def _script(self, element: Element) -> None:
        if (element.attr("type") or "").lower().startswith("application/ld+json"):
            self.declared.script(element.text)

    def remove_unread(self) -> None:
        """Remove elements that are no text of the page from the tree."""
        for element in self.first_headings:
            self._unseen += element.select("[hidden]")
        for element in self._unseen:
            element.extract()
        for element in self._signs:
            element.clear()  # the link tells that its section has a heading


#: What programs leave of a title that they escape twice; a name is one of HTML itself.
_TWICE = re.compile(r"&(?:amp|quot|lt|gt|nbsp|#\d{2,5}|#x[\da-f]{2,4});", re.IGNORECASE)


def _once_more(title: str) -> str:
    return _TWICE.sub(lambda found: unescape(found[0]), title) if "&" in title else title


def heading(element: Element) -> str:
    """The text of a heading, without the sign of its permalink."""
    # `to_text` has a blank where a line breaks.
    text = element.to_text() if len(element) > 1 else element.text
    return line(text, LONGEST_TITLE).rstrip(_PERMALINKS).removesuffix(" #").removeprefix("# ")


def _author(tree: Document, headings: list[Element], *, far: bool) -> str:
    """The authors that elements of the page name; those after the heading before others.

    `far`: bylines are looked for on all of the page.
    """
    heading = headings[0] if headings else None
    found = tree.select(f"h1,{_AUTHOR}")[:_MOST_AUTHORS]
    at = found.index(heading) if heading in found else 0
    before = [each for each in found[:at] if each.attr("rel") is None]
    named = [each for each in (*before, *found[at:], *found[:at]) if each.tag != "h1"]
    own = [each for each in named if not dates.is_elsewhere(each, heading)]
    authors = (line(_named(each), LONGEST_AUTHOR) for each in own or named)
    return next(filter(None, authors), "") or _byline(tree, heading, far)


def _named(element: Element) -> str:
    """The name in an element that is about an author, and those in its like beside it."""
    if element.tag == "a":
        names = [element.text.strip()]
        for each in element.next_siblings:
            if isinstance(each, Element) and each.attr("rel") == element.attr("rel"):
                names.append(each.text.strip())
            elif isinstance(each, Element) or len(each.text.strip()) > _LONGEST_AND:
                break
        return ", ".join(dict.fromkeys(filter(None, names)))
    text = (element.select_one('[itemprop="name"],a') or element).text
    return by_whom(text) or text


#: Names of what an author is named in, and of what is said of one elsewhere.
_BYLINE = re.compile(
    r"(?:(?<![a-z])|(?<=[a-z])(?=[BA]))(?:byline|author|authors|autor|auteur|writer)(?![a-z])", re.I
)
_BYLINES = ",".join(f"[class*={word} i]" for word in ("byline", "aut", "writer"))
_NO_BYLINE = re.compile(
    r"comment|(?<![a-z])(?:bio|box|info|about|avatar|img|image|photo|title)(?![a-z])", re.I
)


def _byline(tree: Document, heading: Element | None, far: bool) -> str:
    """The author in a byline: an element after the heading that is called so, or begins with by."""
    near = [] if heading is None else list(islice(heading.following, _NEAR))
    short = (
        each
        for each in near
        if isinstance(each, Element) and len(each) <= _PARTS and len(each.text) <= LONGEST_BYLINE
    )
    called = tree.select(_BYLINES)[:_MOST_AUTHORS] if far else []
    for each in chain(short, called):
        if each.tag in ("script", "style", "h2", "h3", "nav", "button"):
            continue
        name, text = each.attr("class") or "", each.text.strip()
        says = BY.match(text) is not None and each.tag not in ("a", "time")
        is_called = _BYLINE.search(name) and not _NO_BYLINE.search(name)
        if (
            (says or is_called)
            and (author := by_whom(text))
            and not dates.is_elsewhere(each, heading)
        ):
            return author
    return ""


def _cut(out: Content, text: str, rest: str) -> None:
    out.text, out.rest = text[:LONGEST_TEXT], rest[:LONGEST_REST]
    if len(text) > LONGEST_TEXT:
        out.trouble = f"text cut at {LONGEST_TEXT} characters"
