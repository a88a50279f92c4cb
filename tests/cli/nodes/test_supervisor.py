"""`larbinpy crawl --nodes` as processes: whole crawls, stops, deaths."""

import json
import os
import re
import signal

import pytest

from larbinpy.storage.state import NOT_RESUMED
from tests.support.crawling import Crawler, World, one_line
from tests.support.fleetweb import HOSTS, LONG, FleetWeb
from tests.support.ports import free_port
from tests.support.processes import children, command
from tests.support.redisjoin import address, settings_of
from tests.support.redisserver import RedisServer, program_of

pytest_plugins = ["tests.support.crawlworld", "tests.support.ownredis"]
pytestmark = pytest.mark.slow


class Nodes(FleetWeb):
    """A crawl of a small web by the nodes of one command."""

    @property
    def processes(self) -> dict[str, int]:
        """The nodes by their names, and Redis."""
        found = {}
        for pid in children(self.crawler.process.pid):
            line = command(pid)
            node = re.search(r" --node (\S+)", line)
            found[node[1] if node else "redis"] = pid
        return found

    def start_both(self) -> Crawler:
        """Start two nodes, and wait until each has fetched a page."""
        # They wait so long that the second finds something left, however late it starts.
        crawler = self.start("--nodes", "2", wait=3.0)
        logs = [self.world.state / name / "crawl.jsonl" for name in ("1", "2")]
        self.world.until(
            lambda: all(log.exists() and b"success" in log.read_bytes() for log in logs), LONG
        )
        return crawler

    def kill(self, name: str) -> int:
        pid = self.processes[name]
        os.kill(pid, signal.SIGKILL)
        return pid


@pytest.fixture
def nodes(world: World) -> Nodes:
    program_of("redis")
    return Nodes(world)


def test_two_nodes_crawl_together(nodes: Nodes) -> None:
    mirrors = ("outputMode mirror",)
    assert nodes.run("--nodes", "2", wait=0.0, lines=mirrors) == 0, nodes.crawler.err
    assert nodes.fetched() == dict.fromkeys(nodes.urls, 1)
    # The pages of each node are in a folder of its own.
    assert {path.name for path in nodes.world.out.iterdir()} == {"1", "2"}
    assert len(nodes.world.files()) == len(nodes.urls)
    report = nodes.world.reported()
    assert (report["stop_reason"], report["exit_code"], report["urls_queued"]) == ("finished", 0, 0)
    assert report["success"] == report["outcomes"]["success"] == len(nodes.urls)
    assert [node["node"] for node in report["nodes"]] == ["1", "2"]
    assert sum(node["success"] for node in report["nodes"]) == len(nodes.urls)
    folder = nodes.world.state / "redis"
    assert folder.stat().st_mode & 0o777 == 0o700
    assert nodes.crawler.err.splitlines()[-1].startswith("larbinpy: finished: 104 pages")
    # Lines of a node begin with its name; the progress is that of all.
    assert "larbinpy: 1: this node has joined the fleet\n" in nodes.crawler.err
    assert " finished  pages 104 " in nodes.crawler.err.splitlines()[-2]
    assert "1: 0:00" not in nodes.crawler.err

    # Commands on its folder are about all nodes.
    found = json.loads(nodes.world.larbinpy("report", "state", "--json").out)
    assert (found["urls"], found["outcomes"]) == (104, {"success": 104})
    lines = [json.loads(line) for line in nodes.world.larbinpy("log", "--json").out.splitlines()]
    assert {line["url"] for line in lines} == nodes.urls
    assert lines == sorted(lines, key=lambda line: line["ts"])
    for state in ("state", "state/1"):
        queue = nodes.world.larbinpy("frontier", state)
        assert f": {state}: a crawl by nodes, whose queue is in Redis" in one_line(queue)


