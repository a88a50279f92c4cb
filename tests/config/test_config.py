"""Config: the table of settings, the order of the sources, and their descriptions."""

from dataclasses import FrozenInstanceError, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from larbinpy.config import (
    SETTINGS,
    Config,
    ConfigError,
    assignment,
    change,
    check,
    describe,
    kinds,
    load,
    texts,
)
from larbinpy.config.grammar import SITE, SiteBlock, SiteValue, read, read_value
from larbinpy.config.kinds import Proxy
from larbinpy.config.patterns import HostPattern
from larbinpy.config.rule import ACCEPT, REJECT, parse_rule
from tests.support.checkout import ROOT

EXAMPLE = ROOT / "larbin.conf"


@pytest.fixture(autouse=True)
def empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory without larbin.conf."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def parse(text: str) -> Config:
    Path("t.conf").write_text(text)
    return load("t.conf", {}, [])


def again(config: Config) -> Config:
    """The description of `config`, parsed."""
    return Config(**read("\n".join(describe(config)), "described", SETTINGS))


def test_defaults() -> None:
    config = load(None, {}, [])
    assert config == Config()
    assert (config.pages_connexions, config.dns_connexions, config.depth_in_site) == (100, 1000, 5)
    assert (config.wait_duration, config.max_wait, config.wait_by) == (30, 300, "ip")
    assert (config.http_port, config.input_port, config.http_host) == (0, 0, "127.0.0.1")
    assert (config.retries, config.retry_wait, config.max_urls_by_site) == (3, 15, 10000)
    assert (config.dns_cache_size, config.dns_cache_time) == (50000, 1800)
    assert (config.dns_send_queue, config.dns_timeout, config.dns_server) == (1024, 1, ())
    assert (config.max_page_size, config.timeout_page, config.timeout_connect) == (8 << 20, 30, 10)
    assert (config.output_dir, config.state_dir, config.output_mode) == ("save", "state", ())
    assert (config.proxy, config.ca_file, config.start_url) == (None, None, ())
    assert config.user_agent.startswith("larbinpy/")
    switches = [row for row in SETTINGS.values() if not row.kind.words]
    on = [row.keyword for row in switches if getattr(config, row.attribute)]
    assert on == ["keepLinks", "guessSitemap"]


def test_a_config_cannot_be_changed() -> None:
    with pytest.raises(FrozenInstanceError):
        Config().retries = 4  # type: ignore[misc]


def test_precedence() -> None:
    environ = {"LARBINPY_RETRIES": "5", "PATH": "/bin", "LARBINPY_DEBUG": ""}
    assert load(None, {}, []).retries == 3
    Path("larbin.conf").write_text("retries 7 useCookies")
    assert load(None, {}, []).retries == 7
    Path("other.conf").write_text("retries 6")
    # As in Larbin, a named file replaces larbin.conf.
    assert load("other.conf", {}, []) == Config(retries=6)
    assert load("other.conf", environ, []).retries == 5
    assert load("other.conf", environ, [("retries", "4")]).retries == 4
    other = Config(retries=8, max_urls_by_site=9)
    assert load("other.conf", {}, [], other) == Config(retries=6, max_urls_by_site=9)
    assert load("other.conf", {}, [("retries", "")], other) == other


@pytest.mark.parametrize(
    "name",
    ["VERSION", "PORT", "SERVICE_HOST", "SERVICE_PORT", "SERVICE_PORT_HTTP", "PORT_8081_TCP_ADDR",
     "PORT_8081_TCP", "NAME", "ENV_PATH"],
)  # fmt: skip
def test_variables_of_a_service_or_an_image_called_larbinpy_are_no_settings(name: str) -> None:
    assert load(None, {f"LARBINPY_{name}": "tcp://10.0.0.1:8081"}, []) == Config()


def test_environment() -> None:
    environ = {
        "LARBINPY_STARTURL": "http://a.example http://b.example#x",
        "LARBINPY_USERAGENT": "My bot #1",
        "LARBINPY_GETCGI": "on",
        "LARBINPY_PROXY": "p.example 80",
        "LARBINPY_SPECIFICSET": '"image/png" .png image/gif .gif',
        "LARBINPY_LIMITTODOMAIN": ".a .b end",
    }
    assert load(None, environ, []) == Config(
        start_url=("http://a.example/", "http://b.example/"),
        user_agent="My bot #1",
        get_cgi=True,
        proxy=Proxy("p.example", 80),
        specific_set=(("image/png", ".png"), ("image/gif", ".gif")),
        limit_to_domain=(".a", ".b"),
    )
    with pytest.raises(ConfigError, match=r"^environment LARBINPY_RETRYS: .* nearest .* retries$"):
        load(None, {"LARBINPY_RETRYS": "1"}, [])
    with pytest.raises(ConfigError, match="LARBINPY_PORTS"):
        load(None, {"LARBINPY_PORTS": "1"}, [])
    with pytest.raises(ConfigError, match=r"^environment LARBINPY_RETRIES: 'x' is not"):
        load(None, {"LARBINPY_RETRIES": "x"}, [])


