"""What a user gave, and what of it a later run goes on with."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from larbinpy.config import SETTINGS, Config, ConfigError, Given, Origins

Pairs = list[tuple[str, str]]


@pytest.fixture(autouse=True, scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Without a larbin.conf."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("empty"))
        yield


def options(*pairs: tuple[str, str], file: str | None = None, **environ: str) -> Given:
    """Options and variables, without those of the tests' own environment."""
    return Given(file, list(pairs), {f"LARBINPY_{name}": text for name, text in environ.items()})


def as_saved(given: Given) -> Given:
    """What is kept of `given`, once it is written and read."""
    return Given.of_json(json.loads(json.dumps(given.kept().to_json())))


def gone_on(now: Given, *earlier: Given) -> Config:
    """The settings of the last of several runs, each of which goes on with the one before."""
    before = earlier[0]
    for each in earlier[1:]:
        before = each.over(as_saved(before))
    return now.over(as_saved(before)).config()


def test_a_later_run_has_the_options_of_the_first() -> None:
    first = options(("waitDuration", "5"), ("limitPage", "30"), ("allowPrivate", "on"))
    config = gone_on(options(), first)
    assert config == first.config()
    assert (config.wait_duration, config.limit_page, config.allow_private) == (5.0, 30, True)


def test_what_is_given_now_replaces_it_key_by_key_and_is_kept_in_turn() -> None:
    first = options(("waitDuration", "5"), ("limitPage", "30"), ("header", "A: 1"))
    second = options(("WAITDURATION", "1"), ("header", "B: 2"))
    for config in (gone_on(second, first), gone_on(options(), first, second)):
        assert (config.wait_duration, config.limit_page, config.header) == (1.0, 30, ("B: 2",))
    assert gone_on(options(("limitPage", "")), first).limit_page == 0
    assert gone_on(options(), first, options(("limitPage", ""))).limit_page == 0


def test_standard_input_is_not_kept() -> None:
    first = options(("limitPage", "30"), file="-")
    with pytest.raises(ConfigError, match="from standard input, which is not kept"):
        options().over(as_saved(first))
    assert options(file="a.conf").over(as_saved(first)).config_file == "a.conf"
    assert options(file="-").over(as_saved(first)).config_file == "-"


def test_the_command_line_of_all_runs_is_stronger_than_their_environment(tmp_path: Path) -> None:
    """As within one run; and a file is the weakest of all."""
    file = tmp_path / "my.conf"
    file.write_text("waitDuration 1 retries 1 depthInSite 1 limitPage 1")
    first = options(("waitDuration", "4"), file=str(file), RETRIES="4", DEPTHINSITE="4")
    now = options(WAITDURATION="9", RETRIES="9")
    config = gone_on(now, first)
    values = config.wait_duration, config.retries, config.depth_in_site, config.limit_page
    assert values == (4.0, 9, 4, 1)
    file.write_text("limitPage 2")
    assert gone_on(now, first).limit_page == 2, "the file is read anew"
    other = tmp_path / "other.conf"
    other.write_text("limitPage 3")
    assert gone_on(options(file=str(other)), first).limit_page == 3
    # A variable that is set to nothing counts as one that is not set.
    assert gone_on(options(RETRIES=""), first).retries == Config().retries


def patterns(config: Config) -> list[str]:
    return [rule.text for rule in config.rules]


