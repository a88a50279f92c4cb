"""The benchmarks' own logic: the web that they build, ratios and the profile."""

import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import FrameType

import dns.message
import pytest
from benchmarks import larbin
from benchmarks.__main__ import planned
from benchmarks.building import CannotBuild, Site, site, usable
from benchmarks.corpora import CORPORA, Corpus, Source, chosen
from benchmarks.crawling import programs_table
from benchmarks.names import answer
from benchmarks.programs import FETCH, Ground, Times, measure, wget, wget2
from benchmarks.ratios import Done, Found, Ratio, Unusable, baseline, changes
from benchmarks.reading import measured
from benchmarks.sampled import at_work, stage
from benchmarks.scenarios import SCENARIOS
from benchmarks.serving import Nginx
from benchmarks.special import reading_outcome
from benchmarks.template import Slot, piece, template
from benchmarks.web import ROBOTS, Author, Web, address, choose, number_of
from experiments.runs import Spread

from larbinpy.fetch.robots import Rules
from larbinpy.parse import links

SCRIPTS = Path(__file__).parents[2] / "scripts"
PAGE = b"""<!DOCTYPE html><html><head><title>words stand here</title>
<link rel="stylesheet" href="style.css"><script src='code.js'>var a = '<a href="no">';</script>
</head><body><!-- <a href="neither"> --><img srcset="a.png 2x" src="a.png" alt="href='x'">
<p>some words that everybody reads every day and nobody remembers after that
<a href="#part">part</a> <a href="mailto:someone@example.org">mail</a> <a href="">here</a>
<a class=x href="one.html">one</a> <a href='../two.html#part'>two</a> <a href="http://a.b/">3</a>
<A HREF="four">four</A> <a href="five?x=1&amp;y=2">five</a> <a href="six">six</a>
</body></html>
"""
MADE = template("page", PAGE)
WEB = Web(pages=30, size=1000, group=3)


def author() -> Author:
    return Author(WEB, [MADE, template("other", PAGE.replace(b"words", b"other words"))])


def reached(author: Author, hosts: range) -> set[str]:
    """All URLs that can be reached from the start pages and that robots.txt allows."""
    places = {
        url: (host, number)
        for host in range(WEB.group * 3)
        for number, url in enumerate(author.urls(host))
    }
    rules = Rules.parse(ROBOTS.encode())
    to_do, seen = [WEB.base(host) for host in hosts], set()
    while to_do:
        url = to_do.pop()
        if url not in seen and rules.allowed("bench", url):
            seen.add(url)
            to_do += links(author.page(*places[url]), url, "utf-8")
    return seen


def test_nofollow_links_are_not_used_to_reach_pages() -> None:
    polite = b'<a href="one" rel="me">1</a>'
    left = (
        b'<a rel="ugc nofollow" href="2">2</a><a href="3" rel=nofollow><a href="4" rel=sponsored>'
    )
    made = template("page", polite + left)
    assert made.slots == (Slot.ANCHOR, Slot.OTHER, Slot.OTHER, Slot.OTHER)


def test_a_template_keeps_everything_but_links_and_words() -> None:
    assert MADE.count(Slot.ANCHOR) == 6
    assert MADE.count(Slot.OTHER) == 3
    assert MADE.size == len(PAGE)
    marks = [b"@A"] * 6, [b"@O"] * 3, MADE.words
    filled = MADE.fill(*marks)
    expected = PAGE.replace(b' srcset="a.png 2x"', b"")
    for link in (b"one.html", b"../two.html", b"http://a.b/", b"four", b"five?x=1&amp;y=2", b"six"):
        for quote in (b'"', b"'", b"#"):
            for open_ in (b'href="', b"href='", b'HREF="'):
                expected = expected.replace(open_ + link + quote, open_ + b"@A" + quote)
    for link in (b"style.css", b"code.js", b"a.png"):
        for quote in (b'"', b"'"):
            expected = expected.replace(b"=" + quote + link + quote, b"=" + quote + b"@O" + quote)
    assert filled == expected


def test_each_host_has_other_bytes_and_other_paths() -> None:
    """A program gains nothing by caching pages or references."""
    pages = [author().page(host, number) for host in range(6) for number in range(30)]
    assert len(set(pages)) == len(pages)
    paths = [path for host in range(6) for path in author().paths(host)[1:]]
    assert len(set(paths)) == len(paths)


