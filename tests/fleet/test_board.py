"""The board on a real Redis."""

import time
from functools import partial
from random import Random
from typing import Any

import pytest

from larbinpy.crawl.fleet.remote import Remote
from larbinpy.errors import UserError
from larbinpy.fleet.board import AreaLog
from larbinpy.fleet.vault import Answered, FleetState, SiteWait
from tests.support.fleetworld import Boards
from tests.support.redisserver import RedisServer
from tests.support.redisvault import commit_of

pytest_plugins = ["tests.support.fleetcrawls"]

SETTINGS = {"shards": "8", "limitPage": "limitPage 100"}


def test_a_crawl_is_found_and_never_made(boards: Boards) -> None:
    looking, node = boards(), boards()
    with pytest.raises(UserError, match=r"/it\d+: there is no such crawl"):
        looking.find()
    node.open(SETTINGS)
    found = looking.find()
    assert found.crawl.settings == SETTINGS
    assert found.crawl.state is FleetState.NEW
    assert found.started == 0
    begun = node.vault
    answers: list[object] = []
    begun.find(answers.append, begin=True)
    node.until(lambda: answers)
    found = looking.find()
    assert found.started == pytest.approx(found.now, abs=5)


def test_reports_stay_when_a_node_has_left(boards: Boards) -> None:
    node, looking = boards(), boards()
    node.begin("a.1", SETTINGS)
    looking.find()
    answers: list[object] = []
    node.vault.read(answers.append, "a", {"session": "a.1", "pages": 7})
    node.until(lambda: answers)
    board = looking.read()
    assert board.reports["a"].status == {"session": "a.1", "pages": 7}
    assert board.is_alive("a")
    node.quit("a.1")
    board = looking.read()
    assert board.reports["a"].status["pages"] == 7
    assert not board.is_member("a")


def test_a_node_of_a_crawl_that_was_replaced_does_not_report(
    boards: Boards, shared_redis: RedisServer
) -> None:
    node = boards()
    node.begin("a.1", SETTINGS)
    shared_redis("HSET", f"lb:{{{node.vault.name}}}:crawl", "id", "other")
    answers: list[Any] = []
    node.vault.read(answers.append, "a", {"session": "a.1", "pages": 7})
    node.until(lambda: answers)
    assert answers[0].reports == {}
    # Nor does it order, change, or draw anything.
    assert node.order("save") == node.change("limitPage", "5", 5) == ""
    assert node.draw("a", 5) is None
    assert boards().find().changed == {}


def test_an_order_reaches_each_node_and_their_answers_the_operator(boards: Boards) -> None:
    nodes, operator = [boards(), boards()], boards()
    heard: list[tuple[str, str, str]] = []
    for number, node in enumerate(nodes):
        name = f"n{number}"
        node.begin(name, SETTINGS)
        node.vault.on_order = lambda order, text, name=name: heard.append((name, order, text))  # type: ignore[misc]
    operator.find()
    order = operator.order("save")
    for number, node in enumerate(nodes):
        node.beat(f"n{number}")
        node.beat(f"n{number}")
    assert heard == [("n0", order, "save"), ("n1", order, "save")]
    for number, node in enumerate(nodes):
        node.vault.answer(order, {"node": number}, lambda _: None)
        node.pump()
    operator.until(lambda: len(operator.answers(order)) == 2)


def test_who_joins_later_does_not_get_old_orders_but_the_settings(boards: Boards) -> None:
    operator, node = boards(), boards()
    operator.open(SETTINGS)
    operator.change("waitDuration", "2.5", 100)
    heard: list[str] = []
    node.vault.on_order = lambda order, text: heard.append(text)
    node.begin("a", SETTINGS)
    node.beat("a")
    assert heard == []
    assert node.find().changed == {"waitDuration": "2.5"}


