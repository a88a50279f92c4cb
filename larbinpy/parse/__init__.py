"""Bytes of a page to its links; everything here is a pure function of its arguments.

`read` is what the crawl calls: it goes by the page's type, and never raises, whatever the
bytes are. A type that says nothing, and only that, is made up for by a look at the body.

    charset     which encoding; and HTML bytes to a tree, through turbohtml
    html, xml   trees to elements; elements says which of their attributes are links
    feeds       sitemaps, RSS and Atom, as streams through lxml
    headers     Link, Refresh, Location, X-Robots-Tag; directives: what robots are told
    css, srcset, refresh, manifest   the small grammars
    rewrite     a page as it is read from a disk; marked: where in its text attributes stand;
                steps: how long work is divided
    link        Kind, Link, Parsed, and the Collector they all add to
"""

from larbinpy.agent import product_token
from larbinpy.page import Page
from larbinpy.parse.body import may_link, read_body, read_unlabelled
from larbinpy.parse.charset import sniff
from larbinpy.parse.css import css_urls
from larbinpy.parse.headers import read_headers, redirect_target
from larbinpy.parse.link import MAX_LINKS, Collector, Kind, Link, Parsed
from larbinpy.parse.refresh import meta_refresh
from larbinpy.parse.rewrite import Form, form_of, rewrite, rewriting
from larbinpy.parse.srcset import srcset

__all__ = [
    "MAX_LINKS",
    "Form",
    "Kind",
    "Link",
    "Parsed",
    "css_urls",
    "form_of",
    "links",
    "may_link",
    "meta_refresh",
    "read",
    "redirect_target",
    "rewrite",
    "rewriting",
    "sniff",
    "srcset",
]


def read(page: Page, agent: str) -> Parsed:
    """The links of `page`, its encoding, and its robots directives for `agent`.

    `agent` is a User-Agent or its product token. Headers are read whatever the status, the
    body only of pages that were not redirected or refused. That of a 304 is the one at hand.
    """
    out = Collector(page.url.href, product_token(agent))
    read_headers(page, out)
    charset = None
    if page.body and (page.status < 300 or page.not_modified):
        charset = read_body(page, out)
    return out.parsed(charset)


def links(body: bytes, url: str, http_charset: str | None = None) -> list[str]:
    """Absolute canonical URLs that `body` refers to, each once, in order of appearance.

    `body` is HTML, or a sitemap or feed, which it shows at its beginning; `url` is where it
    came from. All kinds of links are listed.
    """
    out = Collector(url)
    read_unlabelled(body, http_charset, out)
    return [link.url for link in out.parsed(None).links]
