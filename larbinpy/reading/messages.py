"""A page on its way to a reader, and what was read of it on its way back.

Either is a line of JSON: what comes out of a process that parses the web is only data, whatever
became of it there. Behind the line of a page comes its body.
"""

import json
from typing import Any, BinaryIO

from larbinpy.outcome import Outcome
from larbinpy.page import Page
from larbinpy.parse import Kind, Link, Parsed
from larbinpy.url import Url

_LETTERS = {kind: kind.value[0] for kind in Kind}
_KINDS = {letter: kind for kind, letter in _LETTERS.items()}


def page_head(page: Page) -> bytes:
    """The line for `page`."""
    return _line([page.url.href, page.status, page.headers, len(page.body)])


def next_page(stream: BinaryIO) -> Page | None:
    """The next page of `stream`, with all that reading it needs; None at its end."""
    line = stream.readline()
    if not line.endswith(b"\n"):
        return None
    href, status, headers, size = json.loads(line)
    body = stream.read(size)
    if len(body) < size:
        return None
    return Page(Url(href, 0), Outcome.SUCCESS, status, [(k, v) for k, v in headers], body)


def answer(parsed: Parsed) -> bytes:
    """The line for what was read."""
    links = parsed.links
    urls = [link.url for link in links]
    kinds = "".join([_LETTERS[link.kind] for link in links])
    nofollow = [k for k, link in enumerate(links) if link.nofollow]
    return _line([parsed.charset, parsed.noindex, parsed.nofollow, urls, kinds, nofollow])


def parsed(line: bytes) -> Parsed:
    """What a line of `answer` says; ValueError where it is none."""
    try:
        charset, noindex, nofollow, urls, kinds, unendorsed = json.loads(line)
        links = [Link(url, _KINDS[letter]) for url, letter in zip(urls, kinds, strict=True)]
        for k in unendorsed:
            links[k].nofollow = True
    except (TypeError, LookupError, RecursionError) as error:
        raise ValueError(f"no answer: {error}") from error
    return Parsed(links, charset, noindex, nofollow)


def _line(values: Any) -> bytes:
    return json.dumps(values, separators=(",", ":")).encode() + b"\n"
