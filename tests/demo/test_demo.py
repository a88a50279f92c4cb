"""The demo web: its description, its two servers, and the truth about it."""

import gzip
import socket
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from http.client import HTTPConnection
from pathlib import Path

import dns.message
import dns.rcode
import pytest

from larbinpy.config import load
from larbinpy.demo import Location, Serving, build, demo_conf, truth
from larbinpy.demo.server import NameServer, WebRequest, WebServer, bind_all, parse_request
from larbinpy.demo.site import HTML, LinkKind, Resource
from larbinpy.page import Outcome, Page, of_status
from larbinpy.parse import Parsed, read
from larbinpy.url import Url, canonical, resolve

pytest_plugins = ["tests.support.demoweb"]
pytestmark = pytest.mark.slow

PORT = 8080
WEB = build(PORT)
TRUTH = truth(WEB)
ANY = truth(WEB, any_type=True)


def _request(location: Location, **headers: str) -> WebRequest:
    return WebRequest("GET", location.host, location.path, headers, "127.0.1.1")


# The description


def test_it_is_a_few_hundred_pages_on_many_hosts() -> None:
    assert 300 <= len(TRUTH.fetched) <= 400
    assert 30 <= len(WEB.hosts) <= 40


def test_it_is_the_same_each_time_it_is_built() -> None:
    again = build(PORT)
    assert {p: again.find(p) for p in again.locations()} == {
        p: WEB.find(p) for p in WEB.locations()
    }


def test_all_that_is_not_reached_is_hidden_on_purpose() -> None:
    unreached = {location for location in WEB.locations() if WEB.url(location) not in ANY.expected}
    assert {location for location in unreached if "/hidden/" not in location.path} == set()
    assert [url for url in ANY.expected if "/hidden/" in url] == []


def test_every_404_is_intended() -> None:
    gone = [url for url, end in ANY.expected.items() if end.status == 404]
    assert gone and all("/missing" in url for url in gone)


def test_the_web_has_every_outcome() -> None:
    ends = Counter(end.outcome for end in TRUTH.expected.values())
    failures = {"noDNS", "noConnection", "forbiddenRobots", "badType"}
    assert set(ends) == failures | {"success", "err30X", "err40X", "err50X"}
    assert set(ends) <= {outcome.value for outcome in Outcome}


def test_statuses_map_to_the_crawlers_outcomes() -> None:
    for status in (200, 201, 301, 404, 410, 500, 503):
        assert Resource(status).fate == of_status(status).value


def test_urls_are_spelled_canonically() -> None:
    for url in [*ANY.expected, *ANY.hidden]:
        assert canonical(url) == url == resolve(url)


def test_the_depth_reaches_every_expected_url() -> None:
    assert max(end.distance for end in ANY.expected.values()) <= 8


def test_switches_narrow_the_truth() -> None:
    assert not any("?" in url for url in truth(WEB, cgi=False).expected)
    assert not any(url.endswith(".png") for url in truth(WEB, images=False).expected)
    kinds = {end.kind for end in truth(WEB, images=False, sitemaps=False).expected.values()}
    assert kinds == {LinkKind.PAGE}
    alone = truth(WEB, [Location("www.beta.demo", "/")], within=lambda p: p.host == "www.beta.demo")
    assert len(alone.expected) == 18
    assert "badType" not in {end.outcome for end in ANY.expected.values()}


def test_files_of_a_mirror_are_distinct_and_can_lie_side_by_side() -> None:
    files = TRUTH.files
    assert f"www.alpha.demo:{PORT}/threads/index.html" in files
    assert f"www.alpha.demo:{PORT}/threads/1.html" in files
    folders = {file.rpartition("/")[0] for file in files}
    assert folders.isdisjoint(files)
    assert not any(file.startswith(f"paths.demo:{PORT}/a/") for file in files)
    assert f"markup.demo:{PORT}/noindex.html" not in files


def _read(url: str, resource: Resource) -> Parsed:
    page = Page(Url(url, 5), Outcome.SUCCESS, resource.status, body=resource.body)
    page.headers = [(name.lower(), value) for name, value in resource.headers]
    page.headers.append(("content-type", resource.type))
    return read(page, "larbinpy")


