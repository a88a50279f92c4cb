"""The keywords of names, addresses, proxies and certificates. Times in seconds."""

import ssl
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import dns.message
import pytest

from tests.support.certificates import self_signed
from tests.support.keywords import effect_of
from tests.support.nameserver import Action, NameServer, answer, drop
from tests.support.ports import free_port
from tests.support.smallweb import ADDRESSES, Web
from tests.support.smallworld import World, Worlds
from tests.support.webserver import Act, WebServer, reply

pytest_plugins = ["tests.support.smallcrawls"]
pytestmark = pytest.mark.slow


def times_asked(world: World) -> Counter[str]:
    """Name -> number of questions to the name server."""
    return Counter(name for name, _ in world.names.asked)


# Name servers.


@effect_of("dnsServer")
def test_the_name_server_that_is_named_is_asked(web: Web, crawl: Worlds) -> None:
    web.pages("a.test/")
    assert times_asked(crawl()) == {"a.test": 1}
    # No name server at all can be reached at this port.
    lost = crawl("retries 0", prepare=lambda world: world.names.close() or ())
    assert lost.outcomes == {"a.test/": "noDNS"}


@effect_of("dnsServer")
def test_dns_server_is_repeatable(web: Web, crawl: Worlds) -> None:
    web.pages("a.test/")
    seconds: list[NameServer] = []

    def silence(world: World) -> Iterable[str]:
        world.names.down = True
        return ()

    def and_another(world: World) -> Iterable[str]:
        silence(world)
        seconds.append(NameServer(web.zone, world.poller))
        host, port = seconds[0].address
        return [f"dnsServer {host}:{port}"]

    assert crawl("retries 0", prepare=silence).outcomes == {"a.test/": "noDNS"}
    assert crawl("retries 0", prepare=and_another).fetched == {"a.test/"}
    seconds[0].close()


@effect_of("dnsTimeout")
def test_dns_timeout_is_the_time_for_one_answer(web: Web, crawl: Worlds) -> None:
    web.pages("a.test/")
    for timeout in (0.5, 5):
        times: list[float] = []

        def noting(action: Action, times: list[float] = times) -> Action:
            def note(server: NameServer, query: dns.message.Message) -> Iterable[bytes]:
                times.append(crawl.world.clock())
                return action(server, query)

            return note

        web.scripts["a.test"] = [noting(drop), noting(answer)]
        assert crawl(f"dnsTimeout {timeout}").fetched == {"a.test/"}
        assert times[1] - times[0] == pytest.approx(timeout, abs=0.02)


class Reluctant:
    """Keeps the answers back until no further question comes; notes how many it had then."""

    def __init__(self, web: Web) -> None:
        self._kept = 0
        self._before = 0
        self.most = 0
        #: Names that waited in the crawler for their first question.
        self.most_queued = 0
        for name in web.zone:
            web.scripts[name] = [self._keep]

    def _keep(self, server: NameServer, query: dns.message.Message) -> Iterable[bytes]:
        self._kept += 1
        server.keep(server.reply(query).to_wire())
        return ()

    def watch(self, world: World) -> None:
        self.most_queued = max(self.most_queued, world.snapshot("dns")["queued"])
        if self._kept and self._kept == self._before:
            self.most = max(self.most, self._kept)
            self._kept = 0
            world.names.release()
        self._before = self._kept


#: No question is repeated while a `Reluctant` keeps an answer back.
PATIENT = "dnsTimeout 10"


@pytest.fixture
def many_names(web: Web) -> Web:
    """A page that links to twelve hosts."""
    hosts = [f"h{n}.test" for n in range(12)]
    web.page("a.test/", *[f"//{host}/" for host in hosts])
    web.pages(*[f"{host}/" for host in hosts])
    return web


@effect_of("dnsConnexions")
def test_dns_connexions_is_how_many_names_are_asked_for_at_once(
    many_names: Web, crawl: Worlds
) -> None:
    for most in (1, 4, 1000):
        server = Reluctant(many_names)
        lines = [f"dnsConnexions {most}", PATIENT]
        assert len(crawl(*lines, watch=server.watch).fetched) == 13
        assert server.most == min(most, 12)


@effect_of("dnsSendQueue")
def test_dns_send_queue_is_how_many_questions_wait(many_names: Web, crawl: Worlds) -> None:
    for most in (1, 3, 1024):
        server = Reluctant(many_names)
        lines = ["dnsConnexions 1", f"dnsSendQueue {most}", PATIENT]
        assert len(crawl(*lines, watch=server.watch).fetched) == 13
        # One of the twelve has been asked for before its URL wants it.
        assert server.most_queued == min(most, 11)


