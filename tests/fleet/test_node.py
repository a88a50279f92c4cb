"""One node, or a few, and single faults."""

from collections import Counter
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import Any

import pytest

from larbinpy.fleet.journal import pack
from larbinpy.fleet.vault import ABORT, Answered, Away, Behind, FleetState
from tests.support.fleetmodel import STEP, WAIT, Crawl, World, machine
from tests.support.memoryvault import MemoryVault


def running(nodes: int, seconds: float = 4.0, *, latency: float = 0.0) -> World:
    """A world whose nodes have joined and crawl."""
    world = World(7, pages=400, hosts=20)
    for _ in range(nodes):
        world.start(latency)
    go(world, seconds)
    return world


def go(world: World, seconds: float) -> None:
    until = world.now + seconds
    while world.now < until:
        world.step()


def owners(world: World) -> set[str]:
    return {shard.own for shard in world.engine.standings}


def is_fetching(crawl: Crawl) -> bool:
    return any(request.start is not None for request in crawl.flight)


def test_shards_are_shared_evenly_without_a_page_fetched_twice() -> None:
    world = running(3, 8.0)
    own = [shard.own for shard in world.engine.standings]
    assert sorted(own.count(name) for name in set(own)) == [4, 6, 6]
    world.start()
    world.run([])
    assert world.log.again == 0


def test_a_killed_node_is_replaced_within_8_seconds() -> None:
    for after in range(10):
        world = running(2, 6 + after / 10, latency=0.01)
        dead, other = world.crawls
        world.kill(dead)
        go(world, 8.0)
        assert owners(world) == {other.node.session}


def test_a_killed_node_of_this_machine_is_replaced_within_3_seconds() -> None:
    for after in range(10):
        world = running(3, 6 + after / 10, latency=0.01)
        neighbour, _, dead = world.crawls
        assert machine(neighbour.name) == machine(dead.name)
        world.kill(dead)
        go(world, 3.0)
        assert dead.node.session not in owners(world)


def test_a_node_that_leaves_is_replaced_at_once_and_repeats_nothing() -> None:
    world = running(2, 6.0)
    leaving, other = world.crawls
    leaving.flight.clear()
    leaving.node.leave()
    while not leaving.node.is_over:
        world.step()
    go(world, 2.5)
    assert owners(world) == {other.node.session}
    world.run([])
    assert world.log.again == 0


def test_a_node_with_nothing_to_do_sleeps() -> None:
    world = World(7, pages=400, hosts=20)
    for _ in range(2):
        world.start(0.0)
    one, other = world.crawls

    def sleeps(crawl: Crawl) -> bool:
        crawl.node.step(world.now)
        return crawl.node.deadline > world.now

    # Redis has not answered the join.
    for seconds in (0.0, 5.0, 3600.0):
        world.now = seconds
        assert sleeps(one) and not one.node.session
    go(world, 5.0)
    assert one.node.session and sleeps(one)
    # Nor does it answer the session.
    world.cut(one, 50.0)
    for _ in range(90):
        go(world, 0.5)
        assert sleeps(one)
    other.node.leave()
    other.flight.clear()
    while not other.node.is_over:
        assert sleeps(other)
        world.step()
    assert sleeps(other)


def test_a_node_does_at_its_deadline_what_is_due() -> None:
    """It would turn without a pause, if it began a moment later."""
    world = running(1, 6.0)
    [crawl] = world.crawls
    for _ in range(30):
        world.now = max(world.now, crawl.node.deadline)
        crawl.node.step(world.now)
        assert crawl.node.deadline > world.now
    crawl.flight.clear()
    crawl.node.leave()
    while not crawl.node.is_over:
        world.step()
    assert crawl.node.deadline == float("inf")


