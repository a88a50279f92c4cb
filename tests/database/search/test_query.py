"""The query language."""

import json
import time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from larbinpy.database.search.query import (
    LONGEST,
    MOST,
    Form,
    Item,
    Query,
    parse,
    site_of,
    with_filter,
    without_filter,
)
from larbinpy.database.search.segment import ALGORITHMS, forms, vocabulary
from tests.database.search.test_segment import Index
from tests.support.suites import suite

NOW = 1_795_420_800.0  # 2026-11-23T08:00:00Z


def shown(items: tuple[Item, ...]) -> list[str]:
    """Items as one would write them: forms separated by |, the field before a colon."""
    found = []
    for item in items:
        each = (" ".join(form.tokens) + "*" * form.prefix for form in item.forms)
        found.append(f"{item.field or ''}:{'|'.join(each)}".removeprefix(":"))
    return found


def test_words_phrases_and_operators() -> None:
    query = parse('foxes "brown dogs" -cat site:Example.com lang:german since:7d', ["en"], NOW)
    assert query.wanted == (
        Item("foxes", (Form(("foxes",)), Form(("fox",)))),
        Item("brown dogs", (Form(("brown", "dogs")), Form(("brown", "dog"))), literal=True),
    )
    assert query.unwanted == (Item("cat", (Form(("cat",)),)),)
    assert (query.site, query.lang, query.since) == ("example.com", "de", "2026-11-16T08:00:00Z")
    assert query.notes == ()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Müller", ["muller|mull|mueller|muel"]),
        ("Mueller", ["mueller|mull|muel|muller"]),
        ("naïve", ["naive|naiv"]),
        ("e-mail", ["e mail|email"]),
        ("C++ C#", ["c c＋＋", "c c＃"]),
        ("os.path.join", ["os path join"]),
        ("checkToolCall", ["checktoolcall|checktoolcal|check tool call"]),
        ("2026-01-31", ["2026 01 31|20260131"]),
        ("2.4.1 v3.0", ["2 4 1|v2 4 1", "v3 0|3 0"]),
        ("dont", ["dont|don t"]),
        ("l'hôtel", ["l hotel|hotel"]),
        ("dog’s", ["dog s|dog"]),
        ("a,b;c", ["a", "b", "c"]),
        ("foo:bar http://x.y/z", ["foo bar", "x y z"]),
        ("https://X.org/a%20b,c?d=(e)#f www.x.org", ["x org a b c d e", "www x org"]),
        ("mailto:a@b.org intext:cats (1)", ["a b org", "cats|cat|cats1", "1|cats1"]),
        ("tool --quiet -- --", ["tool", "quiet"]),
        ("C++17 C#12 i++", ["c c＋＋ 17", "c c＃ 12", "i i＋＋"]),
        ("1,234,567 1.234 1,2", ["1 234 567|1234567", "1 234|1234|v1 234", "1", "2"]),
        ("O’Brien Oʻahu", ["o brien|obrien|obri", "o ahu|oahu"]),
        (
            '\u05d3\u05d5"\u05d7 \u05d3\u05d5\u05f4\u05d7',
            ["\u05d3\u05d5\u05d7"],
        ),
        ("٢٠١٠ ๒๐", ["2010", "20"]),
        ("+foxes +xy*", ["foxes|fox", "xy*"]),
        ("2018年底", ["ǀ20 ǀ01 ǀ18 ǀ8年 年底"]),
        ("中", ["中*"]),
        ("網路", ["网路"]),
        ("请问，什么是“爬虫”？", ["请问", "什么 么是", "爬虫"]),
        ("ภาษา", ["ภาษ าษา"]),
        ("ไท", ["ไท*"]),
        ("👍🏽", ["👍"]),
        ("happily*", ["happily*|happili|happil"]),
        ("intitle:foo inurl:“b c”", ["title:foo", "url:b c"]),
        ("word word WORD", ["word", "word"]),
        ("Århus", ["arhus|aarhus"]),
        ("Aarhus", ["aarhus|arhus"]),
        ("iso9001 oauth2.0", ["iso9001|iso 9001", "oauth2 0|oauth 2 0"]),
        ("HTML 5", ["html|html5", "5|html5"]),
        ("oauth 2.0", ["oauth|oauth2 0", "2 0|v2 0|oauth2 0"]),
        ("web sites -pages", ["web|websites|websit|webs", "sites|site|sit|websites|websit|webs"]),
        ("10 20 in box 网 络", ["10", "20", "in", "box", "网*", "络*"]),
        ('"red bull"~3 x', ["red bull", "x"]),
        ('"http://x.y/z"', ["x y z"]),
    ],
)
def test_forms(text: str, expected: list[str]) -> None:
    assert shown(parse(text, ["en", "de", "fr"], NOW).wanted) == expected


