"""A search over the databases of all nodes."""

import json
import signal
from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest

from larbinpy.config import Config
from larbinpy.crawl.fleet.orders import shown_database
from larbinpy.crawl.fleet.remote import as_one, nodes_to_ask, order_of
from larbinpy.database.base import DatabaseError, Found, Hit, Wish
from larbinpy.database.finder import fields_of
from larbinpy.database.maintenance import verify
from larbinpy.fleet.board import SILENT, Board, NodeReport
from larbinpy.fleet.vault import FleetState
from tests.support.crawling import Asked, html, ok
from tests.support.databasekills import in_mysql
from tests.support.databases import OnServer
from tests.support.fleetworld import Fleet
from tests.support.mariadb import MariaDb
from tests.support.ownmariadb import mariadb as mariadb
from tests.support.processes import indexer_of, kill
from tests.support.webserver import Step

pytest_plugins = ["tests.support.fleetcrawls"]

HOSTS = [f"h{number}.test" for number in range(8)]


def board(*nodes: tuple[str, str, float]) -> Board:
    """The board of nodes with a name, a database, and an age of their report."""
    reports = {
        name: NodeReport(age, {"session": name, "database": database})
        for name, database, age in nodes
    }
    sessions = dict.fromkeys(reports, 1)
    return Board(FleetState.RUNNING, sessions, reports, 0, 0)


def test_each_database_is_asked_once() -> None:
    server = "mysql://db.test/pages"
    assert nodes_to_ask("n", board(("a", "file", 0), ("b", "file", 0))) == ["a", "b"]
    assert nodes_to_ask("n", board(("a", server, 0), ("b", "file", 0), ("c", server, 0))) == [
        "a",
        "b",
    ]
    assert nodes_to_ask("n", board(("a", server, SILENT), ("b", "", 0), ("c", server, 0))) == ["c"]


def test_without_a_node_it_is_said_what_helps() -> None:
    with pytest.raises(DatabaseError, match=r"no node runs .* search -d save/NODE/larbinpy\.db"):
        nodes_to_ask("n", board(("a", "file", SILENT)))
    with pytest.raises(DatabaseError, match=r"search -d mysql://db\.test/x"):
        nodes_to_ask("n", board(("a", "mysql://db.test/x", SILENT)))
    with pytest.raises(DatabaseError, match="no content database"):
        nodes_to_ask("n", board(("a", "", 0)))


def test_a_database_on_this_machine_has_its_name() -> None:
    assert shown_database(Config()) == ""
    config = Config(output_mode=("database",))
    assert shown_database(config) == "file"
    for host in ("localhost", "127.0.0.1", "[::1]"):
        config = Config(output_mode=("database",), database=f"mysql://me@{host}:3307/x")
        assert not {"me", host} & set(shown_database(config).replace("/", ":").split(":"))
        assert shown_database(config).endswith(":3307/x")
    config = Config(output_mode=("database",), database="mysql://me@db.test/x")
    assert shown_database(config) == "mysql://db.test/x"


def test_the_order_is_of_three_words() -> None:
    order = order_of(["a", "b"], 'two  "words" ü', Wish(n=10, page=3, sort="date"))
    assert order == "search a,b q=two++%22words%22+%C3%BC&n=30&sort=date"
    with pytest.raises(DatabaseError, match="more than 2000 characters"):
        order_of(["a"], "x" * 2001, Wish())


def test_answers_refusals_and_silence() -> None:
    good = {"ok": True, **fields_of(Found([Hit("http://a.test/", "A", 1, "en", "2026")], 1))}
    bad = {"ok": False, "error": "the disk is full"}
    found, troubles = as_one("n", {"a": good, "b": bad}, ["c", "d"], Wish())
    assert [hit.title for hit in found.hits] == ["A"]
    assert troubles == ["no answer from c, d", "b: the disk is full"]
    with pytest.raises(DatabaseError, match="no database could be asked; no answer from c"):
        as_one("n", {}, ["c"], Wish())


def pages(asked: Asked) -> Iterator[Step]:
    """Each host has a page about itself; the first one links to the others."""
    if asked.path == "/robots.txt":
        yield ok(b"", "text/plain")
        return
    port = asked.headers["host"].partition(":")[2]
    links = [f"http://{host}:{port}/" for host in HOSTS] if asked.host == HOSTS[0] else []
    yield html(*links, text=f"A lighthouse called {asked.host.partition('.')[0]} at the sea.")


