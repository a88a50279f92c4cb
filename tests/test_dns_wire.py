import contextlib
import random
import struct
from time import process_time

import dns.exception
import dns.flags
import dns.message
import dns.name
import dns.rcode
import dns.rdatatype
import dns.rrset
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from suites import suite

from larbinpy.dns import wire

SOA = "ns.test. hostmaster.test. 1 3600 600 86400 120"


def message(name: str, kind: str, answers: list[tuple[str, str, str]], **flags: int) -> bytes:
    query = dns.message.make_query(name, kind, id=77)
    reply = dns.message.make_response(query)
    for owner, rtype, value in answers:
        reply.answer.append(dns.rrset.from_text(owner, 300, "IN", rtype, value))
    if flags.get("soa") is not None:
        reply.authority.append(dns.rrset.from_text("test.", flags["soa"], "IN", "SOA", SOA))
    reply.set_rcode(dns.rcode.Rcode(flags.get("rcode", 0)))
    return reply.to_wire()


def raw(section: bytes, records: bytes, *, answers: int, flags: int = 0x8180) -> bytes:
    return struct.pack("!HHHHHH", 77, flags, 1, answers, 0, 0) + section + records


QUESTION = wire.question("www.test", wire.A)
RECORD_A = b"\xc0\x0c" + struct.pack("!HHIH", 1, 1, 300, 4) + b"\xc0\x00\x02\x01"


def test_a_question_is_what_dnspython_sends() -> None:
    for name, kind in (("www.example.com", "A"), ("x_y.xn--p1ai", "AAAA"), ("com", "A")):
        theirs = dns.message.make_query(name, kind, id=4660).to_wire()
        qtype = dns.rdatatype.from_text(kind)
        assert wire.encode(4660, wire.question(name, qtype)) == theirs


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("WWW.Example.COM", "www.example.com"),
        ("example.com.", "example.com"),
        ("a_b.-c-.test", "a_b.-c-.test"),
        ("x" * 63 + ".test", "x" * 63 + ".test"),
        ("x" * 64 + ".test", None),
        (".".join(["x" * 49] * 5) + ".abc", ".".join(["x" * 49] * 5) + ".abc"),
        (".".join(["x" * 49] * 5) + ".abcd", None),
        ("", None),
        (".", None),
        ("a..b", None),
        (".a", None),
        ("a b.test", None),
        ("a/b.test", None),
        ("a\\.b.test", None),
        ("<b>.test", None),
        ("nul\0.test", None),
        ("line\nbreak.test", None),
        ("line.test\n", None),
        ("b\N{LATIN SMALL LETTER U WITH DIAERESIS}cher.test", None),
        ("\N{KELVIN SIGN}.test", None),
    ],
)
def test_host_names(text: str, name: str | None) -> None:
    assert wire.host_name(text) == name
    if name is not None:
        assert wire.to_text(wire.to_wire(name)) == name


def test_addresses_along_an_alias() -> None:
    reply = wire.decode(
        message(
            "www.test",
            "A",
            [
                ("web.test.", "A", "192.0.2.1"),
                ("www.test.", "CNAME", "WEB.test."),
                ("other.test.", "A", "203.0.113.66"),
                ("web.test.", "A", "192.0.2.2"),
            ],
        )
    )
    assert (reply.id, reply.rcode, reply.question) == (77, 0, QUESTION)
    assert reply.addresses == ("192.0.2.1", "192.0.2.2")
    assert (reply.cnames, wire.to_text(reply.target)) == (1, "web.test")


def test_ipv6_addresses() -> None:
    reply = wire.decode(message("www.test", "AAAA", [("www.test.", "AAAA", "2001:db8:0:0::1")]))
    assert reply.addresses == ("2001:db8::1",)


def test_records_of_another_name_do_not_count() -> None:
    reply = wire.decode(message("www.test", "A", [("other.test.", "A", "203.0.113.66")]))
    assert reply.addresses == ()


@pytest.mark.parametrize("ttl", [0, 2**31 - 1])
def test_absence_with_the_time_to_remember_it(ttl: int) -> None:
    reply = wire.decode(message("www.test", "A", [], soa=ttl, rcode=3))
    assert (reply.rcode, reply.addresses, reply.negative_ttl) == (3, (), min(ttl, 120))