def test_overrides() -> None:
    overrides = [
        ("retries", "1"), ("retries", "2"), ("USECOOKIES", "on"), ("outputDir", " my pages "),
        ("startUrl", "http://a.example"), ("startUrl", "http://b.example"),
    ]  # fmt: skip
    assert load(None, {}, overrides) == Config(
        retries=2,
        use_cookies=True,
        output_dir="my pages",
        start_url=("http://a.example/", "http://b.example/"),
    )
    environ = {"LARBINPY_RETRIES": "9", "LARBINPY_STARTURL": "http://c.example"}
    back = load(None, environ, [("retries", ""), ("startUrl", "")])
    assert back == Config()


@pytest.mark.parametrize(
    ("pair", "message"),
    [
        (("retrys", "1"), "command line, retrys: unknown keyword 'retrys'; the nearest"),
        (("retries", "many"), "command line, retries: 'many' is not a whole number"),
        (("proxy", "host"), "'host' is not of the form HOST PORT"),
        (("proxy", "a 1 b 2"), "not of the form HOST PORT"),
        (("proxy", "http://a.test/Proxy.PAC?x"), "(PAC) is not run; write one that it names"),
        (("specificSet", "a/b"), "not of the form"),
        (("startUrl", " "), "not of the form URL"),
        (("getCGI", "maybe"), "'maybe' is neither on nor off"),
    ],
)
def test_wrong_overrides(pair: tuple[str, str], message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load(None, {}, [pair])
    assert message in str(caught.value)


def test_assignment() -> None:
    assert assignment("retries=2") == ("retries", "2")
    assert assignment("UserAgent=a=b") == ("UserAgent", "a=b")
    assert assignment("useCookies") == ("useCookies", "on")
    assert assignment("caFile=") == ("caFile", "")
    assert assignment("nonsense") == ("nonsense", "on")
    with pytest.raises(ConfigError, match=r"its value is missing; expected depthInSite=NUMBER$"):
        assignment("depthinsite")
    with pytest.raises(ConfigError, match=r"'stay prefix': expected KEY=VALUE, so stay=prefix$"):
        assignment("stay prefix")
    with pytest.raises(ConfigError, match=r"'=3': no keyword; expected KEY=VALUE$"):
        assignment("=3")


def test_check_reports_all_errors() -> None:
    Path("t.conf").write_text("retries x\nnonsense\nuseCookies on\n")
    environ = {"LARBINPY_RETRYS": "1", "LARBINPY_DEBUG": "?"}
    found = [str(error) for error in check("t.conf", environ, [("limitPage", "y")])]
    assert [error.partition(": ")[0] for error in found] == [
        "t.conf:1",
        "t.conf:2",
        "environment LARBINPY_RETRYS",
        "environment LARBINPY_DEBUG",
        "command line, limitPage",
    ]
    assert check("t.conf", {}, [])[0].args == _error_of("t.conf").args
    assert [str(error) for error in check("no.conf", {}, [])] == [str(_error_of("no.conf"))]
    assert len(check(None, {}, [("outputDir", "state/pages")])) == 1
    assert check(None, {}, []) == []


def _error_of(path: str) -> ConfigError:
    with pytest.raises(ConfigError) as caught:
        load(path, {}, [])
    return caught.value


def test_reading_stops_after_many_errors() -> None:
    Path("t.conf").write_text("\n".join(f"x{n}" for n in range(10**5)))
    found = check("t.conf", {}, [])
    assert len(found) == 51
    assert str(found[-1]) == "more errors follow; fix these first"


def test_change_while_running() -> None:
    config = Config()
    assert change(config, "waitduration", "2m").wait_duration == 120
    assert change(config, "waitDuration", "10m").max_wait == 600
    assert change(config, "pagesConnexions", "7").pages_connexions == 7
    assert change(config, "bondWidth", "1K").bond_width == 1024
    assert change(config, "limitPage", "9").limit_page == 9
    for keyword, text, message in [
        ("retries", "4", "these can: waitDuration, traps, limitByShape, dropParameters, limitPage"),
        ("limitPages", "4", "the nearest known one is limitPage"),
        ("limitPage", "x", "limitPage: 'x' is not a whole number"),
        ("limitPage", " ", "limitPage: its value is missing"),
    ]:
        with pytest.raises(ConfigError) as caught:
            change(config, keyword, text)
        assert message in str(caught.value)


def test_home_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/someone")
    assert parse("outputDir ~/pages").output_dir == "/home/someone/pages"


_PART = st.text("abcdefgh0123456789-", min_size=1, max_size=8).map(lambda part: f"a{part}a")
_LINE = st.text(st.characters(min_codepoint=32, max_codepoint=126, exclude_characters='"'))
_WORD = st.text(st.characters(exclude_categories=("C", "Z"), exclude_characters='"'))
_PORT = st.integers(1, 65535)
_ADDRESS = st.ip_addresses().map(str)
_DOMAIN = st.lists(_PART, min_size=1, max_size=3).map(".".join)
_SECONDS = st.floats(0.1, 8e7).map(lambda seconds: round(seconds, 6))
_CONDITIONS = st.sampled_from(
    [
        "**/old/**",
        r"/[?&]sort=\d/",
        "host:*.a.test:81",
        "domain:example.org",
        "depth:>3",
        "hops:2",
        "type:image/*",
        "size:<=10M",
        r"**\?*",
        "**/a%20b",
        "/x{2,3}#y|z/",
        "*://*:8080/**",
    ]
)
_RULES = st.builds(
    parse_rule, st.booleans(), st.lists(_CONDITIONS, min_size=1, max_size=3).map(" ".join)
)
_STRATEGIES = {
    ACCEPT: _RULES,
    REJECT: _RULES,
    kinds.HEADER: _LINE,
    kinds.NAME: _LINE.filter(bool),
    kinds.FOLDER: _WORD.filter(lambda text: text and not text.startswith("~")),
    kinds.MODES: st.sets(st.sampled_from(["save", "mirror", "stats"])).map(tuple),
    kinds.PORT: _PORT,
    kinds.ADDRESS: _ADDRESS,
    kinds.SWITCH: st.booleans(),
    kinds.URL: _DOMAIN.map(lambda host: f"http://{host}/"),
    kinds.SERVER: st.tuples(_ADDRESS, _PORT),
    kinds.DOMAIN: _DOMAIN.map(lambda host: "." + host),
    kinds.EXTENSION: _PART.map(lambda part: "." + part),
    kinds.PROXY: st.none()
    | st.builds(Proxy, _DOMAIN, _PORT, st.sampled_from(["http", "https", "socks5h"]), st.just("")),
    kinds.SEED: _DOMAIN.map(lambda host: f"http://{host}/"),
    kinds.HEADER_LINE: _PART.map(lambda part: f"X-Own: {part}"),
    kinds.HOSTS: _DOMAIN.map(HostPattern.parse),
    kinds.COOKIES: st.none(),
    kinds.CLIENT_CERT: st.none(),
    kinds.CLIENT_KEY: st.none(),
    kinds.SOURCE: _ADDRESS,
    kinds.SPECIFIC: st.tuples(_PART.map(lambda part: "image/" + part), _PART),
    kinds.FILE: st.just(str(EXAMPLE)),
    kinds.HOURS: st.lists(
        st.tuples(st.integers(0, 719), st.integers(720, 1440)), min_size=1, max_size=3
    ).map(tuple),
}


def _value(row: kinds.Setting) -> st.SearchStrategy[object]:
    if row.kind in _STRATEGIES:
        one = _STRATEGIES[row.kind]
        return st.lists(one, max_size=3, unique=True).map(tuple) if row.many else one
    if isinstance(row.default, float):
        return _SECONDS
    return st.integers(2, 100) if isinstance(row.default, int) else st.just(row.default)


_BLOCKS = st.builds(
    lambda host, values: SiteBlock(
        HostPattern.parse(host),
        tuple(
            SiteValue(SETTINGS[keyword.lower()], value)
            for keyword, value in values.items()
            # A block cannot set what has no value.
            if value not in (None, ())
        ),
    ),
    st.tuples(st.sampled_from(["", "*.", "w?*."]), _DOMAIN, st.sampled_from(["", ":8080"])).map(
        "".join
    ),
    st.fixed_dictionaries(
        {},
        optional={row.keyword: _value(row) for row in SETTINGS.values() if row.by_site},
    ),
)
_STRATEGIES[SITE] = _BLOCKS


def _without_contradictions(values: dict[str, Any]) -> dict[str, Any]:
    least, most = sorted((values["revisit_min"], values["revisit_max"]))
    ports = {"http_port": values["http_port"], "input_port": 65535 - values["http_port"]}
    return values | ports | {"revisit_min": least, "revisit_max": most}


@given(
    st.fixed_dictionaries({row.attribute: _value(row) for row in SETTINGS.values()}).map(
        _without_contradictions
    )
)
def test_a_parsed_description_gives_the_same_config(values: dict[str, Any]) -> None:
    config = Config(**values)
    assert again(config) == config


def test_a_description_names_every_keyword_and_marks_changes() -> None:
    lines = describe(load(None, {}, [("waitDuration", "5"), ("loginFile", str(EXAMPLE))]))
    assert [line.split()[0].lstrip("#").lower() for line in lines] == list(SETTINGS)
    changed = [line for line in lines if "CHANGED" in line]
    assert [line.split()[0] for line in changed] == ["waitDuration", "loginFile"]
    assert "waitDuration 5s" in changed[0] and "(default 30s)" in changed[0]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("", Config().drop_parameters),
        ("dropParameters end", ()),
        ("dropParameters none end", ()),
        ("dropParameters utm_* sid end", ("utm_*", "sid")),
        ("dropParameters a end dropParameters b end", ("a", "b")),
    ],
)
def test_a_list_replaces_its_default(text: str, names: tuple[str, ...]) -> None:
    assert parse(text).drop_parameters == names
    overrides = [("dropParameters", " ".join(names) or "none")]
    assert load(None, {}, overrides).drop_parameters == names
    assert load(None, {}, [("dropParameters", "")]).drop_parameters == Config().drop_parameters