def test_words_in_quotes_or_with_a_plus_are_literal() -> None:
    query = parse('foxes +dogs "cats" "中国" -"birds" inurl:"cats"', ["en"], NOW)
    assert [item.text for item in query.wanted if item.literal] == ["dogs", "cats"]
    assert ([item.text for item in query.unsaid], query.unwanted) == (["birds"], ())


@pytest.mark.parametrize(
    ("text", "site", "lang", "type_"),
    [
        ("site:a.b OR site:c.d/e", "a.b c.d/e", None, None),
        ("(site:a.b OR site:c.d) x", "a.b c.d", None, None),
        ("site:a.b,c.d lang:de|fr type:pdf,doc", "a.b c.d", "de fr", "pdf application/msword"),
        ("site:a.b site:A.B lang:de lang:en", "a.b", "de en", None),
        ("site:a.b/c,d.html", "a.b/c,d.html", None, None),
        ("site: a.b lang: German type: pdf", "a.b", "de", "pdf"),
    ],
)
def test_a_page_has_one_of_several_values(
    text: str, site: str | None, lang: str | None, type_: str | None
) -> None:
    query = parse(text, ["en"], NOW)
    assert (query.site, query.lang, query.type) == (site, lang, type_)
    assert [item.text for item in query.wanted] == ["x"] * text.endswith(" x")
    assert not query.notes


def test_an_operator_before_a_word_is_a_word() -> None:
    texts = ("site: cats", "type: error", "lang: the", "since: version 2")
    for text in texts:
        assert [item.text for item in parse(text, ["en"], NOW).wanted] == text.split(), text


def test_before_is_the_other_side_of_since() -> None:
    start = "2026-01-31T00:00:00Z"
    assert parse("x before:2026-01-31", ["en"], NOW).excluded == (("since", start),)
    assert parse("x until:31.1.2026", ["en"], NOW).excluded == (("since", start),)
    assert parse("x -before:2026-01-31", ["en"], NOW).since == start
    both = parse("x since:2025 before:2026", ["en"], NOW)
    assert both.since == "2025-01-01T00:00:00Z"
    assert both.excluded == (("since", "2026-01-01T00:00:00Z"),)


@pytest.mark.parametrize(
    ("q", "then"),
    [
        ("a", "a site:h"),
        ("site:x a", "a site:h"),
        ("a SITE:x", "a site:h"),
        ('a site:"x y" b', "a b site:h"),
        ("website:x", "website:x site:h"),
        ("site: a", "a site:h"),
        ("", "site:h"),
    ],
)
def test_a_filter_takes_the_place_of_others(q: str, then: str) -> None:
    assert with_filter(q, "site", "h") == then
    assert without_filter(then, "site") == then.removesuffix("site:h").strip()


@pytest.mark.parametrize(
    ("q", "then"),
    [
        ("a (site:x OR language:de) OR site:y b", "a OR language:de) b site:h"),
        ("site: x.y OR c", "c site:h"),
        ("a -site:x before:2026", "a -site:x before:2026 site:h"),
    ],
)
def test_a_filter_takes_the_place_of_all_of_its_name(q: str, then: str) -> None:
    assert with_filter(q, "site", "h") == then


def test_a_value_with_a_blank_is_in_quotes() -> None:
    assert with_filter("a", "since", "2 weeks") == 'a since:"2 weeks"'


def test_operators_have_the_names_of_other_engines() -> None:
    query = parse("x language:fr filetype:pdf after:2026/1/31", ["en"], NOW)
    assert (query.lang, query.type, query.since) == ("fr", "pdf", "2026-01-31T00:00:00Z")
    assert shown(parse("title:foo url:bar", ["en"], NOW).wanted) == ["title:foo", "url:bar"]
    assert parse("lang:cn", ["en"], NOW).lang == "zh"