def test_two_builds_are_the_same() -> None:
    assert author().page(4, 7) == author().page(4, 7)
    assert author().paths(4) == author().paths(4)


def test_all_pages_are_reached_and_no_link_leads_out_of_the_group() -> None:
    web = author()
    assert reached(web, range(3, 4)) == {url for host in range(3, 6) for url in web.urls(host)}


def test_each_page_of_a_host_is_reached_without_leaving_it() -> None:
    web, seen = author(), set()
    to_do = [WEB.base(1)]
    own = dict(zip(web.urls(1), range(WEB.pages), strict=True))
    while to_do:
        url = to_do.pop()
        if url in own and url not in seen:
            seen.add(url)
            to_do += links(web.page(1, own[url]), url, "utf-8")
    assert seen == set(own)


def test_references_above_the_root_lead_to_pages() -> None:
    web = Author(replace(WEB, above=2), author().templates)
    page = web.page(1, 3)
    assert page.count(b"../../../../") == 2
    assert author().page(1, 3).count(b"../../../../") == 0
    assert reached(web, range(1)) == {url for host in range(3) for url in web.urls(host)}


def test_only_the_start_page_links_to_the_disallowed_page() -> None:
    web = author()
    rules = Rules.parse(ROBOTS.encode())
    for number, url in enumerate(web.urls(2)):
        found = links(web.page(2, number), url, "utf-8")
        closed = [link for link in found if not rules.allowed("bench", link)]
        assert len(closed) == (number == 0)


def test_a_page_whose_links_cannot_be_replaced_is_not_used() -> None:
    assert usable(MADE)
    assert not usable(template("few", b"<p><a href=x>x</a>"))
    for odd in (b"<base href='http://a.b/'>", b"<style>p { background: url(http://a.b/x.png) }"):
        assert not usable(template("odd", PAGE.replace(b"<link", odd + b"<link")))


def test_small_pages_are_pieces_with_links() -> None:
    page = b"<p>text</p>" * 300 + b"<li><a href='x'>x</a> text</li>" * 30 + b"<p>text</p>" * 300
    part = piece(page, 400, 5)
    assert 200 < len(part) < 450
    assert template("part", part).count(Slot.ANCHOR) >= 5


def test_pages_are_chosen_for_their_mean_size() -> None:
    sizes = [100 * n for n in range(1, 1000)]
    chosen = [sizes[index] for index in choose(sizes, 50, 30_000)]
    assert len(chosen) == 50
    assert sum(chosen) / 50 == pytest.approx(30_000, rel=0.05)
    assert max(chosen) > 45_000 and min(chosen) < 12_000
    assert list(choose([5, 6], 50, 1000)) == []


def build(folder: Path, hosts: int) -> Site:
    documents = folder / "documents"
    documents.mkdir(exist_ok=True)
    for n in range(3):
        (documents / f"{n}.html").write_bytes(PAGE + b"<p>more words" * (400 + n))
    return site(Web(pages=5, size=5000, group=2), hosts, [documents], folder / "cache")


def test_a_site_is_built_once(tmp_path: Path) -> None:
    first = build(tmp_path, 3)
    paths = list(first.paths(10))
    assert len(paths) == 4  # whole groups
    files = [first.file(host, path) for host, each in enumerate(paths) for path in each]
    bodies = {file.read_bytes() for file in files}
    assert len(files) == len(bodies) == 20
    robots = (first.folder / address(host) / "robots.txt" for host in range(4))
    assert {file.read_text() for file in robots} == {ROBOTS}
    before = files[0].stat().st_mtime_ns
    assert build(tmp_path, 4) == first
    assert files[0].stat().st_mtime_ns == before
    assert len(list(build(tmp_path, 5).paths(10))) == 6
    assert files[0].read_bytes() in bodies


def test_a_folder_without_pages_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CannotBuild, match="--pages"):
        site(WEB, 1, [tmp_path], tmp_path / "cache")


def test_hosts_have_addresses_and_names_of_their_own() -> None:
    numbers = [*range(0, 70_000, 7)]
    assert len({address(number) for number in numbers}) == len(numbers)
    tls = Web(1, 1000, 2, tls=True)
    assert all(number_of(tls.host(number)) == number for number in numbers)
    others = ("bench.test", "h.bench.test", "h1.other", "x1.bench.test")
    assert [number_of(name) for name in others] == [None] * 4


