"""The process that answers searches: `python -m larbinpy.console.search.replies DATABASE...`.

It makes whole replies of the answers of a Finder: the Search page, a stored page, the page about
changes, and these as an Atom feed (RFC 4287), in parts that each name the next (RFC 5005, 3).

A search may take a second, and stored text may be hostile or large, so none of it is handled in
the loop of a crawl. The process reads requests from standard input, a line of JSON each: the path,
the query string, and the fields of a `Frame`. To each it writes a reply: a line of JSON with the
status, the type and the length in bytes of the body, then the body. First it writes an empty line:
it is ready. It ends when its input ends.
"""

import json
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from http import HTTPStatus
from types import MappingProxyType
from typing import Any, BinaryIO
from uuid import NAMESPACE_URL, uuid5
from xml.etree.ElementTree import Element, SubElement, tostring

from larbinpy.console.search.form import (
    FOUND,
    IN_TITLE,
    PAGE,
    SEARCH_JSON,
    Frame,
    SearchReply,
    SearchRequest,
    failure,
    html,
    message_page,
    page,
)
from larbinpy.console.search.results import empty_page, found_page, is_web, link, stored_page
from larbinpy.console.status.markup import (
    CHANGES,
    FEED,
    FEED_TYPE,
    Html,
    el,
    join,
    prose,
    relative,
    section,
    table,
)
from larbinpy.console.text import JSON, json_line, readable
from larbinpy.database.base import Change, DatabaseError, Finder, Found, Wish
from larbinpy.database.finder import fields_of, open_finders
from larbinpy.database.ranking import DEPTH
from larbinpy.database.search.query import Query, parse
from larbinpy.loop.clock import wall

#: Changes on a page, and in a part of the feed.
SHOWN = 50
#: Characters of a URL that is shown whole: a reply has a limit, and a URL may have 8,000.
LONGEST_URL = 1000


def changes_page(
    frame: Frame, request: SearchRequest, changes: Sequence[Change], *, more: bool
) -> str:
    """The page number `request.page` of all changes; `more`: there are older ones."""
    rows = [(_time(change.at), prose(change.kind), _changed(request, change)) for change in changes]
    feed = el("p", "As a ", el("a", "feed", href=FEED), " for a reader of news.", class_="none")
    found = table(("When (UTC)", "What", "*Page"), rows, "No page has changed.")
    return page(
        frame, "Changes", CHANGES, section("Changes", feed, found, _pages(request.page, more)),
        feed=FEED,
    )  # fmt: skip


def _time(at: str) -> Html:
    return prose(at.replace("T", " ").removesuffix("Z"))


def _changed(request: SearchRequest, change: Change) -> Html:
    """The title, which leads to the stored page, and where the page is, or was, on the web."""
    title = change.title.strip() or "(no title)"
    moved = [" moved to ", _link(change.target)] if change.target else []
    return join(
        [
            el("a", el("bdi", prose(title)), href=prose(request.address_of(change.url))),
            el("small", _link(change.url), *moved, class_="url"),
        ]
    )


def _link(url: str) -> Html:
    return link(url) if len(url) <= LONGEST_URL else el("bdi", prose(f"{url[:LONGEST_URL]}..."))


def _pages(number: int, more: bool) -> Html | None:
    links = []
    if number > 1:
        links.append(el("a", "Newer", href=changes_address(number - 1), rel="prev"))
    if more:
        links.append(el("a", "Older", href=changes_address(number + 1), rel="next"))
    return el("nav", *links, class_="pages", aria_label="Pages of changes") if links else None


def changes_address(number: int, path: str = CHANGES) -> str:
    """The address of the page, or of the part of the feed, with this number, from 1."""
    return path if number == 1 else f"{path}?page={number}"


NO_DIFFERENCES: Mapping[Change, Sequence[Sequence[str]]] = MappingProxyType({})
#: When a feed without changes changed last.
_NEVER = "1970-01-01T00:00:00Z"
_SAYINGS = {
    "new": "The page is new.",
    "changed": "The main text of the page has changed.",
    "gone": "The page is gone.",
    "back": "The page is back.",
    "moved": "The page has moved.",
}


