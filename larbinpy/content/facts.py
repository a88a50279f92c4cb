"""JSON-LD: the objects that a page declares of itself, and what can be read from them."""

import json
from collections.abc import Iterable, Iterator
from typing import Any

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
        try:
            # Line breaks within strings are a frequent fault.
            value = json.loads(text.strip().rstrip(";"), strict=False)
        except (ValueError, RecursionError):
            continue
        found += _opened(value)
    return found[:_MOST_OBJECTS]


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


def pages(found: Iterable[Any]) -> list[Any]:
    """Those of the objects that are about the page itself; articles before plain pages."""
    about = [each for each in found if not _PAGES.isdisjoint(types(each))]
    return sorted(about, key=lambda each: any(name.endswith("Page") for name in types(each)))


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


def name(value: Any) -> str:
    """The name of a person or organisation: a text, an object, or a list of them."""
    if isinstance(value, str):
        return value
    if isinstance(value, dict):
        inner = value.get("name")
        return inner if isinstance(inner, str) else name(inner) if isinstance(inner, list) else ""
    if isinstance(value, list):
        names = [name(each) for each in value[:10] if not isinstance(each, list)]
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
