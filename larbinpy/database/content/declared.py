"""The declarations of a page about itself, in `<meta>` and in the objects of its JSON-LD."""

import json
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from larbinpy.database.content import dates
from larbinpy.database.content.content import LONGEST_AUTHOR, Content, line

#: Characters of JSON-LD that are read and that are kept. Shops declare hundreds of products.
_MOST_READ = 1 << 20
_MOST_KEPT = 1 << 16
_MOST_OBJECTS = 200
#: Types of the objects that are about the page and not about a part or its surroundings.
_PAGES = frozenset(
    {"Article", "NewsArticle", "BlogPosting", "TechArticle", "ScholarlyArticle", "Report"}
    | {"LiveBlogPosting", "SocialMediaPosting", "DiscussionForumPosting", "OpinionNewsArticle"}
    | {
        "AnalysisNewsArticle",
        "ReportageNewsArticle",
        "ReviewNewsArticle",
        "AdvertiserContentArticle",
    }
    | {"Blog", "Recipe", "Review", "VideoObject", "AudioObject", "PodcastEpisode", "Question"}
    | {"QAPage", "Product", "Event", "JobPosting", "Book", "Movie", "Course", "HowTo", "Dataset"}
    | {"SoftwareApplication", "SoftwareSourceCode", "CreativeWork", "WebPage", "ItemPage"}
    | {"MedicalWebPage", "AboutPage", "FAQPage", "ProfilePage", "CollectionPage"}
)
_VIEWS = (
    "view",
    "watch",
    "read",
    "click",
    "listen",
    "play",
    "pagevisits",
    "pageviews",
    "userplays",
)
#: Larger numbers are no counts, and databases do not hold them.
_LARGEST = (1 << 63) - 1


def objects(scripts: Iterable[str]) -> list[Any]:
    """Return the objects in the texts of `<script type="application/ld+json">`, `@graph` opened."""
    found: list[Any] = []
    room = _MOST_READ
    for text in scripts:
        room -= len(text)
        if room < 0:
            break
        for value in _values(text.strip().rstrip(";")):
            found += _opened(value)
    return found[:_MOST_OBJECTS]


#: Frequent faults: comments around a script, commas before its ends, backslashes that escape
#: nothing. Line breaks within texts are another one.
_FAULTS = re.compile(
    r"^\s*(?://)?\s*(?:<!--|<!\[CDATA\[|/\*.*?\*/)(?:\s*//<!\[CDATA\[)?|(?://)?\s*(?:-->|\]\]>|/\*.*?\*/)\s*$"
    r"|,(?=\s*[}\]])|\\(?![\"\\/bfnrtu])"
)
#: What is read of an object that no parser takes.
_DATES = re.compile(r'"(datePublished|dateModified|dateCreated)"\s*:\s*"([^"]{4,40})"')


def _values(text: str) -> list[Any]:
    """The values of a script: one, several behind each other, or what can be read of it."""
    try:
        return [json.loads(text, strict=False)]
    except RecursionError:
        return []
    except ValueError:
        pass
    decoder, at = json.JSONDecoder(strict=False), 0
    found: list[Any] = []
    text = _FAULTS.sub("", text).strip()
    try:
        while at < len(text) and len(found) < _MOST_OBJECTS:
            value, at = decoder.raw_decode(text, at)
            found.append(value)
            at += len(text[at:]) - len(text[at:].lstrip(" \t\r\n;,"))
    except (ValueError, RecursionError):
        said = dict(reversed(_DATES.findall(text)))
        return [*found, {"@type": "CreativeWork", **said}] if said else found
    return found


def kept(found: list[Any]) -> list[Any]:
    """The first of the objects, as many as have room in a database."""
    room = _MOST_KEPT
    some = []
    for each in found:
        room -= len(json.dumps(each, ensure_ascii=False))
        if room < 0:
            break
        some.append(each)
    return some


def _opened(value: Any) -> Iterator[Any]:
    for each in value if isinstance(value, list) else [value]:
        if isinstance(each, dict):
            graph = each.get("@graph")
            if isinstance(graph, list):
                yield from (inner for inner in graph if isinstance(inner, dict))
            else:
                yield each
            for name in _ABOUT:
                if isinstance(inner := each.get(name), dict) and "@type" in inner:
                    yield inner


#: Properties of a page whose value is the article on it.
_ABOUT = ("mainEntity", "mainEntityOfPage")