def feed(
    name: str,
    changes: Sequence[Change],
    number: int,
    *,
    more: bool,
    differences: Mapping[Change, Sequence[Sequence[str]]] = NO_DIFFERENCES,
) -> bytes:
    """The part `number`, from 1, of the changes of the database `name`; the newest come first.

    Number 0 is a file, which has no other parts. `differences` are the sentences that went with a
    change, and those that came. An entry has the same id whenever and by whomever the database is
    read.
    """
    root = Element("feed", xmlns="http://www.w3.org/2005/Atom")
    _add(root, "id", uuid5(NAMESPACE_URL, f"larbinpy changes {readable(name)}").urn)
    _add(root, "title", f"Changes - larbinpy {name}".rstrip())
    _add(root, "updated", changes[0].at if changes else _NEVER)
    _add(SubElement(root, "author"), "name", "larbinpy")
    if number:
        SubElement(root, "link", rel="self", href=relative(changes_address(number, FEED)))
        SubElement(root, "link", rel="alternate", type="text/html", href=relative(CHANGES))
    if more:
        SubElement(root, "link", rel="next", href=relative(changes_address(number + 1, FEED)))
    # A feed with two entries of one id is invalid.
    for id_, change in {_id(change): change for change in changes}.items():
        _add_entry(root, id_, change, differences.get(change, ()))
    return bytes(tostring(root, encoding="utf-8", xml_declaration=True))


def _id(change: Change) -> str:
    return uuid5(NAMESPACE_URL, readable(f"{change.url} {change.at} {change.kind}")).urn


def _add_entry(
    root: Element, id_: str, change: Change, difference: Sequence[Sequence[str]]
) -> None:
    entry = SubElement(root, "entry")
    title = " ".join(change.title.split()) or change.url
    saying = _SAYINGS.get(change.kind, change.kind)
    target = change.target or ""
    where = f" It is at {target} now." if 0 < len(target) <= LONGEST_URL else ""
    _add(entry, "id", id_)
    _add(entry, "title", f"{change.kind}: {title[:IN_TITLE]}")
    _add(entry, "updated", change.at)
    if is_web(change.url):
        SubElement(entry, "link", rel="alternate", href=change.url)
    SubElement(entry, "category", term=readable(change.kind))
    lines = [f"{saying}{where}"]
    for mark, sentences in zip("-+", difference, strict=False):
        lines += [f"{mark} {each}" for each in sentences]
    SubElement(entry, "content").text = "\n".join(map(readable, lines))


def _add(parent: Element, name: str, text: str) -> None:
    """Add an element with a text, without the characters that XML cannot have."""
    SubElement(parent, name).text = readable(text)


#: Seconds after which a search is cut: snippets and the page must be made in the time that the
#: server grants, also on a machine that is busy.
_LIMIT = 0.8


#: Makes a `Query` of a text and the languages of the database.
Parse = Callable[[str, Sequence[str]], Query]


