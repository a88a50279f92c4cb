"""The keywords that change requests: headers, cookies, proxies, certificates and logins."""

import gzip
import shutil
import ssl
import subprocess
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from larbinpy import Start
from larbinpy.config import ConfigError
from larbinpy.crawl.requests import referer
from tests.support.keywords import effect_of
from tests.support.ports import free_port
from tests.support.relay import Relay
from tests.support.smallweb import ADDRESSES, Answer, Web
from tests.support.smallworld import Client, World, Worlds
from tests.support.warcs import records, warcs
from tests.support.webserver import Act, WebServer, reply

pytest_plugins = ["tests.support.smallcrawls"]
pytestmark = pytest.mark.slow


WORDS = ("off", "same-site", "always")


def values(world: World, name: str) -> dict[str, str | None]:
    """Place -> the value of a header of its last request."""
    return {asked.place: asked.headers.get(name) for asked in world.asked}


# Headers.


@effect_of("referer")
def test_referer_names_the_page_as_browsers_do(web: Web, crawl: Worlds) -> None:
    web.page("a.test/p", "/q", images=["/i.png", "//b.test/i.png"])
    web.pages("a.test/q")
    for place in ("a.test/i.png", "b.test/i.png"):
        web.file(place, b"\x89PNG", "image/png")
    page, lines = web.url("a.test/p"), "requisites everywhere"
    origin = page.removesuffix("p")
    of = {word: crawl(f"referer {word}", lines, seeds=["a.test/p"]) for word in WORDS}
    places = ("a.test/p", "a.test/q", "a.test/i.png", "b.test/i.png")
    found = {
        word: [values(world, "referer")[place] for place in places] for word, world in of.items()
    }
    assert found == {
        "off": [None, None, None, None],
        "same-site": [None, None, page, origin],
        "always": [None, page, page, origin],
    }
    own = crawl('header "Referer: http://mine/"', lines, seeds=["a.test/p"])
    assert set(values(own, "referer").values()) == {"http://mine/"}


@pytest.mark.parametrize(
    ("href", "page", "sent"),
    [
        ("http://b.test/i", "https://a.test/p?q", ()),
        ("https://b.test/i", "https://a.test/p?q", ("Referer: https://a.test/",)),
        ("https://a.test/i", "https://a.test/p?q", ("Referer: https://a.test/p?q",)),
        ("https://a.test/i", "http://a.test/p?q", ("Referer: http://a.test/",)),
        ("http://a.test:81/i", "http://a.test/p", ("Referer: http://a.test/",)),
    ],
)
def test_a_referer_tells_another_site_no_more_than_the_origin(
    href: str, page: str, sent: tuple[str, ...]
) -> None:
    assert referer(href, page) == sent


@effect_of("header", "acceptLanguage")
def test_headers_and_languages_go_with_all_requests(web: Web, crawl: Worlds) -> None:
    """Also with those for robots.txt."""
    web.page("a.test/", "/b")
    web.pages("a.test/b")
    everywhere = dict.fromkeys(["a.test/robots.txt", "a.test/", "a.test/b"])
    plain = crawl()
    assert values(plain, "x-reason") == values(plain, "accept-language") == everywhere
    world = crawl('header "X-Reason: a study"', "header accept:text/plain", "acceptLanguage de")
    assert values(world, "x-reason") == dict.fromkeys(everywhere, "a study")
    assert values(world, "accept-language") == dict.fromkeys(everywhere, "de")
    assert values(world, "accept") == dict.fromkeys(everywhere, "text/plain")


@effect_of("httpVersion")
def test_the_version_of_http_is_offered(web: Web, crawl: Worlds) -> None:
    web.page("a.test/")
    for line, version in (("httpVersion 1.0", "HTTP/1.0"), ("", "HTTP/1.1")):
        assert {asked.version for asked in crawl(line).asked} == {version}