def pages(found: Iterable[Any]) -> list[Any]:
    """Those of the objects that are about the page itself; articles first, plain pages last."""
    about = [each for each in found if not _PAGES.isdisjoint(types(each))]
    return sorted(about, key=_rank)


def _rank(fact: Any) -> int:
    names = " ".join(types(fact))
    return 0 if names.endswith(("Article", "Posting", "Report")) else 1 + ("Page" in names)


def types(fact: Any) -> list[str]:
    """The types of an object, without the address of the vocabulary."""
    value = fact.get("@type")
    values = value if isinstance(value, list) else [value]
    return [each.rpartition("/")[2] for each in values if isinstance(each, str)]


def text(about: Iterable[Any], *names: str) -> str:
    """The first property of `names` that is a text, of the first object that has one."""
    for each in about:
        for name in names:
            value = each.get(name)
            if isinstance(value, str) and value.strip():
                return value
    return ""


def name_of(value: Any) -> str:
    """The name of a person or organisation: a text, an object, or a list of them."""
    if isinstance(value, str):
        return value
    if isinstance(value, dict):
        inner = value.get("name")
        return (
            inner if isinstance(inner, str) else name_of(inner) if isinstance(inner, list) else ""
        )
    if isinstance(value, list):
        names = [name_of(each) for each in value[:10] if not isinstance(each, list)]
        return ", ".join(dict.fromkeys(filter(None, names)))
    return ""


def url(value: Any) -> str:
    """The URL of an image: a text, an object, or a list of them."""
    if isinstance(value, list):
        return url(value[0]) if value and not isinstance(value[0], list) else ""
    inner = value.get("url") or value.get("contentUrl") if isinstance(value, dict) else value
    return inner if isinstance(inner, str) else ""


def counts(about: Iterable[Any]) -> tuple[int | None, int | None]:
    """Numbers of comments and of views (clicks); None where no object declares them."""
    comments: int | None = None
    clicks: int | None = None
    for each in about:
        if comments is None:
            comments = number(each.get("commentCount", each.get("answerCount")))
        statistics = each.get("interactionStatistic", each.get("interactionCount"))
        for one in (statistics if isinstance(statistics, list) else [statistics])[:20]:
            kind, count = _interaction(one)
            if count is None:
                continue
            if "comment" in kind and comments is None:
                comments = count
            elif clicks is None and any(view in kind for view in _VIEWS):
                clicks = count
    return comments, clicks


def _interaction(value: Any) -> tuple[str, int | None]:
    if isinstance(value, str):  # "UserComments:12", the spelling of 2011
        said, _, count = value.partition(":")
        return said.lower(), number(count)
    if not isinstance(value, dict):
        return "", None
    kind = value.get("interactionType", value.get("name"))
    if isinstance(kind, dict):
        kind = kind.get("@type", kind.get("@id"))
    if not isinstance(kind, str):
        return "", None
    return kind.rpartition("/")[2].lower(), number(value.get("userInteractionCount"))


def number(value: Any) -> int | None:
    """A count as pages spell it: 12, "12" or "1,200"."""
    if isinstance(value, str):
        digits = value[:30].strip().replace(",", "").replace(" ", "")
        value = int(digits) if digits.isascii() and digits.isdecimal() else None
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    whole = isinstance(value, int) and not isinstance(value, bool)
    return value if whole and 0 <= value <= _LARGEST else None