def test_the_name_server_answers_for_hosts() -> None:
    reply = answer(dns.message.make_query("H7.Bench.Test", "A", use_edns=False).to_wire())
    assert reply is not None
    assert dns.message.from_wire(reply).answer[0][0].to_text() == address(7)
    reply = answer(dns.message.make_query("h7.bench.test", "AAAA", use_edns=False).to_wire())
    assert reply is not None and dns.message.from_wire(reply).answer == []
    assert answer(b"") is answer(dns.message.make_query("a.test", "A").to_wire()) is None


def done(pages: int, seconds: float, cpu: float, **others: int) -> Done:
    values = {"expected": 100, "max_rss": 1, "requests": 200, "lost": 0, **others}
    user, system = cpu * 0.75, cpu * 0.25
    return Done(pages=pages, seconds=seconds, user_seconds=user, system_seconds=system, **values)


def test_skipped_pages_are_remarked_and_not_counted() -> None:
    assert done(100, 2, 1).remark == ""
    assert (done(80, 2, 1).rate, done(80, 2, 1).remark) == (40, "skipped 20.0%")
    assert done(103, 2, 1).remark == "3 pages too many"
    assert done(100, 2, 1, lost=3).remark == "3 disallowed or missing URLs"
    assert done(100, 2, 1, requests=90).remark == "only 90 requests"


def test_ratios_are_those_of_each_round() -> None:
    rounds = {
        "larbinpy": [done(100, 1, 1), done(100, 1, 2), done(100, 2, 1)],
        "peer": [done(10, 1, 1), done(10, 1, 1), done(10, 1, 1)],
    }
    rate = Ratio("pages/s", "peer", "rate", target=10).found(rounds)
    assert (rate.spread, rate.met) == (Spread(10, 5, 10), True)
    less = Ratio("less CPU", "peer", "cpu", inverse=True, target=11).found(rounds)
    assert (less.spread, less.met) == (Spread(10, 5, 10), False)
    cost = Ratio("CPU", "peer", "cpu", more_is_better=False, target=0.1).found(rounds)
    assert cost.spread.median == pytest.approx(0.1)
    assert cost.verdict().endswith("at most 0.1")


def found(label: str, median: float, *, more_is_better: bool = True) -> Found:
    return Found(label, Spread(median, median, median), more_is_better, None)


@pytest.mark.parametrize(
    ("more_is_better", "now", "verdict"),
    [
        (True, 8.6, "14% slower"),
        (True, 8.4, "16% slower, LOST"),
        (True, 20, "100% faster"),
        (False, 11.7, "15% slower"),
        (False, 12.5, "20% slower, LOST"),
        (False, 10, "0% faster"),
        (False, 5, "100% faster"),
    ],
)
def test_a_ratio_that_is_worse_than_tolerated_is_lost(
    tmp_path: Path, more_is_better: bool, now: float, verdict: str
) -> None:
    file = tmp_path / "baseline"
    file.write_text(baseline({"broad, a": [found("x", 10.0)]}, quick=False))
    results = {"broad, a": [found("x", now, more_is_better=more_is_better)]}
    (change,) = changes(results, False, file)
    assert (change.scenario, change.label, change.before, change.now) == ("broad, a", "x", 10, now)
    assert change.verdict() == verdict
    assert change.lost == ("LOST" in verdict)


def test_each_corpus_is_compared_with_itself(tmp_path: Path) -> None:
    file = tmp_path / "baseline"
    before = {"broad, a": [found("x", 10.0)], "broad, b": [found("x", 20.0)], "big, b": []}
    file.write_text(baseline(before, quick=False))
    results = {"broad, b": [found("x", 10.0), found("new", 1.0)], "broad, c": [found("x", 1.0)]}
    (change,) = changes(results, False, file)
    assert (change.scenario, change.before, change.lost) == ("broad, b", 20.0, True)


def test_a_baseline_that_cannot_be_compared_is_an_error(tmp_path: Path) -> None:
    file = tmp_path / "baseline"
    results = {"broad, a": [found("x", 10.0)]}
    file.write_text(baseline(results, quick=True))
    with pytest.raises(Unusable, match="--quick"):
        changes(results, False, file)
    assert [change.lost for change in changes(results, True, file)] == [False]
    with pytest.raises(Unusable, match="no ratio"):
        changes({"tls, a": [found("y", 1.0)]}, True, file)
    for text in ("", "[]", json.dumps({"quick": True})):
        file.write_text(text)
        with pytest.raises(Unusable, match="no baseline"):
            changes(results, True, file)