def test_a_site_has_its_own_headers(web: Web, crawl: Worlds) -> None:
    """A list in a block replaces the one outside; one handle serves both sites in turn."""
    web.page("a.test/", "//b.test/", "/2")
    web.page("b.test/", "/2")
    web.pages("a.test/2", "b.test/2")
    block = ['site b.test header "X-Key: b" UserAgent other acceptLanguage fr', "end"]
    world = crawl('header "X-All: 1"', "acceptLanguage de", *block, "pagesConnexions 1")
    assert len(world.fetched) == 4
    for asked in world.asked:
        sent = {name: asked.headers.get(name) for name in ("x-all", "x-key", "accept-language")}
        own = {"x-all": None, "x-key": "b", "accept-language": "fr"}
        usual = {"x-all": "1", "x-key": None, "accept-language": "de"}
        assert sent == (own if asked.host == "b.test" else usual)
        assert asked.headers["user-agent"] == ("other" if asked.host == "b.test" else "larbinpy")


# Cookies.


def cookie(host: str, name: str, *, expires: int = 0, path: str = "/", secure: bool = False) -> str:
    flag = "TRUE" if secure else "FALSE"
    return "\t".join([host, "FALSE", path, flag, str(expires), name, "1"])


@effect_of("cookieFile")
def test_cookies_of_a_browser_go_where_they_belong(web: Web, crawl: Worlds, tmp_path: Path) -> None:
    web.page("a.test/", "//b.test/", "/private/")
    web.pages("b.test/", "a.test/private/")
    year = int(time.time()) + 10**7
    lines = [
        "# Netscape HTTP Cookie File",
        "",
        cookie("a.test", "session"),
        "#HttpOnly_" + cookie("a.test", "hidden", expires=year),
        cookie("a.test", "old", expires=10**9),
        cookie("a.test", "sealed", secure=True),
        cookie("a.test", "deep", path="/private", expires=year),
    ]
    file = tmp_path / "cookies.txt"
    # Editors of Windows put a byte order mark before the text.
    file.write_text("\ufeff" + "\n".join(lines) + "\n")
    world = crawl(f"cookieFile {file}")
    assert len(world.fetched) == 3
    assert str(file) not in world.stderr.getvalue()
    sent = {
        place: set((value or "").split("; ")) for place, value in values(world, "cookie").items()
    }
    assert sent["a.test/"] == {"session=1", "hidden=1"}
    assert sent["a.test/private/"] == {"session=1", "hidden=1", "deep=1"}
    assert sent["b.test/"] == {""}


def test_a_file_that_has_no_cookies_is_an_error(crawl: Worlds, tmp_path: Path) -> None:
    file = tmp_path / "cookies.json"
    file.write_text('# Netscape HTTP Cookie File\n[{"name": "session"}]\n')
    with pytest.raises(ConfigError, match=r"cookies\.json:2: not a line of a cookies\.txt"):
        crawl(f"cookieFile {file}")


def setting(web: Web, *cookies: str) -> None:
    """The start page sets `cookies`, and links to three pages."""
    headers = tuple(f"Set-Cookie: {each}" for each in cookies)
    web.page("a.test/", "/1", "/2", "/3", headers=headers)
    web.pages("a.test/1", "a.test/2", "a.test/3")


def test_cookies_of_sites_outlive_the_end_of_a_run(web: Web, crawl: Worlds) -> None:
    setting(web, "session=1", "lasting=1; Max-Age=9999; Path=/; HttpOnly", "brief=1; Max-Age=0")
    first = crawl("useCookies", "limitPage 1")
    second = crawl("useCookies", "limitPage 2", folder=first.folder, start=Start.RESUME)
    third = crawl("useCookies", folder=first.folder, start=Start.RESUME)
    sent = {each for run in (second, third) for each in values(run, "cookie").values()}
    assert {frozenset((each or "").split("; ")) for each in sent} == {
        frozenset({"session=1", "lasting=1"})
    }
    [file] = (third.folder / "state").glob("cookies.*")
    assert file.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    ("cookies", "said"),
    [
        ([("b.test", 0), ("b.test", 10**9), ("x.a.test", 0)], "3 cookies, 1 expired, none for "),
        ([("a.test", 10**9)], "1 cookie, 1 expired, none for "),
        ([], "0 cookies, none for "),
        ([("b.test", 0), ("a.test", 0)], None),
        ([(".a.test", 0)], None),
    ],
)
def test_cookies_that_no_seed_gets_are_noted(
    web: Web, crawl: Worlds, tmp_path: Path, cookies: list[tuple[str, int]], said: str | None
) -> None:
    file = tmp_path / "cookies.txt"
    lines = [cookie(host, "name", expires=expires) for host, expires in cookies]
    file.write_text("".join(f"{line}\n" for line in lines))
    web.page("a.test/")
    notes = crawl(f"cookieFile {file}").stderr.getvalue()
    if said is None:
        assert "cookie" not in notes
    else:
        assert f"{file}: {said}a.test\n" in notes


