"""The process that answers searches: `python -m larbinpy.console.search.process DATABASE...`.

A search may take a second, and stored text may be hostile or large, so none of it is handled in
the loop of a crawl. The process reads requests from standard input, a line of JSON each: the path,
the query string, and the fields of a `Frame`. To each it writes a reply: a line of JSON with the
status, the type and the length in bytes of the body, then the body. First it writes an empty line:
it is ready. It ends when its input ends.
"""

import json
import signal
import sys
from collections.abc import Callable, Sequence
from typing import BinaryIO

from larbinpy.console.search.form import Frame
from larbinpy.console.search.replies import Parse, Replies
from larbinpy.database.base import Finder
from larbinpy.database.finder import open_finders
from larbinpy.loop.clock import wall
from larbinpy.search.query import Query, parse


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