#: The kinds that the parser tells apart beyond those of the web.
_DESCRIBED = {"sheet": "requisite", "shown": "page"}


def test_the_crawlers_parser_finds_exactly_the_links_that_are_described() -> None:
    for location in WEB.locations():
        url, resource = WEB.url(location), WEB.find(location)
        if resource.fate != "success":
            continue
        parsed = _read(url, resource)
        links = [link for link in parsed.links if not (link.nofollow or parsed.nofollow)]
        found = {
            link.url: _DESCRIBED.get(link.kind.value, link.kind.value)
            for link in links
            if link.url != url
        }
        wanted = {WEB.url(target): kind for kind, target in resource.links}
        assert found.keys() == wanted.keys(), url
        if resource.type.lower().startswith(HTML):
            assert found == {target: kind.value for target, kind in wanted.items()}, url
        assert parsed.noindex is not resource.indexed, url


def test_two_resources_at_one_path_are_an_error() -> None:
    with pytest.raises(ValueError, match="two resources at"):
        WEB.hosts["www.demo"].put("/", Resource())


def test_the_trap_has_no_end_and_is_not_expected() -> None:
    host = WEB.hosts["trap.demo"]
    for path in ("/calendar/0", "/calendar/99999", "/stairs/down/down/down/"):
        assert host.find(path).status == 200
        assert WEB.url(Location("trap.demo", path)) not in TRUTH.expected
    assert host.find("/calendar/" + "9" * 5 + "x").status == 404
    assert host.find("/calendar/" + "9" * 6000).status == 404


# The truth


def _right() -> list[tuple[str, str]]:
    return [(url, end.outcome) for url, end in TRUTH.expected.items()]


def test_a_right_crawl_has_no_differences() -> None:
    loose = [(f"{TRUTH.loose[0]}17", "success"), ("http://www.demo:8080/robots.txt", "success")]
    unwanted = [("http://elsewhere.example/", "outSite")]
    assert TRUTH.differences(_right() + loose + unwanted) == []


def test_the_fast_outcomes_are_the_same_truth() -> None:
    fast = {"noDNS": "fastNoDns", "noConnection": "fastNoConn", "forbiddenRobots": "fastRobots"}
    assert TRUTH.differences([(url, fast.get(o, o)) for url, o in _right()]) == []


@pytest.mark.parametrize(
    ("extra", "said"),
    [
        (("http://www.demo:8080/", "success"), "twice: "),
        (("http://markup.demo:8080/hidden/text.html", "success"), "unexpected: "),
        (("http://www.demo:8080/nothing", "success"), "unexpected: "),
    ],
)
def test_differences_name_wrong_fetches(extra: tuple[str, str], said: str) -> None:
    assert [line[: len(said)] for line in TRUTH.differences([*_right(), extra])] == [said]


def test_differences_name_missing_and_wrong_fates() -> None:
    fates = _right()
    wrong = [*fates[2:], (fates[1][0], "timeout")]
    assert [line.partition(":")[0] for line in TRUTH.differences(wrong)] == ["no fate", "wrong"]


def test_trespasses_are_hidden_foreign_and_repeated_requests() -> None:
    fine = [("http://www.demo:8080/", 200), ("http://errors.demo:8080/busy-once", 503)]
    fine += [("http://errors.demo:8080/busy-once", 200), ("http://www.demo:8080/robots.txt", 200)]
    fine += [("http://trap.demo:8080/calendar/3", 200), ("http://www.demo:8080/robots.txt", 200)]
    assert TRUTH.trespasses(fine) == []
    bad = ["http://www.demo:8080/", "http://rules.demo:8080/private/", "http://www.demo:8080/x"]
    assert len(TRUTH.trespasses(fine + [(url, 200) for url in bad])) == 3


# The web server, without a socket


def test_busy_pages_answer_503_once() -> None:
    server = WebServer(WEB)
    location = Location("errors.demo", "/busy-a-second")
    first, second = (server.reply(_request(location)) for _ in range(2))
    assert (first.status, first.headers) == (503, (("Retry-After", "1"),))
    assert second.status == 200


