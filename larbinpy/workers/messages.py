"""Messages between the crawl and its worker processes: pages, and the results of reading them.

A message is a line of JSON; that of a page is followed by its body. A process that parses pages
of the web may be compromised by them, so its answers are validated.
"""

import json
import re
from typing import Any, BinaryIO

from larbinpy.outcome import Outcome
from larbinpy.page import Page
from larbinpy.parse import MAX_LINKS, Kind, Link, Parsed
from larbinpy.url import MAX_LENGTH, Url

#: The first message of a worker.
READY = b"ready\n"

_LETTERS = {kind: kind.value[0] for kind in Kind}
_KINDS = {letter: kind for kind, letter in _LETTERS.items()}
#: Canonical URLs, one a line; checks the properties that code which splits URLs relies on.
_HOST = r"(?:\[[0-9a-f:]+\]|[^\x00- :/?#@\[\]\x7f-\U0010ffff]+)(?::[0-9]{1,5})?"
_URLS = re.compile(rf"(?:https?://{_HOST}/[!-~]{{0,{MAX_LENGTH}}}\n)*+")


def page_head(page: Page) -> bytes:
    """The line for `page`, which its body follows."""
    return _line([page.url.href, page.status, page.headers, len(page.body)])


def next_page(stream: BinaryIO) -> Page | None:
    """The next page of `stream`, with all that reading needs; None at the end of the stream."""
    line = stream.readline()
    if not line.endswith(b"\n"):
        return None
    href, status, headers, size = json.loads(line)
    body = stream.read(size)
    if len(body) < size:
        return None
    return Page(Url(href, 0), Outcome.SUCCESS, status, [(k, v) for k, v in headers], body)


def answer(parsed: Parsed) -> bytes:
    """The line for `parsed`."""
    links = parsed.links
    urls = "".join([f"{link.url}\n" for link in links])
    kinds = "".join([_LETTERS[link.kind] for link in links])
    nofollow = [k for k, link in enumerate(links) if link.nofollow]
    return _line([parsed.charset, parsed.noindex, parsed.nofollow, urls, kinds, nofollow])


def parsed(line: bytes) -> Parsed:
    """The value of a line of `answer`; raises ValueError if it is invalid."""
    try:
        charset, noindex, nofollow, text, kinds, unendorsed = json.loads(line)
        if len(kinds) > MAX_LINKS or not _URLS.fullmatch(text):
            raise ValueError("these are no URLs")
        urls = text.split("\n")[:-1]
        links = [Link(url, _KINDS[letter]) for url, letter in zip(urls, kinds, strict=True)]
        for k in unendorsed:
            links[k].nofollow = True
    except (TypeError, LookupError, RecursionError) as error:
        raise ValueError(f"no answer: {error}") from error
    name = None if charset is None else str(charset)
    return Parsed(links, name, noindex is True, nofollow is True)


def _line(values: Any) -> bytes:
    return json.dumps(values, separators=(",", ":")).encode() + b"\n"
