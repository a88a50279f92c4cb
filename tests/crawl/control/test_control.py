"""The commands of the console, each sent to a running crawl. Times in seconds."""

import errno
from types import SimpleNamespace
from typing import Any

import pytest

from larbinpy import Start
from larbinpy.context import Tuning
from larbinpy.crawl.control import Control
from larbinpy.crawl.mode import Mode
from larbinpy.crawl.network import OTHER_FILES
from larbinpy.storage.queues import owed_urls
from larbinpy.storage.state import Checkpoints, State
from tests.support.contexts import make_context
from tests.support.ports import free_port
from tests.support.smallweb import Answer, Web, at_once
from tests.support.smallworld import Client, World, Worlds

pytest_plugins = ["tests.support.smallcrawls"]


class Operator:
    """Sends commands to the input port at given times, each in a session of its own."""

    def __init__(self, crawl: Worlds) -> None:
        self.crawls = crawl
        self._port = free_port()
        self._said: list[tuple[float, Client]] = []

    def at(self, seconds: float, *commands: str) -> Client:
        """Send `commands` when the crawl has run for `seconds`."""
        client = Client(self.crawls, self._port, "console", *commands, "quit")
        self._said.append((seconds, client))
        return client

    def crawl(self, *lines: str, **more: Any) -> World:
        more = {"watch": self.watch, **more}
        return self.crawls(f"inputPort {self._port}", *lines, **more)

    def watch(self, world: World) -> None:
        for seconds, client in self._said:
            if world.elapsed >= seconds:
                client.done()


@pytest.fixture
def operator(crawl: Worlds) -> Operator:
    return Operator(crawl)


@pytest.fixture
def chain(web: Web) -> Web:
    """a.test/0 -> a.test/1 -> ... -> a.test/9: by waitDuration 10, asked for at 10, 20..."""
    for n in range(9):
        web.page(f"a.test/{n}", f"/{n + 1}")
    web.pages("a.test/9")
    return web


CHAIN = ("waitDuration 10", "depthInSite 20")
#: No checkpoint but at the begin, at the end, and as it is asked for.
UNSAVED = Tuning(checkpoint=3600.0)
SEED = ["a.test/0"]


# set


def test_set_wait_duration(chain: Web, operator: Operator) -> None:
    said = operator.at(45, "set waitDuration 60")
    world = operator.crawl(*CHAIN, seeds=SEED)
    assert said.answers[0] == {"ok": True}
    # From the next request on; the one after that waits for it.
    expected = [10, 10, 10, 10, 60, 60, 60, 60, 60]
    assert world.gaps() == pytest.approx(expected, abs=0.02)


def test_set_wait_duration_shorter(chain: Web, operator: Operator) -> None:
    operator.at(45, "set waitduration 2")
    world = operator.crawl(*CHAIN, seeds=SEED)
    # The wait that goes on, too, is over two seconds from then on.
    assert world.gaps()[:3] == pytest.approx([10] * 3, abs=0.02)
    assert world.gaps()[3] == pytest.approx(7, abs=0.1)
    assert world.gaps()[-5:] == pytest.approx([2] * 5, abs=0.02)


def test_a_long_wait_does_not_outlive_the_setting(chain: Web, operator: Operator) -> None:
    said = operator.at(310, "set waitDuration 1", "status")
    world = operator.crawl("waitDuration 5m", "maxWait 10", "depthInSite 20", seeds=SEED)
    assert len(world.fetched) == 10
    assert world.elapsed < 325
    assert said.answers[1]["config"]["waitDuration"] == "1s"


def test_a_longer_wait_for_a_while_raises_max_wait_only_for_so_long(
    chain: Web, operator: Operator
) -> None:
    said = operator.at(25, "set waitDuration 1h", "status", "set waitDuration 1", "status")
    operator.crawl(*CHAIN, "maxWait 20", seeds=SEED)
    assert [said.answers[n]["config"]["maxWait"] for n in (1, 3)] == ["1h", "20s"]