def test_a_share_of_the_good_pages_is_flaky_and_robots_never() -> None:
    server = WebServer(WEB, flaky=0.05)
    chosen = [location for location in WEB.locations() if server.is_flaky(location)]
    assert 8 <= len(chosen) <= 32
    same, other = WebServer(build(9), flaky=0.05), WebServer(WEB, flaky=0.05, seed=1)
    assert chosen == [location for location in WEB.locations() if same.is_flaky(location)]
    assert chosen != [location for location in WEB.locations() if other.is_flaky(location)]
    assert all(WEB.find(location).status == 200 for location in chosen)
    everything = WebServer(WEB, flaky=1.0)
    assert everything.reply(_request(Location("www.demo", "/robots.txt"))).status == 200
    assert [everything.reply(_request(chosen[0])).status for _ in range(2)] == [503, 200]


def test_gzip_is_sent_to_clients_that_accept_it() -> None:
    location = Location("parcels.demo", "/gzip.html")
    packed = WebServer(WEB).reply(_request(location, **{"accept-encoding": "gzip, br"}))
    assert gzip.decompress(packed.body) == WEB.find(location).body
    assert WebServer(WEB).reply(_request(location)) == WEB.find(location)


def test_unknown_hosts_and_methods_are_refused() -> None:
    server = WebServer(WEB)
    assert server.reply(_request(Location("www.example.org", "/"))).status == 404
    assert server.reply(replace(_request(Location("www.demo", "/")), method="POST")).status == 405


def test_a_request_is_read_in_origin_form_and_in_absolute_form() -> None:
    head = b"GET %b HTTP/1.1\r\nHost: WWW.demo:80\r\nX: a: b\r\n\r\n"
    plain = parse_request(head % b"/x?y", "127.0.1.1")
    whole = parse_request(head % b"http://www.demo:80/x?y", "127.0.1.1")
    assert plain is not None and plain == whole
    assert (plain.host, plain.path, plain.headers["x"]) == ("www.demo", "/x?y", "a: b")
    assert parse_request(b"\x16\x03\x01\r\n\r\n", "127.0.1.1") is None


def test_all_spellings_of_a_path_are_the_same_resource() -> None:
    asked = parse_request(b"GET /%7eu/%d0%2f? HTTP/1.1\r\n\r\n", "127.0.1.1")
    assert asked is not None and asked.path == "/~u/%D0%2F"


# The name server, without a socket


def _asked(server: NameServer, name: str, type_: str = "A") -> dns.message.Message:
    reply = server.answer(dns.message.make_query(name, type_).to_wire())
    assert reply is not None
    return dns.message.from_wire(reply)


def test_names_have_their_addresses() -> None:
    server = NameServer(WEB)
    assert _asked(server, "WWW.alpha.DEMO").answer[0][0].to_text() == "127.0.1.2"
    assert len(_asked(server, "pair.demo").answer[0]) == 2
    assert [str(rrset.name) for rrset in _asked(server, "alias.demo").answer] == [
        "alias.demo.",
        "twin-a.demo.",
    ]
    assert [asked.name for asked in server.log] == ["www.alpha.demo", "pair.demo", "alias.demo"]


@pytest.mark.parametrize(
    ("name", "type_", "rcode"),
    [
        ("nowhere.demo", "A", dns.rcode.NXDOMAIN),
        ("www.example.org", "A", dns.rcode.NXDOMAIN),
        ("mute.demo", "A", dns.rcode.NOERROR),
        ("www.demo", "AAAA", dns.rcode.NOERROR),
    ],
)
def test_names_without_an_address(name: str, type_: str, rcode: int) -> None:
    reply = _asked(NameServer(WEB), name, type_)
    assert reply.rcode() == rcode
    assert not reply.answer and "SOA" in reply.authority[0].to_text()


def test_invalid_queries_get_no_reply() -> None:
    server = NameServer(WEB)
    reply = _asked(server, "www.demo")
    for junk in (b"", b"\0" * 12, b"\xff" * 40, reply.to_wire()):
        assert server.answer(junk) is None


def test_lost_answers_depend_on_the_seed_and_not_on_the_order() -> None:
    names = [*WEB.hosts] * 3
    query = {name: dns.message.make_query(name, "A").to_wire() for name in names}

    def lost(order: list[str], seed: int) -> Counter[str]:
        server = NameServer(WEB, drop=0.2, seed=seed)
        return Counter(name for name in order if server.answer(query[name]) is None)

    assert lost(names, 1) == lost(names[::-1], 1) != lost(names, 2)
    assert 8 <= lost(names, 1).total() <= 35


