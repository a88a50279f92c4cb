"""The grammar of larbin.conf: valid files, and every error a file can have."""

import os
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from larbinpy.config import SETTINGS, Config, ConfigError, load
from larbinpy.config.grammar import read
from larbinpy.config.kinds import Proxy

# Every keyword of Larbin 2.6, in the layout of its own file.
LARBIN = """\
###############
# Who are you ?
###############
From crawler@example.org
UserAgent trial_2.6.5
outputMode 1
httpPort 8081
#inputPort 1976
printStats
fetchInfo
histograms canReload debug\tlockSite
pagesConnexions 40
dnsConnexions 5
depthInSite 7
depthBySite
noExternalLinks
waitduration 60
proxy cache.example.org 3128
bondWidth 0
limitTime 90
limitPage 12
highLevelWebServer
useCookies
getCGI
startUrl http://www.Example.org   # the first
startUrl http://example.net/a/../b#fragment
punycode
ignoreRobots
pageNoDuplicate
GETIMAGE
anyType
specificSearch
# the format is
#   ["content type"] [exts]
specificSet
"audio/mpeg" .mp3
"image/jpeg" .JPG
end end
limitToDomain .fr .DK example.org end
forbiddenExtensions
.tar .gz .Z
.ps end
"""


@pytest.fixture(autouse=True)
def empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory without larbin.conf."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


#: A file with an error in nearly each line, and the lines of the errors.
MANY_ERRORS = """\
waitDuratoin 5 s
retries x
httpPort 99999 useCookies
limitToDomian
.org .com
end
"not closed
limitToDomain a/b
x/y .org
end
UserAgent my bot
Form me@x
specificSet a/b .c end
getCGI
\x7f
limitPage
"""
WRONG_LINES = [1, 2, 3, 4, 7, 8, 9, 11, 12, 13, 15, 16]


def test_all_errors_of_a_file_are_reported_and_each_once() -> None:
    found: list[ConfigError] = []
    values = read(MANY_ERRORS, "t.conf", SETTINGS, found.append)
    assert [int(str(error).split(":")[1]) for error in found] == WRONG_LINES
    # The valid settings beside the errors are kept.
    assert (values["use_cookies"], values["get_cgi"]) == (True, True)
    assert values["limit_to_domain"] == (".org",)


def parse(text: str | bytes) -> Config:
    Path("t.conf").write_bytes(text if isinstance(text, bytes) else text.encode())
    return load("t.conf", {}, [])


def error(text: str | bytes) -> str:
    with pytest.raises(ConfigError) as caught:
        parse(text)
    message = str(caught.value)
    assert "\n" not in message and message.isprintable()
    return message


#: Switches that Larbin does not have.
OURS = (
    "allow_private",
    "check_links",
    "follow_seed",
    "insecure_tls",
    "rewrite_links",
    "keep_originals",
    "keep_bodies",
    "lower_case_names",
    "probe_soft_404",
    "purge",
    "render_post",
    "seed_rules",
)


def test_a_larbin_file_works_unchanged() -> None:
    switches: dict[str, Any] = {
        row.attribute: True
        for row in SETTINGS.values()
        if not row.kind.words and row.attribute not in OURS
    }
    assert parse(LARBIN) == Config(
        sender="crawler@example.org",
        user_agent="trial_2.6.5",
        output_mode=("save",),
        http_port=8081,
        pages_connexions=40,
        dns_connexions=5,
        depth_in_site=7,
        wait_duration=60,
        proxy=Proxy("cache.example.org", 3128),
        limit_time=90 * 60,
        limit_page=12,
        start_url=("http://www.example.org/", "http://example.net/b"),
        specific_set=(("audio/mpeg", ".mp3"), ("image/jpeg", ".jpg")),
        limit_to_domain=(".fr", ".dk", "example.org"),
        forbidden_extensions=(".tar", ".gz", ".z", ".ps"),
        **switches,
    )


