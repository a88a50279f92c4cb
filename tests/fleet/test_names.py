"""Names that nodes share: what is asked where, and when; Redis is a fake."""

from collections.abc import Iterator

import pytest

from larbinpy.crawl.fleet.names import SharedCache
from larbinpy.crawl.network import ProxyNames
from larbinpy.dns.cache import Known
from larbinpy.dns.lookup import Answer
from tests.support.sharednames import TIME, FakeNames, NamesWorld

WWW = (("192.0.2.1",), None)
ABSENT = ((), "nxdomain")


@pytest.fixture
def redis() -> FakeNames:
    return FakeNames()


@pytest.fixture
def one(redis: FakeNames) -> Iterator[NamesWorld]:
    with NamesWorld(redis) as world:
        yield world


@pytest.fixture
def two(redis: FakeNames) -> Iterator[NamesWorld]:
    with NamesWorld(redis) as world:
        yield world


def test_a_name_is_asked_once_by_all(one: NamesWorld, two: NamesWorld) -> None:
    assert one.get("www.test") == WWW
    assert one.reported == [Answer("www.test", *WWW)]
    assert two.get("WWW.test.") == two.get("www.test") == WWW
    assert (one.asked, two.asked) == (["www.test"], [])
    assert two.reported == [], "it is not new to the outputs"
    assert two.redis.found == ["www.test", "www.test"], "known locally the second time"
    assert two.it.stats()["cached"] == 2


def test_several_addresses_and_six_octet_groups(one: NamesWorld, two: NamesWorld) -> None:
    many = one.get("many.test")
    assert len(many[0]) == 8 and two.get("many.test") == many
    assert one.get("six.test") == two.get("six.test") == (("2001:db8::1",), None)
    assert two.asked == []


def test_what_needs_no_server_is_not_looked_up(one: NamesWorld) -> None:
    assert one.get("192.0.2.5") == (("192.0.2.5",), None)
    assert one.get("[::1]") == (("::1",), None)
    assert one.get("known.test") == (("192.0.2.99",), None)
    assert one.get("not a name") == ((), "badname")
    one.names.expect(["192.0.2.5", "known.test", "not a name"], one.now)
    assert one.redis.found == []


def test_an_address_expires_for_all(one: NamesWorld, two: NamesWorld) -> None:
    one.get("www.test")
    two.now += TIME - 120
    two.get("www.test")
    two.now += 121
    assert two.get("www.test") == WWW
    assert two.asked == ["www.test"]


def test_a_clock_that_is_late_does_not_make_addresses_last(
    one: NamesWorld, two: NamesWorld
) -> None:
    one.ahead = 1e6
    one.get("www.test")
    two.get("www.test")
    two.now += TIME + 61
    two.get("www.test")
    assert two.redis.found.count("www.test") == 3
    assert one.redis.known["www.test"].until > two.now + 1e9


def test_refresh_asks_the_servers_and_tells_the_others(one: NamesWorld, two: NamesWorld) -> None:
    one.get("www.test")
    two.servers[0].zone["www.test"] = ["192.0.2.2"]
    assert two.get("www.test", refresh=True) == (("192.0.2.2",), None)
    assert one.redis.known["www.test"].addresses == ("192.0.2.2",)
    two.servers[0].zone["www.test"] = ["192.0.2.1"]


def test_spellings_and_repeated_questions_get_an_answer_each(one: NamesWorld) -> None:
    for name in ("www.test", "WWW.TEST", "www.test"):
        assert one.names.ask(name, one.now) is None
    assert one.names.room == one.it.room - 1
    assert one.redis.found == ["www.test"]
    answers: list[Answer] = []
    for _ in range(100):
        one.redis.answer()
        answers += one.names.step(one.now, one.reported.append)
        one.poller.wait(0.01)
    assert sorted(answer.name for answer in answers) == ["WWW.TEST", "www.test"]
    assert one.names.room == one.it.room


def test_names_looked_up_in_advance(one: NamesWorld, two: NamesWorld) -> None:
    one.get("www.test")
    two.names.expect(["www.test", "many.test", "absent.test"], two.now)
    assert two.names.room == two.it.room, "they take no room"
    two.redis.answer()
    for _ in range(50):
        assert two.names.step(two.now, two.reported.append) == []
        two.poller.wait(0.01)
    assert sorted(two.asked) == ["absent.test", "many.test"]
    assert two.get("www.test") == WWW
    assert len(two.get("many.test")[0]) == 8
    two.second()
    assert two.redis.messages == [["absent.test"]]
    # One that is asked for meanwhile takes room.
    two.names.expect(["alias.test"], two.now)
    assert two.names.ask("alias.test", two.now) is None
    assert two.names.room == two.it.room - 1
    assert two.get("alias.test") == WWW


def test_no_more_names_are_looked_up_in_advance_than_there_is_room_for(one: NamesWorld) -> None:
    names = (f"{number}.test" for number in range(2000))
    one.names.expect(names, one.now)
    assert len(one.redis.found) == 1000
    assert next(names) == "1001.test", "the others are not looked at"
    assert one.names.ask("www.test", one.now) is None
    assert one.redis.found[-1] == "www.test"


def test_absent_names_are_known_to_all(one: NamesWorld, two: NamesWorld) -> None:
    assert one.get("no.test") == ABSENT
    one.second()
    two.second()
    assert two.get("no.test") == ABSENT
    assert (one.asked, two.asked) == (["no.test"], [])
    assert one.redis.messages == [["no.test"]], "told once"
    one.second()
    assert len(one.redis.messages) == 1