def test_the_stored_baseline_has_only_ratios_that_are_measured() -> None:
    stored = json.loads((SCRIPTS / "benchmarks" / "baseline.json").read_text())["ratios"]
    for key, ratios in stored.items():
        scenario, _, corpus = key.partition(", ")
        assert corpus in CORPORA
        if scenario in SCENARIOS:
            assert {ratio.label for ratio in SCENARIOS[scenario].ratios} >= set(ratios), key


def test_the_table_has_cpu_time_by_kind_and_beside_larbinpy() -> None:
    rounds = {
        "larbinpy": [done(100, 1, 0.04), done(100, 1, 0.08)],
        "peer": [done(100, 1, 0.02), done(100, 1, 0.02)],
    }
    rows = programs_table("title", rounds).markdown().splitlines()[-2:]
    cells = [[cell.strip() for cell in row.split("|")[4:8]] for row in rows]
    assert cells == [
        ["600 (400 - 800)", "450", "150", "1"],
        ["200 (200 - 200)", "150", "50", "0.375"],
    ]


@dataclass(frozen=True)
class FakeServer(Nginx):
    """Answers `answered` requests of each program, `refused` of them with an error."""

    answered: int
    refused: int

    def requests(self) -> int:
        # Each reading counts itself.
        file = self.folder / "read"
        read = int(file.read_text()) if file.exists() else 0
        file.write_text(str(read + 1))
        return read * (self.answered + 1)

    def take_lost(self) -> list[str]:
        return [""] * self.refused


def test_pages_of_a_program_without_files_are_counted_by_the_server(tmp_path: Path) -> None:
    """Each of the four hosts has a robots.txt besides its pages."""
    ground = Ground(build(tmp_path, 4), FakeServer(tmp_path, 20 + 4 + 3, 3), 9, tmp_path)
    silent = replace(wget2(), command=lambda _: ["true"])
    found = measure(silent, 4, ground)
    assert (found.pages, found.expected, found.requests, found.lost) == (20, 20, 27, 3)


def test_wget2_writes_pages_only_for_a_mirror(tmp_path: Path) -> None:
    ground = Ground(build(tmp_path, 2), FakeServer(tmp_path, 0, 0), 9, tmp_path)
    job = ground.job(2)
    assert "--delete-after" in wget2().command(job)
    assert "--delete-after" not in wget2(mirror=True).command(job)
    pages = job.folder / "site" / "a.test"
    pages.mkdir(parents=True)
    for name in ("index.html", "1.html", "robots.txt"):
        (pages / name).touch()
    assert wget2(mirror=True).count(job, tmp_path).pages == 2


def test_wget_gets_a_seed_for_each_group(tmp_path: Path) -> None:
    """Each of its seeds reaches all hosts of a group, and it would fetch them again."""
    site = build(tmp_path, 6)
    job = Ground(site, FakeServer(tmp_path, 0, 0), 9, tmp_path).job(6)
    wget().command(job)
    assert (job.folder / "seeds").read_text().split() == [site.web.base(n) for n in (0, 2, 4)]


def test_larbin_is_watched_until_it_has_no_work() -> None:
    program = "import time\nwhile time.process_time() < 0.3: pass\ntime.sleep(60)"
    process = subprocess.Popen([sys.executable, "-c", program])
    found = larbin.watch(process.pid, idle=0.3)
    process.returncode = 0  # `watch` has waited for it
    assert found["pages"] is None
    assert found["user"] + found["system"] > 0
    assert found["max_rss"] > 1_000_000


def test_a_program_may_measure_itself(tmp_path: Path) -> None:
    ground = Ground(build(tmp_path, 2), FakeServer(tmp_path, 0, 0), 9, tmp_path)
    out = tmp_path / "out"
    out.write_text('{"pages": 7, "seconds": 3.0, "user": 1.0, "system": 0.5, "links": 9}')
    count = FETCH.count(ground.job(2), out)
    assert (count.pages, count.times) == (7, Times(3.0, 1.0, 0.5))