def test_a_larbin_file_with_old_encodings() -> None:
    """Windows line ends, a byte order mark, comments in Latin-1 and GBK."""
    text = b"\xef\xbb\xbf# d\xe9lai \xb5\xe7\xd3\xca\r\nwaitDuration 60 # \xff\r\nuseCookies\r\n"
    assert parse(text) == Config(wait_duration=60, use_cookies=True)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", {}),
        ("WAITDURATION\n\n 5", {"wait_duration": 5.0}),
        (
            "\u200bwaitDuration\xa05\u200b\u3000useCookies\n\x1a",
            {"wait_duration": 5.0, "use_cookies": True},
        ),
        (
            "startUrl http://a.test/\u200c\u200d",
            {"start_url": ("http://a.test/%E2%80%8C%E2%80%8D",)},
        ),
        ("waitDuration 5 waitDuration 6", {"wait_duration": 6.0}),
        ("waitDuration 0.25", {"wait_duration": 0.25}),
        ("dnsCacheTime 2h", {"dns_cache_time": 7200.0}),
        ("limitTime 3", {"limit_time": 180.0}),
        ("limitTime 3s", {"limit_time": 3.0}),
        ("limitTime 1.5D", {"limit_time": 129600.0}),
        ("waitDuration 10m", {"wait_duration": 600.0, "max_wait": 600.0}),
        ("maxPageSize 64k", {"max_page_size": 65536}),
        ("maxPageSize 1G", {"max_page_size": 1 << 30}),
        ("bondWidth 1.5M", {"bond_width": 1572864}),
        ("outputMode 0", {}),
        ("outputMode none", {}),
        ("outputMode 3", {"output_mode": ("stats",)}),
        ("outputMode WARC,1", {"output_mode": ("warc", "save")}),
        ("outputMode Save,2,save", {"output_mode": ("save", "mirror")}),
        (
            'UserAgent "My bot #1 (+http://a.example/)"',
            {"user_agent": "My bot #1 (+http://a.example/)"},
        ),
        ('From ""', {}),
        ("useCookies off getCGI ON debug", {"get_cgi": True, "debug": True}),
        ("waitBy SITE", {"wait_by": "site"}),
        ("httpHost ::1 inputHost localhost", {"http_host": "::1"}),
        (
            "dnsServer 192.0.2.1 dnsServer 192.0.2.2:5353",
            {"dns_server": (("192.0.2.1", 53), ("192.0.2.2", 5353))},
        ),
        (
            "dnsServer 2001:db8::1 dnsServer [::1]:5353",
            {"dns_server": (("2001:db8::1", 53), ("::1", 5353))},
        ),
        ('header "X-A: b c"', {"header": ("X-A: b c",)}),
        ("proxy [::1] 80", {"proxy": Proxy("[::1]", 80)}),
        ("limitToDomain .рф end", {"limit_to_domain": (".xn--p1ai",)}),
        ("limitToDomain .a end limitToDomain .b .a end", {"limit_to_domain": (".a", ".b")}),
        ("startUrl http://пример.рф/ä", {"start_url": ("http://xn--e1afmkfd.xn--p1ai/%C3%A4",)}),
        ("specificSet end end", {}),
        ("depthInSite 0", {"depth_in_site": 0}),
    ],
)
def test_values(text: str, expected: dict[str, object]) -> None:
    assert parse(text) == replace(Config(), **expected)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "\n\nwaitDuratoin 5",
            "t.conf:3: unknown keyword 'waitDuratoin'; the nearest known one is waitDuration",
        ),
        ("histogram", "nearest known one is histograms"),
        (
            "UserAgent my bot",
            "unknown keyword 'bot'; larbinpy check-config has all; put a value with blanks in "
            "double quotes",
        ),
        (
            "waitDuration 5 minutes",
            "t.conf:1: waitDuration: a number and its unit are one word: 5m",
        ),
        ("httpPort = 8081", "t.conf:1: httpPort: no = or : before its value; write httpPort PORT"),
        ("httpPort=8081", "httpPort: no = or : before its value"),
        ("httpPort: 8081", "httpPort: no = or : before its value"),
        ("UserAgent = bot", "UserAgent: no = or : before its value"),
        ("getImage=on", "getImage: no = or : before its value; write getImage"),
        ("site a.test waitDuration = 5 end", "waitDuration: no = or : before its value"),
        ("site a.test waitDuration=5 end", "waitDuration: no = or : before its value"),
        ("site a.test waitDuration 5 minutes end", "a number and its unit are one word: 5m"),
        ("maxPageSize 10 MB", "maxPageSize: a number and its unit are one word: 10M"),
        ("\nwaitDuration fast", "t.conf:2: waitDuration: 'fast' is not a duration"),
        ("waitDuration -1", "'-1' is not a duration"),
        ("waitDuration 5x", "'5x' is not a duration"),
        ("waitDuration 1e9", "not a duration"),
        ("waitDuration nan", "not a duration"),
        ("waitDuration 1001d", "1001d is not between 0 and 1000d"),
        ("timeoutPage 0", "0 is not between 0.001s and 1000d"),
        ("maxPageSize 0", "0 is not between 1 and 1G"),
        ("maxPageSize 8MB", "'8MB' is not a size"),
        ("httpPort 65536", "65536 is not between 0 and 65535"),
        ("httpPort http", "'http' is not a whole number"),
        ("httpPort ٣", "is not a whole number"),
        ("pagesConnexions 0", "0 is not between 1 and 100000"),
        ("maxUrlsBySite 1", "1 is not between 2 and"),
        ("retries 101", "101 is not between 0 and 100"),
        ("limitPage " + "9" * 5000, "is not a whole number"),
        ("outputMode 4", "'4' is not 0 to 3 or one of none, save, mirror, stats, warc"),
        ("outputMode mirrors", "'mirrors' is not 0 to 3"),
        ("waitBy host", "'host' is not one of ip, site, both"),
        (
            "\nstartUrl ftp://example.org/",
            "t.conf:2: startUrl: 'ftp://example.org/' is not a URL that can be crawled",
        ),
        ("startUrl www.example.conf", "not a URL that can be crawled"),
        ("startUrl http://example.org:25/", "not a URL that can be crawled"),
        ("dnsServer ns.example.org", "'ns.example.org' is not an IP address"),
        ("dnsServer 192.0.2.1:0", "0 is not between 1 and 65535"),
        ("dnsServer [::1]5353", "not of the form [ADDRESS]:PORT"),
        ("httpHost example.org", "not an IP address"),
        ("proxy example.org:80 80", "unknown keyword '80'"),
        ("limitToDomain example.org/a end", "not the end of a host name"),
        ("limitToDomain . end", "not the end of a host name"),
        (
            "forbiddenExtensions /docs/old/ end",
            "'/docs/old/' is a path, not an extension such as .zip; write reject **/docs/old/**",
        ),
        (
            "forbiddenExtensions *.Zip end",
            "'*.Zip' is a pattern, not an extension such as .zip; write reject **.zip",
        ),
        (
            "forbiddenExtensions\n.a\n.b",
            "t.conf:1: forbiddenExtensions: the list is not closed before the end of the file",
        ),
        (
            "\nlimitToDomain .a\nstartUrl http://a/ end",
            "t.conf:2: limitToDomain: the list is not closed before startUrl in line 3",
        ),
        ('specificSet "a/b" .b end\nuseCookies', "specificSet: the list is not closed"),
        (
            'specificSet "a/b" .b end .c',
            "t.conf:1: specificSet: the list is not closed by 'end end'",
        ),
        ("forbiddenExtensions .a\n.b\n.\x7f end", "t.conf:3: '.\\x7f' is not plain text"),
        ("From\nUserAgent x", "t.conf:1: From: its value is missing before UserAgent in line 2"),
        (
            "inputPort",
            "inputPort: its value is missing before the end of the file; expected inputPort PORT",
        ),
        ('UserAgent "a\nb"', "t.conf:1: a double quote is not closed on its line"),
        ('UserAgent ""', "UserAgent: must not be empty"),
        ("UserAgent ärger", "contains characters that are not ASCII"),
        ('UserAgent a"b', "contains a control character or a double quote"),
        ("From a\x1bb", "'a\\x1bb' is not plain text"),
        ("From a\u202eb", "is not plain text"),
        (b"useCookies\nFrom \xff\n", "t.conf:2: '\\udcff' is not plain text in UTF-8"),
        (b"useCookies\n\0\0", "t.conf:2: not a text file"),
        ("\na\n".encode("utf-16"), "t.conf:2: unknown keyword 'a'"),
        (os.urandom(5000) + b"\0", "not a text file"),
        ("caFile no/such.pem", "'no/such.pem' is not a file that can be read (looked in /"),
        ("caFile .", "'.' is not a file"),
        (f"caFile {__file__}", "has no certificate in PEM format; openssl x509 -inform DER -in"),
    ],
)
def test_errors(text: str | bytes, message: str) -> None:
    found = error(text)
    assert found.startswith("t.conf:")
    assert message in found
    assert len(found) < 300