def test_set_pages_connexions(web: Web, operator: Operator) -> None:
    hosts = [f"h{n}.test" for n in range(20)]
    web.pages(*[f"{host}/" for host in hosts], delay=10)
    operator.at(15, "set pagesConnexions 6")
    operator.at(35, "set pagesConnexions 1")
    lines = ("pagesConnexions 2", "waitBy site", "ignoreRobots")
    world = operator.crawl(*lines, seeds=[f"{host}/" for host in hosts])

    def open_at(seconds: float) -> int:
        now = world.started + seconds
        return sum(request.time < now < request.answered for request in world.asked)

    # Hosts that never answered before get half of the handles.
    assert [open_at(seconds) for seconds in (9, 19, 29, 55, 65)] == [1, 3, 3, 1, 1]
    assert (at_once(world.asked), len(world.fetched)) == (3, 20)


def test_set_more_pages_connexions_than_open_files_allow(chain: Web, operator: Operator) -> None:
    shown: list[tuple[str, int]] = []

    def note(world: World) -> None:
        operator.watch(world)
        now = (world.snapshot("config")["pagesConnexions"], world.snapshot("system")["handles"])
        if now not in shown:
            shown.append(now)

    said = operator.at(25, "set pagesConnexions 7", "set waitDuration 11", "set pagesConnexions 5")
    # Two descriptors a handle, beside those that other things need.
    few = Tuning(open_files=lambda wanted: OTHER_FILES + 2 * 6)
    world = operator.crawl(*CHAIN, "pagesConnexions 100", seeds=SEED, watch=note, tuning=few)
    assert [answer["ok"] for answer in said.answers[:3]] == [False, True, True]
    assert "at most 6: the limit of open files" in said.answers[0]["error"]
    assert "pagesConnexions is 6, not 100" in world.stderr.getvalue()
    assert shown == [("6", 6), ("5", 5)]


def test_set_bond_width(web: Web, operator: Operator) -> None:
    places = [f"a.test/{n}" for n in range(20)]
    web.page("a.test/", *[f"//{place}" for place in places])
    for place in places:
        web.put(place, Answer(b"<p>" + b"x" * 50_000))
    operator.at(10, "set bondWidth 1M")
    world = operator.crawl("bondWidth 10K")
    assert (len(world.fetched), 10 < world.elapsed < 15) == (21, True)


def test_set_bond_width_narrower(web: Web, operator: Operator) -> None:
    web.page("a.test/", *[f"/{n}" for n in range(20)])
    for n in range(20):
        web.put(f"a.test/{n}", Answer(b"<p>" + b"x" * 50_000))
    operator.at(30, "set bondWidth 10K")
    world = operator.crawl("waitDuration 2")
    # The last six pages take five seconds each, where two were enough; the very last is on credit.
    assert 30 + 5 * 5 - 3 < world.elapsed < 30 + 6 * 5 + 3
    assert world.gaps()[1:10] == pytest.approx([2] * 9, abs=0.02)


def test_set_limit_page(chain: Web, operator: Operator) -> None:
    operator.at(25, "set limitPage 4")
    world = operator.crawl(*CHAIN, seeds=SEED)
    assert (len(world.fetched), world.crawl.report["stop_reason"]) == (4, "limitPage")


def test_set_is_shown_and_what_cannot_be_set_is_refused(chain: Web, operator: Operator) -> None:
    commands = ("set limitPage x", "set lockSite on", "set speed 9", "set bondWidth 5M", "status")
    said = operator.at(25, *commands)
    operator.crawl(*CHAIN, seeds=SEED)
    wrong, fixed, unknown, right, status = said.answers[:5]
    assert (wrong["ok"], fixed["ok"], unknown["ok"], right["ok"]) == (False, False, False, True)
    assert "limitPage" in wrong["error"]
    assert "cannot change while a crawl runs" in fixed["error"]
    assert "speed" in unknown["error"]
    assert (status["config"]["bondWidth"], status["config"]["limitPage"]) == ("5M", "0")


