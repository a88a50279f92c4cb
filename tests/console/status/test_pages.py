import html
import re
from dataclasses import replace
from typing import Any

import html5lib
import pytest
from hypothesis import given
from hypothesis import strategies as st

from larbinpy.config import Config, texts
from larbinpy.console.status import pages
from larbinpy.console.status.markup import _PLAIN, SCRIPT, STYLE, el, relative, table, text
from larbinpy.console.text import printable
from tests.support.snapshots import fate, histogram, history, hostile, snapshot

PAYLOADS = [
    "<script>alert(1)</script>",
    '"onload="alert(1)',
    "' onmouseover='alert(1)",
    "</style></title><img src=x onerror=alert(1)>",
    "--><svg/onload=alert(1)>",
    "javascript:alert(1)",
    "]]><!-- x",
    "&lt;script&gt;&#60;b&#62;",
    "</svg></section></table><iframe src=//evil.example>",
]
PATHS = list(pages.PAGES)


def parse(text: str) -> tuple[Any, list[Any]]:
    parser = html5lib.HTMLParser(namespaceHTMLElements=False)
    tree = parser.parse(text)
    for node in tree.iter():
        if isinstance(node.tag, str):
            node.tag = node.tag.removeprefix("{http://www.w3.org/2000/svg}")
    return tree, parser.errors


def shape(text: str) -> set[tuple[str, ...]]:
    """The elements and their attribute names, which crawled text must not change."""
    tree, _ = parse(text)
    return {(node.tag, *sorted(node.attrib)) for node in tree.iter() if isinstance(node.tag, str)}


def words(text: str) -> str:
    tree, _ = parse(text)
    for kind in ("style", "script"):
        for node in list(tree.iter(kind)):
            node.text = ""
    return " ".join(" ".join(tree.itertext()).split())


def test_larbins_addresses_are_there() -> None:
    assert set(PATHS) == {
        "/", "/stats.html", "/histograms.html", "/urls.html", "/dns.html", "/system.html",
        "/output.html", "/all.html", "/report.html", "/fleet.html"}  # fmt: skip


@pytest.mark.parametrize("path", PATHS)
def test_pages_are_correct_html_that_needs_nothing(path: str) -> None:
    text = pages.render(path, snapshot())
    tree, errors = parse(text)
    assert errors == []
    tags = {node.tag for node in tree.iter()}
    assert not tags & {"img", "iframe", "object", "form", "base", "embed", "video", "audio"}
    hrefs = [node.get("href") for kind in ("a", "link") for node in tree.iter(kind)]
    # They work below any path that a proxy has the pages at.
    assert all(re.match(r"(\./|[\w.-]*)(\?|$)", href) for href in hrefs)
    [script] = tree.iter("script")
    assert (script.text, script.attrib) == (SCRIPT, {})
    assert not any("style" in node.attrib or "src" in node.attrib for node in tree.iter())
    assert [n.get("href") for n in tree.iter("a") if n.get("aria-current") == "page"] == [
        relative(path)
    ]


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("payload", PAYLOADS)
def test_crawled_text_adds_no_markup(path: str, payload: str) -> None:
    shown = pages.render(path, hostile(payload))
    assert shape(shown) <= shape(pages.render("/all.html", snapshot()))
    tree, _ = parse(shown)
    for node in tree.iter():
        if "aria-label" in node.attrib:
            del node.attrib["aria-label"]
        assert not any("alert" in value or "evil" in value for value in node.attrib.values())
    assert len(list(tree.iter("style"))) == 1
    if path == "/all.html":
        assert " ".join(payload.split()) in words(shown)


@pytest.mark.parametrize("path", PATHS)
def test_controls_and_directions_are_spelled_out(path: str) -> None:
    bad = "\0\x1b\x07\x85\x9b\u202e\u2066\u2028\ud800\ufeff"
    shown = pages.render(path, hostile(bad)).replace("\n", "")
    assert not set(shown) & set(bad)
    shown.encode()
    assert "\\u202e" in shown