def test_unreadable_files(empty_folder: Path) -> None:
    Path("folder.conf").mkdir()
    for name in ("missing.conf", "folder.conf", "missing\0.conf"):
        with pytest.raises(ConfigError, match=r"\.conf: cannot be read"):
            load(name, {}, [])
    Path("larbin.conf").symlink_to("nowhere")
    with pytest.raises(ConfigError, match=r"larbin\.conf: cannot be read: No such file"):
        load(None, {}, [])


def test_a_huge_file_is_refused_unread() -> None:
    with open("huge.conf", "wb") as file:
        file.truncate(100 << 20)
    with pytest.raises(ConfigError, match=r"huge\.conf: larger than 10 MB"):
        load("huge.conf", {}, [])


def test_long_files_take_little_time() -> None:
    seeds = "".join(f"startUrl http://example.org/{number}\n" for number in range(20000))
    start = time.process_time()
    assert len(parse(seeds).start_url) == 20000
    error("x" * (10 << 20))
    assert time.process_time() - start < 5


@pytest.mark.parametrize(
    ("word", "meant"),
    [
        ("wait", "waitDuration"),
        ("max-pages", "limitPage"),
        ("exclude", "reject"),
        ("threads", "pagesConnexions"),
    ],
)
def test_what_other_programs_call_a_setting_names_it(word: str, meant: str) -> None:
    assert (
        error(f"{word} 3")
        == f"t.conf:1: unknown keyword {word!r}; the nearest known one is {meant}"
    )


@pytest.mark.parametrize(
    ("text", "proxy"),
    [
        ("p.test 3128", Proxy("p.test", 3128)),
        ("p.test:3128", Proxy("p.test", 3128)),
        ("http://me:s%40e@p.test:3128/", Proxy("p.test", 3128, "http", "me:s@e")),
        ("http://me:1@p.test 3128", Proxy("p.test", 3128, "http", "me:1")),
        ("socks5://[::1]:1080", Proxy("[::1]", 1080, "socks5")),
    ],
)
def test_a_proxy_may_be_written_as_other_programs_do(text: str, proxy: Proxy) -> None:
    assert parse(f"proxy {text}\r\nretries 1") == Config(proxy=proxy, retries=1)
    assert load("/dev/null", {"LARBINPY_PROXY": text}, ()).proxy == proxy