# pause, resume, status


def test_pause_and_resume(chain: Web, operator: Operator) -> None:
    paused = operator.at(25, "pause", "status")
    resumed = operator.at(500, "resume", "status")
    world = operator.crawl(*CHAIN, seeds=SEED)
    times = [round(request.time - world.started) for request in world.pages_asked]
    assert times[:2] == [10, 20]
    assert times[2] == pytest.approx(500, abs=2)
    assert (len(times), len(world.fetched)) == (10, 10)
    assert [said.answers[1]["state"] for said in (paused, resumed)] == ["paused", "running"]


def test_transfers_in_flight_at_a_pause_are_kept(web: Web, operator: Operator) -> None:
    web.page("a.test/", "/next", delay=20)
    web.pages("a.test/next")
    operator.at(5, "pause")
    operator.at(100, "stop")
    world = operator.crawl("ignoreRobots")
    assert (world.fetched, len(world.asked), world.code) == ({"a.test/"}, 1, 11)


def test_status_is_the_snapshot_of_the_status_page(chain: Web, operator: Operator) -> None:
    said = operator.at(35, "status")
    operator.crawl(*CHAIN, seeds=SEED)
    status = said.answers[0]
    assert (status["totals"]["success"], status["totals"]["urls_queued"]) == (3, 1)
    assert status["sites"]["busiest"][0]["state"] == "open"
    assert (status["config"]["waitDuration"], status["queues"]["ip_sites"]) == ("10s", 1)


# add

SEEN = "it was seen before; larbinpy seed --again fetches it"


def test_add(chain: Web, operator: Operator) -> None:
    chain.page("b.test/", "/below")
    chain.pages("b.test/below")
    said = operator.at(25, f"add {chain.url('b.test/')} {chain.url('a.test/0')} ftp://b.test/")
    world = operator.crawl(*CHAIN, "lockSite", seeds=SEED)
    assert said.answers[0] == {
        "ok": False,
        "accepted": 1,
        "refused": [
            {"url": chain.url("a.test/0"), "reason": SEEN},
            {"url": "ftp://b.test/", "reason": "not a URL that can be crawled (http or https)"},
        ],
    }
    assert world.fetched >= {"b.test/", "b.test/below", "a.test/9"}


def test_added_seeds_are_saved_at_once(chain: Web, crawl: Worlds) -> None:
    """No page brings a seed back that a kill took."""
    operator = Operator(crawl)
    added = operator.at(25, f"add {chain.url('b.test/')}")
    owed: set[str] = set()

    def watch(world: World) -> None:
        operator.watch(world)
        if world.elapsed >= 28 and not owed:
            owed.update(url.href for url in owed_urls(State(world.folder / "state")))

    chain.pages("b.test/")
    lines = (*CHAIN, "maxConnexionsBySite 1", "waitBy ip")
    operator.crawl(*lines, seeds=SEED, watch=watch, tuning=UNSAVED)
    assert added.answers[0]["ok"]
    assert chain.url("b.test/") in owed


# explain


def test_explain(chain: Web, operator: Operator) -> None:
    chain.robots("a.test", "User-agent: *", "Disallow: /closed")
    chain.page("a.test/3", "/4", delay=5)
    places = ["a.test/3", "a.test/0", "a.test/closed", "b.test/"]
    flying = operator.at(42, *[f"explain {chain.url(place)}" for place in places], "explain :x")
    waiting = operator.at(47, f"explain {chain.url('a.test/4')}")
    operator.crawl(*CHAIN, seeds=SEED)
    three, zero, closed, unknown, wrong = flying.answers[:5]
    assert (three["state"], three["site"]["in_flight"]) == ("in flight", 1)
    assert (zero["state"], zero["reason"], zero["seen"]) == ("decided", "success", True)
    assert (zero["fate"]["status"], zero["fate"]["attempt"]) == (200, 1)
    assert (closed["state"], closed["reason"]) == ("refused", "forbiddenRobots")
    assert closed["line"] == "Disallow: /closed"
    assert (unknown["state"], unknown["seen"]) == ("never seen", False)
    assert (wrong["state"], wrong["reason"]) == ("refused", "badURL")
    four = waiting.answers[0]
    assert (four["state"], four["site"]["delay_s"]) == ("ready", 10.0)
    assert four["site"]["next_in_s"] <= 10
    assert (four["waits_for"], four["in_s"]) == ("politeness", pytest.approx(8, abs=1.5))
    assert four["until"].endswith("Z")


