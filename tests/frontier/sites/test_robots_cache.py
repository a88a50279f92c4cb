import pytest

from larbinpy.fetch.robots import Rules
from larbinpy.frontier.site import PackedRobots, RobotsCache

AGENT = "larbinpy/0.1"
BODY = b"User-agent: *\nDisallow: /no\nAllow: /no/but\nCrawl-delay: 3\n"


def keep(cache: RobotsCache, body: bytes) -> PackedRobots:
    return cache.keep(body, Rules.parse(body))


def test_packed_rules_say_the_same() -> None:
    cache = RobotsCache(1)
    kept = [keep(cache, BODY.replace(b"/no", b"/%d" % number)) for number in range(5)]
    for _ in range(2):
        for number, one in enumerate(kept):
            assert not one.allowed(AGENT, f"http://a.test/{number}")
            assert one.allowed(AGENT, f"http://a.test/{number}/but")
            assert one.allowed(AGENT, f"http://a.test/{number + 1}")
    assert repr(cache) == "<RobotsCache 1 matchers, 4 lines>"


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
def test_packing_changes_nothing(body: bytes) -> None:
    rules = Rules.parse(body)
    cache = RobotsCache(0)
    kept = cache.keep(body, rules)
    keep(cache, b"User-agent: *\nDisallow: /other")
    for path in ("", "no", "no/but", "other"):
        url = f"http://a.test/{path}"
        assert kept.allowed(AGENT, url) is rules.allowed(AGENT, url)
    assert not kept.allowed(AGENT, "http://a.test/no")


def test_matchers_used_lately_are_not_made_again(monkeypatch: pytest.MonkeyPatch) -> None:
    cache = RobotsCache(10)
    one, two = (keep(cache, BODY.replace(b"/no", path)) for path in (b"/1", b"/2"))
    keep(cache, BODY.replace(b"/no", b"/3"))
    made: list[bytes] = []
    parse = Rules.parse

    def watch(body: bytes) -> Rules:
        made.append(body)
        return parse(body)

    monkeypatch.setattr(Rules, "parse", watch)
    assert two.allowed(AGENT, "http://a.test/") and made == []
    assert one.allowed(AGENT, "http://a.test/") and len(made) == 1


def test_sites_with_the_same_text_share_it() -> None:
    cache = RobotsCache()
    kept = [keep(cache, BODY + b"Sitemap: http://%d.test/map.xml" % n) for n in range(9)]
    assert len(set(map(id, kept))) == 1
    assert repr(cache) == "<RobotsCache 1 matchers, 4 lines>"


def test_packed_rules_take_little_room() -> None:
    body = BODY + b"".join(b"Disallow: /private/section-%d/\n" % n for n in range(40))
    assert keep(RobotsCache(), body).size < len(body) / 5


def test_nothing_and_everything() -> None:
    cache = RobotsCache()
    assert keep(cache, b"") is cache.allow_all
    assert keep(cache, b"\nSitemap: http://a.test/x\n") is cache.allow_all
    assert cache.allow_all.allowed(AGENT, "http://a.test/")
    assert not cache.deny_all.allowed(AGENT, "http://a.test/")
    assert repr(cache.allow_all) == "<PackedRobots 0 bytes>"
