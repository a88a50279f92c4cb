"""Crawls on a Redis of the tests' own."""

import json
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

from larbinpy.fleet.board import AreaLog
from larbinpy.fleet.redis.board import RedisBoard
from tests.support.crawling import Answer, Crawler, Web, World
from tests.support.redisserver import RedisServer
from tests.support.redisvault import Asker

NUMBERS = count(1)


class BoardAsker(Asker):
    """A board in a loop of its own, whose answers are waited for."""

    vault: RedisBoard

    def __init__(self, address: str, area: AreaLog | None = None) -> None:
        super().__init__(address)
        self.vault = RedisBoard(self.client, area)
        self.vault.first_limit = 100


Boards = Callable[..., BoardAsker]


class Fleet(World):
    """Nodes of one crawl, and the commands about it."""

    def __init__(self, folder: Path, redis: RedisServer) -> None:
        super().__init__(folder)
        self.redis = redis
        self.name = f"it{next(NUMBERS)}"
        self.join = f"redis://127.0.0.1:{redis.port}/{self.name}"
        self.settings: tuple[str, ...] = ()

    def serve(self, answer: Answer, *names: str, settings: tuple[str, ...] = ()) -> Web:
        """Serve `answer` under `names` to nodes with these settings."""
        self.settings = settings
        return self.web(answer, *names)

    def node(self, name: str, *seeds: str) -> Crawler:
        """Start a node."""
        conf = self.conf("outputMode none", f"join {self.join}", f"node {name}", *self.settings)
        path = self.folder / f"{name}.conf"
        path.write_text(conf)
        return self.start("crawl", "-c", str(path), "--progress", "none", *seeds)

    def say(self, *arguments: str, code: int = 0) -> str:
        """Run a command about the whole crawl; return its output."""
        command = self.larbinpy(*arguments, "--join", self.join)
        assert command.process.returncode == code, command.err
        return command.out + command.err

    def status(self) -> Any:
        return json.loads(self.say("status", "--json"))

    def console(self, *lines: str) -> list[Any]:
        """Run a script of the console; return its answers."""
        path = self.folder / "script"
        path.write_text("".join(f"{line}\n" for line in lines))
        with path.open() as script:
            command = self.start("console", "--join", self.join, stdin=script.fileno())
            self.finish(command)
        return [json.loads(line) for line in command.out.splitlines()]

    def nodes_run(self, count: int) -> None:
        """Wait until so many nodes serve all shards."""

        def run() -> bool:
            if not self.redis("EXISTS", f"lb:{{{self.name}}}:crawl"):
                return False
            status = self.status()
            served = sum(node["shards"] for node in status["nodes"] if node["alive"])
            return bool(status["running"] == count and served == status["shards"]["all"])

        self.until(run)

    def pages(self, *nodes: str) -> list[str]:
        """The URLs that these nodes have fetched."""
        found = []
        for node in nodes:
            text = (self.folder / "state" / node / "crawl.jsonl").read_text()
            fates = map(json.loads, text.splitlines())
            found += [fate["url"] for fate in fates if fate["outcome"] == "success"]
        return found
