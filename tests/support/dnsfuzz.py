"""DNS messages with faults in them, and dnspython as a second opinion.

`scripts/fuzz-dns messages` runs millions of them; the tests, some thousands.
"""

import gc
import struct
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from ipaddress import ip_address
from random import Random
from signal import ITIMER_VIRTUAL, SIGVTALRM, setitimer, signal
from time import process_time
from types import FrameType
from typing import NamedTuple

import dns.flags
import dns.message
import dns.rcode
import dns.rdatatype
import dns.rrset
import dns.wire

from larbinpy.dns import wire

SOA = "ns.test. hostmaster.test. 1 3600 600 86400 120"

#: Most CPU seconds for one message of any content: of the size of a datagram, and of the 65,535
#: octets that TCP allows.
SLOWEST = 0.03
SLOWEST_LARGE = 0.15
_DATAGRAM = 4096
#: After so many CPU seconds decoding counts as an endless loop.
HANG = 10.0

_HEADER = struct.Struct("!HHHHHH")

Record = tuple[str, str, str]


class Case(NamedTuple):
    """A message, and the question section to which it is decoded as a reply."""

    packet: bytes
    section: bytes


# -- honest messages


def message(
    name: str,
    kind: str,
    answers: list[Record],
    *,
    soa: int | None = None,
    rcode: int = 0,
    additional: list[Record] | None = None,
) -> bytes:
    """An answer as dnspython writes it; `soa` is the TTL of a SOA record, if it has one."""
    reply = dns.message.make_response(dns.message.make_query(name, kind, id=77))
    for section, records in ((reply.answer, answers), (reply.additional, additional or [])):
        for owner, rtype, value in records:
            section.append(dns.rrset.from_text(owner, 300, "IN", rtype, value))
    if soa is not None:
        reply.authority.append(dns.rrset.from_text("test.", soa, "IN", "SOA", SOA))
    reply.set_rcode(dns.rcode.Rcode(rcode))
    return reply.to_wire(max_size=65535)


def raw(section: bytes, records: bytes, *, answers: int, flags: int = 0x8180) -> bytes:
    return _HEADER.pack(77, flags, 1, answers, 0, 0) + section + records


def sound(packet: bytes) -> Case:
    """An answer and its own question."""
    return Case(packet, packet[12 : packet.index(b"\0", 12) + 5])


def honest() -> list[Case]:
    """Valid replies, one of each kind."""
    chain = [(f"n{i}.test.", "CNAME", f"n{i + 1}.test.") for i in range(9)]
    web = [("www.test.", "CNAME", "Web.Test."), ("web.test.", "A", "192.0.2.1")]
    long = "www." + ".".join(["x" * 60] * 3) + ".test"
    glue = [("ns.test.", "A", "192.0.2.53"), ("ns.test.", "AAAA", "2001:db8::53")]
    packets = [
        message("www.test", "A", [("www.test.", "A", "192.0.2.1")]),
        message("WwW.tESt", "A", [("www.test.", "A", f"192.0.2.{n}") for n in range(1, 30)]),
        message("www.test", "AAAA", [("www.test.", "AAAA", f"2001:db8::{n}") for n in range(9)]),
        message("www.test", "A", web),
        message("www.test", "A", web[::-1], additional=glue),
        message("www.test", "A", web[:1]),
        message("www.test", "AAAA", web[:1], soa=60),
        message("n0.test", "A", [*chain, ("n9.test.", "A", "192.0.2.9")]),
        message("www.test", "A", [("www.test.", "CNAME", "www.test.")]),
        message("www.test", "A", [], soa=300),
        message("none.test", "A", [], soa=0, rcode=3),
        message("www.test", "A", [], rcode=2),
        message("www.test", "A", [], rcode=5),
        message("www.test", "A", [("other.test.", "A", "203.0.113.66"), *web], soa=1),
        message("www.test", "A", [("www.test.", "TXT", '"odd"'), *web], additional=glue),
        message(long, "A", [(long + ".", "A", "192.0.2.1")]),
    ]
    truncated = bytearray(packets[0])
    truncated[2] |= 0x02
    packets.append(bytes(truncated))
    cases = [sound(packet) for packet in packets]
    bare = _HEADER.pack(77, 0x8181, 0, 0, 0, 0)
    return [*cases, Case(bare, wire.question("www.test", wire.A))]