#: Names in `<meta name>`, `property` and `itemprop`, in lower case, the most reliable first.
_CARDS = ("og:title", "twitter:title")
_SITES = ("og:site_name", "application-name", "apple-mobile-web-app-title")
_SUMMARIES = ("description", "og:description", "twitter:description", "dc.description")
_AUTHORS = (
    *("dc.creator", "dcterms.creator", "author", "article:author", "parsely-author"),
    *("citation_author", "sailthru.author", "article:author_name", "byl"),
)
_IMAGES = ("og:image", "og:image:url", "og:image:secure_url", "twitter:image", "twitter:image:src")
_PUBLISHED = (
    *("article:published_time", "og:published_time", "og:article:published_time"),
    *("datepublished", "parsely-pub-date", "publishdate", "publish-date", "publish_date"),
    *("pubdate", "published", "publication_date", "published_date", "article.published"),
    *("citation_publication_date", "citation_online_date", "citation_date", "dc.date.issued"),
    *("dcterms.issued", "dc.date.created", "dcterms.created", "sailthru.date", "release_date"),
    *(
        "og:release_date",
        "article:post_date",
        "bt:pubdate",
        "uploaddate",
        "dc.date",
        "dcterms.date",
    ),
    *("date", "article_date_original", "created", "article:published", "article:published_date"),
    *("article:publicationdate", "article.created", "article:create_at", "date_published"),
    *("date_created", "datecreated", "dateposted", "dc.created", "dc.date.publication"),
    *("dc:created", "dc:date", "prism.publicationdate", "og:article:published", "og:pubdate"),
    *("og:publish_date", "og:datepublished", "og:question:published_time", "og:regdate"),
    *("originalpublicationdate", "displaydate", "mediator_published_time", "published_time"),
    *("publish_time", "published-date", "publisheddate", "rnews:datepublished", "pdate", "ptime"),
    *("shareaholic:article_published_time", "video:release_date", "vr:published_time"),
    *("cxenseparse:recs:publishtime", "content_create_date", "twt-published-at", "gentime"),
)
_MODIFIED = (
    *("article:modified_time", "og:updated_time", "og:modified_time", "datemodified"),
    *("dcterms.modified", "dc.date.modified", "lastmod", "last-modified", "modified"),
    *("updated", "revised", "article:updated_time"),
)
_COMMENTS = ("commentcount",)
_CLICKS = ("interactioncount", "userinteractioncount")
_KINDS = ("og:type",)
_LANGUAGES = ("content-language", "og:locale", "dc.language", "inlanguage")
#: Those of which each has one of several names.
_LISTS = frozenset(("citation_author", "dc.creator", "dcterms.creator"))
_READ = frozenset(
    each
    for names in (_CARDS, _SITES, _SUMMARIES, _AUTHORS, _IMAGES, _PUBLISHED, _MODIFIED)
    for each in (*names, *_COMMENTS, *_CLICKS, *_LANGUAGES, *_KINDS)
)
#: Characters; honest texts are shorter.
_LONGEST_SUMMARY = 1000
_LONGEST_URL = 8000
_MOST_SCRIPTS = 100
#: Before a name, if more than one word follows, and around one, as in the mail of feeds.
_FROM = re.compile(r"^(?:by|von|par|por)\s(?=\S+\s\S)", re.IGNORECASE)
_ADDRESS = re.compile(r"^\S+@\S+\s+\((.+)\)$")


class Declared:
    """Gathers what the elements declare, then fills a `Content`."""

    def __init__(self) -> None:
        self._metas: dict[str, str] = {}
        self._scripts: list[str] = []
        self._objects: list[Any] | None = None

    def meta(self, get: Callable[[str], str | None]) -> None:
        """Take a `<meta>`, or an element with `itemprop`; the first of a name counts."""
        content = get("content")
        if not content:
            return
        for attribute in ("property", "name", "itemprop", "http-equiv"):
            for name in (get(attribute) or "").lower().split():
                if name.startswith("dc:"):
                    name = f"dc.{name[3:]}"
                if name in _READ:
                    first = self._metas.setdefault(name, content)
                    if name in _LISTS and content not in first and len(first) < LONGEST_AUTHOR:
                        self._metas[name] = f"{first}, {content}"

    def script(self, text: str) -> None:
        """Take a script of JSON-LD."""
        if len(self._scripts) < _MOST_SCRIPTS:
            self._scripts.append(text)

    @property
    def objects(self) -> list[Any]:
        """The objects of JSON-LD."""
        if self._objects is None:
            self._objects = objects(self._scripts)
        return self._objects

    def first(self, names: Iterable[str]) -> str:
        """The content of the first of `names` that is declared."""
        return next(iter(self._all(names)), "")

    def _all(self, names: Iterable[str]) -> list[str]:
        return [self._metas[name] for name in names if name in self._metas]

    @property
    def card(self) -> str:
        """The title for cards on other sites."""
        return self.first(_CARDS)

    @property
    def is_article(self) -> bool:
        """Whether the page calls itself an article."""
        return self.first(_KINDS).lower() == "article" or bool(pages(self.objects))

    @property
    def language(self) -> str:
        """The language that `<meta>` or JSON-LD declares."""
        return self.first(_LANGUAGES)

    def fill(self, out: Content, latest: str, order: bool | None = None) -> str:
        """Fill `out` from all that was declared; return the URL of the image as it stands there.

        Dates after `latest`, an ISO date, are not believed; `order`: that of `dates.iso`.
        """
        about = pages(self.objects)
        publishers = (name_of(each.get("publisher")) for each in about)
        websites = (name_of(each) for each in self.objects if "WebSite" in types(each))
        site = self.first(_SITES) or next(filter(None, (*websites, *publishers)), "")
        out.site_name = line(site, LONGEST_AUTHOR)
        summary = self.first(_SUMMARIES) or text(about, "description", "abstract")
        out.summary = line(summary, _LONGEST_SUMMARY)
        out.author = self._author(about)
        out.published = self._published(about, latest, order)
        modified = self._all(_MODIFIED)
        modified.append(text(about, "dateModified"))
        out.modified = _first_date(modified, latest, order)
        out.comments, out.clicks = counts((*about, *self.objects))
        if out.comments is None:
            out.comments = number(self.first(_COMMENTS))
        if out.clicks is None:
            out.clicks = number(self.first(_CLICKS))
        out.facts = kept(self.objects)
        image = self.first(_IMAGES) or next(
            filter(None, (url(each.get("image")) for each in about)), ""
        )
        return image[:_LONGEST_URL].strip()

    def _author(self, about: list[Any]) -> str:
        said = (each.get("author", each.get("creator")) for each in about)
        names = (*(name_of(self._resolved(each)) for each in said), *self._all(_AUTHORS))
        for name in names:
            name = _ADDRESS.sub(r"\1", line(name, LONGEST_AUTHOR))
            # article:author is often the URL of a profile.
            if name and not name.startswith(("http://", "https://", "www.", "@")):
                return _FROM.sub("", name)
        return ""

    def _resolved(self, value: Any) -> Any:
        """A value, or the objects that it refers to by `@id`."""
        if isinstance(value, list):
            return [self._resolved(each) for each in value if not isinstance(each, list)]
        if isinstance(value, dict) and "name" not in value and "@id" in value:
            same = (each for each in self.objects if each.get("@id") == value["@id"])
            return next((each for each in same if "name" in each), value)
        return value

    def _published(self, about: list[Any], latest: str, order: bool | None) -> str | None:
        candidates = self._all(_PUBLISHED)
        candidates.append(text(about, "datePublished", "uploadDate", "dateCreated"))
        return _first_date(candidates, latest, order)


