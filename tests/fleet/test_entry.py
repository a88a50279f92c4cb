"""The checks before a node makes or joins a crawl."""

from pathlib import Path
from typing import Any

import pytest

from larbinpy.config import Config
from larbinpy.crawl.fleet import membership
from larbinpy.crawl.fleet.membership import EntryCheck
from larbinpy.errors import UserError
from larbinpy.fleet.identity import SavedNode
from larbinpy.fleet.redis.overview import SeenCrawl
from larbinpy.fleet.redis.wire import CrawlAddress
from larbinpy.fleet.vault import FleetState
from larbinpy.storage.state import Start

ADDRESS = "redis://127.0.0.1/news"


class Redis:
    """Stands for the overview, and for what asks it: a crawl with these sessions, or none."""

    def __init__(self, crawl: str | None = None, *sessions: str, living: tuple[str, ...] = ()):
        counters = {session: number for number, session in enumerate(sessions, 3)}
        self._found = None if crawl is None else SeenCrawl(crawl, FleetState.RUNNING, counters)
        self._living = living
        #: Sessions that were buried, and their counters.
        self.buried: list[tuple[str, int]] = []
        #: How often nodes were watched, which takes seconds.
        self.watched = 0

    def ask(self, verb: Any) -> Any:
        return verb(lambda answer: None)

    def find(self, then: Any) -> SeenCrawl | None:
        return self._found

    def bury(self, session: str, counter: int, then: Any) -> None:
        self.buried.append((session, counter))

    def living(self, overview: object, found: SeenCrawl, *, until_dead: bool) -> tuple[str, ...]:
        assert (overview, found, until_dead) == (self, self._found, True)
        self.watched += 1
        return self._living


def check(folder: Path, redis: Any, before: SavedNode | None = None) -> EntryCheck:
    config = Config(output_dir=str(folder / "save"), state_dir=str(folder / "state"), node="a")
    return EntryCheck(redis, redis, CrawlAddress.of(ADDRESS), config, before)


@pytest.mark.parametrize(
    ("files", "stay"), [(None, ""), ([], ""), (["index.html"], "pages stay in {}, ")]
)
def test_a_crawl_that_is_gone_leaves_pages_only_where_some_are(
    tmp_path: Path, files: list[str] | None, stay: str
) -> None:
    folder = tmp_path / "save"
    for name in files or ():
        folder.mkdir()
        (folder / name).touch()
    if files == []:
        folder.mkdir()
    entry = check(tmp_path, Redis(), SavedNode("1234", "5a", "news"))
    with pytest.raises(UserError) as raised:
        entry.find(Start.RESUME, begins=True)
    said = str(raised.value)
    assert said.endswith(f"Redis has lost its data; {stay.format(folder)}--scratch begins anew")


@pytest.mark.parametrize(
    ("start", "begins", "why"),
    [
        (Start.AUTO, True, None),
        (Start.SCRATCH, True, None),
        (Start.RESUME, True, "there is no such crawl; --resume needs one"),
        (Start.AUTO, False, "there is no such crawl; give a URL or startUrl to begin it"),
        (Start.RESUME, False, "there is no such crawl; --resume needs one"),
    ],
)
def test_a_node_that_begins_a_crawl_makes_it(
    tmp_path: Path, start: Start, begins: bool, why: str | None
) -> None:
    entry = check(tmp_path, Redis())
    if why is None:
        assert entry.find(start, begins=begins) is None
        return
    with pytest.raises(UserError) as raised:
        entry.find(start, begins=begins)
    assert str(raised.value).endswith(f"/news: {why}")


@pytest.mark.parametrize("crawl", [None, "1234", "5678"])
@pytest.mark.parametrize(("before", "named"), [("1234", "news"), ("5678", "olds"), ("5678", "")])
def test_a_folder_belongs_to_one_crawl(
    tmp_path: Path, crawl: str | None, before: str, named: str
) -> None:
    """That of another address is told by its name."""
    name = named or "news"
    entry = check(tmp_path, Redis(crawl), SavedNode(before, "5a", name))
    if crawl == before:
        assert entry.find(Start.AUTO, begins=False) is not None
        return
    with pytest.raises(UserError) as raised:
        entry.find(Start.AUTO, begins=True)
    if name != "news":
        why = "state: holds a node of another crawl, olds; --scratch forgets it"
    elif crawl is None:
        why = "this crawl is gone: it was forgotten, or Redis has lost its data"
    else:
        why = "state: holds a node of another crawl; --scratch forgets it"
    assert why in str(raised.value)


#: A node of this name, others, and this very node in an earlier session.
SAME, OTHER, OWN = "a.6b-1", "b.6b-2", "a.5a-3"


@pytest.mark.parametrize("before", [None, SavedNode("1234", "5a", "news")])
@pytest.mark.parametrize(
    ("ended", "living", "refused", "watched"),
    [
        # It runs, or is not known to have ended.
        ((), ("a", "b"), True, 1),
        ((OTHER,), ("a",), True, 1),
        # It was killed, on another machine and on this one.
        ((), ("b",), False, 1),
        ((SAME,), ("b",), False, 0),
    ],
)
def test_a_name_belongs_to_one_node(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    before: SavedNode | None,
    ended: tuple[str, ...],
    living: tuple[str, ...],
    refused: bool,
    watched: int,
) -> None:
    monkeypatch.setattr(membership, "has_ended", lambda session: session in ended)
    redis = Redis("1234", OTHER, SAME, living=living)
    entry = check(tmp_path, redis, before)
    if refused:
        with pytest.raises(UserError, match=r"has a node a already; give this one another name"):
            entry.find(Start.AUTO, begins=False)
        assert redis.buried == []
    else:
        assert entry.find(Start.AUTO, begins=False) is not None
        assert redis.buried == [(SAME, 4)]
    assert redis.watched == watched


def test_of_two_that_had_a_name_one_may_live(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(membership, "has_ended", lambda session: session == SAME)
    redis = Redis("1234", SAME, "a.7c-9", living=("a",))
    with pytest.raises(UserError, match="has a node a already"):
        check(tmp_path, redis).find(Start.AUTO, begins=False)
    assert redis.watched == 1


def test_a_node_that_comes_back_is_not_watched_nor_buried(tmp_path: Path) -> None:
    redis = Redis("1234", OTHER, OWN, living=("a",))
    entry = check(tmp_path, redis, SavedNode("1234", "5a", "news"))
    assert entry.find(Start.AUTO, begins=False) is not None
    assert (redis.watched, redis.buried) == (0, [])