def large() -> list[Case]:
    """The messages that take the most work within 65,535 octets."""
    section = wire.question("www.test", wire.A)
    record = b"\xc0\x0c" + struct.pack("!HHIH", 1, 1, 300, 4) + b"\xc0\x00\x02\x01"
    labels = b"\1x" * 120 + b"\0"
    deep = labels + record[2:] + (b"\xc0\x1a" + record[2:]) * 3900
    aliases = b"".join(
        b"\2%c%c\0" % (97 + n // 26, 97 + n % 26)
        + struct.pack("!HHIH", 5, 1, 300, 4)
        + b"\2%c%c\0" % (97 + (n + 1) // 26, 97 + (n + 1) % 26)
        for n in range(600)
    )
    return [
        Case(raw(section, record * 4000, answers=4000), section),
        Case(raw(section, deep, answers=3901), section),
        Case(raw(section, aliases, answers=600), section),
    ]


def foreign(packets: Iterable[bytes]) -> list[Case]:
    """Packets of other suites: unchanged, and as replies to a question of the test."""
    section = wire.question("www.test", wire.A)
    cases = []
    for packet in packets:
        reply = packet[:2] + b"\x81\x80" + packet[4:]
        own = packet[12 : packet.find(b"\0", 12) + 5]
        asks = own if own[-4:] in (b"\0\1\0\1", b"\0\x1c\0\1") else section
        cases += [
            Case(packet, asks),
            Case(reply, asks),
            Case(raw(section, packet[12:], answers=2), section),
            Case(raw(section, packet[12 + len(asks) :], answers=1), section),
        ]
    return cases


# -- faults

Fault = Callable[[bytearray, Random], None]


def _flip_a_bit(packet: bytearray, dice: Random) -> None:
    packet[dice.randrange(len(packet))] ^= 1 << dice.randrange(8)


def _set_an_octet(packet: bytearray, dice: Random) -> None:
    at = dice.randrange(len(packet))
    packet[at] = dice.choice((0, 1, 4, 5, 6, 12, 16, 28, 41, 0x3F, 0x40, 0x80, 0xC0, 0xFF))


def _insert(packet: bytearray, dice: Random) -> None:
    at = dice.randrange(len(packet) + 1)
    packet[at:at] = dice.randbytes(dice.choice((1, 1, 2, 4, 16)))


def _delete(packet: bytearray, dice: Random) -> None:
    """Delete some octets, but never the first, so that one is left to change."""
    at = dice.randint(1, len(packet))
    del packet[at : at + dice.choice((1, 1, 2, 4, 16))]


def _truncate(packet: bytearray, dice: Random) -> None:
    del packet[dice.randint(1, len(packet)) :]


def _miscount(packet: bytearray, dice: Random) -> None:
    """Set the number of questions or records of a section to a wrong value."""
    count = dice.choice((0, 1, 2, 3, 9, 64, 255, 0xFFFF))
    at = dice.choice((4, 6, 6, 6, 8, 8, 10, 10))
    packet[at : at + 2] = count.to_bytes(2, "big")


def _misdirect(packet: bytearray, dice: Random) -> None:
    """A compression pointer to any offset, in place of another one or of other octets."""
    pointers = [at for at, octet in enumerate(packet[:-1]) if octet >= 0xC0]
    at = dice.choice(pointers) if pointers and dice.random() < 0.8 else dice.randrange(len(packet))
    target = dice.choice((at, at - 1, at + 1, at + 2, 0, 12, dice.randrange(len(packet))))
    packet[at : at + 2] = (0xC000 | max(target, 0) & 0x3FFF).to_bytes(2, "big")


def _mismeasure(packet: bytearray, dice: Random) -> None:
    """Another length, type or class of a record."""
    at = dice.randrange(max(len(packet) - 1, 1))
    value = dice.choice((0, 1, 2, 3, 4, 5, 6, 16, 28, 33, 41, 65, 250, 255, 0x7FFF, 0xFFFF))
    packet[at : at + 2] = value.to_bytes(2, "big")


def _repeat(packet: bytearray, dice: Random) -> None:
    start = dice.randrange(len(packet))
    part = packet[start : start + dice.choice((2, 12, 16, 28, 40))]
    packet += part * dice.choice((1, 2, 9))


FAULTS: list[Fault] = [
    _flip_a_bit,
    _set_an_octet,
    _insert,
    _delete,
    _truncate,
    _miscount,
    _misdirect,
    _mismeasure,
    _repeat,
]

# One large message in so many: each takes as long as thousands of others.
_LARGE_SHARE = 1 / 10_000


class Mutator:
    """Endless messages with one to four faults, made from valid ones.

    Half of them have one fault, because with more, decoding seldom reaches the end.
    """

    def __init__(self, dice: Random, packets: Iterable[bytes]) -> None:
        """`packets` are further messages to start from."""
        self._dice = dice
        self._sound = honest()
        self._foreign = foreign(packets) or self._sound
        self._large = large()

    def __iter__(self) -> Iterator[Case]:
        dice = self._dice
        while True:
            if dice.random() < _LARGE_SHARE:
                case = dice.choice(self._large)
            else:
                case = dice.choice(self._sound if dice.random() < 0.8 else self._foreign)
            packet = bytearray(case.packet)
            if dice.random() < 0.05:
                self._splice(packet)
            for _ in range(dice.choice((1, 1, 1, 2, 3, 4))):
                dice.choice(FAULTS)(packet, dice)
            if dice.random() < 0.8:
                self._mend(packet, case)
            yield Case(bytes(packet), case.section)

    def _splice(self, packet: bytearray) -> None:
        """Replace the end by that of another message."""
        other = self._dice.choice(self._sound).packet
        packet[self._dice.randrange(len(packet)) :] = other[self._dice.randrange(len(other)) :]

    def _mend(self, packet: bytearray, case: Case) -> None:
        """Repair flags and question; otherwise a decoder would stop there."""
        packet[2:4] = bytes((0x81, 0x80 | packet[3] & 0xF if len(packet) > 3 else 0x80))
        packet[4:6] = b"\0\1"
        packet[12 : 12 + len(case.section)] = case.section


# -- judges


@dataclass
class Tally:
    """Judges messages, and counts the results."""

    #: The decoder under test, and CPU seconds after which a message counts as one without end.
    decode: Callable[[bytes, bytes], wire.Reply] = wire.decode
    patience: float = HANG
    messages: int = 0
    #: Messages that raised no `WireError`.
    accepted: int = 0
    #: Those of them that were compared with dnspython.
    compared: int = 0
    #: CPU seconds: of all decoding, and of the slowest message.
    spent: float = 0.0
    slowest: float = 0.0
    slowest_case: Case | None = None
    #: Each fault found, and its message.
    findings: list[tuple[str, Case]] = field(default_factory=list)

    def run(self, cases: Iterable[Case], compare_each: int) -> None:
        """Decode all `cases`; ask dnspython about each `compare_each`th that can be read.

        Ends early at a message without end.
        """
        with _watchdog(self.patience) as feed, _without_old_garbage():
            for number, case in enumerate(cases):
                if number % 256 == 0:
                    feed()
                try:
                    self.judge(case, compare_each)
                except Hang:
                    self.findings.append(("no end", case))
                    return
                except Exception as error:
                    self.findings.append((f"{type(error).__name__}: {error}", case))

    def judge(self, case: Case, compare_each: int = 1) -> None:
        """Decode one message; raise AssertionError if the result is wrong."""
        self.messages += 1
        started = process_time()
        reply = self._read(case)
        self._note_time(case, process_time() - started)
        if reply is None:
            return
        self.accepted += 1
        check_bounds(reply)
        if self.accepted % compare_each == 0:
            self.compared += 1
            check_meaning(case, reply)

    def _note_time(self, case: Case, taken: float) -> None:
        self.spent += taken
        limit = SLOWEST if len(case.packet) <= _DATAGRAM else SLOWEST_LARGE
        if taken > limit:
            # Try again: once may be caused by other load on the machine.
            taken = min(self._time_of(case) for _ in range(3))
            assert taken < limit, f"took {taken} s"
        if taken > self.slowest:
            self.slowest, self.slowest_case = taken, case

    def _read(self, case: Case) -> wire.Reply | None:
        """The reply, as both decoders read it; None for a `WireError`."""
        plain = wire.plain(*case)
        try:
            reply = self.decode(*case)
        except wire.WireError as error:
            assert plain == (), error
            return None
        if plain:
            assert reply == wire.Reply(0, addresses=plain, target=case.section[:-4].lower())
        return reply

    def _time_of(self, case: Case) -> float:
        started = process_time()
        self._read(case)
        return process_time() - started


class Hang(BaseException):
    """Decoding does not end. Not an Exception, so that no code under test catches it."""


@contextmanager
def _watchdog(patience: float) -> Iterator[Callable[[], None]]:
    """Raises `Hang` if it is not fed for `patience` CPU seconds."""

    def bark(_number: int, _frame: FrameType | None) -> None:
        raise Hang

    before = signal(SIGVTALRM, bark)
    try:
        yield lambda: setitimer(ITIMER_VIRTUAL, patience) and None
    finally:
        setitimer(ITIMER_VIRTUAL, 0)
        signal(SIGVTALRM, before)


@contextmanager
def _without_old_garbage() -> Iterator[None]:
    """Keep the garbage collector from examining older objects while a message is decoded."""
    gc.collect()
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


def check_bounds(reply: wire.Reply) -> None:
    """Check that a reply keeps within its bounds, whatever the message was."""
    assert len(reply.addresses) <= wire.MAX_ADDRESSES
    assert [str(ip_address(text)) for text in reply.addresses] == list(reply.addresses)
    assert 0 <= reply.cnames <= wire.MAX_CNAMES + 1
    assert 0 <= reply.rcode < 16
    assert reply.negative_ttl is None or 0 <= reply.negative_ttl < 1 << 31
    assert len(reply.target) <= 255
    text = wire.to_text(reply.target) if reply.target else None
    assert text is None or wire.host_name(text) == text


def check_meaning(case: Case, reply: wire.Reply) -> None:
    """Check that dnspython decodes the same question, aliases and addresses.

    It reads the data of all records, so it may fail at a record that does not matter here; but
    names, counts and lengths have to be right in every section.
    """
    packet, section = case
    if len(packet) == 12:
        assert reply == wire.Reply(packet[3] & 0xF) != wire.Reply(0)
        return
    parsed = dns.message.from_wire(packet, question_only=True, ignore_trailing=True)
    (question,) = parsed.question
    assert question.name.canonicalize().to_wire() == section[:-4].lower()
    assert struct.pack("!HH", question.rdtype, question.rdclass) == section[-4:]
    assert parsed.flags & dns.flags.QR
    assert parsed.opcode() == 0
    assert parsed.flags & 0xF == reply.rcode
    if parsed.flags & dns.flags.TC:
        assert reply == wire.Reply(reply.rcode, truncated=True)
        return
    answers_end = _walk(packet)
    parsed = dns.message.from_wire(packet, continue_on_error=True, ignore_trailing=True)
    assert [error for error in parsed.errors if error.offset <= answers_end] == []
    _check_addresses(parsed, reply)
    soas = [rrset for rrset in parsed.authority if rrset.rdtype == wire.SOA]
    if not parsed.errors and len(soas) < 2 and not reply.addresses:
        said = min(soas[0].ttl, soas[0][0].minimum) if soas else None
        if said is None or soas[0][0].minimum < 1 << 31:
            assert reply.negative_ttl == said


def _walk(packet: bytes) -> int:
    """The offset at which the answers end; raises unless exactly all records are there."""
    parser = dns.wire.Parser(packet)
    parser.seek(4)
    questions, *counts = parser.get_struct("!HHHH")
    ends = []
    for _ in range(questions):
        parser.get_name(decompress=True)
        parser.get_bytes(4)
    for count in counts:
        for _ in range(count):
            parser.get_name(decompress=True)
            parser.get_struct("!HHI")
            parser.get_counted_bytes(2)
        ends.append(parser.current)
    assert parser.remaining() == 0, "octets behind the last record"
    return ends[0]


def _check_addresses(parsed: dns.message.Message, reply: wire.Reply) -> None:
    question = parsed.question[0]
    name, steps = question.name, 0
    while True:
        found = parsed.get_rrset(parsed.answer, name, question.rdclass, question.rdtype)
        alias = parsed.get_rrset(parsed.answer, name, question.rdclass, dns.rdatatype.CNAME)
        if found is not None or alias is None or steps > wire.MAX_CNAMES:
            break
        name, steps = alias[0].target, steps + 1
    if steps > wire.MAX_CNAMES:
        assert (reply.cnames, reply.addresses) == (wire.MAX_CNAMES + 1, ())
        return
    known = {ip_address(rdata.address) for rdata in found or ()}
    addresses = {ip_address(text) for text in reply.addresses}
    assert addresses <= known
    assert len(reply.addresses) >= min(len(known), wire.MAX_ADDRESSES)
    assert reply.cnames == steps
    assert reply.target == name.canonicalize().to_wire()