def test_it_is_stopped_and_resumed_as_a_whole(nodes: Nodes) -> None:
    crawler = nodes.start_both()
    running = [*nodes.processes.values()]
    assert len(running) == 3
    crawler.signal(signal.SIGINT)
    assert nodes.finish(crawler) == 11
    assert [pid for pid in running if command(pid)] == []
    before = nodes.fetched()
    report = nodes.world.reported()
    assert report["stop_reason"] == "stopped"
    assert 0 < report["urls_queued"] < len(nodes.urls)

    refused = nodes.start("--nodes", "2", lines=(f"httpPort {free_port()}",))
    assert nodes.finish(refused) == 2
    hint = "--resume continues it, --scratch crawls anew"
    assert one_line(refused) == f"larbinpy: state: holds a crawl already; {hint}\n"
    assert nodes.fetched() == before

    # Fewer nodes go on with what all have left, and with other settings.
    assert nodes.run("--nodes", "1", "--resume", wait=0.1) == 0, nodes.crawler.err
    assert nodes.fetched() == dict.fromkeys(nodes.urls, 1)
    report = nodes.world.reported()
    assert report["success"] == len(nodes.urls)
    assert [(node["node"], node["starts"]) for node in report["nodes"]] == [("1", 1), ("2", 0)]

    # A finished crawl is over at once, also without seeds.
    assert nodes.run("--nodes", "2", "--resume", wait=0.0, seeded=False) == 0, nodes.crawler.err
    assert "this crawl is finished; --scratch crawls anew" in nodes.crawler.err
    assert nodes.run("--nodes", "2", "--resume=auto", wait=0.0) == 0, nodes.crawler.err
    assert nodes.fetched() == dict.fromkeys(nodes.urls, 1)

    assert nodes.run("--nodes", "2", "--scratch", wait=0.0) == 0
    assert nodes.fetched() == dict.fromkeys(nodes.urls, 1)
    assert nodes.web.count("/3") == 2 * len(HOSTS)
    assert "this crawl" not in nodes.crawler.err


