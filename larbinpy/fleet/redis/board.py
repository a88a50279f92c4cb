"""The board on Redis, beside the vault: reports and orders, limits, seeds and their area.

lb:{N}:crawl     more fields: started, seeded (number of additions), `set:KEY` -> changed settings
lb:{N}:nodes     hash: name of a node -> time of its report, and the report
lb:{N}:answer:I  list: answers to order I
lb:{N}:pages     hash: limit, left, `of:SHARE` -> pages that a node has drawn
lb:{N}:hosts     sorted set: entries of the area of seeds, by the order in which they came
"""

import json
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from larbinpy.errors import UserError
from larbinpy.fleet.area import AreaLog
from larbinpy.fleet.board import Board, Drawn, Found, Report
from larbinpy.fleet.redis.board_scripts import (
    ANSWER,
    CHANGE,
    CLEAR,
    CLEARED,
    DRAW,
    EXTEND,
    FIND,
    FINISH,
    ORDER,
    READ,
    SEEDED,
)
from larbinpy.fleet.redis.client import Client
from larbinpy.fleet.redis.forgetting import Forgetting
from larbinpy.fleet.redis.vault import FORMAT, RedisVault
from larbinpy.fleet.redis.wire import pack
from larbinpy.fleet.vault import Away, Crawl, CrawlState, Part, Present, Standing, Then, Verdict

#: Entries of the area in one command.
_ENTRIES = 1000
_NO_CRAWL = "there is no such crawl; larbinpy crawl --join makes one"