def test_the_overview_has_the_figures() -> None:
    shown = words(pages.render("/", snapshot()))
    for figure in ("44,907", "17.1/s", "342,809", "1.9 GB", "93.1 %", "0:44:39", "running"):
        assert figure in shown, figure
    assert "tooBig" not in shown


@pytest.mark.parametrize("path", ["/", "/all.html"])
def test_the_findings_are_shown_with_their_level(path: str) -> None:
    paused = pages.render(path, snapshot(state="paused", gate={}, dns={}, history={}))
    assert "Note The crawl is paused: no new requests are made." in words(paused)
    [section] = [n for n in parse(paused)[0].iter("section") if n.get("class") == "health"]
    levels = [(n.get("class"), n.text) for n in section.iter("b")]
    assert levels == [("note", "Note"), ("note", "Node")]
    well = words(pages.render(path, snapshot(gate={}, dns={}, history={})))
    assert "All well" in well and "paused" not in well


def test_each_page_shows_its_values() -> None:
    data = snapshot()
    expected = {
        "/stats.html": [
            "err40X", "44,907", "took too long: no reply in 30 s", "404 Not Found",
            "http://gone.example/a", "http://www.example.com/private",
        ],
        "/report.html": [
            "http://www.example.com/gone", "http://www.example.com/links.html", "404 Not Found",
            "larbinpy report STATE_DIR", "a seed",
        ],
        "/histograms.html": ["highest 22/s", "1 min ago", "24 h ago", "up to 100 ms", "over 1 s"],
        "/urls.html": [
            "http://site3.example", "Retry-After: 120", "page-49.html", "2 min",
            "http://sloth.example", "12 s", "closed: www.example.com holds",
        ],
        "/dns.html": ["192.0.2.53:53", "20,544", "yes", "93.9 %", "48.0 kB", "4,021", "21.4 ms"],
        "/system.html": ["188.7 MB", "1.7 ms", "16,384", "waitDuration"],
        "/output.html": ["mirror", "44,885", "1.7 GB", "text/css 878", "7, 1"],
    }  # fmt: skip
    for path, parts in expected.items():
        shown = words(pages.render(path, data))
        whole = words(pages.render("/all.html", data))
        for part in parts:
            assert part in shown, (path, part)
            assert part in whole, part


def test_histograms_can_be_off() -> None:
    off = pages.render("/all.html", snapshot(), with_histograms=False)
    assert "The last minute" not in off
    assert "How long it takes" not in off
    there = pages.render("/histograms.html", snapshot(), with_histograms=False)
    assert "keyword histograms" in there
    assert "<figure>" not in there
    assert "<figure>" in pages.render("/", snapshot(), with_histograms=False)


def labels(text: str) -> list[str]:
    tree, _ = parse(text)
    return [node.get("aria-label") for node in tree.iter("svg") if "aria-label" in node.attrib]


@pytest.mark.parametrize(
    ("elapsed", "since"), [(20, "1 min"), (299, "1 min"), (300, "1 h"), (90_000, "24 h")]
)
def test_the_default_span_fits_the_age(elapsed: float, since: str) -> None:
    shown = labels(pages.render("/", snapshot(elapsed_s=elapsed)))
    assert shown and all(f"since {since} ago" in label for label in shown)


@pytest.mark.parametrize(("span", "since"), [("minute", "1 min"), ("hour", "1 h"), ("day", "24 h")])
def test_the_reader_chooses_the_span(span: str, since: str) -> None:
    shown = pages.render("/", snapshot(), span=span)
    assert all(f"since {since} ago" in label for label in labels(shown))
    tree, _ = parse(shown)
    chosen = [n.get("href") for n in tree.iter("a") if n.get("aria-current") == "true"]
    assert chosen == [f"?span={span}"]


@pytest.mark.parametrize("span", ["", "year", "<b>"])
def test_an_invalid_span_is_ignored(span: str) -> None:
    assert pages.render("/", snapshot(), span=span) == pages.render("/", snapshot())


def test_the_title_and_the_page_name_the_crawl() -> None:
    name = "a.test and 2 more"
    shown = pages.render("/", snapshot(name=name, gate={}, dns={}, history={}))
    assert f"<title>{name} running: Overview - larbinpy</title>" in shown
    assert f"<b>{name}</b>" in shown