def test_a_ttl_with_the_top_bit_set_is_zero() -> None:
    packet = bytearray(message("www.test", "A", [], soa=300))
    at = packet.index(struct.pack("!HHI", 6, 1, 300)) + 4
    packet[at : at + 4] = b"\x80\x00\x00\x00"
    assert wire.decode(bytes(packet)).negative_ttl == 0


@pytest.mark.parametrize("ttl", [0, 2**31, 2**32 - 1])
def test_any_ttl_on_an_address(ttl: int) -> None:
    record = RECORD_A[:6] + struct.pack("!I", ttl) + RECORD_A[10:]
    assert wire.decode(raw(QUESTION, record, answers=1)).addresses == ("192.0.2.1",)


def test_absence_without_a_soa() -> None:
    assert wire.decode(message("www.test", "A", [])).negative_ttl is None


def test_a_truncated_message_is_read_no_further() -> None:
    packet = raw(QUESTION, b"\xc0\xff\xc0", answers=9, flags=0x8380)
    reply = wire.decode(packet)
    assert reply.truncated
    assert reply.addresses == ()


def test_thousands_of_addresses() -> None:
    packet = raw(QUESTION, RECORD_A * 4000, answers=4000)
    assert len(packet) > 60000
    started = process_time()
    reply = wire.decode(packet)
    assert process_time() - started < 0.2
    assert reply.addresses == ("192.0.2.1",) * wire.MAX_ADDRESSES


def test_a_chain_of_aliases_is_followed_for_a_while() -> None:
    def chain(length: int) -> wire.Reply:
        links = [(f"n{i}.test.", "CNAME", f"n{i + 1}.test.") for i in range(length)]
        end = (f"n{length}.test.", "A", "192.0.2.1")
        return wire.decode(message("n0.test", "A", [*links, end]))

    assert chain(11).addresses == ("192.0.2.1",)
    assert chain(20).addresses == ()
    assert chain(20).cnames > wire.MAX_CNAMES


def test_a_loop_of_aliases_ends() -> None:
    loop = [("www.test.", "CNAME", "b.test."), ("b.test.", "CNAME", "www.test.")]
    assert wire.decode(message("www.test", "A", loop)).cnames > wire.MAX_CNAMES
    itself = [("www.test.", "CNAME", "www.test.")]
    assert wire.decode(message("www.test", "A", itself)).cnames > wire.MAX_CNAMES


@pytest.mark.parametrize(
    "target",
    [
        rb"\x03a/b\x04test\x00",
        rb"\x07<script\x04test\x00",
        rb"\x03a\x00b\x04test\x00",
        rb"\x03a.b\x04test\x00",
        rb"\x03a\x1bb\x04test\x00",
        rb"\x02\xc3\xbc\x04test\x00",
        rb"\x00",
    ],
)
def test_an_alias_that_is_no_host_name_has_no_text(target: bytes) -> None:
    name = target.decode("unicode_escape").encode("latin-1")
    record = b"\xc0\x0c" + struct.pack("!HHIH", 5, 1, 300, len(name)) + name
    reply = wire.decode(raw(QUESTION, record, answers=1))
    assert (reply.cnames, reply.target, wire.to_text(reply.target)) == (1, name, None)


def test_an_alias_that_is_too_long() -> None:
    name = (b"\x3f" + b"x" * 63) * 4 + b"\x00"
    record = b"\xc0\x0c" + struct.pack("!HHIH", 5, 1, 300, len(name)) + name
    with pytest.raises(wire.WireError):
        wire.decode(raw(QUESTION, record, answers=1))


@pytest.mark.parametrize(
    "owner",
    [
        pytest.param(b"\xc0\x1a", id="to itself"),
        pytest.param(b"\xc0\x1c", id="forwards"),
        pytest.param(b"\xff\xff", id="beyond the end"),
        pytest.param(b"\x01a\xc0\x1a", id="to its own beginning"),
        pytest.param(b"\x80\x00", id="unknown label type"),
        pytest.param(b"\x3fabc", id="label beyond the end"),
        pytest.param(b"", id="nothing"),
    ],
)
def test_owners_that_are_no_names(owner: bytes) -> None:
    assert len(raw(QUESTION, b"", answers=1)) == 0x1A
    for packet in (raw(QUESTION, owner, answers=1), raw(QUESTION, owner + RECORD_A[2:], answers=1)):
        with pytest.raises(wire.WireError):
            wire.decode(packet)


