"""What a command does with the crawl that it finds on its Redis, before it starts nodes."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from larbinpy.cli.nodes import supervisor
from larbinpy.cli.nodes.supervisor import NodesPlan, Supervisor
from larbinpy.config import Given
from larbinpy.errors import UserError
from larbinpy.fleet.identity import SavedNode
from larbinpy.fleet.redis.overview import SeenCrawl
from larbinpy.fleet.vault import FleetState
from larbinpy.storage.state import Start

NEW, RUNNING, FINISHED = FleetState.NEW, FleetState.RUNNING, FleetState.FINISHED


class Redis:
    """What was done to the crawl; stands for the overview, and for what asks it."""

    def __init__(self, state: FleetState | None, *living: str) -> None:
        self._found = None if state is None else SeenCrawl("id", state, {})
        self._living = list(living)
        self.done: list[str] = []

    def ask(self, verb: Any) -> Any:
        return verb(lambda answer: None)

    def find(self, then: Any) -> SeenCrawl | None:
        return self._found

    def forget(self, then: Any) -> None:
        self.done.append("forgotten")

    def renew(self, settings: dict[str, str], then: Any) -> None:
        self.done.append(f"renewed: {settings['stay']}")

    def living(self, overview: object, found: SeenCrawl) -> list[str]:
        return self._living


@pytest.fixture
def enter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Enters the crawl; `enter(redis, start, is_own=True)`."""

    def enter(redis: Redis, start: Start, *, is_own: bool = True) -> None:
        plan = NodesPlan(
            names=["1"],
            folder=tmp_path,
            join="" if is_own else "redis://redis.test/news",
            start=start,
            settings={"stay": "host"},
            given=Given(None, ()),
            logins=["http://me:new@a.test/"],
            notes=[],
            command=lambda run: [],
        )
        nothing: Any = None
        entering: Any = Supervisor(plan, nothing, lambda: 0.0, lambda: 0.0)
        entering._redis = SimpleNamespace(check=lambda: None) if is_own else None
        entering._poller = entering._client = None
        entering._address, entering._overview = "redis://redis.test/news", redis
        monkeypatch.setattr(supervisor, "Asker", lambda *arguments: redis)
        entering._enter()

    return enter


@pytest.mark.parametrize(
    ("state", "start", "done"),
    [
        (None, Start.REFUSE, []),
        (None, Start.AUTO, []),
        (None, Start.SCRATCH, []),
        # Its nodes could not start the last time.
        (NEW, Start.REFUSE, ["renewed: host"]),
        (RUNNING, Start.RESUME, ["renewed: host"]),
        (FINISHED, Start.AUTO, ["renewed: host"]),
        (RUNNING, Start.SCRATCH, ["forgotten"]),
    ],
)
def test_a_crawl_on_a_redis_of_its_own(
    enter: Any, state: FleetState | None, start: Start, done: list[str]
) -> None:
    redis = Redis(state)
    enter(redis, start)
    assert redis.done == done


@pytest.mark.parametrize("state", [None, NEW, RUNNING, FINISHED])
def test_a_crawl_of_others_is_left_as_it_is(enter: Any, state: FleetState | None) -> None:
    for start in (Start.REFUSE, Start.AUTO, Start.SCRATCH):
        redis = Redis(state, "b")
        enter(redis, start, is_own=False)
        assert redis.done == []


@pytest.mark.parametrize(
    ("redis", "start", "why"),
    [
        (Redis(None), Start.RESUME, "no saved crawl here"),
        (Redis(RUNNING), Start.REFUSE, "holds a crawl already; --resume continues it"),
        (Redis(RUNNING, "1", "2"), Start.SCRATCH, "in use by 1, 2; stop all nodes"),
    ],
)
def test_what_is_refused(enter: Any, redis: Redis, start: Start, why: str) -> None:
    with pytest.raises(UserError, match=why):
        enter(redis, start)
    assert redis.done == []


@pytest.mark.parametrize(
    ("state", "start", "is_new"),
    [
        (None, Start.AUTO, True),
        (RUNNING, Start.SCRATCH, True),
        (RUNNING, Start.RESUME, False),
        (NEW, Start.REFUSE, False),
    ],
)
def test_logins_of_the_crawl_before_go_with_it(
    enter: Any, tmp_path: Path, state: FleetState | None, start: Start, is_new: bool
) -> None:
    file = tmp_path / "logins.json"
    file.write_text(json.dumps({"http://a.test": "me:old", "http://b.test": "me:pw"}))
    enter(Redis(state), start)
    given = {"http://a.test": "me:new"}
    assert json.loads(file.read_text()) == given | ({} if is_new else {"http://b.test": "me:pw"})


def test_ends_of_earlier_nodes_are_those_of_this_crawl(tmp_path: Path) -> None:
    plan = NodesPlan(["1"], tmp_path, "", Start.AUTO, {}, Given(None, ()), [], [], lambda run: [])
    nothing: Any = None
    entering: Any = Supervisor(plan, nothing, lambda: 0.0, lambda: 0.0)
    entering._found = SeenCrawl("id", RUNNING, {})
    this, other = (SavedNode(crawl, "share", "news") for crawl in ("id", "other"))
    assert entering._is_of_the_crawl(this)
    assert not entering._is_of_the_crawl(other)
    # It has a report, but no state any more.
    assert not entering._is_of_the_crawl(None)
    entering._found = None
    assert not entering._is_of_the_crawl(this)
