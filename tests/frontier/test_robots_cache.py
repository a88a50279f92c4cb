import pytest

from larbinpy.fetch.robots import Rules
from larbinpy.frontier import robots_cache
from larbinpy.frontier.robots_cache import RobotsCache

AGENT = "larbinpy/0.1"
BODY = b"User-agent: *\nDisallow: /no\nAllow: /no/but\nCrawl-delay: 3\n"


def keep(book, body):
    return book.keep(body, Rules.parse(body))


def few(monkeypatch, lines):
    monkeypatch.setattr(robots_cache, "_LINES", lines)
    return RobotsCache()


def test_what_is_kept_says_what_it_said(monkeypatch):
    book = few(monkeypatch, 1)
    kept = [keep(book, BODY.replace(b"/no", b"/%d" % number)) for number in range(5)]
    for _ in range(2):
        for number, one in enumerate(kept):
            assert not one.allowed(AGENT, f"http://a.test/{number}")
            assert one.allowed(AGENT, f"http://a.test/{number}/but")
            assert one.allowed(AGENT, f"http://a.test/{number + 1}")
    assert repr(book) == "<Rulebook 1 matchers, 4 lines>"


@pytest.mark.parametrize(
    "body",
    [
        BODY.replace(b"\n", b"\r"),
        BODY.replace(b"\n", b"\r\n"),
        b"sitemap: http://a.test/x\r" + BODY.replace(b"\n", b"\r"),
        b"Sitemap: http://a.test/x\n" + BODY,
        b"User-agent: *\nSitemap: http://a.test/x\nDisallow: /no",
        b"User-agent: larbinpy\nSITEMAP:x\nDisallow: /no\nUser-agent: *\nDisallow: /",
        b"\xef\xbb\xbfUser-agent: *\nDisallow: /no",
        b"User-agent: *\nDisallow: /no # Sitemap: not one\nSitemap",
    ],
)
def test_to_keep_it_changes_nothing(monkeypatch, body):
    rules = Rules.parse(body)
    book = few(monkeypatch, 0)
    kept = book.keep(body, rules)
    keep(book, b"User-agent: *\nDisallow: /other")
    for path in ("", "no", "no/but", "other"):
        url = f"http://a.test/{path}"
        assert kept.allowed(AGENT, url) is rules.allowed(AGENT, url)
    assert not kept.allowed(AGENT, "http://a.test/no")


def test_matchers_used_lately_are_not_made_again(monkeypatch):
    book = few(monkeypatch, 10)
    one, two = (keep(book, BODY.replace(b"/no", path)) for path in (b"/1", b"/2"))
    keep(book, BODY.replace(b"/no", b"/3"))
    made = []
    parse = Rules.parse
    monkeypatch.setattr(Rules, "parse", lambda body: made.append(body) or parse(body))
    assert two.allowed(AGENT, "http://a.test/") and made == []
    assert one.allowed(AGENT, "http://a.test/") and len(made) == 1


def test_sites_with_the_same_text_share_it():
    book = RobotsCache()
    kept = [keep(book, BODY + b"Sitemap: http://%d.test/map.xml" % n) for n in range(9)]
    assert len(set(map(id, kept))) == 1
    assert repr(book) == "<Rulebook 1 matchers, 4 lines>"


def test_it_takes_little_room():
    body = BODY + b"".join(b"Disallow: /private/section-%d/\n" % n for n in range(40))
    assert keep(RobotsCache(), body).size < len(body) / 5


def test_nothing_and_everything():
    book = RobotsCache()
    assert keep(book, b"") is book.allow_all
    assert keep(book, b"\nSitemap: http://a.test/x\n") is book.allow_all
    assert book.allow_all.allowed(AGENT, "http://a.test/")
    assert not book.deny_all.allowed(AGENT, "http://a.test/")
    assert repr(book.allow_all) == "<Kept 0 bytes>"