def test_words_between_terms_are_operators() -> None:
    query = parse('cats OR "dog food" AND birds NOT fish', ["en"], NOW)
    assert shown(query.wanted) == ["cats|cat|dog food", "birds|bird"]
    assert [item.text for item in query.wanted] == ["cats OR dog food", "birds"]
    assert [item.text for item in query.unwanted] == ["fish"]
    assert query.notes == ()
    both = parse('"big cat" | "dog food"', ["en"], NOW).wanted[0]
    assert both.literal and [each.text for each in both.each] == ["big cat", "dog food"]
    # A phrase among others is not looked for as it was typed.
    assert not query.wanted[0].literal


@pytest.mark.parametrize("text", ["Portland OR", "NOT me", "TO BE OR NOT TO BE", "and/or x"])
def test_operators_elsewhere_are_words(text: str) -> None:
    query = parse(text, [], NOW)
    assert [item.text for item in query.wanted] == list(dict.fromkeys(text.split()))
    assert not query.unwanted


def test_words_may_be_parts_of_longer_ones() -> None:
    query = parse('Haus Garten* +Dach "Tür" intitle:Keller -Boden', ["de"], NOW)
    items = (*query.wanted, *query.unwanted)
    assert [item.text for item in items if item.compounds] == ["Haus"]


def test_vietnamese_signs_may_be_left_out() -> None:
    assert shown(parse("ha Hà", ["vi"], NOW).wanted) == ["ha|ǂha|haha|hahà", "ha|hà|haha|hahà"]


def test_short_words_are_found_within_words_where_most_pages_are_chinese() -> None:
    assert shown(parse("ows", ["zh", "en"], NOW).wanted) == ["ows|ow|ǀow ǀws"]
    assert shown(parse("ows", ["en", "zh"], NOW).wanted) == ["ows|ow"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("site:https://www.Example.com:8080/a?b", Query(site="www.example.com:8080/a")),
        ("site:example.com/Docs/*", Query(site="example.com/Docs/")),
        ("site:example.com/ä%20", Query(site="example.com/%C3%A4%20")),
        ("site:example.com/", Query(site="example.com")),
        ("lang:deu", Query(lang="de")),
        ("lang:CHI", Query(lang="zh")),
        ("site:*.gov", Query(site="gov")),
        ("site：müller.de", Query(site="xn--mller-kva.de")),
        ("lang:zh-TW", Query(lang="zh")),
        ("LANG:日本語", Query(lang="ja")),
        ('type:"application/pdf"', Query(type="application/pdf")),
        ("type:.PDF", Query(type="pdf")),
        ("type:txt", Query(type="text/plain")),
        ("since:2026", Query(since="2026-01-01T00:00:00Z")),
        ("since:2026-03-09", Query(since="2026-03-09T00:00:00Z")),
        ("since:2026-03-09T10:00:00+02:00", Query(since="2026-03-09T08:00:00Z")),
        ("since:yesterday", Query(since="2026-11-22T00:00:00Z")),
        ("since:12h", Query(since="2026-11-22T20:00:00Z")),
        ("since:50y", Query(since="1976-12-05T08:00:00Z")),
        ("since:2000y", Query(since="1970-01-01T00:00:00Z")),
        ("since:0099", Query(since="1970-01-01T00:00:00Z")),
        ("since:0999-12-31T10:00", Query(since="1970-01-01T00:00:00Z")),
        ("since:9.3.2026", Query(since="2026-03-09T00:00:00Z")),
        ("since:2 weeks", Query(since="2026-11-09T08:00:00Z")),
        ("since:week", Query(since="2026-11-16T08:00:00Z")),
        ('since:"last 2 months"', Query(since="2026-09-24T08:00:00Z")),
        ("since: 3 days ago", Query(since="2026-11-20T08:00:00Z")),
        ("since:30min", Query(since="2026-11-23T07:30:00Z")),
        ("type:image/*", Query(type="image")),
        ("mime:text/html", Query(type="text/html")),
    ],
)
def test_filters(text: str, expected: Query) -> None:
    assert parse(text, ["en"], NOW) == expected