def test_pointers_to_pointers_cost_no_time() -> None:
    chain = b"".join(struct.pack("!H", 0xC000 | at) for at in range(0x24, 0x3F00, 2))
    start = b"\xc0\x0c" + struct.pack("!HHIH", 16, 1, 300, len(chain) + 2) + b"\xc0\x0c" + chain
    last = struct.pack("!H", 0xC000 | 0x3EFE) + RECORD_A[2:]
    packet = raw(QUESTION, start + last * 3000, answers=3001)
    started = process_time()
    with pytest.raises(wire.WireError):
        wire.decode(packet)
    assert process_time() - started < 0.2


@pytest.mark.parametrize(
    "packet",
    [
        b"",
        b"\x00" * 11,
        pytest.param(raw(QUESTION, RECORD_A, answers=1, flags=0x0180), id="a question"),
        pytest.param(raw(QUESTION, RECORD_A, answers=1, flags=0xA980), id="another opcode"),
        pytest.param(raw(QUESTION, RECORD_A, answers=2), id="too few records"),
        pytest.param(raw(QUESTION, RECORD_A * 2, answers=1), id="too many records"),
        pytest.param(raw(QUESTION, RECORD_A[:-1], answers=1), id="record cut"),
        pytest.param(raw(QUESTION[:-1] + b"\x03", RECORD_A, answers=1), id="another class"),
        pytest.param(raw(QUESTION[:-3] + b"\x0f\x00\x01", RECORD_A, answers=1), id="other type"),
        pytest.param(raw(QUESTION, RECORD_A[:10] + b"\x00\x03abc", answers=1), id="short address"),
    ],
)
def test_messages_that_are_no_answers(packet: bytes) -> None:
    with pytest.raises(wire.WireError):
        wire.decode(packet)


def test_odd_records_are_read_by_dnspython() -> None:
    packet = message(
        "www.test",
        "A",
        [
            ("www.test.", "TXT", '"x"'),
            ("www.test.", "CNAME", "b.test."),
            ("b.test.", "A", "192.0.2.1"),
        ],
    )
    reply = wire.decode(packet)
    assert (reply.addresses, reply.cnames, reply.target) == (("192.0.2.1",), 1, b"\1b\4test\0")


def test_odd_and_long_is_refused() -> None:
    text = b"\xc0\x0c" + struct.pack("!HHIH", 16, 1, 300, 2) + b"\x01x"
    with pytest.raises(wire.WireError):
        wire.decode(raw(QUESTION, text * 65, answers=65))


def test_an_answer_matches_its_question_only() -> None:
    packet = message("WWW.test", "A", [("www.test.", "A", "192.0.2.1")])
    assert wire.matches(packet, 77, QUESTION)
    assert not wire.matches(packet, 78, QUESTION)
    assert not wire.matches(packet, 77, wire.question("www.test", wire.AAAA))
    assert not wire.matches(packet, 77, wire.question("ww.test", wire.A))
    assert not wire.matches(packet[:11], 77, QUESTION)
    assert not wire.matches(wire.encode(77, QUESTION), 77, QUESTION)


def test_a_bare_header_matches_as_an_error_only() -> None:
    formerr = struct.pack("!HHHHHH", 77, 0x8181, 0, 0, 0, 0)
    assert wire.matches(formerr, 77, QUESTION)
    assert wire.decode(formerr).rcode == 1
    assert not wire.matches(struct.pack("!HHHHHH", 77, 0x8180, 0, 0, 0, 0), 77, QUESTION)


# -- against dnspython


def oracle(packet: bytes) -> tuple[int, set[str], int, bytes]:
    """The same reading of a message by dnspython: rcode, addresses, aliases, where they end."""
    parsed = dns.message.from_wire(packet)
    question = parsed.question[0]
    name, steps = question.name, 0
    while True:
        found = parsed.get_rrset(parsed.answer, name, question.rdclass, question.rdtype)
        alias = parsed.get_rrset(parsed.answer, name, question.rdclass, dns.rdatatype.CNAME)
        if found is not None or alias is None or steps > wire.MAX_CNAMES:
            break
        name, steps = alias[0].target, steps + 1
    addresses = set() if found is None else {rdata.address for rdata in found}
    return parsed.rcode(), addresses, steps, name.canonicalize().to_wire() or b""


