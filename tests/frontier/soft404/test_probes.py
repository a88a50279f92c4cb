"""The probes of a site, one after the other, and the judgement of its pages."""

from collections.abc import Iterable, Sequence
from itertools import count

from larbinpy.frontier.soft404.probes import Probed, Probes
from larbinpy.page import Page
from larbinpy.url import Aim, Purpose, Url
from tests.support.softpages import SITE, framed, moved, page


def make(most_bytes: int = 10**6) -> Probes:
    numbers = count(1)
    return Probes(lambda: f"larbinpy-{next(numbers)}", most_bytes=most_bytes)


def probed(
    probes: Probes, replies: Iterable[Page | None], waiting: Sequence[str] = ()
) -> list[str]:
    """The paths that are asked for; the replies come to `SITE` in turn. None: not sent."""
    asked = []
    answers = iter(replies)
    urls = [f"{SITE}{path}" for path in waiting]
    while (probe := probes.next(SITE, urls)) is not None:
        asked.append(probe.removeprefix(SITE))
        reply = next(answers)
        if reply is not None:
            reply.url = Url(probe, 0, purpose=Purpose(Aim.PROBE, SITE))
            probes.replied(SITE, reply)
    return asked


def lost(path: str = "/") -> Page:
    return page(path, framed("Lost", "<p>Nothing.</p>"))


def gone() -> Page:
    return page("/", status=404)


def test_a_site_that_says_404_gets_one_probe() -> None:
    probes = make()
    assert probed(probes, [gone()]) == ["/larbinpy-1"]
    assert probes.judge(lost("/x")) == ""


def test_a_second_one_in_the_place_of_most_urls() -> None:
    waiting = ["/", "/a", "/b/1.html", "/b/2.html"]
    asked = ["/larbinpy-1", "/b/larbinpy-2.html"]
    assert probed(make(), [gone(), gone()], waiting) == asked
    assert probed(make(), [lost(), lost()], waiting) == asked
    assert probed(make(), [None, None], waiting) == asked


def test_a_second_one_in_the_top_folder_if_the_first_was_answered() -> None:
    assert probed(make(), [lost(), lost()], ["/a"]) == ["/larbinpy-1", "/larbinpy-2"]
    assert probed(make(), [moved("/", "/"), gone()]) == ["/larbinpy-1", "/larbinpy-2"]
    assert probed(make(), [gone()], ["/a"]) == ["/larbinpy-1"]
    assert probed(make(), [None], ["/a"]) == ["/larbinpy-1"]


def test_a_second_one_where_a_redirect_leads_with_the_name() -> None:
    handler = moved("/", "/error?path=/larbinpy-1")
    assert probed(make(), [handler, lost()], ["/a/b"])[1] == "/error?path=/larbinpy-2"
    slash = moved("/", "/larbinpy-1/")
    assert probed(make(), [slash, lost()])[1] == "/larbinpy-2/"
    assert probed(make(), [slash, lost()], ["/b/c/"])[1] == "/b/larbinpy-2/"
    away = moved("/", "https://a.test/larbinpy-1")
    assert probed(make(), [away]) == ["/larbinpy-1"]


def test_a_page_like_an_answer_says_which() -> None:
    probes = make()
    probed(probes, [gone(), lost()], ["/b/c"])
    probe = f"{SITE}/b/larbinpy-2"
    assert probes.judge(lost("/b/x")) == f"soft 404: it is like {probe}, which cannot exist"
    assert probes.judge(page("/b/y", framed("Real"))) == ""
    other = lost("/b/x")
    other.url = Url("http://b.test/b/x", 0)
    assert probes.judge(other) == ""


def test_a_redirect_like_an_answer_says_where_it_leads() -> None:
    probes = make()
    probed(probes, [moved("/", "/start"), gone()])
    said = probes.judge(moved("/x", "/start"))
    assert said == (
        f"soft 404: it redirects to {SITE}/start, as does {SITE}/larbinpy-1, which cannot exist"
    )


