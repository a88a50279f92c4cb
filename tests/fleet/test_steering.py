"""One crawl of two nodes is steered as one, by commands from anywhere."""

import json
import signal
from collections.abc import Iterator

import pytest

from tests.support.crawling import Answer, Asked, html, moved, ok, one_line
from tests.support.fleetworld import Fleet
from tests.support.ports import free_port
from tests.support.webserver import Step

pytest_plugins = ["tests.support.fleetcrawls"]
pytestmark = pytest.mark.slow

HOSTS = [f"h{number}.test" for number in range(8)]


def tree(most: int) -> Answer:
    """Each host has `most` pages; each page links to two more, and to one of another host."""

    def answer(asked: Asked) -> Iterator[Step]:
        if asked.path == "/robots.txt":
            yield ok(b"", "text/plain")
            return
        number = int(asked.path.strip("/") or 0)
        links = [f"/{n}" for n in (2 * number + 1, 2 * number + 2) if n < most]
        other = HOSTS[(HOSTS.index(asked.host) + 1 + number) % len(HOSTS)]
        port = asked.headers["host"].partition(":")[2]
        yield html(*links, f"http://{other}:{port}/")

    return answer


def test_limit_page_is_that_of_the_whole_crawl(fleet: Fleet) -> None:
    web = fleet.serve(tree(40), *HOSTS, settings=("limitPage 90",))
    nodes = {name: fleet.node(name, web.url("/", "h0.test")) for name in "ab"}
    for node in nodes.values():
        assert fleet.finish(node) == 0, node.err
    pages = fleet.pages("a", "b")
    assert len(pages) == len(set(pages)) == 90
    assert fleet.status()["pages"] == 90
    assert "unfinished, 0 nodes" in fleet.say("fleet")

    # More of them are fetched by who runs next.
    assert fleet.console("set limitPage 100") == [{"ok": True, "nodes": []}]
    again = fleet.node("b", web.url("/", "h0.test"))
    assert fleet.finish(again) == 0
    pages = fleet.pages("a", "b")
    assert len(pages) == len(set(pages)) == 100


def test_limit_time_counts_from_the_start_of_the_crawl(fleet: Fleet) -> None:
    web = fleet.serve(tree(40), *HOSTS, settings=("limitTime 1h", "waitDuration 20s"))
    first = fleet.node("a", web.url("/", "h0.test"))
    fleet.nodes_run(1)
    fleet.redis("HINCRBY", f"lb:{{{fleet.name}}}:crawl", "started", -3600)
    second = fleet.node("b", web.url("/", "h0.test"))
    assert fleet.finish(second) == 0
    assert not first.ended
    first.signal(signal.SIGTERM)
    fleet.finish(first)


def test_stay_keeps_to_the_seeds_of_all_nodes(fleet: Fleet) -> None:
    """Each host links to all others; some redirect to a host that is no seed."""

    def answer(asked: Asked) -> Iterator[Step]:
        port = asked.headers["host"].partition(":")[2]
        if asked.path == "/robots.txt":
            yield ok(b"", "text/plain")
        elif asked.host == "h1.test" and asked.path == "/":
            yield moved(f"http://h7.test:{port}/")
        else:
            links = [f"http://{host}:{port}/from-{asked.host}" for host in HOSTS]
            yield html(*links if asked.path == "/" else [])

    web = fleet.serve(answer, *HOSTS, settings=("stay host",))
    seeds = [web.url("/", host) for host in HOSTS[:5]]
    nodes = [fleet.node("a", *seeds), fleet.node("b", *seeds)]
    for node in nodes:
        assert fleet.finish(node) == 0, node.err
    fetched = set(fleet.pages("a", "b"))
    sources = [host for host in [*HOSTS[:5], "h7.test"] if host != "h1.test"]
    within = [*HOSTS[:5]]
    expected = {web.url(f"/from-{source}", host) for source in sources for host in within}
    assert fetched >= expected
    assert not any(host in url for url in fetched for host in ("h5.test", "h6.test"))


def test_commands_reach_all_nodes(fleet: Fleet) -> None:
    web = fleet.serve(tree(40), *HOSTS, settings=("waitDuration 30s", "ignoreRobots"))
    nodes = [fleet.node("a", web.url("/", "h0.test")), fleet.node("b", web.url("/", "h0.test"))]
    fleet.nodes_run(2)
    done = {"ok": True, "nodes": ["a", "b"]}
    assert fleet.console("set waitDuration 60", "save") == [done, done]
    [refused, unknown] = fleet.console("set waitDuration soon", "set colour red")
    assert not refused["ok"]
    assert not unknown["ok"]
    [explained] = fleet.console(f"explain {web.url('/', 'h0.test')}")
    assert explained["reason"] == "success"
    # The host may have gone to the other node since then.
    assert web.url("/", "h0.test") in fleet.pages(explained["node"])
    waiting = json.loads(fleet.say("explain", web.url("/1", "h0.test"), "--json"))
    assert waiting["site"]["delay_s"] == 60

    assert fleet.console("pause", "pause") == [{"ok": True}, {"ok": True}]
    fleet.until(lambda: all(each["state"] == "paused" for each in fleet.status()["nodes"]))
    assert fleet.console("resume") == [{"ok": True}]
    assert "2 nodes" in fleet.say("status")
    assert "nodes run (a, b)" in fleet.say("fleet", "--forget", "--yes", code=2)

    assert fleet.console("stop") == [{"ok": True}]
    for node in nodes:
        assert fleet.finish(node) == 11
    assert fleet.status()["state"] == "stopped"