def test_shares_are_never_more_than_the_limit(boards: Boards) -> None:
    boards().open(SETTINGS)
    random = Random(4)
    nodes = [boards() for _ in range(3)]
    totals = dict.fromkeys(range(3), 0)
    for node in nodes:
        node.find()
    for _ in range(60):
        number = random.randrange(3)
        wanted = max(0, totals[number] + random.randint(-5, 20))
        drawn = nodes[number].draw(f"s{number}", wanted)
        assert nodes[number].draw(f"s{number}", drawn.total) == drawn, "not repeatable"
        totals[number] = drawn.total
        assert sum(totals.values()) + drawn.left == 100
        assert drawn.left >= 0
    nodes[0].change("limitPage", "150", 150)
    assert nodes[0].draw("s0", totals[0]).left == 150 - sum(totals.values())


def test_a_lower_limit_takes_nothing_back_that_was_drawn(boards: Boards) -> None:
    node, operator = boards(), boards()
    node.open(SETTINGS)
    operator.find()
    assert node.draw("a", 50) == (50, 50, 100)
    operator.change("limitPage", "30", 30)
    assert node.draw("a", 60) == (50, -20, 30)
    assert node.draw("b", 10) == (0, -20, 30)
    # Its node gives back what it has not fetched.
    assert node.draw("a", 25) == (25, 5, 30)
    assert node.draw("b", 10) == (5, 0, 30)


def test_the_time_of_a_crawl_begins_with_its_first_node(
    boards: Boards, shared_redis: RedisServer
) -> None:
    node = boards()
    node.open(SETTINGS)
    key = f"lb:{{{node.vault.name}}}:crawl"
    started = []
    for _ in range(2):
        answers: list[Any] = []
        node.vault.find(answers.append, begin=True)
        node.until(partial(bool, answers))
        started.append(answers[0].started)
        # A node that joins later does not begin it anew.
        shared_redis("HSET", key, "started", "1000")
    assert time.time() - 60 < started[0] and started[1] == 1000


def test_answers_are_kept_for_a_minute(boards: Boards, shared_redis: RedisServer) -> None:
    node = boards()
    node.begin("a", SETTINGS)
    order = node.order("save")
    node.vault.answer(order, {"node": "a"}, lambda _: None)
    assert node.answers(order) == [{"node": "a"}]
    assert 50 < shared_redis("TTL", f"lb:{{{node.vault.name}}}:answer:{order}") <= 60


def test_seeds_make_a_finished_crawl_run_again(boards: Boards) -> None:
    node, operator = boards(), boards()
    node.begin("a", SETTINGS)
    operator.find()
    node.declare(FleetState.NEW, FleetState.RUNNING)
    for _ in range(2):
        node.look()
    assert node.declare(FleetState.RUNNING, FleetState.FINISHED) is FleetState.FINISHED
    assert operator.seed({3: b"=seed"}) is FleetState.RUNNING
    assert node.look()[3].inbox == 1


def test_seeds_change_no_other_state(boards: Boards) -> None:
    node, operator = boards(), boards()
    node.begin("a", SETTINGS)
    operator.find()
    for before, after in (
        (FleetState.NEW, FleetState.PAUSED),
        (FleetState.PAUSED, FleetState.RUNNING),
        (FleetState.RUNNING, FleetState.STOPPED),
    ):
        assert operator.seed({3: b"=seed"}) is before
        assert node.declare(before, after) is after
    assert operator.seed({3: b"=seed"}) is FleetState.STOPPED


def test_a_crawl_does_not_finish_if_seeds_came_during_the_proof(boards: Boards) -> None:
    node, operator = boards(), boards()
    node.begin("a", SETTINGS)
    operator.find()
    node.declare(FleetState.NEW, FleetState.RUNNING)
    for _ in range(2):
        node.look()
    operator.seed({3: b"=seed"})
    # By now the looks have proven the end.
    assert node.declare(FleetState.RUNNING, FleetState.FINISHED) is FleetState.RUNNING
    for _ in range(2):
        operator.seed({3: b"=seed"})
        node.look()
    # The last seeds came between the two.
    assert node.declare(FleetState.RUNNING, FleetState.FINISHED) is FleetState.RUNNING
    for _ in range(2):
        node.look()
    assert node.declare(FleetState.RUNNING, FleetState.FINISHED) is FleetState.FINISHED


