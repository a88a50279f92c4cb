"""Why a URL failed: in the crawl log, from `explain`, on the status page and at the end."""

import ssl
from collections.abc import Iterable

import pytest

from tests.support.certificates import self_signed
from tests.support.ports import free_port
from tests.support.smallweb import ADDRESSES, Answer, Web
from tests.support.smallworld import World, Worlds
from tests.support.webserver import Act, WebServer, reply

pytest_plugins = ["tests.support.smallcrawls"]
pytestmark = pytest.mark.slow

SELF_SIGNED = "self-signed certificate"


def end(world: World) -> str:
    """The last line that the crawl printed."""
    return world.stderr.getvalue().splitlines()[-1]


@pytest.fixture(scope="module")
def tls(tmp_path_factory: pytest.TempPathFactory) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*self_signed(tmp_path_factory.mktemp("tls"), "a.test"))
    return context


def test_a_bad_certificate_of_robots_txt(
    web: Web, crawl: Worlds, tls: ssl.SSLContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("SSL_CERT_DIR", "SSL_CERT_FILE", "CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE"):
        monkeypatch.delenv(name, raising=False)
    web.zone["a.test"] = [ADDRESSES[0]]
    servers: list[WebServer] = []

    def prepare(world: World) -> Iterable[str]:
        talk = (Act.REQUEST, reply(b"<p>sealed", "Content-Type: text/html", "Connection: close"))
        servers.append(WebServer(world.poller, talk, tls=tls))
        return [f"startUrl {servers[0].url('/', 'a.test')}"]

    world = crawl(seeds=[], prepare=prepare)
    servers[0].close()
    fate = world.fates["a.test/"]
    assert fate["outcome"] == "badTLS"
    assert SELF_SIGNED in fate["detail"]
    assert world.code == 4
    assert end(world).endswith(
        f"no page could be fetched: {fate['url']}: the certificate or the handshake failed: "
        f"{fate['detail']}; caFile trusts it, insecureTLS ignores it"
    )


def test_a_refused_connection_of_robots_txt(web: Web, crawl: Worlds) -> None:
    web.zone["a.test"] = [ADDRESSES[0]]
    port = free_port()
    seeds = [f"startUrl http://a.test:{port}/{n}" for n in range(2)]
    world = crawl(*seeds, "retries 1", seeds=[])
    assert {fate["detail"] for fate in world.fates.values()} == {"Connection refused"}
    assert end(world).endswith(
        "no page could be fetched: no connection could be made: Connection refused (2)"
    )


def test_a_robots_txt_that_fails_is_the_reason_of_a_refusal(web: Web, crawl: Worlds) -> None:
    web.page("a.test/")
    web.put("a.test/robots.txt", Answer(b"", status=503))
    world = crawl("retries 0", "maxWait 1")
    fate = world.fates["a.test/"]
    assert fate["outcome"] == "forbiddenRobots"
    assert fate["detail"] == "it could not be fetched (503 Service Unavailable)"
    assert end(world).endswith(
        f"no page could be fetched: {fate['url']}: its robots.txt could not be fetched "
        "(503 Service Unavailable), so nothing of the site is fetched for now"
    )


def test_a_seed_that_fails_beside_good_ones_is_named(web: Web, crawl: Worlds) -> None:
    web.page("a.test/")
    web.put("a.test/moved", Answer(b"", status=301, headers=("Location: /lost",)))
    world = crawl(seeds=["a.test/", "a.test/gone", "a.test/moved"])
    said = [line.partition("larbinpy: ")[2] for line in world.stderr.getvalue().splitlines()]
    host = f"http://a.test:{web.port}"
    assert world.code == 0
    assert sorted(said) == [
        f"seed {host}/gone: 404 Not Found",
        f"seed {host}/moved leads to {host}/lost: 404 Not Found",
    ]


def test_a_site_that_needs_a_browser_is_told(web: Web, crawl: Worlds) -> None:
    web.put("a.test/", Answer(b"<title>App</title><div id=app></div><script src=/a.js></script>"))
    world = crawl()
    assert world.fates["a.test/"]["detail"] == (
        "hardly any text or links beside its scripts, which do not run"
    )
    assert end(world) == (
        "larbinpy: 1 page with hardly any text or links beside its scripts, which do not run: "
        "--render reads them in a browser"
    )


def test_a_private_address_names_the_setting(web: Web, crawl: Worlds) -> None:
    web.page("a.test/")
    world = crawl("allowPrivate off")
    assert world.fates["a.test/"]["detail"] == "127.0.0.1"
    assert end(world).count("--allow-private") == 1


def test_the_only_seed_with_a_misspelled_host_ends_at_once(web: Web, crawl: Worlds) -> None:
    world = crawl("startUrl http://nowhere.test/", seeds=[])
    fate = world.fates["/"] if "/" in world.fates else next(iter(world.fates.values()))
    assert (fate["outcome"], fate["detail"], fate["attempt"]) == ("noDNS", "nxdomain", 1)
    assert world.code == 4
    assert world.elapsed < 5
    assert end(world) == (
        "larbinpy: no page could be fetched: "
        "http://nowhere.test/: its host has no address: no such name"
    )


def test_beside_another_seed_it_is_tried_again(web: Web, crawl: Worlds) -> None:
    web.page("a.test/")
    world = crawl("startUrl http://nowhere.test/")
    [fate] = [fate for fate in world.fates.values() if "nowhere" in fate["url"]]
    assert fate["attempt"] == 4
    assert world.code == 0


def test_many_failures_are_summed_up(web: Web, crawl: Worlds) -> None:
    web.page("a.test/", status=404)
    web.page("a.test/2", status=404)
    web.page("a.test/3", status=410)
    world = crawl(seeds=["a.test/3", "a.test/", "a.test/2"])
    assert end(world).endswith("no page could be fetched: 404 Not Found (3)")