def test_a_question_to_a_dead_node_is_answered_by_the_next_owner(fleet: Fleet) -> None:
    web = fleet.serve(tree(40), *HOSTS, settings=("waitDuration 30s", "ignoreRobots"))
    first = web.url("/", "h0.test")
    nodes = {name: fleet.node(name, first) for name in "ab"}
    fleet.nodes_run(2)
    fleet.until(lambda: all(each["shards"] for each in fleet.status()["nodes"]))
    waiting = web.url("/1", "h0.test")
    owner = json.loads(fleet.say("explain", waiting, "--json"))["node"]
    nodes.pop(owner).signal(signal.SIGKILL)
    [(other, left)] = nodes.items()
    assert json.loads(fleet.say("explain", waiting, "--json"))["node"] == other
    # Nobody can be asked after the last one.
    left.signal(signal.SIGKILL)
    assert "error" in json.loads(fleet.say("explain", waiting, "--json", code=1))


def test_seeds_and_commands_while_no_node_runs(fleet: Fleet) -> None:
    web = fleet.serve(tree(3), *HOSTS)
    assert fleet.finish(fleet.node("a", web.url("/", "h0.test"))) == 0
    assert fleet.status()["state"] == "finished"
    counted = fleet.say("seed", web.url("/seed", "h5.test").replace("seed", "7"), "mailto:x")
    assert "1 of 2 URLs accepted" in counted
    status = fleet.status()
    assert (status["state"], status["running"], status["shards"]["inbox"]) == ("running", 0, 1)
    assert "1 letter waiting" in fleet.say("fleet")
    assert fleet.console("pause", "set retries 3", "explain http://h5.test/")[::2] == [
        {"ok": True},
        {"ok": False, "error": "no node runs that could tell"},
    ]
    node = fleet.node("b", web.url("/", "h0.test"))
    fleet.nodes_run(1)
    assert web.count("/7") == 0
    assert fleet.console("resume") == [{"ok": True}]
    assert fleet.finish(node) == 0
    assert web.count("/7") == 1
    assert "is forgotten" in fleet.say("fleet", "--forget", "--yes")
    assert "there is no such crawl" in fleet.say("status", code=2)


def test_the_ports_of_a_node_steer_all(fleet: Fleet) -> None:
    port = free_port()
    web = fleet.serve(tree(40), *HOSTS, settings=("waitDuration 30s", "ignoreRobots"))
    quiet = fleet.node("b", web.url("/", "h0.test"))
    fleet.settings = (*fleet.settings, f"inputPort {port}")
    first = fleet.node("a", web.url("/", "h0.test"))
    fleet.nodes_run(2)
    script = fleet.folder / "commands"
    commands = [
        "set waitDuration 40",
        f"explain {web.url('/', 'h0.test')}",
        "add mailto:x",
        f"add {web.url('/9', 'h6.test')}",
        "accept http://x/**",
        "pause",
    ]
    script.write_text("".join(f"{line}\n" for line in commands))
    with script.open() as lines:
        console = fleet.start("console", "--port", str(port), stdin=lines.fileno())
        fleet.finish(console)
    answers = [json.loads(line) for line in console.out.splitlines()]
    assert answers[0] == {"ok": True}
    assert answers[1]["reason"] == "success"
    assert [answer["ok"] for answer in answers[2:]] == [False, True, False, True]
    fleet.until(lambda: all(each["state"] == "paused" for each in fleet.status()["nodes"]))
    [waiting] = fleet.console(f"explain {web.url('/9', 'h6.test')}")
    assert waiting["site"]["delay_s"] == 40
    for node in (first, quiet):
        node.signal(signal.SIGTERM)
        fleet.finish(node)


def test_an_unknown_crawl_is_one_clear_line(fleet: Fleet) -> None:
    for arguments in (["seed", "http://a.test/"], ["status"], ["console"], ["fleet"]):
        command = fleet.larbinpy(*arguments, "--join", fleet.join)
        assert command.process.returncode == 2
        assert "there is no such crawl; larbinpy crawl --join makes one" in one_line(command)