def test_new_rules_and_blocks_come_before_the_earlier_ones() -> None:
    first = options(("reject", "**/a"), ("accept", "**/b"), ("site", "a.test retries 1"))
    second = options(("reject", "**/c"), ("site", "b.test retries 2"))
    config = gone_on(second, first)
    assert patterns(config) == ["reject **/c", "reject **/a", "accept **/b"]
    assert [block.pattern.show() for block in config.site_blocks] == ["b.test", "a.test"]
    third = options(("reject", "**/d"))
    expected = ["reject **/d", "reject **/c", "reject **/a", "accept **/b"]
    assert patterns(gone_on(third, first, second)) == expected
    # A service gives the same options with each start.
    assert len(second.over(as_saved(second)).pairs) == len(second.pairs)
    # An empty text takes them away, for later runs, too.
    emptied = options(("reject", ""), ("reject", "**/e"))
    assert patterns(gone_on(emptied, first)) == ["reject **/e"]
    assert patterns(gone_on(options(), first, emptied)) == ["reject **/e"]
    assert patterns(gone_on(third, first, emptied)) == ["reject **/d", "reject **/e"]


def test_what_chooses_or_begins_the_crawl_is_not_kept() -> None:
    first = options(
        ("startUrl", "http://me:secret@a.test/"),
        ("stateDir", "there"),
        ("join", "redis://127.0.0.1/news"),
        ("node", "b"),
        JOIN="redis://:secret@127.0.0.1/news",
    )
    kept = as_saved(first)
    assert kept == Given(None, [], {}, [])
    assert gone_on(options(), first) == Config()


SECRETS = [
    ("proxy", "http://me:zebra@127.0.0.1 8080"),
    ("header", "Authorization: Bearer zebra"),
    ("header", "X-Api-Key: zebra"),
    ("header", "X-Pass: zebra"),
    ("header", "Referer: http://me:zebra@a.test/"),
    ("site", "a.test proxy http://me:zebra@127.0.0.1 8080 end"),
    ("site", 'b.test retries 1 end a.test header "Cookie: a=zebra" end'),
]


@pytest.mark.parametrize(("keyword", "text"), SECRETS)
def test_a_secret_is_never_kept_and_must_be_given_again(keyword: str, text: str) -> None:
    for first in (options((keyword, text)), options(**{keyword.upper(): text})):
        kept = as_saved(first)
        assert "zebra" not in json.dumps(kept.to_json())
        with pytest.raises(ConfigError) as raised:
            options(("waitDuration", "1")).over(kept)
        assert str(raised.value) == (
            f"{keyword}: an earlier run had it with a password or another secret, which is not"
            f" kept; give it again, or --set {keyword}= to go on without it"
        )
        attribute = SETTINGS[keyword].attribute
        again = options(**{keyword.upper(): text}).over(kept)
        assert getattr(again.config(), attribute) == getattr(first.config(), attribute)
        # It is not forgotten that there was one, until the user says so.
        assert as_saved(again).withheld == [keyword]
        without = options((keyword, "")).over(kept)
        assert getattr(without.config(), attribute) == SETTINGS[keyword].default
        assert as_saved(without).withheld == []


def test_all_texts_of_a_list_with_a_secret_are_given_again() -> None:
    first = options(("header", "A: 1"), ("header", "Authorization: zebra"), ("retries", "1"))
    assert as_saved(first) == Given(None, [("retries", "1")], {}, ["header"])


@pytest.mark.parametrize(
    "pair",
    [
        ("proxy", "127.0.0.1 8080"),
        ("proxy", "socks5://proxy.test 8080"),
        ("header", "X-Note: one two"),
        ("site", 'a.test waitDuration 1 header "X-Note: a b" end b.test retries 1 end'),
        ("reject", "http://a.test/***"),
        ("accept", '"**.pdf size:<1M"'),
        ("database", "mysql://me@127.0.0.1/pages"),
        ("dropParameters", "none"),
        ("specificSet", '"text/html" .html'),
        ("hours", "22:00-06:00"),
        ("outputMode", "0"),
        ("waitDuration", "0.0000001"),
        ("outputDir", "my pages"),
        ("From", "me and you"),
        ("specificSearch", "on"),
        ("traps", "none"),
        ("dnsServer", "[::1]:5353 127.0.0.1"),
        ("cookieFile", "/dev/null"),
        ("saveCookies", "cookies of mine.txt"),
    ],
)
def test_what_is_no_secret_is_kept(pair: tuple[str, str]) -> None:
    kept = as_saved(options(pair))
    assert kept == Given(None, [pair], {}, [])
    assert options().over(kept).config() == options(pair).config()