@effect_of("dnsCacheSize")
def test_dns_cache_size_is_how_many_names_are_remembered(web: Web, crawl: Worlds) -> None:
    """Three sites one after another, of which the first and the last are one host's."""
    again = f"http://a.test:{free_port()}/"
    web.page("a.test/", "//b.test/")
    web.page("b.test/", again)
    assert times_asked(crawl("retries 0")) == {"a.test": 1, "b.test": 1}
    small = crawl("dnsCacheSize 1", "retries 0")
    assert times_asked(small) == {"a.test": 2, "b.test": 1}


@effect_of("dnsNegativeSize")
def test_dns_negative_size_is_how_many_names_are_remembered_as_not_existing(
    web: Web, crawl: Worlds
) -> None:
    """Sites of other ports have the same names, which are asked for again if forgotten."""
    hosts = [f"none{n}.test" for n in range(400)]
    ports = free_port(), free_port()
    web.page("a.test/", "//b.test/", *[f"http://{host}:{ports[0]}/" for host in hosts])
    web.page("b.test/", *[f"http://{host}:{ports[1]}/" for host in hosts], delay=20)

    def asked(size: int) -> int:
        world = crawl(f"dnsNegativeSize {size}", "retries 0")
        assert len(world.fetched) == 2
        return sum(times_asked(world)[host] for host in hosts)

    assert asked(1000) == 400
    assert asked(10) > 700


@effect_of("dnsCacheTime")
def test_dns_cache_time_is_how_long_names_are_remembered(web: Web, crawl: Worlds) -> None:
    for n in range(5):
        web.page(f"a.test/{n}", f"/{n + 1}")
    web.pages("a.test/5")

    def asked(time: str) -> int:
        world = crawl("waitDuration 2m", f"dnsCacheTime {time}", seeds=["a.test/0"])
        assert len(world.fetched) == 6
        return times_asked(world)["a.test"]

    assert [asked(time) for time in ("1h", "7m", "3m", "1m")] == [1, 2, 3, 6]


# A proxy.


@effect_of("proxy")
def test_a_proxy_gets_all_requests_and_looks_up_the_names(web: Web, crawl: Worlds) -> None:
    web.page("a.test/", "//b.test/")
    web.pages("b.test/")
    web.zone.clear()
    assert crawl("retries 0").outcomes == {"a.test/": "noDNS"}
    world = crawl(f"proxy {ADDRESSES[2]} {web.port}")
    assert world.fetched == {"a.test/", "b.test/"}
    assert {request.address for request in world.asked} == {ADDRESSES[2]}
    assert [request.target for request in world.pages_asked] == [
        web.url("a.test/"),
        web.url("b.test/"),
    ]
    assert world.names.asked == []


@effect_of("proxy")
def test_a_proxy_is_not_asked_for_private_addresses(web: Web, crawl: Worlds) -> None:
    """Not even for its own, nor by a name that needs no lookup."""
    own = f"http://{ADDRESSES[2]}:8000/admin"
    web.page("a.test/", own, "http://10.0.0.1/", "http://localhost/")
    world = crawl(f"proxy {ADDRESSES[2]} {web.port}", "allowPrivate off")
    assert world.report_outcomes["privateAddress"] == 3
    assert world.fetched == {"a.test/"}


# Certificates.


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A self-signed certificate for a.test, and its key."""
    return self_signed(tmp_path_factory.mktemp("tls"), "a.test")


@pytest.fixture
def tls_crawl(
    web: Web, crawl: Worlds, certificate: tuple[Path, Path]
) -> Callable[..., dict[str, Any]]:
    """Crawls one page of a.test and one of b.test by https; the outcome of each host."""
    web.zone |= {"a.test": [ADDRESSES[0]], "b.test": [ADDRESSES[0]]}
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*certificate)
    talk = (Act.REQUEST, reply(b"<p>sealed", "Content-Type: text/html", "Connection: close"))

    def run(*lines: str) -> dict[str, Any]:
        servers: list[WebServer] = []

        def prepare(world: World) -> Iterable[str]:
            servers.append(WebServer(world.poller, talk, tls=context))
            return [f"startUrl {servers[0].url('/', host)}" for host in ("a.test", "b.test")]

        world = crawl(*lines, seeds=[], prepare=prepare)
        servers[0].close()
        return {place.partition("/")[0]: outcome for place, outcome in world.outcomes.items()}

    return run


@effect_of("caFile")
def test_ca_file_is_what_certificates_are_checked_by(
    tls_crawl: Callable[..., dict[str, Any]], certificate: tuple[Path, Path]
) -> None:
    assert tls_crawl() == {"a.test": "badTLS", "b.test": "badTLS"}
    # It vouches for its own name, and for no other.
    trusting = tls_crawl(f"caFile {certificate[0]}")
    assert trusting == {"a.test": "success", "b.test": "badTLS"}


@effect_of("insecureTLS")
def test_insecure_tls_verifies_nothing(tls_crawl: Callable[..., dict[str, Any]]) -> None:
    assert tls_crawl("insecureTLS") == {"a.test": "success", "b.test": "success"}
