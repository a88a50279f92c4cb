"""The keywords that bound a crawl and its pages. Times in seconds, sizes in bytes."""

import socket

import pytest

from larbinpy.context import Tuning
from tests.support.keywords import effect_of
from tests.support.smallweb import Answer, Web
from tests.support.smallworld import Worlds

pytest_plugins = ["tests.support.smallcrawls"]
pytestmark = pytest.mark.slow


@pytest.fixture
def endless(web: Web) -> Web:
    """A site of thirty pages, all linked from the first."""
    web.page("a.test/", *[f"/{n}" for n in range(1, 30)])
    web.pages(*[f"a.test/{n}" for n in range(1, 30)])
    return web


@effect_of("limitTime")
def test_limit_time_is_in_minutes(endless: Web, crawl: Worlds) -> None:
    for text, seconds in (("2", 120), ("30s", 30)):
        world = crawl("waitDuration 10", f"limitTime {text}")
        assert world.elapsed == pytest.approx(seconds, abs=1.1)
        assert (world.code, world.crawl.report["stop_reason"]) == (0, "limitTime")
        # The last is due at the very time of the limit.
        assert len(world.fetched) in (seconds // 10 - 1, seconds // 10)
    world = crawl("waitDuration 10", "limitTime 0")
    assert len(world.fetched) == 30
    # It ends when there is no more to do, not when it next looks at the clock.
    assert world.elapsed == pytest.approx(300, abs=0.1)


@effect_of("limitPage")
def test_limit_page_is_reached_and_not_exceeded(endless: Web, crawl: Worlds) -> None:
    for limit in (1, 7):
        world = crawl(f"limitPage {limit}", "maxConnexionsBySite 10")
        assert len(world.fetched) == len(world.pages_asked) == limit
        assert (world.code, world.crawl.report["stop_reason"]) == (0, "limitPage")
    assert len(crawl("limitPage 0").fetched) == 30


@effect_of("limitPage")
def test_limit_page_counts_pages_that_came(web: Web, crawl: Worlds) -> None:
    web.page("a.test/", "/missing", *[f"/{n}" for n in range(5)])
    web.pages(*[f"a.test/{n}" for n in range(5)])
    world = crawl("limitPage 3", "maxConnexionsBySite 10")
    assert world.fetched == {"a.test/", "a.test/0", "a.test/1"}
    assert world.outcomes["a.test/missing"] == "err40X"


@effect_of("limitKept")
def test_limit_kept_counts_what_went_to_the_outputs(web: Web, crawl: Worlds) -> None:
    web.page("a.test/", *[f"/{n}" for n in range(9)])
    for n in range(9):
        web.put(f"a.test/{n}", Answer(b"%PDF" if n % 2 else b"<p>", "application/pdf" * (n % 2)))
    wanted = ("specificSearch", 'specificSet "application/pdf" .pdf end end', "outputMode save")
    world = crawl("limitKept 3", "maxConnexionsBySite 10", *wanted)
    assert (world.code, world.crawl.report["stop_reason"]) == (0, "limitKept")
    assert {"a.test/1", "a.test/3", "a.test/5"} < world.fetched
    assert len(list((world.folder / "out").glob("d*/f*"))) == 3


def test_files_that_are_sought_come_before_other_links_of_their_site(
    web: Web, crawl: Worlds
) -> None:
    web.page("a.test/", *[f"/{n}.html" for n in range(5)])
    for n in range(5):
        web.page(f"a.test/{n}.html", f"/x{n}.html", f"/{n}.pdf")
        web.page(f"a.test/x{n}.html")
        web.put(f"a.test/{n}.pdf", Answer(b"%PDF", "application/pdf"))
    wanted = ("specificSearch", 'specificSet "application/pdf" .pdf end end', "outputMode save")
    world = crawl("limitPage 7", *wanted)
    assert {f"a.test/{n}.pdf" for n in range(3)} < world.fetched


@effect_of("bondWidth")
def test_bond_width_is_bytes_a_second(web: Web, crawl: Worlds) -> None:
    pages = [f"a.test/{n}" for n in range(20)]
    web.page("a.test/", *[f"//{page}" for page in pages])
    for page in pages:
        web.put(page, Answer(b"<p>" + b"x" * 50_000))
    free = crawl()
    assert free.elapsed < 5
    slow = crawl("bondWidth 50000", "maxConnexionsBySite 4")
    received = slow.crawl.report["bytes_received"]
    assert isinstance(received, int)
    assert (len(slow.fetched), received > 1_000_000) == (21, True)
    # One second's worth may come at once.
    assert received / 50_000 - 3 < slow.elapsed < received / 50_000 + 3


@effect_of("maxPageSize")
def test_max_page_size_is_what_is_read_of_a_page(web: Web, crawl: Worlds) -> None:
    web.page("a.test/", "/large", "/declared", "/small")
    web.put("a.test/large", Answer(b"<p>" + b"x" * 30_000, chunked=True))
    web.put("a.test/declared", Answer(b"<p>" + b"y" * 30_000))
    web.put("a.test/small", Answer(b"<p>" + b"x" * 10_000))
    world = crawl("maxPageSize 20K")
    assert world.outcomes["a.test/large"] == "tooBig"
    assert world.fates["a.test/large"]["size"] == 20 * 1024
    # Nothing is received of a body whose length is declared.
    assert world.outcomes["a.test/declared"] == "tooBig"
    assert world.fates["a.test/declared"]["size"] == 0
    assert world.fates["a.test/declared"]["detail"] == "30003 bytes, and maxPageSize is 20480"
    assert world.fetched == {"a.test/", "a.test/small"}
    assert crawl().fates["a.test/large"]["size"] == 30_003


@effect_of("timeoutPage")
def test_timeout_page_is_the_time_for_one_page(web: Web, crawl: Worlds) -> None:
    web.page("a.test/", delay=20)
    quick, patient = crawl("timeoutPage 5", "retries 0"), crawl("timeoutPage 25", "retries 0")
    assert quick.outcomes == {"a.test/": "timeout"}
    assert quick.fates["a.test/"]["ms"] == pytest.approx(5000, abs=1100)
    assert patient.fetched == {"a.test/"}


@effect_of("timeoutConnect")
def test_timeout_connect_is_the_time_to_reach_a_server(web: Web, crawl: Worlds) -> None:
    """By real time, as libcurl counts it."""
    web.zone["a.test"] = ["127.0.0.1"]
    with socket.create_server(("127.0.0.1", 0), backlog=0) as deaf:
        # It accepts none; when its backlog is full, the kernel drops further connections.
        port = deaf.getsockname()[1]
        fillers = [socket.socket() for _ in range(3)]
        for filler in fillers:
            filler.setblocking(False)
            filler.connect_ex(deaf.getsockname())

        def gives_up(after: float) -> float:
            lines = [f"startUrl http://a.test:{port}/", "ignoreRobots", "retries 0"]
            world = crawl(f"timeoutConnect {after}", *lines, seeds=[], leaps=False)
            assert world.outcomes == {"a.test/": "timeout"}
            return float(world.fates["a.test/"]["ms"]) / 1000

        assert 0.05 <= gives_up(0.05) < 0.4 <= gives_up(0.4)
        for filler in fillers:
            filler.close()


@effect_of("minFree")
def test_a_crawl_waits_while_less_is_free(web: Web, crawl: Worlds) -> None:
    """All is there in the end; a crawl that starts below the limit waits, too."""
    web.page("a.test/", "/1")
    web.pages("a.test/1")
    looks = iter([0, 0, 0])
    world = crawl("minFree 1G", tuning=Tuning(free_bytes=lambda folder: next(looks, 1 << 40)))
    assert world.fetched == {"a.test/", "a.test/1"}
    lines = world.stderr.getvalue().splitlines()
    assert lines == [
        f"larbinpy: {world.folder / 'out'}: 0 free, less than minFree 1G; the crawl waits until "
        "there is room",
        "larbinpy: there is room again; the crawl continues",
    ]