def test_absences_of_others_do_not_change_what_a_node_knows(
    one: NamesWorld, two: NamesWorld
) -> None:
    two.get("www.test")
    one.redis.messages.append(["www.test", "other.test"])
    two.second()
    assert two.get("www.test") == WWW
    assert two.get("other.test") == ABSENT


def test_addresses_of_others_do_not_change_what_a_node_knows() -> None:
    """They were on their way when its own name servers answered."""
    mine, theirs = ("192.0.2.1",), ("192.0.2.2",)
    cache = SharedCache(100, 100, TIME)
    cache.put("www.test", mine, 100.0, 0.0)
    cache.adopt("www.test", theirs, TIME, 0.0)
    assert cache.get("www.test", 0.0) == Known(mine, None)
    cache.adopt("www.test", theirs, TIME, 300.0)
    assert cache.get("www.test", 300.0) == Known(theirs, None)


def test_many_absences_go_at_once(one: NamesWorld) -> None:
    one.names.step(one.now, one.reported.append)
    for number in range(51):
        one.cache.put_absence(f"{number}.test", one.now)
    one.names.step(one.now, one.reported.append)
    assert [len(names) for names in one.redis.messages] == [50, 1]
    # Few wait for others, but not long.
    one.cache.put_absence("few.test", one.now)
    one.redis.answer()
    one.names.step(one.now, one.reported.append)
    assert len(one.redis.messages) == 2
    assert one.names.deadline == one.now + 0.2
    # Those that come meanwhile do not make them wait longer.
    one.now += 0.1
    one.cache.put_absence("more.test", one.now)
    one.names.step(one.now, one.reported.append)
    one.now += 0.1
    one.names.step(one.now, one.reported.append)
    assert one.redis.messages[2:] == [["few.test", "more.test"]]


def test_redis_with_trouble_is_not_asked(one: NamesWorld) -> None:
    one.redis.trouble = "Redis is away"
    one.names.step(one.now, one.reported.append)
    assert one.get("www.test") == WWW
    assert one.get("no.test") == ABSENT
    one.second()
    assert (one.redis.found, one.redis.known, one.redis.messages) == ([], {}, [])
    one.redis.trouble = ""
    one.second()
    one.get("many.test")
    assert one.redis.found == ["many.test"]
    assert list(one.redis.known) == ["many.test"], "what was found before is not told late"


def test_absences_are_read_until_there_are_no_more(one: NamesWorld) -> None:
    one.redis.messages.append(["no.test"])
    one.names.step(one.now, one.reported.append)
    one.redis.answer()
    assert one.names.deadline == 0.0
    one.names.step(one.now, one.reported.append)
    one.redis.answer()
    assert one.names.deadline == one.now + 1.0


def test_a_node_that_joins_knows_the_absences_that_still_count(one: NamesWorld) -> None:
    begun = one.now + 1e9
    one.redis.messages.append(["no.test"])
    for _ in range(2):
        one.second()
    assert one.redis.cursors == [str(int((begun - TIME) * 1000)), "1", "1"]


def test_a_connection_that_ends(one: NamesWorld) -> None:
    one.redis.away = True
    assert one.get("www.test") == WWW
    one.second()
    assert one.asked == ["www.test"]


def test_redis_that_is_late_is_not_waited_for(one: NamesWorld) -> None:
    one.names.step(one.now, one.reported.append)
    one.redis.answer()
    assert one.names.ask("www.test", one.now) is None
    one.names.expect(["many.test"], one.now)
    one.names.step(one.now, one.reported.append)
    deadline = one.names.deadline
    assert deadline == one.now + 0.5
    one.now = deadline
    answers: list[Answer] = []
    for _ in range(50):
        answers += one.names.step(one.now, one.reported.append)
        one.poller.wait(0.01)
    assert answers == [Answer("www.test", *WWW)]
    # Nothing more is sent, or told, until it answers.
    one.redis.pending, late = [], one.redis.pending
    assert one.get("alias.test") == WWW
    assert one.redis.found == ["www.test", "many.test"]
    assert one.redis.known == {}
    one.redis.pending = late
    one.redis.answer()
    assert one.names.deadline == 0.0
    one.names.step(one.now, one.reported.append)
    one.get("both.test")
    assert one.redis.found[-1] == "both.test"


def test_the_deadline_is_that_of_what_comes_first(one: NamesWorld) -> None:
    one.names.step(one.now, one.reported.append)
    one.redis.answer()
    assert one.names.deadline == one.now + 1.0
    one.names.ask("www.test", one.now)
    assert one.names.deadline == one.now + 0.5
    one.redis.answer()
    assert one.names.deadline == 0.0
    one.names.step(one.now, one.reported.append)
    assert one.names.deadline == one.it.deadline


def test_behind_a_proxy_direct_hosts_are_shared(one: NamesWorld) -> None:
    names = ProxyNames(one.names, one.it.at_hand, lambda name: name == "www.test")
    assert names.ask("www.test", one.now) is None
    assert one.redis.found == ["www.test"]
    assert names.ask("many.test", one.now) == Answer("many.test", ("proxy:many.test",), None)
    assert names.ask("known.test", one.now) == Answer("known.test", ("192.0.2.99",), None)