#: Characters of a byline, those of a name, and its words.
LONGEST_BYLINE = 200
_LONGEST_NAME = 60
_MOST_NAMES = 6
BY = re.compile(
    r"^(?:(?:written|posted|published|reported|words|story|text|article|created|submitted)?\s*by"
    r"|von|par|por|di|af|av|door|yazan|author|autore?|auteur|\u4f5c\u8005|\u6587|\u8bb0\u8005|\u8457\u8005)"
    r"(?:\s*[:\uff1a\uff0f]\s*|\s+)",
    re.IGNORECASE,
)
#: Where a name ends: signs, a date, and what follows in bylines.
_NAME_ENDS = re.compile(
    r"\s*(?:[|\u2022\xb7\u2013\u2014;\n\t/]|\s-\s|\s\d|\d{1,2}\s[A-Z]|,\s*(?=[a-z\d]|[A-Z][a-z]+\s*\d)"
    r"|\s(?:on|in|at|from|for|published|posted|updated|edited|am|le|el|il)\s"
    r"|(?:mon|tues|wednes|thurs|fri|satur|sun)day|(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z.]*\s\d).*",
    re.IGNORECASE | re.DOTALL,
)
_NO_NAME = re.compile(
    r"[@#:!?\u00a9]|\b(?:share|follow|subscribe|comments?|read|the|view|all|more)\b", re.I
)


def by_whom(text: str) -> str:
    """The names of a byline: "Ann Lee, Bo Ek" of "By Ann Lee, Bo Ek | 3 May"; empty for none."""
    text = _NAME_ENDS.sub("", BY.sub("", text.strip()[:LONGEST_BYLINE].replace("\xa0", " ")))
    text = " ".join(text.split()).strip(" ,.")
    people = re.split(r",\s*|\s(?:and|und|et|y|e|en|och|og|&)\s", text)
    if (
        not text
        or _NO_NAME.search(text)
        or any(
            len(each) > _LONGEST_NAME or len(each.split()) > _MOST_NAMES or each[:1].islower()
            for each in people
        )
    ):
        return ""
    return line(text, LONGEST_AUTHOR)


def _first_date(texts: Iterable[str], latest: str, order: bool | None) -> str | None:
    return next(filter(None, (dates.iso(text, latest, order) for text in texts if text)), None)