def test_a_node_that_cannot_join_asks_each_second(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(7, pages=400, hosts=20)
    world.start(0.0)
    [crawl] = world.crawls
    asked: list[float] = []

    def join(session: str, then: Callable[[Any], None]) -> None:
        asked.append(world.now)
        then(Away())

    monkeypatch.setattr(crawl.vault, "join", join)
    go(world, 5.0)
    assert 4 <= len(asked) <= 6
    assert min(after - before for before, after in pairwise(asked)) >= 1.0


def test_nodes_look_each_second_and_more_often_while_shards_move(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A look asks for each shard."""
    world = running(1, 10.0)
    [crawl] = world.crawls
    looks: list[float] = []
    look = crawl.vault.look

    def counted(then: Callable[[Any], None]) -> None:
        looks.append(world.now)
        look(then)

    monkeypatch.setattr(crawl.vault, "look", counted)
    monkeypatch.setattr(type(crawl.journal), "owes", False)
    go(world, 10.0)
    assert 8 <= len(looks) <= 12
    world.start()
    looks.clear()
    until = world.now + 3.0
    while world.now < until:
        world.step()
    assert len(looks) >= 5


def test_seeds_that_all_are_known_are_safe_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """A round without anything says so."""
    world = running(1, 6.0)
    [crawl] = world.crawls
    exchange = crawl.node._exchange
    safe: list[bool] = []
    exchange._seeded = lambda: safe.append(True)
    exchange.note_seeds()
    monkeypatch.setattr(type(crawl.journal), "has_news", False)
    go(world, 3.0)
    assert safe == [True]


def test_a_node_asks_once_to_be_no_member_any_more(monkeypatch: pytest.MonkeyPatch) -> None:
    world = running(1, 6.0)
    [crawl] = world.crawls
    quits: list[Callable[[Any], None]] = []
    monkeypatch.setattr(crawl.vault, "quit", lambda session, then: quits.append(then))
    crawl.flight.clear()
    crawl.node.leave()
    while not quits:
        assert world.now < 60.0
        world.step()
    assert crawl.node.deadline == float("inf")
    go(world, 2.0)
    assert len(quits) == 1
    quits[0](Answered.DONE)
    assert crawl.node.is_over


def test_a_node_that_leaves_before_it_has_joined_does_so_within_a_second() -> None:
    world = World(7, pages=400, hosts=20)
    world.start(60.0)
    [crawl] = world.crawls
    crawl.node.step(0.0)
    crawl.node.leave()
    assert crawl.node.deadline <= 1.0
    crawl.node.step(1.0)
    assert crawl.node.is_over


@pytest.mark.parametrize("seconds", [6.0, 6.1], ids=["its turn to send", "to collect"])
def test_a_node_that_leaves_writes_what_comes_after_its_last_shard(
    monkeypatch: pytest.MonkeyPatch, seconds: float
) -> None:
    """Seeds of an operator, for example, which are letters whoever has their hosts."""
    world = running(1, seconds)
    [leaving] = world.crawls
    post = leaving.vault.post
    posts: list[Callable[[], None]] = []
    leaving.node.leave()
    while owners(world) != {""}:
        world.step()
    monkeypatch.setattr(leaving.vault, "post", lambda *call: posts.append(partial(post, *call)))
    before = sum(shard.inbox for shard in world.engine.standings)
    leaving.journal.letter(3, "http://h1.test/late")
    go(world, 2.0)
    assert not leaving.node.is_over
    for send in posts:
        send()
    go(world, 1.0)
    assert leaving.node.is_over
    assert sum(shard.inbox for shard in world.engine.standings) == before + 1


def test_nodes_that_wait_for_redis_open_nothing_and_repeat_nothing() -> None:
    world = running(2, 6.0)
    for k, crawl in enumerate(world.crawls):
        world.cut(crawl, 60 + k)
    go(world, 5.0 + STEP)
    assert not any(crawl.node.may_open(world.now) for crawl in world.crawls)
    go(world, 0.5)
    assert not any(map(is_fetching, world.crawls))
    go(world, 54.0)
    assert not any(map(is_fetching, world.crawls))
    go(world, 4.0)
    until = world.now + 1.0
    # A node may have to wait for its turns just then.
    while not all(map(is_fetching, world.crawls)):
        assert world.now < until
        world.step()
    assert owners(world) == {"n1.1", "n2.1"}
    world.run([])
    # The request in flight was aborted, but that was no page yet.
    assert world.log.again == 0


def test_a_restart_of_redis_begins_another_session_which_rests_first() -> None:
    world = running(1, 6.0)
    [crawl] = world.crawls
    world.forget(0.0)
    go(world, 3.0)
    assert (crawl.node.session, crawl.node.lost) == ("n1.2", "Redis was restarted")
    assert not crawl.node.may_open(world.now)
    go(world, 5.5)
    assert crawl.node.may_open(world.now)
    world.run([])


def test_a_lost_session_is_no_member_and_hears_no_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    world = running(2, 6.0)
    [crawl, _] = world.crawls
    held: list[Callable[[Any], None]] = []
    monkeypatch.setattr(crawl.vault, "beat", lambda session, then: held.append(then))
    go(world, 1.0)
    monkeypatch.undo()
    world.has_faults = True
    crawl.node.lose("a commit was refused")
    go(world, 2 * STEP)
    # Its shards need not wait until it counts as dead.
    assert "n1.1" not in world.engine.sessions
    go(world, 2.0)
    held[0](Answered.GONE)
    go(world, 2.0)
    assert crawl.node.session == "n1.2"
    world.run([])


def test_all_requests_rest_for_the_longest_turn_after_a_restart() -> None:
    """One that was in flight may have ended just before: ABORT, and waitDuration."""
    world = running(1, 6.0)
    [crawl] = world.crawls
    world.forget(0.0)
    begun = world.now
    while not (crawl.node.session == "n1.2" and crawl.node.may_open(world.now)):
        assert world.now < 60.0
        world.step()
    assert ABORT + WAIT <= world.now - begun < ABORT + WAIT + 3 * STEP


def test_nothing_is_opened_once_redis_may_have_forgotten_turns(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The connection knows it before the next step of the node."""
    world = running(1, 6.0)
    [crawl] = world.crawls
    assert crawl.node.may_open(world.now)
    monkeypatch.setattr(crawl.vault, "_lost", "Redis was restarted")
    assert not crawl.node.may_open(world.now)


def test_what_is_in_flight_is_aborted_each_time_that_redis_is_away() -> None:
    world = running(1, 6.0)
    [crawl] = world.crawls
    for _ in range(2):
        while not is_fetching(crawl):
            world.step()
        for request in crawl.flight:
            request.end = float("inf")
        world.cut(crawl, 8.0)
        go(world, 6.0)
        assert not is_fetching(crawl)
        go(world, 4.0)


def test_a_state_that_was_not_declared_for_sure_is_declared_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = World(7, pages=30)
    world.start(0.0)
    [crawl] = world.crawls
    lost: list[Callable[[Any], None]] = []
    monkeypatch.setattr(crawl.vault, "declare", lambda old, new, then: lost.append(then))
    while not lost:
        assert world.now < 60.0
        world.step()
    monkeypatch.undo()
    lost.pop()(Away("the connection was lost"))
    go(world, 1.0)
    assert crawl.node.state is FleetState.RUNNING
    world.run([])


def test_a_shard_that_cannot_be_left_ends_the_session(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its number says that something was written which this node does not know."""
    world = running(1, 6.0)
    [crawl] = world.crawls
    world.has_faults = True

    def leave(shard: int, session: str, n: int, then: Callable[[Any], None]) -> None:
        crawl.vault.look(lambda look: then(Behind(99)))

    monkeypatch.setattr(crawl.vault, "leave", leave)
    crawl.node.leave()
    while not crawl.node.lost:
        assert world.now < 60.0
        world.step()
    assert "has number 99 instead of" in crawl.node.lost


def test_a_shard_is_left_when_the_vault_has_all_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    world = running(1, 6.0)
    [crawl] = world.crawls
    commit, leave = crawl.vault.commit, crawl.vault.leave
    held: list[Callable[[], None]] = []
    left: list[int] = []
    monkeypatch.setattr(crawl.vault, "commit", lambda *call: held.append(partial(commit, *call)))

    def leaves(shard: int, *rest: Any) -> None:
        left.append(shard)
        leave(shard, *rest)

    monkeypatch.setattr(crawl.vault, "leave", leaves)
    while not held:
        world.step()
    crawl.flight.clear()
    crawl.node.leave()
    go(world, 5.0)
    assert left == []
    monkeypatch.setattr(crawl.vault, "commit", commit)
    for send in held:
        send()
    go(world, 5.0)
    assert len(left) == len(world.engine.standings)


def test_a_node_tells_how_long_its_last_round_took() -> None:
    world = running(1, 6.0, latency=0.5)
    [crawl] = world.crawls
    lags = []
    for _ in range(100):
        world.step()
        lags.append(crawl.node.lag)
    assert 0.0 < min(lags) <= max(lags) < 3.0
    # The last one is over.
    while crawl.node._exchange.is_sending:
        world.step()
    lag = crawl.node.lag
    crawl.node.now += 60.0
    assert crawl.node.lag == lag


def test_letters_come_in_while_nothing_can_be_saved(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Crawl, "save", lambda crawl, now: None)
    world = running(1, 6.0)
    [crawl] = world.crawls
    assert crawl.journal.has_news
    url = "http://h3.test/new"
    shard = crawl.shard(url)
    before = crawl.journal.inbox_at()[shard]
    crawl.vault.post({shard: pack([url])}, lambda answer: None)
    go(world, 1.0)
    assert crawl.journal.inbox_at()[shard] == before + 1


def test_a_node_that_was_stopped_joins_under_another_name() -> None:
    world = running(2, 6.0)
    world.stop(world.crawls[0], 20.0)
    go(world, 22.0)
    assert world.crawls[0].node.session == "n1.2"
    assert "dead" in world.crawls[0].node.lost
    world.run([])


def test_a_node_that_was_stopped_sends_no_request_when_it_wakes() -> None:
    """A connection that was made meanwhile is ready before the node has looked at anything."""
    world = running(2, 6.0)
    [crawl, _] = world.crawls
    while not (unsent := [r for r in crawl.flight if r.due < float("inf") and r.start is None]):
        world.step()
    world.stop(crawl, 20.0)
    go(world, 21.0)
    assert not any(request.start for request in unsent)


def test_a_paused_crawl_opens_nothing_and_a_stopped_one_ends() -> None:
    world = running(2)
    crawl = world.crawls[0]
    crawl.vault.declare(FleetState.RUNNING, FleetState.PAUSED, lambda answer: None)
    go(world, 2.0)
    assert not any(crawl.node.may_open(world.now) for crawl in world.crawls)
    assert crawl.node.state is FleetState.PAUSED
    crawl.vault.declare(FleetState.PAUSED, FleetState.STOPPED, lambda answer: None)
    go(world, 30.0)
    assert not world.crawls
    assert owners(world) == {""}


def test_a_crawl_that_was_removed_ends_its_nodes() -> None:
    world = running(1)
    [crawl] = world.crawls
    world.remove()
    go(world, 3.0)
    assert crawl.node.is_over
    assert crawl.node.refused == "the crawl is gone"
    assert crawl.node.deadline == float("inf")


@pytest.mark.parametrize("seed", range(20))
def test_a_small_crawl_ends_within_4_seconds_of_its_last_page(seed: int) -> None:
    world = World(seed, pages=30)
    for _ in range(3):
        world.start(0.01)
    world.run([(3.0, "kill", 0, 0.0)])
    last = max(fetch.at for fetches in world.log.fetches.values() for fetch in fetches)
    assert world.now - last < 4.0


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize(("nodes", "most"), [(1, 1.4), (3, 1.8)])
def test_the_end_waits_for_no_pace(
    monkeypatch: pytest.MonkeyPatch, nodes: int, most: float, seed: int
) -> None:
    """A crawl saves its state when nothing is left, and else at intervals."""

    def save(crawl: Crawl, now: float) -> None:
        if now >= crawl.checkpoint_at or (crawl.is_spent and crawl.on_disk < crawl.journal.noted):
            crawl.checkpoint_at = now + 10.0
            crawl.on_disk = crawl.journal.cut()
            crawl.journal.tidy(crawl.on_disk)

    monkeypatch.setattr(Crawl, "save", save)
    world = World(seed, pages=30)
    for _ in range(nodes):
        world.start(0.01)
    while world.engine.state is not FleetState.FINISHED:
        world.step()
    last = max(fetch.at for fetches in world.log.fetches.values() for fetch in fetches)
    assert world.now - last < most


def test_looks_before_the_seeds_came_prove_no_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """Masters of a Cluster: one gets the seeds late, and another one answers late to a look."""
    world = World(7, hosts=20)
    world.start(0.0)
    [crawl] = world.crawls
    post, look = crawl.vault.post, crawl.vault.look
    posts: list[Callable[[], None]] = []
    looks: list[Callable[[], None]] = []
    monkeypatch.setattr(crawl.vault, "post", lambda *call: posts.append(partial(post, *call)))
    while not posts:
        world.step()

    def look_late(then: Callable[[Any], None]) -> None:
        look(lambda answer: looks.append(partial(then, answer)))

    monkeypatch.setattr(crawl.vault, "look", look_late)
    while not looks:
        world.step()
    looks.pop()()
    while not looks:
        world.step()
    monkeypatch.undo()
    for send in posts:
        send()
    while crawl.node.state is FleetState.NEW:
        world.step()
    looks.pop()()
    world.run([])
    assert len(world.log.fetches) == len(world.web.links)


def test_letters_are_not_collected_while_a_round_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    under_way: Counter[str] = Counter()

    def counted(name: str) -> Callable[..., None]:
        verb = getattr(MemoryVault, name)

        def count(*arguments: Any) -> None:
            *others, then = arguments

            def answered(answer: Any) -> None:
                under_way[name] -= 1
                then(answer)

            under_way[name] += 1
            assert not (under_way["collect"] and under_way["commit"])
            verb(*others, answered)

        return count

    for name in ("collect", "commit"):
        monkeypatch.setattr(MemoryVault, name, counted(name))
    world = running(1, 0.0, latency=0.5)
    world.run([])
    assert world.log.fetches