@pytest.mark.parametrize(
    ("text", "note"),
    [
        (
            "lang:klingon cats",
            "lang:klingon is not known: it was left out; expected a language, such as zh",
        ),
        (
            "since:2026-13-40 cats",
            "since:2026-13-40 is not known: it was left out; expected a time such as 7d or 12h, or"
            " a date such as 2026-11-23",
        ),
        ("site: cats", "site: is a word here: nothing follows it"),
        (
            "-lang:klingon cats",
            "-lang:klingon is not known: it was left out; expected a language, such as zh",
        ),
        ("since:2026 since:2027", "only the last since: counts"),
        ("c*t", "c*t: a star stands for the end of a word, and for no other part"),
        ("*cat", "*cat: a star stands for the end of a word, and for no other part"),
        ("x" * 2000, f"only the first {LONGEST} characters were read"),
        (" ".join(map(str, range(100))), f"only the first {MOST} words were read"),
        ("s*", "s* is the word s: the beginning of a word has two letters or more"),
        ("-cats", "nothing to leave the words with a minus out of: they are searched for"),
    ],
)
def test_oddities_are_said(text: str, note: str) -> None:
    assert note in parse(text, ["en"], NOW).notes


@pytest.mark.parametrize(
    ("text", "wanted", "unwanted"),
    [
        ("x -a,b", ["x"], ["a b"]),
        ("x -a;b -c", ["x"], ["a b", "c"]),
        ("x a,b", ["x", "a", "b"], []),
    ],
)
def test_a_minus_belongs_to_all_of_a_word(
    text: str, wanted: list[str], unwanted: list[str]
) -> None:
    """Pages with both parts side by side are left out, and no others."""
    query = parse(text, ["en"], NOW)
    assert (shown(query.wanted), shown(query.unwanted)) == (wanted, unwanted)


def test_pages_that_pass_a_filter_can_be_left_out() -> None:
    query = parse("cats -site:example.com -lang:German -intitle:dogs -site:b.com", ["en"], NOW)
    assert shown(query.unwanted) == ["title:dogs|dog"]
    assert query.excluded == (("site", "example.com"), ("lang", "de"), ("site", "b.com"))
    assert (query.site, query.lang, query.notes) == (None, None, ())
    alone = parse("-type:pdf -cats", ["en"], NOW)
    assert alone.excluded == (("type", "pdf"),) and shown(alone.unwanted) == ["cats|cat"]
    assert not alone.is_empty and not alone.notes


@pytest.mark.parametrize(
    "text", ["", " ", '"', '""', "-", "*", ":", "()", "\x00", "\ud800", "。", "\xad"]
)
def test_nothing_is_asked_for(text: str) -> None:
    assert parse(text, ["zh", "en"], NOW).is_empty


def common(text: str, languages: list[str]) -> list[str]:
    return [item.text for item in parse(text, languages, NOW).wanted if item.common]


def test_stop_words() -> None:
    assert common("what is the capital", ["en", "de"]) == ["what", "is", "the"]
    assert common("der hund und die katze", ["en", "de"]) == ["der", "und", "die"]
    assert common("war museum", ["en", "de"]) == []
    assert common("爬蟲 是 什麼", ["zh"]) == ["是", "什麼"]
    assert common('"the" the* intitle:the', ["en"]) == []


def test_stop_words_of_another_language_count_if_they_are_several() -> None:
    assert common("war die reform", ["en", "de"]) == ["war", "die"]


@pytest.mark.parametrize(
    ("text", "site"),
    [
        ("Example.com", "example.com"),
        ("example.com/docs/", "example.com/docs/"),
        ("https://example.com/docs/*", "example.com/docs/"),
        ("example.com/docs?x#y", "example.com/docs"),
        ("example.com/", "example.com"),
        ("no host/docs", None),
    ],
)
def test_a_site_may_have_a_path(text: str, site: str | None) -> None:
    assert site_of(text) == site


def test_a_question_relaxes_to_its_bigrams() -> None:
    (item,) = parse("网络爬虫2018是什么", ["zh"], NOW).wanted
    assert [form.tokens[0] for form in item.parts] == ["网络", "络爬", "爬虫", "虫2", "2018"]


def test_one_word_has_no_parts() -> None:
    assert [item.parts for item in parse('word "a phrase"', ["en"], NOW).wanted] == [(), ()]


WORDS = ("university", "happiness", "categories", "nationally", "running", "generously")


@pytest.mark.parametrize("word", WORDS)
def test_the_beginning_of_a_word_finds_its_stem(word: str) -> None:
    token = vocabulary("en")[word]
    for length in range(3, len(word) + 1):
        found = forms(word[:length], ["en"], prefix=True)
        assert any(
            token.startswith(form.tokens[0]) if form.prefix else token == form.tokens[0]
            for form in found
        )