@pytest.mark.parametrize("name", ["a=b", "a&b", "x" * 101, "/"])
def test_names_of_parameters_that_none_has(name: str) -> None:
    with pytest.raises(ConfigError, match="is not a name of a parameter"):
        parse(f"dropParameters {name} end")


def test_traps_are_chosen_by_name() -> None:
    assert parse("traps calendars,repeats").traps == ("repeats", "calendars")
    assert parse("traps none").traps == ()
    with pytest.raises(ConfigError, match="'loops' is not one of repeats, calendars, none"):
        parse("traps loops")


def test_texts() -> None:
    shown = texts(parse("startUrl http://a/ startUrl http://b/ specificSet a/b .c end end"))
    assert shown["startUrl"] == "http://a/ http://b/"
    assert shown["specificSet"] == '"a/b" .c end end'
    assert (shown["waitDuration"], shown["proxy"], shown["getCGI"]) == ("30s", "", "off")


def test_the_file_that_comes_with_the_program() -> None:
    """It is valid and polite, has every keyword, and its comments show the defaults."""
    config = load(str(EXAMPLE), {}, [])
    assert config.wait_duration >= 30 and not config.ignore_robots and not config.allow_private
    assert config.start_url == ("http://example.com/",)
    lines = [line.split(maxsplit=1) for line in EXAMPLE.read_text().splitlines() if line.strip()]
    # The first, as an example of a block repeats some.
    found = {line[0].lstrip("#").lower(): line for line in lines[::-1] if line[0].strip("#")}
    assert SETTINGS.keys() <= found.keys()
    for name, row in SETTINGS.items():
        if found[name][0].startswith("#") and row.default not in (None, (), "", False):
            assert read_value(found[name][1], row) == row.default, name