def test_the_overview_says_what_the_crawl_waits_for() -> None:
    sentence = "a.test: waitDuration, next request in 22 s"
    shown = words(pages.render("/", snapshot(waits_for=sentence, left_s=720.0)))
    assert f"Now {sentence}" in shown
    assert "Time left about 12 min" in shown
    assert "Time left" not in words(pages.render("/", snapshot()))


def test_the_title_shows_warnings() -> None:
    well = snapshot(gate={}, dns={}, history={})
    assert "<title>larbinpy running: Overview</title>" in pages.render("/", well)
    full = pages.render("/dns.html", snapshot(state="disk full"))
    assert "<title>Trouble! larbinpy disk full: DNS</title>" in full


def test_changed_settings_are_apart_from_defaults() -> None:
    config = texts(replace(Config(), wait_duration=5.0, user_agent="<mybot>"))
    sources = {"waitDuration": "the <console>", "retries": "not shown"}
    shown = snapshot(config=config, config_from=sources)
    tree, _ = parse(pages.render("/system.html", shown))
    section = tree.findall("body/main/section")[-1]
    mine, defaults = section.iter("table")
    assert [row[0].text for row in mine.find("tbody")] == ["UserAgent", "waitDuration"]
    assert "<mybot>" in "".join(mine.itertext())
    assert "from the <console>" in "".join(mine.itertext())
    assert "not shown" not in "".join(section.itertext())
    assert len(defaults.find("tbody")) == len(config) - 2


def test_failures_say_how_long_ago_and_why() -> None:
    rows = [
        fate(1, outcome="noDNS", status=0, detail=""),
        fate(2, outcome="err50X", status=503, detail=""),
        fate(3, outcome="err40X", status=499, detail=""),
        fate(4, outcome="success", ts="tomorrow", detail=""),
    ]
    shown = words(pages.render("/stats.html", snapshot(now=1772366401.0 + 300, failures=rows)))
    for part in (
        "5 min",
        "its host has no address",
        "503 Service Unavailable",
        "499 Client Closed",
    ):
        assert part in shown, part
    assert "Nothing has failed." in pages.render("/", snapshot(failures=[]))


def test_the_overview_has_few_failures_and_their_page_all() -> None:
    many = [fate(n, f"http://f{n}.test/", "timeout", status=0) for n in range(50)]
    for path, count in (("/", 8), ("/stats.html", 50)):
        assert (
            len(re.findall(r"http://f\d+\.test/", pages.render(path, snapshot(failures=many))))
            == count
        )


def test_odd_histograms_and_histories_are_accepted() -> None:
    odd = [{}, {"bounds_s": [1.0], "counts": []}, {**histogram(), "counts": [0, 0, 0, 0]}]
    for odd_one in odd:
        shown = pages.render("/histograms.html", snapshot(histograms={"fetch": odd_one}))
        assert "Nothing yet." in shown
    pages.render("/", snapshot(history=history(pages=[])))