def test_explain_while_the_crawl_is_paused(chain: Web, operator: Operator) -> None:
    said = operator.at(45, "pause", f"explain {chain.url('a.test/4')}", "resume")
    operator.crawl(*CHAIN, seeds=SEED)
    assert said.answers[1]["paused"] is True


def test_explain_where_the_store_is_damaged(web: Web, operator: Operator) -> None:
    """A failed search does not end the crawl."""
    places = [f"a.test/{n}" for n in range(130)]
    web.page("a.test/", *[f"//{place}" for place in places])

    def damage(world: World) -> None:
        operator.watch(world)
        if world.elapsed >= 12:
            for path in (world.folder / "state").glob("urls.*"):
                path.write_bytes(b"x" * path.stat().st_size)

    commands = [f"explain {web.url(place)}" for place in places[10:40]]
    said = operator.at(15, *commands, "stop")
    operator.crawl("waitDuration 10", "maxUrlsBySite 4", watch=damage)
    # The crawl may come to the damage by itself.
    assert said.answers[0]["ok"] is False
    assert "damaged" in said.answers[0]["error"]


# save, stop


def owed(world: World) -> list[str]:
    return [url.href for url in owed_urls(State(world.folder / "state"))]


def test_save(chain: Web, operator: Operator) -> None:
    """The state on disk is then of that moment, though the crawl is not over."""
    seen: list[list[str]] = []
    said = operator.at(25, "save")

    def note() -> bool:
        seen.append(owed(operator.crawls.world))
        return True

    chain.page("a.test/5", "/6", until=note)
    operator.crawl(*CHAIN, seeds=SEED, tuning=UNSAVED)
    assert said.answers == [{"ok": True}, {"ok": True}]
    assert seen == [[chain.url("a.test/2")]]


