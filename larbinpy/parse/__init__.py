"""Finds the links of a page in its bytes; every function depends on its arguments only.

The crawl calls `read`, which never raises, whatever the bytes are. It chooses a parser by the
page's type; if the type says nothing, by the beginning of the body.

    body        what a body is, by its label, its bytes and its place, and the reader of it; HTTP
                headers, web app manifests; ordinary HTML pages without a tree, with the compiled
                module; when pages changed, as sitemaps and feeds say it
    charset     the encoding of a page; HTML bytes to a tree, with turbohtml; edits of a text in the
                bytes that it was read from
    html, xml   trees to elements, and which attributes are links; sitemaps, RSS and Atom as
                streams, with lxml
    grammars    values of attributes: srcset, refresh, robots directives, lazy loaders, metadata
    css         style sheets
    rewrite     rewrites the links of a page for browsing offline, and nothing else in it
    link        Kind, Link, Parsed, and the Collector that all readers add to; that of a link check
"""

from collections.abc import Generator
from typing import TypeVar

from larbinpy.errors import product_token
from larbinpy.page import Outcome, Page
from larbinpy.parse.body import (
    LONGEST_SITEMAP,
    Form,
    asks_its_site,
    download_name,
    form_of,
    is_filled_by_script,
    is_sitemap,
    is_sitemap_name,
    may_link,
    read_body,
    read_headers,
    read_unlabelled,
    redirect_part,
    redirect_spelling,
    redirect_target,
    reloaded,
    text_of,
    type_of,
)
from larbinpy.parse.charset import sniff
from larbinpy.parse.css import css_urls
from larbinpy.parse.grammars import meta_refresh, srcset, title_of
from larbinpy.parse.link import (
    MAX_LINKS,
    CheckCollector,
    Collector,
    Kind,
    Link,
    Parsed,
    followed,
    unfollowed,
    urls,
)
from larbinpy.parse.rewrite import rewrite, rewriting
from larbinpy.url import Url

__all__ = [
    "LONGEST_SITEMAP",
    "MAX_LINKS",
    "Form",
    "Kind",
    "Link",
    "Parsed",
    "asks_its_site",
    "css_urls",
    "download_name",
    "followed",
    "form_of",
    "is_filled_by_script",
    "is_sitemap",
    "is_sitemap_name",
    "links",
    "may_link",
    "meta_refresh",
    "read",
    "read_in_steps",
    "redirect_part",
    "redirect_spelling",
    "redirect_target",
    "reloaded",
    "rewrite",
    "rewriting",
    "sniff",
    "srcset",
    "text_of",
    "title_of",
    "type_of",
    "unfollowed",
    "urls",
]


def read(page: Page, agent: str, *, checking: bool = False) -> Parsed:
    """As `read_in_steps`, in one step."""
    return _result(read_in_steps(page, agent, checking=checking))


def read_in_steps(
    page: Page, agent: str, *, checking: bool = False
) -> Generator[None, None, Parsed]:
    """Return the links of `page`, its encoding, and its robots directives for `agent`.

    `agent` is a User-Agent or its product token. Headers are read for any status, the body only
    below status 400, if it is no redirect; that of a 304 is the stored one. `checking`: for a link
    check; targets of forms are no links then, and reading HTML takes up to nine times as long.
    Yields between steps: only sitemaps and feeds take several.
    """
    kind = CheckCollector if checking else Collector
    out = kind(page.url.href, product_token(agent))
    if page.url.spelling:
        out.rebase(page.url.spelling)
    read_headers(page, out)
    charset = None
    leads_on = page.outcome is Outcome.ERR_30X and not page.not_modified
    if page.body and page.status < 400 and not leads_on:
        charset = yield from read_body(page, out)
    return out.parsed(charset)


def links(body: bytes, url: str, http_charset: str | None = None) -> list[str]:
    """Return the absolute canonical URLs in `body`, each once, in order of appearance.

    `body` is HTML, or a sitemap or feed, which its beginning shows; `url` is its address. All
    kinds of links are listed.
    """
    out = Collector(url)
    kind = "text/html" if http_charset is None else f"text/html; charset={http_charset}"
    page = Page(Url(url, 0), Outcome.SUCCESS, headers=[("content-type", kind)], body=body)
    _result(read_unlabelled(page, out))
    return urls(out.parsed(None).links)


T = TypeVar("T")


def _result(steps: Generator[None, None, T]) -> T:
    """What `steps` return."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            result: T = end.value
            return result