_TYPED = st.lists(
    st.one_of(
        st.sampled_from(
            [
                *("AND", "OR", "NEAR", "site:", "lang:", "type:", "since:", "intitle:", "inurl:"),
                *"\"'*-()[]{}:.,;|\\/\x00\n“”＂：%_^~ ",
                *("'; DROP TABLE page --", "NEAR(a b, 5)", "中国", "foo"),
                *("\u202e", "\u200f", "𠮷", "😂", "\ud800"),
            ]
        ),
        st.text(max_size=5),
    ),
    max_size=20,
).map("".join)


@example("\u1920", ["zh"])  # a mark alone, which is no character of a bigram
@given(_TYPED, st.lists(st.sampled_from(["en", "zh", "de", "vi", "th", "xx"]), max_size=3))
def test_whatever_is_typed_is_a_query(text: str, languages: list[str]) -> None:
    query = parse(text, languages, NOW)
    for item in (*query.wanted, *query.unwanted):
        assert item.forms
        for form in (*item.forms, *item.parts):
            for token in form.tokens:
                assert token
                assert all(char.isalnum() or char > "\x7f" for char in token)
                token.encode()


LONG = ["a", "中", "a b ", '"', "x* ", "中 ", "-", "site:", "é-", "a'b", "Ae", "(", "1."]


@pytest.mark.parametrize("piece", LONG)
def test_long_queries_take_bounded_time(piece: str) -> None:
    languages = list(ALGORITHMS)
    start = time.process_time()
    query = parse(piece * (10_000 // len(piece)), languages, NOW)
    assert time.process_time() - start < 0.5
    assert len(query.wanted) <= MOST


_PARAGRAPHS = [
    "这座灯塔建于1862年，位于海岛的东端，高三十二米，夜里每隔八秒闪一次光。",
    "图书馆周一闭馆，其余日子从早上九点开到晚上八点，外文书籍在四楼。",
    "这种蘑菇多生长在松林里，伞盖呈橙色，切开后会流出乳汁，可以食用。",
    "铁路于1905年通车，全长两百公里，穿过七座隧道，把煤矿和港口连接起来。",
    "球队在决赛中以三比一获胜，第二个进球由守门员踢出，观众有五万人。",
    "这位画家晚年双目失明，靠记忆继续作画，代表作《冬河》藏于市立博物馆。",
    "软件每天凌晨备份一次，备份文件保留三十天，超过期限的会自动删除。",
    "高原湖泊的水面冬天结冰四个月，牧民赶着羊群从冰上走到对岸的草场。",
]


@pytest.mark.parametrize(
    ("question", "paragraph"),
    [
        ("灯塔是哪一年建成的？", 0),
        ("图书馆星期几不开门，外文书在几楼", 1),
        ("松林里橙色的蘑菇能吃吗？", 2),
        ("连接煤矿与港口的铁路有多长", 3),
        ("決賽的第二個進球是誰踢進的", 4),
        ("《冬河》的作者失明以后怎样画画？", 5),
        ("备份保留多少天以后删除", 6),
        ("牧民冬天怎么到湖对岸", 7),
    ],
)
def test_a_chinese_question_finds_its_paragraph(question: str, paragraph: int) -> None:
    """By the words that both have, in one order or another, and by either characters."""
    index = Index(_PARAGRAPHS, "zh")
    items = parse(question, ["zh"], NOW).wanted
    best = index.best([form for item in items for form in item.parts or item.forms], 3)
    index.close()
    assert best[0] == paragraph


def test_chinese_questions_find_their_paragraphs() -> None:
    """CMRC 2018, the relaxed search with plain BM25; S@10 0.998, MRR 0.983 for all questions."""
    data = json.loads((suite("chinese-search") / "cmrc.json").read_text("utf-8"))
    index = Index(data["paragraphs"], "zh")
    ranks = []
    for question, paragraph in data["questions"][::8]:
        items = parse(question, ["zh"], NOW).wanted
        best = index.best([form for item in items for form in item.parts or item.forms], 20)
        ranks.append(best.index(paragraph) + 1 if paragraph in best else 1000)
    index.close()
    assert sum(rank <= 10 for rank in ranks) / len(ranks) >= 0.995
    assert sum(1 / rank for rank in ranks) / len(ranks) >= 0.97