def test_nodes_go_on_with_their_options(nodes: Nodes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LARBINPY_RETRIES", "1")
    crawler = nodes.start("--nodes", "2", "--set", "userAgent=first", wait=0.3)
    monkeypatch.undo()
    nodes.until_fetched(4)
    crawler.signal(signal.SIGINT)
    assert nodes.finish(crawler) == 11
    assert nodes.run("--nodes", "2", "--resume", wait=0.0, seeded=False) == 0, nodes.crawler.err
    assert nodes.crawler.err.startswith(
        "larbinpy: given earlier: UserAgent first, retries 1; --set changes that\n"
    )
    assert nodes.fetched() == dict.fromkeys(nodes.urls, 1)
    shared = nodes.world.state / "1" / "options.json"
    given = json.loads(shared.read_text())
    assert ["UserAgent", "first"] in given["options"]
    assert given["environment"]["LARBINPY_RETRIES"] == "1"


def test_resume_needs_a_crawl(nodes: Nodes) -> None:
    assert nodes.run("--nodes", "2", "--resume") == 2
    assert one_line(nodes.crawler) == f"larbinpy: state: {NOT_RESUMED}\n"
    assert not nodes.world.state.exists()


def test_all_nodes_have_the_logins_of_seeds(nodes: Nodes) -> None:
    nodes.is_locked = True
    seeds = [nodes.web.url("/", host).replace("//", "//me:s3cret@") for host in HOSTS]
    crawler = nodes.start(
        "--nodes", "2", *seeds[:4], lines=tuple(f"startUrl {s}" for s in seeds[4:])
    )
    nodes.until_fetched(20)
    crawler.signal(signal.SIGINT)
    assert nodes.finish(crawler) == 11
    # A node that was not there before has them, too.
    assert nodes.run("--nodes", "3", "--resume", seeded=False) == 0, nodes.crawler.err
    assert nodes.fetched() == dict.fromkeys(nodes.urls, 1)
    files = [path for path in nodes.world.state.rglob("*") if path.is_file()]
    holding = [path for path in files if b"s3cret" in path.read_bytes()]
    assert {path.name for path in holding} == {"logins.json"}
    assert {path.stat().st_mode & 0o777 for path in holding} == {0o600}


@pytest.mark.parametrize("joined", [False, True])
def test_a_new_crawl_knows_no_logins_of_an_earlier_one(
    nodes: Nodes, redis: RedisServer, joined: bool
) -> None:
    """Nor do nodes that begin anew in a crawl of others."""
    options = ("--nodes", "2", *(("--join", address(redis)) if joined else ()))
    seed = nodes.web.url("/", HOSTS[0]).replace("//", "//me:s3cret@")
    assert nodes.run(*options, seed, wait=0.0) == 0, nodes.crawler.err
    assert "s3cret" in (nodes.world.state / "logins.json").read_text()
    nodes.is_locked = True
    nodes.run(*options, "--scratch", wait=0.0)
    assert nodes.fetched() == {}
    files = [path for path in nodes.world.state.rglob("*") if path.is_file()]
    assert [path for path in files if b"s3cret" in path.read_bytes()] == []


def test_a_node_that_is_killed_is_started_again(nodes: Nodes) -> None:
    crawler = nodes.start("--nodes", "2", wait=0.5)
    nodes.until_fetched(20)
    nodes.kill("2")
    assert nodes.finish(crawler) == 0, crawler.err
    assert set(nodes.fetched()) == nodes.urls
    assert "node 2 was killed by SIGKILL; it is started again in 1 s" in crawler.err
    assert [node["starts"] for node in nodes.world.reported()["nodes"]] == [1, 2]


def test_the_first_node_is_killed_before_its_seeds_are_safe(nodes: Nodes) -> None:
    crawler = nodes.start("--nodes", "2")
    nodes.world.until(lambda: "1" in nodes.processes)
    nodes.kill("1")
    assert nodes.finish(crawler) == 0, crawler.err
    assert nodes.fetched() == dict.fromkeys(nodes.urls, 1)


def test_a_redis_that_is_killed_is_started_again(nodes: Nodes) -> None:
    crawler = nodes.start("--nodes", "2", wait=0.5)
    nodes.until_fetched(20)
    nodes.kill("redis")
    assert nodes.finish(crawler) == 0, crawler.err
    assert set(nodes.fetched()) == nodes.urls
    said = "Redis died: it was killed by SIGKILL (state/redis/log has its log); the nodes wait"
    assert said in crawler.err


def test_nothing_is_left_when_the_command_is_killed(nodes: Nodes) -> None:
    crawler = nodes.start("--nodes", "2")
    nodes.until_fetched(10)
    running = [*nodes.processes.values()]
    assert len(running) == 3
    crawler.signal(signal.SIGKILL)
    # Nodes that waited for an answer of Redis would take ten seconds.
    nodes.world.until(lambda: not any(map(command, running)), 5.0)
    assert nodes.run("--nodes", "2", "--resume") == 0, nodes.crawler.err
    assert set(nodes.fetched()) == nodes.urls


def test_a_restart_at_once_continues_the_crawl_of_a_killed_command(nodes: Nodes) -> None:
    crawler = nodes.start_both()
    # It cannot end in order, as one cannot whose Redis has ended.
    os.kill(nodes.processes["2"], signal.SIGSTOP)
    crawler.signal(signal.SIGKILL)
    assert nodes.run("--nodes", "2", "--resume=auto", wait=0.1) == 0, nodes.crawler.err
    assert set(nodes.fetched()) == nodes.urls


def test_a_restart_waits_for_the_redis_of_a_killed_command(nodes: Nodes) -> None:
    crawler = nodes.start_both()
    left = nodes.processes
    # It cannot end, as one with much to write cannot for a while.
    os.kill(left["redis"], signal.SIGSTOP)
    killed = crawler.process.pid
    crawler.signal(signal.SIGKILL)
    other = nodes.start("--nodes", "2", "--resume=auto", wait=0.1)
    left_by = f"larbinpy: state: in use by processes that process {killed} left when it died"
    waits = f"{left_by}; waiting for their end\n"
    nodes.world.until(lambda: waits in other.err or other.ended, LONG)
    assert not other.ended, other.err
    assert [name for name, pid in left.items() if command(pid)] == ["redis"]
    assert children(other.process.pid) == []
    os.kill(left["redis"], signal.SIGCONT)
    assert nodes.finish(other) == 0, other.err
    assert other.err.count("waiting for") == 1
    assert set(nodes.fetched()) == nodes.urls


def test_a_second_signal_ends_all_at_once(nodes: Nodes) -> None:
    crawler = nodes.start("--nodes", "2")
    nodes.until_fetched(10)
    # A stopped node leaves nothing, so the first signal alone would wait for it.
    os.kill(nodes.processes["2"], signal.SIGSTOP)
    crawler.signal(signal.SIGTERM)
    nodes.world.until(lambda: "1" not in nodes.processes, LONG)
    crawler.signal(signal.SIGTERM)
    assert nodes.finish(crawler) in (11, 13)
    assert nodes.world.reported()["urls_queued"] > 0
    explained = nodes.world.larbinpy("explain", nodes.web.url("/3", HOSTS[0]))
    assert "state: a crawl by nodes; ask while it runs" in one_line(explained)
    assert nodes.run("--nodes", "2", "--resume") == 0, nodes.crawler.err
    assert set(nodes.fetched()) == nodes.urls


def test_nodes_join_another_redis(nodes: Nodes, redis: RedisServer) -> None:
    where = ("--join", address(redis))
    assert nodes.run(*where, "--nodes", "2", "--node", "x", wait=0.0) == 0, nodes.crawler.err
    assert nodes.fetched() == dict.fromkeys(nodes.urls, 1)
    assert sorted(path.name for path in nodes.world.state.iterdir()) == [
        "lock",
        "options.json",
        "x1",
        "x2",
    ]
    first = settings_of(redis)
    assert first["state"] == "finished"
    # Others may have a part in it, so --scratch empties the folders of these nodes only.
    assert nodes.run(*where, "--nodes", "2", "--node", "x", "--scratch", wait=0.0) == 0
    assert "only state/x1 was emptied" in nodes.crawler.err
    assert settings_of(redis)["id"] == first["id"]
    assert nodes.fetched() == {}
    assert nodes.web.count("/3") == len(HOSTS)


def test_each_node_has_ports_of_its_own(nodes: Nodes) -> None:
    port = free_port()
    crawler = nodes.start("--nodes", "2", wait=5.0, lines=(f"httpPort {port}",))
    nodes.until_fetched(1)
    said = re.search(r"^larbinpy: 2: httpPort (\d+)$", crawler.err, re.MULTILINE)
    assert said is not None, crawler.err
    assert int(said[1]) != port
    page = f"http://127.0.0.1:{port}/fleet.html"
    assert f"larbinpy: status page of all nodes: {page}\n" in crawler.err
    for each in (str(port), said[1]):
        url = f"http://127.0.0.1:{each}/"
        status = nodes.world.larbinpy("status", "--url", url, "--json")
        # One of them may have nothing to do.
        assert json.loads(status.out)["state"] in ("running", "waiting"), status.err
    # Another crawl on the same ports ends as a whole.
    other = nodes.start("--nodes", "2", "--set", "stateDir=other", lines=(f"httpPort {port}",))
    assert nodes.finish(other) == 2
    assert f"1: httpPort {port}: Address already in use; set another port" in other.err
    crawler.signal(signal.SIGINT)
    assert nodes.finish(crawler) == 11
    # It had not begun, so it need not be resumed.
    assert nodes.run("--nodes", "2", "--set", "stateDir=other", wait=0.0) == 0, nodes.crawler.err


def test_commands_in_its_folder_are_about_all_nodes(nodes: Nodes) -> None:
    crawler = nodes.start("--nodes", "2", wait=5.0)
    nodes.until_fetched(1)
    status = nodes.world.larbinpy("status", "--json")
    assert [node["name"] for node in json.loads(status.out)["nodes"]] == ["1", "2"], status.err
    login = nodes.web.url("/new", HOSTS[0]).replace("//", "//me:s3cret@")
    seeded = nodes.world.larbinpy("seed", login)
    assert seeded.out == "1 of 1 URLs accepted\n"
    assert "logins in seeds are not given to the nodes" in seeded.err
    assert "2 nodes" in nodes.world.larbinpy("fleet").out
    crawler.signal(signal.SIGINT)
    assert nodes.finish(crawler) == 11


def test_the_folder_of_a_crawl_of_one_process_is_refused(nodes: Nodes) -> None:
    assert nodes.run("--set", "limitPage=3") == 0
    assert nodes.run("--nodes", "2") == 2
    assert "state: holds the crawl of one process; set another stateDir" in one_line(nodes.crawler)


def test_their_folder_is_refused_to_a_crawl_of_one_process(nodes: Nodes) -> None:
    assert nodes.run("--nodes", "2", wait=0.0) == 0
    for options in [(), ("--scratch",), ("--resume=auto",)]:
        assert nodes.run(*options) == 2
        assert one_line(nodes.crawler) == (
            "larbinpy: state: holds the states of nodes (1, 2); --nodes 2 --resume continues their "
            "crawl, --nodes 2 --scratch crawls anew; or set another stateDir\n"
        )
    assert nodes.run("--nodes", "2", "--scratch", wait=0.0) == 0
