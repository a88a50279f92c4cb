"""The declarations of a page about itself, in `<meta>` and JSON-LD."""

from collections.abc import Callable, Iterable
from typing import Any

from larbinpy.content import dates, facts
from larbinpy.content.clean import line
from larbinpy.content.content import LONGEST_AUTHOR, Content

#: Names in `<meta name>`, `property` and `itemprop`, in lower case, the most reliable first.
_CARDS = ("og:title", "twitter:title")
_SITES = ("og:site_name", "application-name", "apple-mobile-web-app-title")
_SUMMARIES = ("description", "og:description", "twitter:description", "dc.description")
_AUTHORS = (
    *("author", "article:author", "parsely-author", "citation_author", "dc.creator"),
    *("dcterms.creator", "sailthru.author", "article:author_name", "byl"),
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
    *("date", "article_date_original", "created"),
)
_MODIFIED = (
    *("article:modified_time", "og:updated_time", "og:modified_time", "datemodified"),
    *("dcterms.modified", "dc.date.modified", "lastmod", "last-modified", "modified"),
    *("updated", "revised", "article:updated_time"),
)
_COMMENTS = ("commentcount",)
_CLICKS = ("interactioncount", "userinteractioncount")
_LANGUAGES = ("content-language", "og:locale", "dc.language", "inlanguage")
_READ = frozenset(
    each
    for names in (_CARDS, _SITES, _SUMMARIES, _AUTHORS, _IMAGES, _PUBLISHED, _MODIFIED)
    for each in (*names, *_COMMENTS, *_CLICKS, *_LANGUAGES)
)
#: Characters; honest texts are shorter.
_LONGEST_SUMMARY = 1000
_LONGEST_URL = 8000
_MOST_SCRIPTS = 100


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
            name = get(attribute)
            if name and (name := name.strip().lower()) in _READ:
                self._metas.setdefault(name, content)

    def script(self, text: str) -> None:
        """Take a script of JSON-LD."""
        if len(self._scripts) < _MOST_SCRIPTS:
            self._scripts.append(text)

    @property
    def objects(self) -> list[Any]:
        """The objects of JSON-LD."""
        if self._objects is None:
            self._objects = facts.objects(self._scripts)
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
    def language(self) -> str:
        """The language that `<meta>` or JSON-LD declares."""
        return self.first(_LANGUAGES)

    def fill(self, out: Content, latest: str) -> str:
        """Fill `out` from all that was declared; return the URL of the image as it stands there.

        Dates after `latest`, an ISO date, are not believed.
        """
        about = facts.pages(self.objects)
        publishers = (facts.name(each.get("publisher")) for each in about)
        websites = (facts.name(each) for each in self.objects if "WebSite" in facts.types(each))
        site = self.first(_SITES) or next(filter(None, (*websites, *publishers)), "")
        out.site_name = line(site, LONGEST_AUTHOR)
        summary = self.first(_SUMMARIES) or facts.text(about, "description", "abstract")
        out.summary = line(summary, _LONGEST_SUMMARY)
        out.author = self._author(about)
        out.published = self._published(about, latest)
        modified = self._all(_MODIFIED)
        modified.append(facts.text(about, "dateModified"))
        out.modified = _first_date(modified, latest)
        out.comments, out.clicks = facts.counts((*about, *self.objects))
        if out.comments is None:
            out.comments = facts.number(self.first(_COMMENTS))
        if out.clicks is None:
            out.clicks = facts.number(self.first(_CLICKS))
        out.facts = facts.kept(self.objects)
        image = self.first(_IMAGES) or next(
            filter(None, (facts.url(each.get("image")) for each in about)), ""
        )
        return image[:_LONGEST_URL].strip()

    def _author(self, about: list[Any]) -> str:
        names = (*(facts.name(each.get("author")) for each in about), *self._all(_AUTHORS))
        for name in names:
            name = line(name, LONGEST_AUTHOR)
            # article:author is often the URL of a profile.
            if name and not name.startswith(("http://", "https://", "www.", "@")):
                return name[3:] if name.lower().startswith("by ") else name
        return ""

    def _published(self, about: list[Any], latest: str) -> str | None:
        candidates = self._all(_PUBLISHED)
        candidates.append(facts.text(about, "datePublished", "uploadDate", "dateCreated"))
        return _first_date(candidates, latest)


def _first_date(texts: Iterable[str], latest: str) -> str | None:
    return next(filter(None, (dates.iso(text, latest) for text in texts if text)), None)