@pytest.mark.slow
def test_all_nodes_are_searched(fleet: Fleet) -> None:
    web = fleet.serve(pages, *HOSTS, settings=("outputMode database",))
    nodes = {name: fleet.node(name, web.url("/", HOSTS[0])) for name in "ab"}
    for node in nodes.values():
        assert fleet.finish(node) == 0, node.err
    said = fleet.say("search", "lighthouse", code=3)
    assert said.count("\n") == 1
    assert "no node runs that could search" in said

    fleet.say("seed", web.url("/", "h1.test"))
    fleet.console("pause")
    nodes = {name: fleet.node(name, web.url("/", HOSTS[0])) for name in "ab"}
    fleet.nodes_run(2)

    def hits(*arguments: str) -> list[Any]:
        command = fleet.larbinpy("search", "--join", fleet.join, "--json", *arguments)
        assert command.err == "", command.err
        return [json.loads(line) for line in command.out.splitlines()]

    found = hits("lighthouse")
    assert {hit["url"] for hit in found} == {web.url("/", host) for host in HOSTS}
    assert "lighthouse" in found[0]["snippet"]
    some = [hits("lighthouse", "-n", "3", "--page", page) for page in "123"]
    assert [len(each) for each in some] == [3, 3, 2]
    assert len({hit["url"] for each in some for hit in each}) == 8
    assert [hit["url"] for hit in hits("h3")] == [web.url("/", "h3.test")]
    assert len(hits("lighthouse", "--site", "h4.test")) == 1
    assert "1-8 of 8 pages" in fleet.say("search", "lighthouse")
    assert "nothing found" in fleet.say("search", "submarine", code=1)

    quiet = min(nodes, key=lambda name: len(fleet.pages(name)))
    nodes[quiet].signal(signal.SIGSTOP)
    said = fleet.say("search", "lighthouse")
    assert f"no answer from {quiet}\n" in said
    assert "lighthouse* called" in said
    nodes[quiet].signal(signal.SIGCONT)
    for node in nodes.values():
        node.signal(signal.SIGTERM)
        fleet.finish(node)


@pytest.mark.slow
def test_all_nodes_fill_one_database_on_a_server(
    fleet: Fleet, mariadb: MariaDb, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Indexers are killed meanwhile. A search asks the database once."""
    monkeypatch.setenv("HOME", str(fleet.folder))
    database = OnServer(mariadb, "fleet")

    def answer(asked: Asked) -> Iterator[Step]:
        if asked.path == "/robots.txt":
            yield ok(b"", "text/plain")
            return
        number = int(asked.path.strip("/") or 0)
        port = asked.headers["host"].partition(":")[2]
        links = [f"/{n}" for n in (2 * number + 1, 2 * number + 2) if n < 30]
        hosts = [f"http://{host}:{port}/" for host in HOSTS] if number == 0 else []
        yield html(*links, *hosts, text=f"Lighthouse {number} of {asked.host}.")

    settings = ("outputMode database", f"database {database.where}", "waitDuration 0.2")
    web = fleet.serve(answer, *HOSTS, settings=settings)
    nodes = {name: fleet.node(name, web.url("/", HOSTS[0])) for name in "ab"}

    def has(pages: int) -> bool:
        return len(in_mysql(database).rows) >= pages

    for name, pages in zip("abab", (20, 60, 100, 140), strict=True):
        fleet.until(partial(has, pages), 60)
        kill(indexer_of(nodes[name].process.pid))
    for node in nodes.values():
        assert fleet.finish(node) == 0, node.err
    rows = database.rows("SELECT url FROM page")
    assert sorted(rows) == sorted(set(fleet.pages("a", "b")))
    assert len(rows) == 30 * len(HOSTS)
    assert database.rows("SELECT count(*) FROM meta WHERE key LIKE 'spool:%'") == [2]
    assert verify(database.where, lambda *_: None) == []

    fleet.say("seed", web.url("/", "h1.test"))
    fleet.console("pause")
    nodes = {name: fleet.node(name, web.url("/", HOSTS[0])) for name in "ab"}
    fleet.nodes_run(2)
    assert "1-10 of 240 pages" in fleet.say("search", "lighthouse")
    for node in nodes.values():
        node.signal(signal.SIGTERM)
        fleet.finish(node)