def test_cookies_are_deleted_once_they_are_not_used(web: Web, crawl: Worlds) -> None:
    setting(web, "session=1")
    first = crawl("useCookies", "limitPage 1")
    for more, start in (("", Start.RESUME), ("useCookies", Start.SCRATCH)):
        again = crawl("limitPage 2", more, folder=first.folder, start=start)
        assert again.asked[0].headers.get("cookie") is None
    [file] = (first.folder / "state").glob("cookies.*")
    crawl(folder=first.folder, start=Start.SCRATCH)
    assert not file.exists()


def test_a_new_cookie_file_replaces_the_cookies_of_the_last_run(
    web: Web, crawl: Worlds, tmp_path: Path
) -> None:
    """The same file does not: sites give a session new cookies."""
    file = tmp_path / "cookies.txt"
    setting(web, "session=renewed; Path=/")
    file.write_text(cookie("a.test", "session") + "\n")
    lines = f"cookieFile {file}"
    first = crawl(lines, "limitPage 1")
    second = crawl(lines, "limitPage 2", folder=first.folder, start=Start.RESUME)
    file.write_text(cookie("a.test", "session") + "\n" + cookie("a.test", "more") + "\n")
    third = crawl(lines, folder=first.folder, start=Start.RESUME)
    assert {asked.headers["cookie"] for asked in first.asked} == {"session=1"}
    assert {asked.headers["cookie"] for asked in second.asked} == {"session=renewed"}
    sent = {frozenset(asked.headers["cookie"].split("; ")) for asked in third.asked}
    assert sent == {frozenset({"session=1", "more=1"})}


def test_an_archive_has_the_cookies_that_sites_set_and_none_that_were_sent(
    web: Web, crawl: Worlds, tmp_path: Path
) -> None:
    file = tmp_path / "cookies.txt"
    file.write_text(cookie("a.test", "own") + "\n")
    setting(web, "session=1; Path=/")
    world = crawl(f"outputMode warc\ncookieFile {file}")
    assert values(world, "cookie")["a.test/1"] in ("own=1; session=1", "session=1; own=1")
    found = records(*warcs(world.folder / "out"))
    requests = [each for each in found if each.kind == "request"]
    assert len(requests) == 5
    assert all(each.header("user-agent") and not each.header("cookie") for each in requests)
    assert not any(b"own=1" in path.read_bytes() for path in (world.folder / "out").iterdir())
    [start] = [each for each in found if each.url == web.url("a.test/") and each.kind == "response"]
    assert start.header("set-cookie") == "session=1; Path=/"


# Proxies.


@pytest.fixture
def relayed(web: Web, crawl: Worlds) -> Callable[..., tuple[World, Relay]]:
    """Crawls a.test and b.test by a proxy: ``relayed("proxy HOST {port}", socks=True)``."""

    def run(*lines: str, socks: bool = False, login: str = "") -> tuple[World, Relay]:
        relays: list[Relay] = []

        def prepare(world: World) -> Iterable[str]:
            relays.append(Relay(world.poller, socks=socks, login=login))
            return [line.format(port=relays[0].port) for line in lines]

        try:
            world = crawl("retries 0", seeds=["a.test/"], prepare=prepare)
        finally:
            relays[0].close()
        return world, relays[0]

    web.page("a.test/", "//b.test/")
    web.pages("b.test/")
    return run


SECRET = "p@ss"