class RedisBoard(RedisVault):
    """A vault with its board.

    `area`, if given, is kept the same on all nodes: news go out before letters, and those of
    others come in before the letters and shards that this node takes.
    """

    def __init__(self, client: Client, area: AreaLog | None = None) -> None:
        super().__init__(client)
        self.area = area
        #: Called with the id and the text of each order.
        self.on_order: Callable[[str, str], None] = lambda order, text: None
        stem = self._keys.crawl.removesuffix(b"crawl")
        self._nodes, self._pages, self._hosts = (
            stem + name for name in (b"nodes", b"pages", b"hosts")
        )
        self._answer = stem + b"answer:"
        # Numbers of additions of seeds, read before the last look and before the one before.
        self._additions: tuple[bytes, bytes] = (b"", b"")

    def __repr__(self) -> str:
        return f"<RedisBoard {self.client.address}>"

    # -- the crawl

    def find(self, then: Then[Found], *, begin: bool = False, cleared: bool = False) -> None:
        """Find the crawl. `step` raises UserError if there is none.

        `begin`: its time begins now, if it has not; `cleared`: find also what `clear` has left.
        """

        def found(reply: Any) -> Found:
            fields = _table(reply[0])
            if not fields.get("id"):
                raise UserError(f"{self.client.address}: {_NO_CRAWL}")
            if fields["format"] != FORMAT and not (cleared and fields["format"] == CLEARED):
                raise UserError(f"{self.client.address}: {_of_format(fields['format'])}")
            settings = json.loads(fields["settings"])
            self._id, self._shards = fields["id"], int(settings["shards"])
            self._runs = set(fields.get("runs", "").split())
            crawl = Crawl(self._id, settings, CrawlState(fields["state"]), created=False)
            changed = {
                name.removeprefix("set:"): text
                for name, text in fields.items()
                if name.startswith("set:")
            }
            return Found(crawl, changed, float(fields.get("started", 0)), float(reply[1]))

        data = FIND.call(self._keys.crawl, int(begin))
        self.client.when_open(partial(self._send, data, then, found))

    @property
    def name(self) -> str:
        """The name of the crawl."""
        return self.client.address.name

    # -- reports

    def read(
        self, then: Then[Board], name: str = "", report: Mapping[str, Any] | None = None
    ) -> None:
        """All reports; before that, put up the `report` of the node `name`."""

        def board(reply: Any) -> Board:
            state, sessions, reports, limit, left, now = reply
            return Board(
                CrawlState(state.decode()),
                {session: int(counter) for session, counter in _table(sessions).items()},
                {node: _report(text, float(now)) for node, text in sorted(_table(reports).items())},
                int(limit or 0),
                int(left or 0),
            )

        keys = (self._keys.crawl, self._keys.beats, self._nodes, self._pages)
        text = "" if report is None else json.dumps(report, separators=(",", ":"))
        self._send(READ.call(*keys, self._id, name, text), then, board)

    # -- orders

    def beat(self, session: str, then: Then[Present | Verdict]) -> None:
        def beaten(answer: Present | Verdict | Away) -> None:
            if isinstance(answer, Present):
                for order, text in answer.orders:
                    self.on_order(order, text)
            then(answer)

        super().beat(session, beaten)
        self._after_area(_ignore)(None)

    def order(self, text: str, then: Then[str]) -> None:
        """Give an order to all nodes; the answer is its id."""
        data = ORDER.call(self._keys.crawl, self._keys.orders, self._id, text)
        self._send(data, then, bytes.decode)

    def change(self, key: str, value: str, pages: int | None, before: int, then: Then[str]) -> None:
        """Change a setting of all nodes; as `order`.

        `pages`: the new limitPage, if it is that; `before` is the one that the crawl was made with.
        """
        keys = (self._keys.crawl, self._keys.orders, self._pages)
        text = f"set {key} {value}"
        limit = "" if pages is None else pages
        data = CHANGE.call(*keys, self._id, key, value, text, limit, before)
        self._send(data, then, bytes.decode)

    def answer(self, order: str, answer: Mapping[str, Any], then: Then[None]) -> None:
        """Put up an answer for a minute; one that comes twice counts once."""
        data = ANSWER.call(self._answer + order.encode(), json.dumps(answer))
        self._send(data, then, _ignore)

    def answers(self, order: str, then: Then[list[dict[str, Any]]]) -> None:
        data = pack("LRANGE", self._answer + order.encode(), 0, -1)
        self._send(data, then, lambda found: [json.loads(text) for text in found])

    # -- limits

    def draw(self, share: str, total: int, limit: int, then: Then[Drawn | None]) -> None:
        """Draw pages of limitPage until the share has `total`, or give back those above.

        `limit` is the one that the crawl was made with. None if the crawl does not exist.
        """
        data = DRAW.call(self._keys.crawl, self._pages, self._id, share, total, limit)
        self._send(data, then, lambda reply: None if reply is None else Drawn(*reply))

    # -- seeds, and the end

    def seed(self, letters: Mapping[int, bytes], then: Then[CrawlState]) -> None:
        """Post seeds; a finished crawl then runs again."""

        def posted(answer: Verdict | Away) -> None:
            if isinstance(answer, Away):
                then(answer)
                return
            data = SEEDED.call(self._keys.crawl, self._id)
            self._send(data, then, lambda reply: CrawlState(reply.decode()))

        self.post(letters, posted)

    def look(self, then: Then[Sequence[Standing]]) -> None:
        def known(number: Any) -> None:
            def looked(answer: Sequence[Standing] | Away) -> None:
                if not isinstance(answer, Away):
                    self._additions = self._additions[1], number or b"0"
                then(answer)

            if isinstance(number, Away):
                then(number)
            else:
                RedisVault.look(self, looked)

        data = pack("HGET", self._keys.crawl, "seeded")
        self._send(data, known, lambda number: number)

    def declare(self, old: CrawlState, new: CrawlState, then: Then[CrawlState]) -> None:
        if new is not CrawlState.FINISHED:
            super().declare(old, new, then)
            return
        # Two looks have proven the end, unless seeds came since before the first of them.
        data = FINISH.call(self._keys.crawl, self._id, old.value, new.value, self._additions[0])
        self._send(data, then, lambda reply: CrawlState(reply.decode()))

    # -- the area of the seeds

    def join(self, session: str, then: Then[Present | Verdict]) -> None:
        if self.area is not None:
            self.area.begin()
        super().join(session, self._after_area(then))

    def load(self, shard: int, cursor: str, then: Then[Part]) -> None:
        super().load(shard, cursor, then if cursor else self._after_area(then))

    def collect(
        self, positions: Mapping[int, int], then: Then[Mapping[int, Sequence[bytes]]]
    ) -> None:
        after = self._after_area(then)

        def collected(letters: Mapping[int, Sequence[bytes]] | Away) -> None:
            (after if letters else then)(letters)

        super().collect(positions, collected)

    def post(self, letters: Mapping[int, bytes], then: Then[Verdict]) -> None:
        def published(answer: Any) -> None:
            if isinstance(answer, Away):
                then(answer)
            else:
                RedisVault.post(self, letters, then)

        self._publish(published)

    def _publish(self, then: Then[None]) -> None:
        """Put up the news of the area."""
        news = self.area.news(_ENTRIES) if self.area is not None else []
        if self.area is None or not news:
            then(None)
            return
        area = self.area

        def added(answer: Any) -> None:
            if isinstance(answer, Away):
                then(answer)
            else:
                area.published(len(news))
                self._publish(then)

        data = EXTEND.call(self._keys.crawl, self._hosts, self._id, *news)
        self._send(data, added, lambda reply: reply)

    def _after_area(self, then: Then[Any]) -> Then[Any]:
        """`then`, which is called when the area has what other nodes have put up."""
        area = self.area
        if area is None:
            return then

        def read(answer: Any, reply: Any) -> None:
            if isinstance(reply, Away):
                then(reply)
                return
            area.take([entry.decode() for entry in reply[::2]], int(reply[-1]) if reply else 0)
            if len(reply) == 2 * _ENTRIES:
                ask(answer)
            else:
                then(answer)

        def ask(answer: Any) -> None:
            if isinstance(answer, Away):
                then(answer)
                return
            place = (self._hosts, f"({area.position}", "+inf", "WITHSCORES", "LIMIT", 0, _ENTRIES)
            self._send(pack("ZRANGEBYSCORE", *place), partial(read, answer), lambda reply: reply)

        return ask

    # -- the last of a crawl

    def clear(self, sessions: Mapping[str, int], then: Then[bool]) -> None:
        """Remove what nodes need to join; False if the sessions are others than these by now.

        What is left is removed by `remove`; no crawl of this name can be made before.
        """
        pairs = [text for pair in sorted(sessions.items()) for text in pair]
        data = CLEAR.call(self._keys.crawl, self._keys.beats, self._id, *pairs)
        self._send(data, then, bool)

    def remove(self, then: Then[None]) -> None:
        """Remove all keys of a cleared crawl."""
        Forgetting(self.client, self._keys, self.name, then)


def _table(flat: Sequence[bytes]) -> dict[str, str]:
    texts = [text.decode() for text in flat]
    return dict(zip(texts[::2], texts[1::2], strict=True))


def _report(text: str, now: float) -> Report:
    time, _, status = text.partition(" ")
    return Report(max(0.0, now - float(time)), json.loads(status))


def _of_format(form: str) -> str:
    if form == CLEARED:
        return "is being forgotten; larbinpy fleet --forget goes on with that"
    return f"made by another version of larbinpy (format {form}, not {FORMAT})"


def _ignore(_: object) -> None:
    pass