def test_start_pages_and_folders_of_probes_are_no_soft_404s() -> None:
    probes = make()
    probed(probes, [lost(), lost()], ["/b/c"])
    for path in ("/", "/index.html", "/b/index.php", "/b/", "/b"):
        assert probes.judge(lost(path)) == ""
    assert probes.judge(lost("/c/"))


def test_a_value_that_counts_as_none_is_no_error() -> None:
    probes = make()
    probed(probes, [gone(), lost()], ["/list?page=2"])
    assert probes.judge(lost("/list?page=1"))
    assert probes.judge(lost("/list")) == ""
    assert probes.judge(lost("/list?page=1")) == ""


def test_each_site_is_wanted_once_and_for_pages_alone() -> None:
    probes = Probes(lambda: "larbinpy-1", lambda url: "unread" not in url.href)
    assert probes.wants(Url(f"{SITE}/a", 0))
    assert not probes.wants(Url(f"{SITE}/a", 0, requisite=True))
    assert not probes.wants(Url(f"{SITE}/unread", 0))
    probed(probes, [gone()])
    assert not probes.wants(Url(f"{SITE}/a", 0))
    assert probes.wants(Url("http://b.test/a", 0))


def test_the_answers_so_far_count_if_the_site_closes() -> None:
    probes = make()
    probe = probes.next(SITE, [])
    assert probe is not None
    reply = lost()
    reply.url = Url(probe, 0, purpose=Purpose(Aim.PROBE, SITE))
    probes.replied(SITE, reply)
    probes.end(SITE)
    assert probes.judge(lost("/x"))
    probes.end("http://never.test")


def test_memory_is_bounded() -> None:
    probes = make(most_bytes=3000)
    sites = [f"http://s{number}.test" for number in range(50)]
    for site in sites:
        while (probe := probes.next(site, ())) is not None:
            probes.replied(site, page("/", status=404))
            assert probe.startswith(site)
    known = [site for site in sites if not probes.wants(Url(f"{site}/a", 0))]
    assert known == sites[-10:]


def test_a_site_of_an_earlier_run_is_not_probed_again() -> None:
    probes, again = make(), make()
    probes.report = again.load
    probed(probes, [moved("/", "/start"), lost()], ["/b/c"])
    assert not again.wants(Url(f"{SITE}/a", 0))
    assert "as does" in again.judge(moved("/x", "/start"))
    assert "larbinpy-2" in again.judge(lost("/b/x"))
    assert again.judge(lost("/b/")) == ""


def test_a_lost_probe_leaves_one() -> None:
    reports: list[Probed] = []
    probes = make()
    probes.report = reports.append
    probes.next(SITE, [])
    again = make()
    again.load(reports[-1])
    assert again.wants(Url(f"{SITE}/a", 0))
    assert probed(again, [lost()], ["/b/c"]) == ["/larbinpy-1"]
    assert not again.wants(Url(f"{SITE}/a", 0))
    assert again.judge(lost("/x"))


def test_a_lost_second_probe_leaves_the_answer_to_the_first() -> None:
    reports: list[Probed] = []
    probes = make()
    probes.report = reports.append
    first = probes.next(SITE, [])
    assert first is not None
    reply = lost()
    reply.url = Url(first, 0, purpose=Purpose(Aim.PROBE, SITE))
    probes.replied(SITE, reply)
    probes.next(SITE, [])
    again = make()
    again.load(reports[-1])
    assert not again.wants(Url(f"{SITE}/a", 0))
    assert again.judge(lost("/x"))


def test_an_answer_that_turns_out_to_be_none_is_reported() -> None:
    probes, again = make(), make()
    probes.report = again.load
    probed(probes, [gone(), lost()], ["/list?page=2"])
    assert again.judge(lost("/list?page=1"))
    probes.judge(lost("/list"))
    assert again.judge(lost("/list?page=1")) == ""


def test_replies_that_are_errors_are_not_kept() -> None:
    for status, kept in [(200, 1), (399, 1), (400, 0), (404, 0), (500, 0), (0, 0)]:
        probes = make()
        probes.next(SITE, [])
        probes.replied(SITE, page("/", "x", status))
        assert len(probes._sites[SITE].replies) == kept
    # Nor those of a site that is not known (any more).
    make().replied(SITE, page("/", "x", 200))
