"""The options of the requests to each site, and the logins among them."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from larbinpy import Config, ConfigError, load
from larbinpy.crawl.requests import Logins, SiteConfigs, SiteOptions, of_login
from larbinpy.fetch.options import RequestOptions
from larbinpy.url import Aim, Ask, Purpose, Url
from tests.support.certificates import self_signed


def options(folder: Path, *seeds: str, **settings: Any) -> SiteOptions:
    config = Config(**settings)
    logins = Logins(folder)
    for seed in seeds:
        logins.learn(seed)
    return SiteOptions(config, logins, SiteConfigs(config))


def test_all_sites_share_one_object(tmp_path: Path) -> None:
    subject = options(tmp_path, header=("X-Own: 1",), proxy=("127.0.0.1", 3128))
    assert subject.of("http://a.test") is subject.of("https://b.test:8443")


def test_each_setting_of_a_request_reaches_its_options(tmp_path: Path) -> None:
    certificate, key = map(str, self_signed(tmp_path, "me.test"))
    settings: dict[str, Any] = {
        "user_agent": "us/1",
        "accept_language": "de",
        "timeout_page": 7.0,
        "timeout_connect": 3.0,
        "ca_file": certificate,
        "insecure_tls": True,
        "http_version": "1.1",
    }
    config = Config(
        **settings,
        sender="me@a.test",
        header=("X-Own: 1",),
        any_type=True,
        client_cert=certificate,
        client_key=key,
        source_address=("127.0.0.1",),
    )
    subject = SiteOptions(config, Logins(tmp_path), SiteConfigs(config)).of("http://a.test")
    assert subject == RequestOptions(
        **settings,
        sender="me@a.test",
        headers=("X-Own: 1",),
        accept="*/*",
        client_cert=certificate,
        client_key=key,
        source_addresses=("127.0.0.1",),
    )


def test_a_login_is_that_of_its_site_alone(tmp_path: Path) -> None:
    """Sites do not share their options where one of them has a login."""
    config = Config()

    def with_login(site: str, options: RequestOptions) -> RequestOptions:
        return replace(options, login="me:x") if site == "http://a.test" else options

    subject = SiteOptions(config, Logins(tmp_path), SiteConfigs(config), with_login)
    assert subject.for_url(Url("http://a.test/", 1)).login == "me:x"
    assert subject.for_url(Url("http://b.test/", 1)).login == ""


def test_the_options_of_sites_are_remembered(tmp_path: Path) -> None:
    made: list[str] = []

    def with_login(site: str, options: RequestOptions) -> RequestOptions:
        made.append(site[-1])
        return options

    config = Config()
    subject = SiteOptions(config, Logins(tmp_path), SiteConfigs(config), with_login)
    for site in "aabbcaa":
        subject.of(f"http://{site}")
    assert made == list("abc")


@pytest.mark.parametrize("address", ["192.0.2.1", "2001:db8::1"])
def test_an_address_of_another_machine_is_refused(tmp_path: Path, address: str) -> None:
    with pytest.raises(ConfigError, match=rf"sourceAddress {address}: not an address of this"):
        options(tmp_path, source_address=(address,))


def test_equal_options_are_one_object(tmp_path: Path) -> None:
    subject = options(tmp_path, proxy=("127.0.0.1", 3128), no_proxy=("b.test",))
    proxied, direct = subject.of("http://a.test"), subject.of("http://b.test")
    assert subject.of("http://c.test") is proxied
    assert subject.of("https://b.test:81") is direct
    assert replace(direct, proxy_url="http://127.0.0.1:3128", proxy_address="127.0.0.1") == proxied


@pytest.mark.parametrize(
    ("seed", "login"),
    [
        ("http://me:p%40s%3As@a.test:8080/x", "me:p@s:s"),
        ("http://me@a.test:8080/", "me:"),
        ("http://:key@a.test:8080/", ":key"),
        ("http://a.test:8080/", ""),
        ("http://a.test:8080/@me:x@", ""),
    ],
)
def test_a_login_is_for_its_origin(tmp_path: Path, seed: str, login: str) -> None:
    subject = options(tmp_path, seed)
    assert subject.of("http://a.test:8080").login == login
    for other in (
        "https://a.test:8080",
        "http://a.test",
        "http://x.a.test:8080",
        "http://a.test:80",
    ):
        assert subject.of(other).login == ""


def test_a_login_that_comes_later_is_used(tmp_path: Path) -> None:
    config, logins = Config(), Logins(tmp_path)
    subject = SiteOptions(config, logins, SiteConfigs(config))
    before = subject.of("http://a.test")
    logins.learn("http://me:x@a.test/")
    assert subject.of("http://a.test").login == "me:x"
    assert subject.of("http://b.test") == before


def test_logins_are_saved_with_the_newer_ones_first(tmp_path: Path) -> None:
    first = Logins(tmp_path)
    first.learn("http://me:old@a.test/")
    first.learn("http://me:b@b.test/")
    mark = first.cut()
    again = Logins(tmp_path)
    again.learn("http://me:new@a.test/")
    again.load(mark)
    assert [again.of(site) for site in ("http://a.test", "http://b.test")] == ["me:new", "me:b"]
    assert "new" not in repr(again)
    again.clear()
    assert list(tmp_path.iterdir()) == []


def test_a_crawl_without_logins_has_no_file_of_them(tmp_path: Path) -> None:
    logins = Logins(tmp_path)
    logins.load(logins.cut())
    assert list(tmp_path.iterdir()) == []


def test_the_proxies_of_blocks_are_looked_up_at_the_start(tmp_path: Path) -> None:
    given = load(None, {}, [("site", "b.test proxy http://me:x@no.invalid 80 end")])
    with pytest.raises(ConfigError, match=r"proxy no\.invalid: no address found"):
        options(tmp_path, site_blocks=given.site_blocks)


@pytest.mark.parametrize("login", ["us%00er:pw", "us:p%0aw", "us:p%7f", "%1b"])
def test_a_login_with_a_control_character_is_not_learned(tmp_path: Path, login: str) -> None:
    assert options(tmp_path, f"http://{login}@a.test/").of("http://a.test").login == ""


def test_a_proxy_login_has_no_control_characters() -> None:
    with pytest.raises(ConfigError, match="user name or password has a control character") as got:
        load(None, {}, [("proxy", "http://a%00b:c@127.0.0.1 3128")])
    assert "a%00b" not in str(got.value)


def test_a_login_has_a_jar_for_each_origin() -> None:
    site = "https://a.test"
    others = ["https://a.test:8443", "http://a.test", "https://b.test"]
    asks = [Ask(f"{each}/") for each in (site, *others)]
    urls = [Url(ask.href, 0, purpose=Purpose(Aim.LOGIN, site, ask)) for ask in asks]
    made = [of_login(RequestOptions("us"), *each) for each in zip(urls, asks, strict=True)]
    jars = [options.jar for options in made]
    assert jars[0] == site
    assert len(set(jars)) == 4


def test_a_header_of_a_login_replaces_that_of_the_configuration() -> None:
    own = RequestOptions("us", headers=("Accept: text/html", "AUTHORIZATION:x", "X-Own: 1"))
    ask = Ask("http://a.test/", headers=("accept: application/json", "Authorization: Basic b"))
    made = of_login(own, Url(ask.href, 0, purpose=Purpose(Aim.ROBOTS, "http://a.test")), ask)
    assert made.headers == ("X-Own: 1", *ask.headers)