@pytest.mark.parametrize("scheme", ["http", "socks5", "socks5h"])
@effect_of("proxy")
def test_a_proxy_that_wants_a_login(
    relayed: Callable[..., tuple[World, Relay]], scheme: str
) -> None:
    """It gets the names, which are not looked up here, and the sites do not get its login."""
    socks = scheme != "http"
    given = f"proxy {scheme}://me:p%40ss@127.0.0.1 {{port}}"
    world, relay = relayed(given, socks=socks, login=f"me:{SECRET}")
    assert world.fetched == {"a.test/", "b.test/"}
    assert relay.refused == 0
    assert {name.removeprefix("http://").partition(":")[0] for name in relay.asked} == {
        "a.test",
        "b.test",
    }
    assert world.names.asked == []
    assert set(values(world, "proxy-authorization").values()) == {None}
    texts = (world.folder / "state/crawl.jsonl").read_text() + str(world.crawl.snapshot())
    assert SECRET not in texts and "p%40ss" not in texts
    wrong, relay = relayed(given, socks=socks, login="me:other")
    assert relay.refused and not wrong.fetched
    fate = wrong.fates["a.test/"]
    if not socks:
        assert fate["ip"] == "127.0.0.1"
        assert (fate["outcome"], fate["status"]) == ("err40X", 407)
        assert fate["detail"] == "the proxy refuses the login"
    else:
        assert fate["outcome"] == "noConnection"
        assert fate["detail"].startswith(f"by proxy socks5h://127.0.0.1:{relay.port}: ")
    texts = (wrong.folder / "state/crawl.jsonl").read_text() + str(wrong.crawl.snapshot())
    assert SECRET not in texts and "p%40ss" not in texts


def test_the_last_line_says_that_the_proxy_failed(web: Web, crawl: Worlds) -> None:
    web.page("a.test/")
    port = free_port()
    down = crawl("retries 0", f"proxy 127.0.0.1 {port}").stderr.getvalue()
    assert f"the proxy http://127.0.0.1:{port} could not be reached: Connection refused" in down
    relays = []

    def prepare(world: World) -> list[str]:
        relays.append(Relay(world.poller, socks=False, login="me:secret"))
        return [f"proxy 127.0.0.1 {relays[0].port}", "startUrl https://a.test/"]

    unknown = crawl("retries 0", seeds=[], prepare=prepare).stderr.getvalue()
    relays[0].close()
    assert (
        f"by proxy http://127.0.0.1:{relays[0].port}: the proxy needs a login; "
        "proxy http://USER:PASSWORD@HOST PORT gives one"
    ) in unknown


@effect_of("noProxy")
def test_hosts_are_excepted_from_the_proxy(
    relayed: Callable[..., tuple[World, Relay]], web: Web
) -> None:
    """Their names are looked up, and checked for private addresses."""
    world, relay = relayed("proxy 127.0.0.1 {port}", "noProxy b.test end")
    assert world.fetched == {"a.test/", "b.test/"}
    assert {url.split("/")[2].partition(":")[0] for url in relay.asked} == {"a.test"}
    assert {name for name, _ in world.names.asked} == {"b.test"}
    assert world.fates["b.test/"]["ip"] == ADDRESSES[0]
    guarded, _ = relayed("proxy 127.0.0.1 {port}", "noProxy b.test end", "allowPrivate off")
    assert guarded.outcomes == {"a.test/": "success", "b.test/": "privateAddress"}
    elsewhere, relay = relayed("proxy 127.0.0.1 {port}", "noProxy a.test:1 *.b.test end")
    assert elsewhere.fetched == {"a.test/", "b.test/"}
    assert {url.split("/")[2].partition(":")[0] for url in relay.asked} == {"a.test", "b.test"}


def test_a_site_has_its_own_proxy(relayed: Callable[..., tuple[World, Relay]]) -> None:
    world, relay = relayed("site b.test proxy 127.0.0.1 {port} end")
    assert world.fetched == {"a.test/", "b.test/"}
    assert {url.split("/")[2].partition(":")[0] for url in relay.asked} == {"b.test"}
    assert {name for name, _ in world.names.asked} == {"a.test"}
    exempt = "site b.test noProxy * end end"
    other, relay = relayed("proxy 127.0.0.1 {port}", exempt)
    assert other.fetched == {"a.test/", "b.test/"}
    assert {url.split("/")[2].partition(":")[0] for url in relay.asked} == {"a.test"}
    assert {name for name, _ in other.names.asked} == {"b.test"}


# Addresses and certificates.