class Replies:
    """Replies to requests. The database is opened at the first one, and again after an error."""

    def __init__(self, open_finder: Callable[[], Finder], parse: Parse) -> None:
        self._open = open_finder
        self._parse = parse
        self._finder: Finder | None = None

    def reply(self, path: str, query: str, frame: Frame) -> SearchReply:
        """The reply to a request for `path` with a query string."""
        request = SearchRequest.of(query)
        try:
            finder = self._finder = self._finder or self._open()
            if path == FOUND:
                return self._all(finder, SearchRequest.of(query, DEPTH))
            if path == SEARCH_JSON:
                return self._json(finder, request)
            if path in (CHANGES, FEED):
                return self._changes(finder, frame, request, path)
            if path == PAGE:
                return self._stored(finder, frame, request)
            return self._search(finder, frame, request)
        except DatabaseError as error:
            self.close()
            return failure(path, frame, request, str(error))

    def close(self) -> None:
        if self._finder is not None:
            self._finder.close()
            self._finder = None

    def _search(self, finder: Finder, frame: Frame, request: SearchRequest) -> SearchReply:
        query = self._query(finder, request)
        if query.is_empty:
            return html(empty_page(frame, request, finder.counts()))
        return html(found_page(frame, request, query, self._found(finder, request, query)))

    def _stored(self, finder: Finder, frame: Frame, request: SearchRequest) -> SearchReply:
        stored = finder.show(request.url)
        if stored is None:
            message = "This page is not in the database."
            return html(message_page(frame, request, message), HTTPStatus.NOT_FOUND)
        query, history = self._query(finder, request), finder.history(request.url)
        return html(stored_page(frame, request, query, stored, history))

    @staticmethod
    def _changes(finder: Finder, frame: Frame, request: SearchRequest, path: str) -> SearchReply:
        found = finder.latest(SHOWN + 1, (request.page - 1) * SHOWN)
        shown, more = found[:SHOWN], len(found) > SHOWN
        if path == CHANGES:
            return html(changes_page(frame, request, shown, more=more))
        return SearchReply(
            HTTPStatus.OK, FEED_TYPE, feed(frame.name, shown, request.page, more=more)
        )

    def _json(self, finder: Finder, request: SearchRequest) -> SearchReply:
        query = self._query(finder, request)
        found = Found() if query.is_empty else self._found(finder, request, query)
        return SearchReply(HTTPStatus.OK, JSON, json_line(found_json(request, query, found)))

    def _all(self, finder: Finder, request: SearchRequest) -> SearchReply:
        """The answer for another program, which merges it with others."""
        asked = self._query(finder, request)
        found = finder.search(asked, Wish(request.n, 1, request.sort, limit=_LIMIT))
        found.notes = list(dict.fromkeys((*asked.notes, *found.notes)))
        fields = fields_of(found)
        return SearchReply(HTTPStatus.OK, JSON, json_line(fields))

    def _query(self, finder: Finder, request: SearchRequest) -> Query:
        return self._parse(request.q, finder.languages())

    @staticmethod
    def _found(finder: Finder, request: SearchRequest, query: Query) -> Found:
        wish = Wish(request.n, request.page, request.sort, facets=True, limit=_LIMIT)
        return finder.search(query, wish)


def found_json(request: SearchRequest, query: Query, found: Found) -> dict[str, Any]:
    """The answer to a query: totals, facets, and the hits as `larbinpy search --json` has them."""
    return {
        "query": request.q,
        "total": found.total,
        "cut": found.cut,
        "missing": found.missing,
        "instead": found.instead,
        "notes": list(dict.fromkeys((*query.notes, *found.notes))),
        "seconds": round(found.seconds, 4),
        "sort": request.sort,
        "page": request.page,
        "sites": dict(found.sites),
        "langs": dict(found.langs),
        "types": dict(found.types),
        "since": dict(found.since),
        "hits": [hit.fields() for hit in found.hits],
    }


def answer(
    requests: BinaryIO, replies: BinaryIO, open_finder: Callable[[], Finder], parse: Parse
) -> None:
    """Answer `requests` until they end."""
    site = Replies(open_finder, parse)
    replies.write(b"\n")
    replies.flush()
    for line in requests:
        path, query, frame = json.loads(line)
        reply = site.reply(path, query, Frame(*frame))
        head = {"status": reply.status, "type": reply.type, "size": len(reply.body)}
        replies.write(json.dumps(head).encode() + b"\n" + reply.body)
        replies.flush()
    site.close()


def _parse(text: str, languages: Sequence[str]) -> Query:
    return parse(text, languages, wall())


def main() -> None:
    # Ctrl-C at the terminal is for the crawl, which ends this process by closing the pipe.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    databases = sys.argv[1:]
    answer(sys.stdin.buffer, sys.stdout.buffer, lambda: open_finders(databases), _parse)


if __name__ == "__main__":
    main()