def test_the_area_is_known_before_letters_and_shards_are_taken(boards: Boards) -> None:
    logs = [AreaLog(), AreaLog()]
    first, second = map(boards, logs)
    applied: list[str] = []
    logs[1].apply = applied.append
    first.begin("a", SETTINGS)
    second.begin("b", SETTINGS)
    logs[0].note("host a.test")
    assert first.post({2: b"=letter"}) is Answered.DONE
    assert second.collect({2: 0}) == {2: [b"=letter"]}
    assert applied == ["host a.test"]
    logs[0].note("host b.test")
    first.post({2: b"=letter"})
    second.load(2, "")
    assert applied == ["host a.test", "host b.test"]
    # A node that takes nothing knows it soon: its own links may lead there.
    logs[0].note("host c.test")
    first.post({})
    second.beat("b")
    second.until(lambda: len(applied) == 3)


def test_a_large_area_comes_whole(boards: Boards) -> None:
    logs = [AreaLog(), AreaLog()]
    first, second = map(boards, logs)
    hosts = [f"host {number}.test" for number in range(2500)]
    for host in hosts:
        logs[0].note(host)
    first.begin("a", SETTINGS)
    first.post({})
    applied: list[str] = []
    logs[1].apply = applied.append
    second.begin("b", SETTINGS)
    assert applied == hosts


def test_a_crawl_is_forgotten_whole_and_only_if_nobody_runs(
    boards: Boards, shared_redis: RedisServer
) -> None:
    node = boards()
    node.begin("a.1", SETTINGS)
    name = node.vault.name
    node.post({2: b"=letter"})
    node.take(3, "", 0, "a.1")
    commit = commit_of(
        b"x" * 8, {0: b"=line"}, owing=1, counts={"p": 1}, waits={"a": SiteWait(9.0)}
    )
    assert node.commit(3, "a.1", 1, commit) is Answered.DONE
    node.vault.read(lambda answer: None, "a", {"session": "a.1"})
    node.order("save")
    node.draw("s", 5)
    join = f"redis://127.0.0.1:{shared_redis.port}/{name}"
    with Remote(join) as remote, pytest.raises(UserError, match=r"nodes run \(a\)"):
        remote.forget()
    shared_redis("HDEL", f"lb:{{{name}}}:nodes", "a")
    beaten = 0

    def watch_clock() -> float:
        """Beats while the sessions are watched."""
        nonlocal beaten
        beaten += 1
        node.beat("a.1")
        return time.monotonic()

    raises = pytest.raises(UserError, match="nodes run; stop them first")
    with Remote(join, watch_clock, watch=0.2) as remote, raises:
        remote.forget()
    assert beaten
    # Its process is gone, and nobody has buried it.
    with Remote(join, watch=0.1) as remote:
        remote.forget()
    assert [key for key in shared_redis("KEYS", "*") if name.encode() in key] == []


def test_forgetting_goes_on_where_it_was_interrupted(
    boards: Boards, shared_redis: RedisServer
) -> None:
    node, other = boards(), boards()
    node.begin("a.1", SETTINGS)
    node.post({2: b"=letter"})
    node.quit("a.1")
    assert node.clear({})
    join = f"redis://127.0.0.1:{shared_redis.port}/{node.vault.name}"
    with pytest.raises(UserError, match="fleet --forget"):
        other.find()
    assert node.beat("a.1") is Answered.GONE
    with Remote(join, forgets=True, watch=0.1) as remote:
        remote.forget()
    assert other.open(SETTINGS).created
    assert other.look()[2].inbox == 0