# Both, served


def test_every_expected_url_is_answered_as_expected(demo: Serving) -> None:
    connections: dict[str, HTTPConnection] = {}
    for url, end in demo.truth(any_type=True).expected.items():
        host, path = (part for part in url.removeprefix("http://").split("/", 1))
        name = host.partition(":")[0]
        resource = demo.web.find(Location(name, "/" + path))
        if not end.status:
            continue
        address = demo.web.hosts[name].addresses[-1]
        fresh = HTTPConnection(address, demo.web_port, timeout=5)
        connection = connections.setdefault(address, fresh)
        for _ in range(2 if resource.busy is not None else 1):
            connection.request("GET", "/" + path, headers={"Host": host})
            response = connection.getresponse()
            body = response.read()
        assert (response.status, body) == (end.status, resource.body), url
    for connection in connections.values():
        connection.close()
    log = demo.log()
    assert demo.truth(any_type=True).trespasses(demo.requests()) == []
    assert {line.address for line in log} < set(demo.web.listening())
    assert [line.time for line in log] == sorted(line.time for line in log)


def test_the_log_can_be_cleared_and_shows_headers(demo: Serving) -> None:
    assert demo.log() == [] and demo.names() == []
    connection = HTTPConnection(demo.web.hosts["www.demo"].addresses[0], demo.web_port, timeout=5)
    connection.request("HEAD", "/", headers={"Host": "www.demo", "From": "me"})
    response = connection.getresponse()
    assert (response.status, response.read()) == (200, b"")
    connection.close()
    assert [(line.path, line.headers["from"]) for line in demo.log()] == [("/", "me")]


def test_refused_addresses_resolve_but_do_not_listen(demo: Serving) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.settimeout(5)
        sock.connect(demo.dns)
        sock.send(dns.message.make_query("refused.demo", "A").to_wire())
        reply = dns.message.from_wire(sock.recv(4096))
    assert reply.answer[0][0].to_text() in demo.web.silent()
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection((demo.web.silent()[0], demo.web_port), timeout=5)
    assert demo.names() == [("refused.demo", "A", "NOERROR")]


def test_it_ends_with_its_standard_input(demo_with: Callable[..., Serving]) -> None:
    own = demo_with(flaky=1.0)
    assert own.process.stdin is not None
    own.process.stdin.close()
    assert own.process.wait(5) == 0


def test_what_cannot_be_understood_is_a_usage_error() -> None:
    command = [sys.executable, "-m", "larbinpy.demo", "--drop", "many"]
    assert subprocess.run(command, capture_output=True, check=False).returncode == 2


def test_one_port_is_found_for_all_addresses() -> None:
    port, sockets = bind_all(["127.0.1.1", "127.0.1.2"])
    assert [sock.getsockname() for sock in sockets] == [("127.0.1.1", port), ("127.0.1.2", port)]
    for sock in sockets:
        sock.close()
    with pytest.raises(OSError, match="assign"):
        bind_all(["192.0.2.1"])


# Its larbin.conf


def test_demo_conf_is_a_valid_configuration(tmp_path: Path) -> None:
    file = tmp_path / "larbin.conf"
    out, state = tmp_path / "my pages", tmp_path / "state#1"
    seeds = tuple(WEB.url(seed) for seed in WEB.seeds)
    text = demo_conf(("127.0.0.1", 5353), out, state, seeds, wait=0.05, any_type=True)
    file.write_text(text + "limitPage 7\n")
    read = load(str(file), {}, [])
    assert read.dns_server == (("127.0.0.1", 5353),) and read.start_url == seeds
    assert (read.output_dir, read.state_dir) == (str(out), str(state))
    assert read.allow_private and read.get_cgi and read.get_image and read.any_type
    assert (read.wait_duration, read.retry_wait, read.depth_in_site) == (0.05, 1.0, 20)
    assert (read.output_mode, read.limit_page, read.user_agent) == (("mirror",), 7, "larbinpy")
    assert not load(str(file), {}, [("anyType", "off")]).any_type
