"""Pages that are packed in odd ways, in a whole crawl."""

import gzip
from itertools import pairwise

import pytest
import zstandard

from tests.support.smallweb import Answer, Web
from tests.support.smallworld import Worlds

pytest_plugins = ["tests.support.smallcrawls"]
pytestmark = pytest.mark.slow


def packed(body: bytes, coding: str, kind: str = "text/html") -> Answer:
    return Answer(body, kind, headers=(f"Content-Encoding: {coding}",))


def page(target: str) -> bytes:
    return f"<!doctype html><a href={target}>x</a>".encode()


def test_pages_that_libcurl_does_not_unpack_are_read(web: Web, crawl: Worlds) -> None:
    """Each is asked for twice, a wait apart, and none of them is a failure."""
    web.put("a.test/", packed(gzip.compress(page("/nul")) + gzip.compress(page("/zstd")), "gzip"))
    web.put("a.test/nul", packed(gzip.compress(page("/twice")) + bytes(9), "gzip"))
    web.put("a.test/zstd", packed(zstandard.compress(page("/last")), "zstd"))
    web.put("a.test/twice", packed(gzip.compress(page("/")), "gzip, gzip"))
    web.page("a.test/last")
    world = crawl("waitDuration 5", "retryWait 600", seeds=["a.test/"])
    names = {"", "nul", "zstd", "twice", "last"}
    assert world.fetched == {f"a.test/{name}" for name in names}
    times = [asked.time for asked in world.pages_asked]
    assert len(times) == 2 * len(names) - 1
    # No wait is longer than the ordinary one: the site is not overloaded.
    assert all(5 <= after - before < 7 for before, after in pairwise(times))
    assert world.crawl.report["retries"] == 0


def test_what_cannot_be_unpacked_fails_with_one_reason(web: Web, crawl: Worlds) -> None:
    web.put("a.test/", packed(b"\x1f\x9d\x90abc", "compress"))
    world = crawl("retries 1", "waitDuration 5", seeds=["a.test/"])
    [fate] = world.fates.values()
    assert (fate["outcome"], fate["size"]) == ("earlyStop", 0)
    assert fate["detail"] == "it is packed as 'compress', which cannot be read"
