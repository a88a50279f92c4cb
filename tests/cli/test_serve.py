"""`larbinpy serve`: the Search page without a crawl."""

import json
import signal
import socket
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.request import urlopen

import pytest

from larbinpy.database.writer import Writer
from tests.support.crawling import World
from tests.support.databasepages import prepared


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    world = World(tmp_path)
    yield world
    world.close()


@pytest.fixture
def database(tmp_path: Path) -> Path:
    path = tmp_path / "pages.db"
    writer = Writer(str(path))
    writer.write([prepared("http://a.test/1", "Solar energy is free.", title="The sun <1>")])
    writer.close()
    return path


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_database_can_be_searched_until_a_signal(
    world: World, database: Path, number: signal.Signals
) -> None:
    server = world.start("serve", "-d", database.name, "--port", "0")
    world.until(lambda: "\n" in server.out)
    assert server.out.startswith("Search at http://127.0.0.1:")
    address = server.out.split()[2]
    with urlopen(f"{address}search.json?q=free+energy") as reply:
        [hit] = json.load(reply)["hits"]
    assert hit["url"] == "http://a.test/1"
    with urlopen(address) as reply:
        page = reply.read().decode()
        assert reply.url == f"{address}search.html"
    assert "The database has 1 page of 1 host" in page and "pages.db" in page
    with urlopen(f"{address}page.html?url=http://a.test/1") as reply:
        assert "The sun &lt;1&gt;" in reply.read().decode()
    with urlopen(f"{address}changes.html") as reply:
        page = reply.read().decode()
        assert "The sun &lt;1&gt;" in page
        assert '<link rel="alternate" type="application/atom+xml"' in page
    with urlopen(f"{address}changes.xml") as reply:
        assert reply.headers["Content-Type"] == "application/atom+xml"
        assert "<title>new: The sun &lt;1&gt;</title>" in reply.read().decode()
    server.signal(number)
    assert world.finish(server) == 0
    assert server.err == ""


def test_a_database_that_cannot_be_read(world: World) -> None:
    server = world.larbinpy("serve", "-d", "nowhere.db", "--port", "0")
    assert server.process.returncode == 3
    assert server.err.startswith("larbinpy: nowhere.db: there is no database")
    assert server.err.count("\n") == 1


def test_a_port_that_is_taken(world: World, database: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = str(other.getsockname()[1])
        server = world.larbinpy("serve", "-d", database.name, "--port", port)
    assert server.process.returncode == 2
    assert server.err == (
        f"larbinpy: --host 127.0.0.1 --port {port}: Address already in use; choose another one\n"
    )


def test_a_host_that_is_none(world: World, database: Path) -> None:
    server = world.larbinpy("serve", "-d", database.name, "--host", "no host", "--port", "1")
    assert server.process.returncode == 2
    assert server.err.startswith("larbinpy: --host no host --port 1: ")
    assert server.err.count("\n") == 1 and "Unknown error" not in server.err


def test_the_process_does_not_import_from_the_working_directory(
    world: World, database: Path
) -> None:
    """A crawl may have written files there; the command itself is installed elsewhere."""
    (world.folder / "json.py").write_text("raise SystemExit('hostile')")
    command = (str(Path(sys.executable).with_name("larbinpy")),)
    server = world.start("serve", "-d", database.name, "--port", "0", command=command)
    world.until(lambda: "\n" in server.out)
    with urlopen(f"{server.out.split()[2]}search.json?q=energy") as reply:
        assert json.load(reply)["total"] == 1
    server.signal(signal.SIGINT)
    assert world.finish(server) == 0