@effect_of("sourceAddress")
def test_the_address_that_requests_come_from(web: Web, crawl: Worlds) -> None:
    web.pages("a.test/")
    peers: list[str] = []

    def watch(world: World) -> None:
        peers.extend(c.sock.getpeername()[0] for c in world.server._open)

    crawl("sourceAddress 127.0.0.9", "sourceAddress ::1", watch=watch)
    assert set(peers) == {"127.0.0.9"}
    peers.clear()
    crawl(watch=watch)
    assert set(peers) == {"127.0.0.1"}


def test_a_source_of_the_other_family_alone_reaches_nothing(web: Web, crawl: Worlds) -> None:
    """Rather than that requests come from an address that was not meant."""
    web.pages("a.test/")
    world = crawl("sourceAddress ::1", "retries 0")
    assert world.outcomes == {"a.test/": "noConnection"}


@pytest.fixture(scope="module")
def pem(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., tuple[Path, Path]]:
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("no openssl to make a certificate with")

    def make(name: str, *options: str) -> tuple[Path, Path]:
        folder = tmp_path_factory.mktemp(name)
        cert, key = folder / "cert.pem", folder / "key.pem"
        subject = ["-subj", f"/CN={name}", "-addext", f"subjectAltName=DNS:{name}"]
        kind = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-days", "2"]
        output = ["-out", str(cert), "-keyout", str(key)]
        command = [openssl, "req", "-x509", *kind, *subject, *output, *(options or ["-nodes"])]
        subprocess.run(command, check=True, capture_output=True)
        return cert, key

    return make


@effect_of("clientCert", "clientKey")
def test_a_server_that_wants_a_certificate(
    web: Web, crawl: Worlds, pem: Callable[..., tuple[Path, Path]], tmp_path: Path
) -> None:
    own, key = pem("a.test")
    client, client_key = pem("client")
    web.zone["a.test"] = [ADDRESSES[0]]
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(own, key)
    context.verify_mode = ssl.CERT_REQUIRED
    context.load_verify_locations(client)
    talk = (Act.REQUEST, reply(b"<p>sealed", "Content-Type: text/html", "Connection: close"))

    def outcomes(*lines: str) -> dict[str, Any]:
        servers: list[WebServer] = []

        def prepare(world: World) -> Iterable[str]:
            servers.append(WebServer(world.poller, talk, tls=context))
            return [f"startUrl {servers[0].url('/', 'a.test')}", f"caFile {own}"]

        world = crawl(*lines, "retries 0", seeds=[], prepare=prepare)
        servers[0].close()
        return world.outcomes

    assert outcomes() != {"a.test/": "success"}
    assert outcomes(f"clientCert {client}", f"clientKey {client_key}") == {"a.test/": "success"}
    both = tmp_path / "both.pem"
    both.write_bytes(client.read_bytes() + client_key.read_bytes())
    assert outcomes(f"clientCert {both}") == {"a.test/": "success"}


def test_certificates_that_cannot_be_used_are_errors(
    crawl: Worlds, pem: Callable[..., tuple[Path, Path]]
) -> None:
    cert, key = pem("client")
    locked, locked_key = pem("locked", "-passout", "pass:secret")
    wrong = [
        ([f"clientCert {cert}"], "the file has no private key; set clientKey"),
        ([f"clientKey {key}"], "clientKey without clientCert"),
        ([f"clientCert {key}"], "has no certificate in PEM format"),
        ([f"clientCert {cert}", f"clientKey {cert}"], "has no private key in PEM format"),
        ([f"clientCert {locked}", f"clientKey {key}"], "not the key of clientCert"),
        ([f"clientCert {locked}", f"clientKey {locked_key}"], "protected by a passphrase"),
    ]
    for lines, message in wrong:
        with pytest.raises(ConfigError, match=message):
            crawl(*lines)


# Logins.

BASIC = "Basic bWU6cEBzcw=="


class Guard:
    """Wants the login me:p@ss for all pages of some hosts."""

    def __init__(self, web: Web, *hosts: str, kind: str = "Basic realm=x") -> None:
        self.kind = kind
        self.hosts = hosts
        web.answer = self.answer

    def answer(self, asked: Any, answer: Answer) -> Answer:
        if asked.host not in self.hosts or "authorization" in asked.headers:
            return answer
        return Answer(b"who are you?", status=401, headers=(f"WWW-Authenticate: {self.kind}",))