def test_save_does_not_stop_the_loop(
    chain: Web, operator: Operator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The answer comes when the state is on the disk, some turns later."""
    turns: list[int] = []
    step = Checkpoints.step

    def slow(self: Checkpoints) -> None:
        turns.append(1)
        step(self)

    monkeypatch.setattr(Checkpoints, "step", slow)
    blocking: list[float] = []
    save = Checkpoints.save

    def noted(self: Checkpoints, now: float, *, ended: bool = False) -> None:
        blocking.append(now)
        save(self, now, ended=ended)

    monkeypatch.setattr(Checkpoints, "save", noted)
    said = operator.at(25, "save", "save")
    world = operator.crawl(*CHAIN, seeds=SEED, tuning=UNSAVED)
    assert said.answers == [{"ok": True}] * 3
    assert len(turns) > 10
    # At its begin and its end alone.
    assert len(blocking) == 2
    assert len(world.fetched) == 10


def test_save_on_a_full_disk_says_so(
    chain: Web, operator: Operator, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(self: Checkpoints) -> None:
        self._steps = None
        raise OSError(errno.ENOSPC, "No space left on device")

    step = Checkpoints.step
    fails = iter([True])
    monkeypatch.setattr(
        Checkpoints, "step", lambda self: full(self) if next(fails, False) else step(self)
    )
    said = operator.at(25, "save", "save")
    operator.crawl(*CHAIN, seeds=SEED, tuning=UNSAVED)
    assert [answer["ok"] for answer in said.answers] == [False, True, True]
    assert "disk" in said.answers[0]["error"]


def test_stop_saves_what_is_owed_for_the_next_run(chain: Web, operator: Operator) -> None:
    said = operator.at(42, "stop")
    chain.page("a.test/3", "/4", delay=5)
    world = operator.crawl(*CHAIN, seeds=SEED)
    assert said.answers[0] == {"ok": True}
    # Transfers in flight were completed first.
    assert world.fetched == {f"a.test/{n}" for n in range(4)}
    assert (world.code, world.crawl.report["stop_reason"]) == (11, "stopped")
    assert owed(world) == [chain.url("a.test/4")]
    again = operator.crawls(*CHAIN, seeds=[], folder=world.folder, start=Start.RESUME)
    assert again.kept == {f"a.test/{n}" for n in range(4, 10)}
    assert again.code == 0


def test_stop_gives_up_what_takes_longer_than_eight_seconds(web: Web, operator: Operator) -> None:
    web.page("a.test/", delay=25)
    operator.at(5, "stop")
    world = operator.crawl("ignoreRobots")
    assert (world.fetched, world.code) == (set(), 11)
    assert world.elapsed == pytest.approx(13, abs=1.1)
    assert owed(world) == [web.url("a.test/")]


# watch, and POST /control


def test_watch_until_the_crawl_ends(chain: Web, crawl: Worlds) -> None:
    """Watchers do not keep a crawl running; they get its last fate, too."""
    port = free_port()
    watching = [Client(crawl, port, "console", f"watch {word}") for word in ("/9", "SUCCESS")]

    def watch(world: World) -> None:
        if world.elapsed >= 25:
            for client in watching:
                client.done()

    world = crawl(f"inputPort {port}", *CHAIN, seeds=SEED, watch=watch)
    assert 100 < world.elapsed < 105
    for client in watching:
        client.finish()
    nine, successes = (client.answers[1:] for client in watching)
    assert nine == [world.fates["a.test/9"]]
    assert [fate["url"] for fate in successes] == [chain.url(f"a.test/{n}") for n in range(2, 10)]


def test_post_control(chain: Web, crawl: Worlds) -> None:
    port = free_port()
    posted: list[Client] = []

    def watch(world: World) -> None:
        if world.elapsed >= 25 and not posted:
            token = (world.folder / "state/token").read_text().strip()
            for secret in (token, "wrong"):
                body = f"command=explain {chain.url('a.test/0')}"
                posted.append(
                    Client(
                        crawl, port, "POST /control HTTP/1.1", "Host: 127.0.0.1",
                        f"Authorization: Bearer {secret}", f"Content-Length: {len(body)}",
                        "Content-Type: application/x-www-form-urlencoded", "", body,
                    )
                )  # fmt: skip
        for client in posted:
            client.done()

    world = crawl(f"httpPort {port}", *CHAIN, seeds=SEED, watch=watch)
    right, wrong = posted
    assert (right.answers[0]["state"], right.answers[0]["reason"]) == ("decided", "success")
    assert wrong.said.startswith(b"HTTP/1.1 401 ")
    assert len(world.fetched) == 10
    # The token is withdrawn with the crawl.
    assert not (world.folder / "state/token").exists()


def test_many_who_ask_take_turns(chain: Web, operator: Operator) -> None:
    said = [operator.at(45, *[f"explain {chain.url('a.test/1')}"] * 20) for _ in range(8)]
    world = operator.crawl(*CHAIN, seeds=SEED)
    for client in said:
        assert [answer["state"] for answer in client.answers[:20]] == ["decided"] * 20
    assert len(world.fetched) == 10


def test_seeds_are_refused_while_the_crawl_ends() -> None:
    """In its last seconds it finishes transfers only, so a seed would be lost."""
    unused: Any = None
    mode = Mode(draining=True)
    disk: Any = SimpleNamespace(saving=unused, log=unused)
    control = Control(make_context(), unused, mode, unused, unused, disk, unused, unused)
    assert control.add("http://a.test/") == "the crawl is ending"