names = st.sampled_from(["www.test", "a.test", "b.test", "c.d.test", "MIXED.test", "x_1.other"])
addresses = st.integers(0, 2**32 - 1).map(lambda n: ".".join(map(str, n.to_bytes(4, "big"))))
records = st.one_of(
    st.tuples(names.map("{}.".format), st.just("A"), addresses),
    st.tuples(names.map("{}.".format), st.just("CNAME"), names.map("{}.".format)),
    st.tuples(names.map("{}.".format), st.just("AAAA"), st.just("2001:db8::7")),
    st.tuples(names.map("{}.".format), st.just("TXT"), st.just('"t"')),
)
messages = st.builds(
    message,
    names,
    st.sampled_from(["A", "AAAA"]),
    st.lists(records, max_size=12),
    soa=st.none() | st.integers(0, 2**31 - 1),
    rcode=st.sampled_from([0, 0, 0, 2, 3, 5]),
)


def agree(packet: bytes) -> None:
    reply = wire.decode(packet)
    rcode, found, steps, target = oracle(packet)
    assert (reply.rcode, reply.cnames) == (rcode, steps)
    if steps <= wire.MAX_CNAMES:
        assert reply.target == target
        assert set(reply.addresses) <= found
        assert len(reply.addresses) >= min(len(found), wire.MAX_ADDRESSES)


@given(messages)
@settings(max_examples=300, deadline=None)
def test_generated_messages_mean_what_dnspython_says(packet: bytes) -> None:
    agree(packet)


def mutated(packet: bytes, random: random.Random) -> bytes:
    changed = bytearray(packet)
    for _ in range(random.randint(1, 4)):
        at = random.randrange(len(changed))
        kind = random.randrange(4)
        if kind == 0:
            changed[at] = random.choice((0, 1, 0x3F, 0x40, 0x80, 0xC0, 0xFF, random.getrandbits(8)))
        elif kind == 1:
            changed[at] ^= 1 << random.randrange(8)
        elif kind == 2 and len(changed) > 20:
            del changed[at : at + random.randint(1, 4)]
        else:
            changed[at:at] = bytes((random.choice((0, 0xC0, 12)),))
    return bytes(changed)


@given(messages, st.randoms(use_true_random=False))
@settings(max_examples=700, deadline=None)
def test_mutated_messages_mean_the_same_or_nothing(packet: bytes, random: random.Random) -> None:
    packet = mutated(packet, random)
    try:
        reply = wire.decode(packet)
    except wire.WireError:
        return
    if reply.truncated or not reply.question:
        return
    try:
        oracle(packet)
    except Exception:
        return  # broken within records that say nothing of the address
    agree(packet)


def test_many_mutations_raise_nothing_else() -> None:
    source = random.Random(7)
    good = message(
        "www.test",
        "A",
        [("www.test.", "CNAME", "b.test."), ("b.test.", "A", "192.0.2.1")],
        soa=60,
    )
    read = 0
    for _ in range(20000):
        try:
            wire.decode(mutated(good, source))
            read += 1
        except wire.WireError:
            pass
    assert 1000 < read < 19000


@given(st.binary(max_size=600))
@settings(max_examples=300, deadline=None)
def test_any_bytes_are_an_answer_or_a_wire_error(packet: bytes) -> None:
    for whole in (packet, raw(QUESTION, packet, answers=3)):
        with contextlib.suppress(wire.WireError):
            wire.decode(whole)


def test_packets_that_broke_other_parsers() -> None:
    packets = [path.read_bytes() for path in suite("c-ares-fuzz/fuzzinput").iterdir()]
    assert len(packets) > 50
    for packet in packets:
        # As they are, and as answers to a question of ours.
        tails = [
            packet,
            packet[:2] + b"\x81\x80" + packet[4:],
            raw(QUESTION, packet[12:], answers=2),
        ]
        for whole in tails:
            started = process_time()
            with contextlib.suppress(wire.WireError):
                wire.decode(whole)
            assert process_time() - started < 0.2


def test_names_that_broke_other_parsers() -> None:
    for path in suite("c-ares-fuzz/fuzznames").iterdir():
        text = path.read_bytes().decode("latin-1")
        name = wire.host_name(text)
        assert name is None or dns.name.from_text(name).to_wire() == wire.to_wire(name)