def test_a_program_gives_values_or_texts() -> None:
    """A text means what it means in a file."""
    given: dict[str, Any] = {
        "wait_duration": "2m",
        "limit_time": 90,
        "max_page_size": "8M",
        "ignore_robots": True,
        "start_url": ["a.test", "http://b.test/x"],
        "output_mode": "save,stats",
        "proxy": ("p.test", 3128),
        "state_dir": Path("somewhere"),
        "header": ["X-Own:1"],
        "no_proxy": ("b.test",),
        "rules": ("accept **/docs/**", 'reject "**.zip size:>1M"'),
    }
    config = Config(**given)
    assert (config.wait_duration, config.limit_time, config.max_page_size) == (120, 90, 8 << 20)
    assert config.start_url == ("http://a.test/", "http://b.test/x")
    assert config.output_mode == ("save", "stats")
    assert config.proxy == Proxy("p.test", 3128)
    assert (config.state_dir, config.header) == ("somewhere", ("X-Own: 1",))
    assert config.rules == parse('accept **/docs/**\nreject "**.zip size:>1M"').rules
    assert config.no_proxy == (HostPattern.parse("b.test"),)
    given = {"proxy": "socks5://me:p%40ss@p.test 1080"}
    secret = Config(**given)
    assert secret.proxy == Proxy("p.test", 1080, "socks5", "me:p@ss")
    assert replace(secret, retries=1).proxy == secret.proxy


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"wait_duration": -5}, "wait_duration: '-5s' is not a duration"),
        ({"wait_duration": None}, "wait_duration: None is not SECONDS"),
        ({"retries": 1.5}, "retries: '1.5' is not a whole number"),
        ({"retries": True}, "retries: 'True' is not a whole number"),
        ({"retries": 1000}, "retries: 1000 is not between 0 and 100"),
        ({"use_cookies": 1}, "use_cookies: 1 is neither True nor False"),
        ({"use_cookies": "maybe"}, "use_cookies: 'maybe' is neither on nor off"),
        ({"start_url": "http://a.test/"}, "start_url: 'http://a.test/' is a text, not a tuple"),
        ({"start_url": ("ftp://a.test/",)}, "start_url: 'ftp://a.test/' is not a URL"),
        ({"start_url": 5}, "start_url: 5 is not a tuple"),
        ({"header": ("Host: b.test",)}, "header: Host cannot be set: it frames the request"),
        ({"proxy": ("p.test",)}, "proxy: ('p.test',) is not HOST PORT"),
        ({"proxy": ("p.test", "x")}, "proxy: 'x' is not a whole number"),
        ({"ca_file": "/nowhere/x"}, "ca_file: '/nowhere/x' is not a file that can be read"),
        ({"waitDuration": 5}, "no setting is called 'waitDuration'; write wait_duration"),
        ({"wait_durations": 5}, "no setting is called 'wait_durations'; write wait_duration"),
        ({"rules": ("**.zip",)}, "rules: '**.zip' does not begin with accept or reject"),
        ({"zzz": 5}, "no setting is called 'zzz'"),
    ],
)
def test_wrong_values_of_a_program(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        Config(**settings)
    assert str(caught.value).startswith(f"Config: {message}")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("revisitMin 2h revisitMax 90m", "revisitMin 2h is longer than revisitMax 90m; set "),
        ("revisitMax 30m", "revisitMin 1h is longer than revisitMax 30m; set "),
        ("inputPort 8081 httpPort 8081", "inputPort and httpPort are both 8081; set "),
    ],
)
def test_values_that_exclude_each_other(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "t.conf"
    path.write_text(text)
    (error,) = check(str(path), {}, [])
    assert str(error).startswith(message)
    with pytest.raises(ConfigError, match=message):
        load(str(path), {}, [])


@pytest.mark.parametrize(
    "settings",
    [
        {"revisit_min": 60.0, "revisit_max": 60.0},
        {"http_port": 8081, "input_port": 8081, "input_host": "127.0.0.2"},
    ],
)
def test_values_that_go_together(settings: dict[str, Any]) -> None:
    Config(**settings)


def test_an_unknown_keyword_is_compared_with_those_like_it() -> None:
    with pytest.raises(ConfigError, match=r"'zebra'; larbinpy check-config has all$"):
        load(None, {}, [("zebra", "x")])


def test_headers_on_the_command_line() -> None:
    given = [("header", "X-A: b c"), ("header", '"X-B: 1" "X-C: 2"')]
    assert load(None, {}, given).header == ("X-A: b c", "X-B: 1", "X-C: 2")


@pytest.mark.parametrize(
    "text",
    [
        "mysql://u:secret@h/n",
        "mysql://h/n?user=u&password=secret",
        "redis://h/n",
        "mysql://h",
        "mysql:///n",
        "mysql://h:0/n",
    ],
)
def test_databases_that_are_none(text: str) -> None:
    with pytest.raises(ConfigError, match="database: ") as caught:
        Config(database=text)
    assert "secret" not in str(caught.value)


def test_the_content_database_lies_beside_the_pages() -> None:
    assert Config(output_dir="out").content_database == "out/larbinpy.db"
    assert Config(database="a/b.db").content_database == "a/b.db"
    assert Config(database="mysql://me@[::1]:3306/n").content_database == "mysql://me@[::1]:3306/n"