def test_scripts_bench_installs_the_package_of_each_corpus() -> None:
    packages = " ".join(corpus.package for corpus in CORPORA.values())
    assert f" in {packages}; do" in (SCRIPTS / "bench").read_text()


def test_installed_corpora_are_chosen_unless_some_are_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    known = {name: Corpus(name, (tmp_path / name,), 1000, f"{name}-doc") for name in "abc"}

    def names(*wanted: str, folders: Sequence[Path] = ()) -> list[str]:
        return [corpus.name for corpus in chosen(wanted, folders, known)]

    with pytest.raises(CannotBuild, match="--pages"):
        names()
    for name in "ac":
        (tmp_path / name).mkdir()
    capsys.readouterr()
    assert names() == ["a", "c"]
    assert "b-doc" in capsys.readouterr().err
    assert names("c", "a", "c") == ["c", "a"]
    assert names(folders=[tmp_path]) == ["pages"]
    assert names("a", folders=[tmp_path]) == ["a", "pages"]
    assert capsys.readouterr().err == ""
    with pytest.raises(CannotBuild, match="b-doc"):
        names("a", "b")


def test_scenarios_about_pages_run_for_each_corpus(tmp_path: Path) -> None:
    sources = [Source(Corpus(name, (), 1000), tmp_path) for name in "ab"]
    plan = [(name, one.corpus.name) for name, one in planned(["broad", "tls", "broad"], sources)]
    assert plan == [("broad", "a"), ("broad", "b"), ("tls", "a")]
    twice = {name for name, one in planned([], sources) if one.corpus.name == "b"}
    assert twice == {"broad", "big", "mirror", "reading"}


def test_pages_have_the_size_of_the_corpus_unless_a_scenario_is_about_size() -> None:
    corpus = Corpus("a", (), 7000)
    assert SCENARIOS["broad"].web_of(corpus).size == 7000
    assert SCENARIOS["large"].web_of(corpus) == SCENARIOS["large"].web


def test_reading_is_measured_with_the_scan_and_by_the_tree(tmp_path: Path) -> None:
    files = [tmp_path / "a.html", tmp_path / "b.html"]
    files[0].write_bytes(PAGE)
    files[1].write_bytes(b"<p>no link")
    values = measured(files, 3)
    assert (values["pages"], values["links"], values["urls"]) == (2, 7, 5)
    assert values["size"] == (len(PAGE) + 10) / 2
    assert len(values["rounds"]) == 3
    for way in range(2):
        assert 0 < values["best"][way] <= min(each[way] for each in values["rounds"])


def test_reading_is_compared_by_rounds() -> None:
    values = {"pages": 4, "size": 5000.0, "links": 7.0, "urls": 6.0, "left": 0.25}
    times = {"rounds": [[10.0, 100.0], [30.0, 100.0], [20.0, 100.0]], "best": [8.0, 90.0]}
    outcome = reading_outcome("reading, a", {**values, **times})
    assert "5.0 kB with 7 links to 6 URLs" in outcome.about
    assert "25.00% of them" in outcome.about
    (ratio,) = outcome.ratios
    assert (ratio.spread, ratio.more_is_better) == (Spread(0.2, 0.1, 0.3), False)
    # 5 kB in 8 microseconds
    assert "625" in outcome.tables[0].markdown()


def test_stages_are_packages_or_single_modules() -> None:
    assert stage("fetch/fetcher", "_on_ready") == "fetch: libcurl"
    assert stage("fetch/fetcher", "start") == stage("fetch/transfer", "header") == "fetch"
    assert stage("parse/charset", "_parse") == "parse: turbohtml"
    assert stage("output/log", "write") == "crawl log"
    assert (stage("url", "resolve"), stage("crawl/control/control", "step")) == ("url", "crawl")


def test_a_function_at_its_entry_has_taken_no_time() -> None:
    """A signal that arrives in libcurl is handled when libcurl calls back."""
    found: list[bool] = []

    def called() -> None:
        found.append(at_work(sys._getframe()))

    def note(frame: FrameType, event: str, _value: object) -> None:
        if event == "call":
            found.append(at_work(frame))

    sys.setprofile(note)
    called()
    sys.setprofile(None)
    # The entry of `called`, the entry of `at_work`, and the call from `called`.
    assert found == [False, False, True]