_TEXTS: dict[str, Any] = {
    "waitDuration": st.sampled_from(["", "1", "2.5", "1m"]),
    "limitPage": st.sampled_from(["", "0", "7"]),
    "header": st.sampled_from(["", "A: 1", "B: 2"]),
    "reject": st.sampled_from(["", "**/a", "**/b"]),
    "accept": st.sampled_from(["", "**/a", "**/c"]),
    "allowPrivate": st.sampled_from(["on", "off"]),
}
_PAIRS: Any = st.lists(
    st.sampled_from(sorted(_TEXTS)).flatmap(lambda key: st.tuples(st.just(key), _TEXTS[key])),
    max_size=6,
)


@settings(max_examples=50, deadline=None)
@given(first=_PAIRS, second=_PAIRS)
def test_a_run_that_repeats_the_options_before_changes_nothing(first: Pairs, second: Pairs) -> None:
    before = options(*first)
    assert gone_on(options(), before) == before.config()
    assert gone_on(options(), before, options(), options()) == before.config()
    later = options(*second)
    given_now = {SETTINGS[key.lower()].attribute for key, _ in second}
    config = gone_on(later, before)
    for attribute in {row.attribute for row in SETTINGS.values()} - {"rules"}:
        source = later if attribute in given_now else before
        assert getattr(config, attribute) == getattr(source.config(), attribute)
    # The rules given now come first, those before follow unless they were taken away.
    now, all_rules = later.config().rules, config.rules
    assert all_rules[: len(now)] == now
    emptied = any(not text for key, text in second if key in ("accept", "reject"))
    assert set(all_rules) == set(now) | (set() if emptied else set(before.config().rules))


def test_it_says_in_few_words_what_is_added() -> None:
    first = options(
        ("allowPrivate", "on"),
        ("waitDuration", "5"),
        ("reject", "**/" + "x" * 90),
        file="my.conf",
        RETRIES="1",
        WAITDURATION="9",
    )
    kept = first.kept()
    assert options(("waitDuration", "1")).beside(kept) == [
        "-c my.conf",
        "allowPrivate on",
        f"reject **/{'x' * 54}...",
        "retries 1",
    ]
    assert first.beside(kept) == []
    assert options(("allowPrivate", ""), file="other.conf").beside(
        options(("allowPrivate", "on"), ("limitPage", "")).kept()
    ) == ["limitPage (not set)"]


@pytest.mark.parametrize(
    "change",
    [
        {"options": [["nonsense", "1"]]},
        {"options": [["retries"]]},
        {"options": 3},
        {"environment": []},
        {"environment": {"LARBINPY_NONSENSE": "1"}},
        {"withheld": ["nonsense"]},
    ],
)
def test_damage_is_noticed(change: dict[str, Any]) -> None:
    saved = {**options(("retries", "1")).kept().to_json(), **change}
    with pytest.raises((LookupError, TypeError, ValueError, AttributeError)):
        Given.of_json(saved)


def test_where_a_setting_is_from(tmp_path: Path) -> None:
    earlier = options(("retries", "7"), ("limitPage", "3"), file="my.conf", WAITDURATION="5")
    origins = Origins(earlier, ["limitPage"], ["retries", "limit_page", "wait_duration", "debug"])
    assert origins.of("limitPage") == "the command line"
    assert origins.of("retries") == "an option of an earlier run"
    assert origins.of("waitDuration") == "environment LARBINPY_WAITDURATION"
    assert origins.of("debug") == "my.conf"
    assert origins.of("useCookies") == "a default of this command"
    assert Origins(options(), (), ["debug"]).of("debug") == "larbin.conf"
    assert Origins().of("debug") == ""