@pytest.fixture
def guarded(web: Web) -> Web:
    """a.test, which wants a login, links to itself, and to b.test and another port."""
    web.page("a.test/", "/b", "//b.test/", "/away")
    web.page("a.test/b")
    web.put("a.test/away", Answer(status=302, headers=(f"Location: {web.url('c.test/')}",)))
    web.pages("b.test/", "c.test/")
    return web


def with_login(web: Web, place: str) -> str:
    return web.url(place).replace("http://", "http://me:p%40ss@")


def content(path: Path) -> bytes:
    return gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()


@pytest.mark.parametrize("kind", ["Basic realm=x", 'Digest realm="x", nonce="n", qop="auth"'])
def test_the_login_of_a_seed_goes_to_its_origin_alone(
    guarded: Web, crawl: Worlds, kind: str
) -> None:
    Guard(guarded, "a.test", kind=kind)
    world = crawl(
        "outputMode warc",
        seeds=[],
        prepare=lambda _: [f"startUrl {with_login(guarded, 'a.test/')}"],
    )
    assert world.fetched == {"a.test/", "a.test/b", "b.test/", "c.test/"}
    assert world.outcomes["a.test/away"] == "err30X"
    sent = values(world, "authorization")
    assert {place for place, value in sent.items() if value} == {
        "a.test/robots.txt",
        "a.test/",
        "a.test/b",
        "a.test/away",
    }
    if kind.startswith("Basic"):
        assert sent["a.test/b"] == BASIC
    secrets = (b"p%40ss", b"p@ss", BASIC.encode(), b"response=")
    holding = {
        path.name
        for path in world.folder.rglob("*")
        if path.is_file() and any(secret in content(path) for secret in secrets)
    }
    assert holding == {"larbin.conf", "logins.json"}
    assert (world.folder / "state/logins.json").stat().st_mode & 0o777 == 0o600
    snapshot = str(world.crawl.snapshot()) + str(world.crawl.report)
    assert "p%40ss" not in snapshot and SECRET not in snapshot


def test_a_login_outlives_a_stop_and_only_with_its_crawl(guarded: Web, crawl: Worlds) -> None:
    Guard(guarded, "a.test")
    seed = f"startUrl {with_login(guarded, 'a.test/')}"
    first = crawl("limitPage 1", seeds=[], prepare=lambda _: [seed])
    assert first.fetched == {"a.test/"}
    again = crawl(seeds=[], folder=first.folder, start=Start.RESUME)
    assert again.outcomes["a.test/b"] == "success"
    anew = crawl(seeds=["a.test/"], folder=first.folder, start=Start.SCRATCH)
    assert anew.fates["a.test/"]["status"] == 401
    assert not (first.folder / "state/logins.json").exists()


def test_a_login_of_a_seed_at_the_input_port(guarded: Web, crawl: Worlds) -> None:
    """It is not in the answer to a seed that is refused."""
    Guard(guarded, "a.test")
    port = free_port()
    seeds = [with_login(guarded, "a.test/b"), "ftp://me:p%40ss@a.test/"]
    client = Client(crawl, port, "priority:0 depth:0 test:1", *seeds, "")
    client.hang_up = True
    guarded.places["b.test/"][0].until = client.done
    world = crawl(f"inputPort {port}", seeds=["b.test/"])
    assert world.outcomes == {"b.test/": "success", "a.test/b": "success"}
    assert b"refused ftp://***@a.test/: " in client.said


def test_a_page_that_wants_a_login_says_so(guarded: Web, crawl: Worlds) -> None:
    Guard(guarded, "a.test")
    world = crawl("ignoreRobots")
    assert world.outcomes == {"a.test/": "err40X"}
    assert world.fates["a.test/"]["detail"] == "needs a login"


def test_a_login_in_a_link_is_none(web: Web, crawl: Worlds) -> None:
    """A page cannot make the crawler send a login of its choice."""
    web.page("a.test/", with_login(web, "b.test/"))
    web.pages("b.test/")
    Guard(web, "b.test")
    world = crawl("ignoreRobots")
    assert world.outcomes["b.test/"] == "err40X"
    assert set(values(world, "authorization").values()) == {None}
    assert SECRET not in (world.folder / "state/crawl.jsonl").read_text()
