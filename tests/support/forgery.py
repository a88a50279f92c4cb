"""Forged answers, any number of them, to questions whose true replies are delayed.

Each is right except for one of the properties that an answer must match (RFC 5452 section 9.1). So
a resolver that does not check one of them is detected at once, not once in a million.
"""

import socket
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from random import Random, SystemRandom

from larbinpy.dns.cache import NameCache
from tests.support.nameserver import FALSE_ADDRESS, PlainServer, address_of, plain_answer
from tests.support.resolverworld import World

#: Forgeries sent before the resolver reads them: as many as the kernel keeps for one socket.
_BURST = 128


@dataclass
class Question:
    """A question that left the resolver: the message, and the port it came from."""

    packet: bytes
    port: int

    @property
    def id(self) -> int:
        return int.from_bytes(self.packet[:2], "big")

    def answer(self, ident: int | None = None, section: bytes | None = None) -> bytes:
        """A false reply, with another id or another question."""
        packet = (self.id if ident is None else ident).to_bytes(2, "big") + self.packet[2:12]
        return plain_answer(packet + (section or self.packet[12:]), FALSE_ADDRESS)


@dataclass
class Outcome:
    """The results of `sent` forgeries."""

    sent: int
    #: Those that the resolver rejected.
    rejected: int
    #: Names with the false address, in an answer or in the cache, or without an answer.
    fooled: list[str]
    resolved: int


class Forger:
    """A forger who knows everything about each question; one property of each packet is wrong."""

    def __init__(self, server: PlainServer, dice: Random) -> None:
        self._server = server
        self._dice = dice
        self._questions = [
            Question(packet, port)
            for packet, (_, port) in zip(server.packets, server.sources, strict=True)
        ]
        self._ports = sorted({question.port for question in self._questions})
        self._right = {(question.port, question.id) for question in self._questions}
        self._elsewhere = [_udp("127.0.0.1", 0), _udp("127.0.0.2", server.address[1])]
        self._kinds: list[Callable[[Question], None]] = [
            self._guessed_id,
            self._guessed_id_and_port,
            self._anothers_id,
            self._another_port,
            self._another_source,
            self._another_case,
            self._another_question,
            self._another_type,
        ]

    def send(self) -> None:
        self._dice.choice(self._kinds)(self._dice.choice(self._questions))

    def close(self) -> None:
        for sock in self._elsewhere:
            sock.close()

    def _another(self) -> Question:
        return self._dice.choice(self._questions)

    def _guessed_id(self, question: Question) -> None:
        ident = self._dice.getrandbits(16)
        if ident != question.id:
            self._server.send(question.answer(ident), question.port)
        else:
            self._another_port(question)

    def _guessed_id_and_port(self, question: Question) -> None:
        ident, port = self._dice.getrandbits(16), self._dice.choice(self._ports)
        if (port, ident) not in self._right:
            self._server.send(question.answer(ident), port)
        else:
            self._another_port(question)

    def _anothers_id(self, question: Question) -> None:
        """The id and the port of another question."""
        other = self._another()
        if other.packet != question.packet:
            self._server.send(question.answer(other.id), other.port)
        else:
            self._another_port(question)

    def _another_port(self, question: Question) -> None:
        ports = [port for port in self._ports if (port, question.id) not in self._right]
        self._server.send(question.answer(), self._dice.choice(ports))

    def _another_source(self, question: Question) -> None:
        """From another port of the server's machine, or from its port on another machine."""
        source = self._dice.choice(self._elsewhere)
        source.sendto(question.answer(), ("127.0.0.1", question.port))

    def _another_case(self, question: Question) -> None:
        section = bytearray(question.packet[12:])
        letters = [at for at, octet in enumerate(section) if chr(octet).isalpha()]
        for at in self._dice.sample(letters, self._dice.randint(1, len(letters))):
            section[at] ^= 0x20
        self._server.send(question.answer(section=bytes(section)), question.port)

    def _another_question(self, question: Question) -> None:
        """The right id at the right port, and another name with a false address."""
        other = self._another().packet[12:]
        if other != question.packet[12:]:
            self._server.send(question.answer(section=other), question.port)
        else:
            self._another_type(question)

    def _another_type(self, question: Question) -> None:
        section = question.packet[12:-3] + b"\x0f" + question.packet[-2:]
        self._server.send(question.answer(section=section), question.port)


def forge(count: int, names: int, seed: int) -> Outcome:
    """Send `count` forgeries to a resolver that waits for `names` names, and then the truth."""
    with World() as world:
        server = world.server(kind=PlainServer)
        assert isinstance(server, PlainServer)
        world.cache = NameCache(2 * names, names, 3600.0)
        it = world.resolver(in_flight=names, send_queue=names, rng=SystemRandom())
        _make_known_that_case_is_kept(world)
        wanted = [f"www.victim{number}.test" for number in range(names)]
        ask_in_vain(world, server, wanted)
        before = it.stats()["rejected"]
        with closing(Forger(server, Random(seed))) as forger:
            for start in range(0, count, _BURST):
                for _ in range(min(_BURST, count - start)):
                    forger.send()
                _take_in(world)
        rejected = it.stats()["rejected"] - before
        fooled = {answer.name for answer in world.answers}
        fooled |= {name for name in wanted if world.cache.get(name, world.now) is not None}
        server.answer_all()
        answers = {answer.name: answer.addresses for answer in world.run()}
        assert it.stats()["resent"] == 0
        for name in wanted:
            known = it.ask(name, world.now)
            told = {answers.get(name), known and known.addresses}
            if told != {(address_of(name),)}:
                fooled.add(name)
        return Outcome(count, rejected, sorted(fooled), len(answers))


def _make_known_that_case_is_kept(world: World) -> None:
    world.resolve("learn-that-case-is-kept.test")
    assert world.it.stats()["servers"][0]["keeps_case"]


def ask_in_vain(world: World, server: PlainServer, names: Sequence[str]) -> None:
    """Turn until all questions have reached the server, which does not reply."""
    server.down = True
    server.forget()
    for name in names:
        assert world.it.ask(name, world.now) is None
    while len(server.packets) < len(names):
        world.it.step(world.now)
        world.poller.wait(0.01)


def _take_in(world: World) -> None:
    while world.poller.wait(0):
        world.answers += world.it.step(world.now)


def _udp(host: str, port: int) -> socket.socket:
    udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    udp.bind((host, port))
    return udp