def _luminance(colour: str) -> float:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return sum(share * part for share, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


#: The colours of the light sheet and of the dark one, by name.
SHEETS = [
    dict(re.findall(r"--(\w+): (#\w{6});", block))
    for block in re.findall(r":root \{(.*?)\}", STYLE, re.DOTALL)
]


@pytest.mark.parametrize("sheet", SHEETS, ids=["light", "dark"])
@pytest.mark.parametrize("ground", ["page", "card"])
@pytest.mark.parametrize("name", ["ink", "soft", "blue", "green", "amber", "red"])
def test_colours_have_enough_contrast(sheet: dict[str, str], ground: str, name: str) -> None:
    """WCAG 2.2, 1.4.3: a contrast of 4.5 to 1 for text."""
    high, low = sorted((_luminance(sheet[name]), _luminance(sheet[ground])), reverse=True)
    assert (high + 0.05) / (low + 0.05) >= 4.5


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("data", [{}, dict.fromkeys(snapshot())])
def test_a_snapshot_that_lacks_keys_is_still_a_page(path: str, data: dict[str, Any]) -> None:
    tree, errors = parse(pages.render(path, data))
    assert errors == []
    assert tree.find("body/main/section") is not None


@pytest.mark.parametrize("path", PATHS)
def test_a_new_crawl_has_valid_pages(path: str) -> None:
    zero = snapshot(
        outcomes={}, recent=[], failures=[], refusals=[], history={}, histograms={}, output={},
        sites={"total": 0, "by_state": {}, "busiest": [], "suspended": []})  # fmt: skip
    assert parse(pages.render(path, zero))[1] == []


def test_markup_escapes_all_but_markup() -> None:
    assert el("p", "a<b", el("b", 1), None, title='"') == '<p title="&quot;">a&lt;b<b>1</b></p>'
    assert el("meta", charset="utf-8") == '<meta charset="utf-8">'
    with pytest.raises(AssertionError):
        el("p", **{"x onload": "1"})


def test_a_long_url_is_cut() -> None:
    shown = pages.render("/urls.html", hostile("x" * 8000))
    assert "x" * 400 not in shown


def test_a_table_without_rows_is_a_sentence() -> None:
    assert table(("A",), [], "No site.") == '<p class="none">No site.</p>'


def test_the_start_may_be_unix_time_or_text() -> None:
    assert "2026-03-01 12:00:00 UTC" in pages.render("/", snapshot(started=1772366400.5))
    assert "2026-03-01T11:15:20Z" in pages.render("/", snapshot())


@given(st.text(max_size=20) | st.sampled_from(PAYLOADS))
def test_text_is_escaped_where_needed(value: str) -> None:
    assert text(value) == html.escape(printable(value))
    assert text(value * 100) == html.escape(printable(value * 100, 300))


def test_every_plain_character_is_harmless() -> None:
    plain = [chr(code) for code in range(0x3000) if _PLAIN.fullmatch(chr(code))]
    assert not set(plain) & set("<>&\"'\x7f")
    assert all(" " <= character <= "~" for character in plain)
    assert len(plain) == 95 - 5


def test_rules_are_shown_with_their_places_and_counts() -> None:
    shown = words(pages.render("/stats.html", snapshot()))
    assert "reject **/old/** larbin.conf:12 1,234" in shown
    many = snapshot(rules={f"reject **.{n}": n for n in range(205)})
    text = words(pages.render("/stats.html", many))
    assert "reject **.199" in text and "reject **.200" not in text
    assert "5 more rules are in /status.json." in text
    assert "No rules (accept, reject)" in words(pages.render("/stats.html", snapshot(rules={})))


def test_site_blocks_are_shown_with_their_settings_and_places() -> None:
    shown = words(pages.render("/urls.html", snapshot()))
    assert '*.example.com:8080 waitDuration 1s, UserAgent "my bot" larbin.conf:7 12' in shown
    assert "Site blocks" not in words(pages.render("/urls.html", snapshot(site_blocks=[])))
    [block] = snapshot()["site_blocks"]
    many = [{**block, "pattern": f"s{n}.test"} for n in range(205)]
    text = words(pages.render("/urls.html", snapshot(site_blocks=many)))
    assert "s199.test" in text and "s200.test" not in text
    assert "5 more blocks are in /status.json." in text


def test_the_fleet_has_a_tab_if_there_is_one() -> None:
    shown = words(pages.render("/fleet.html", snapshot()))
    assert "Fleet news: running" in shown
    assert "1,024 of 1,024" in shown
    assert "1,000,000 865,000 not given to nodes yet" in shown
    assert "a for 40 min, this one running 44,907 17.1 342,809 512 110 ms 127.0.0.1:8081" in shown
    assert "Redis 192.0.2.9:6379 does not answer" in shown
    assert "c last seen 12 min ago gone" in shown
    note = "All figures here are those of node a; Fleet has those of all nodes."
    assert note in words(pages.render("/", snapshot()))

    alone = {key: value for key, value in snapshot().items() if key != "fleet"}
    assert "/fleet.html" not in pages.render("/", alone)
    assert "those of node" not in pages.render("/", alone)
    assert "This crawl has no other nodes" in words(pages.render("/fleet.html", alone))
