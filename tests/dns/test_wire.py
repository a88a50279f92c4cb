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

from larbinpy.dns import wire
from tests.support.dnsfuzz import message, raw
from tests.support.suites import suite

SOA = "ns.test. hostmaster.test. 1 3600 600 86400 120"


def section_in(packet: bytes) -> bytes:
    """The question section of a message that has one; else ours."""
    pos = 12
    while pos < len(packet) and packet[pos] in range(1, 64):
        pos += packet[pos] + 1
    section = packet[12 : pos + 5].lower()
    is_ours = section[-4:] in (b"\0\1\0\1", b"\0\x1c\0\1") and packet[4:6] == b"\0\1"
    return section if is_ours and packet[pos : pos + 1] == b"\0" else QUESTION


def decode(packet: bytes, section: bytes | None = None) -> wire.Reply:
    """The reply to the packet's own question; `plain` must agree."""
    section = section or section_in(packet)
    addresses = wire.plain(packet, section)
    reply = wire.decode(packet, section)
    if addresses:
        assert (reply.rcode, reply.truncated, reply.cnames) == (0, False, 0)
        assert reply.addresses == addresses
    return reply


QUESTION = wire.question("www.test", wire.A)
RECORD_A = b"\xc0\x0c" + struct.pack("!HHIH", 1, 1, 300, 4) + b"\xc0\x00\x02\x01"


def test_a_question_is_what_dnspython_sends() -> None:
    for name, kind in (("www.example.com", "A"), ("x_y.xn--p1ai", "AAAA"), ("com", "A")):
        theirs = dns.message.make_query(name, kind, id=4660).to_wire()
        qtype = dns.rdatatype.from_text(kind)
        assert wire.encode(b"\x12\x34", wire.question(name, qtype)) == theirs


def test_questions_in_random_case() -> None:
    section = wire.question("ab-1.x_yz.test", wire.AAAA)
    assert wire.in_random_case(section, bytes(len(section))) == section
    upper = wire.in_random_case(section, b"\xff" * len(section))
    assert upper == b"\4AB-1\4X_YZ\4TEST\0\0\x1c\0\1"
    some = bytes.fromhex("00 20 00 ff") + bytes(len(section) - 4)
    assert wire.in_random_case(section, some) == b"\4Ab" + section[3:]


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
        assert wire.to_text(wire.question(name, wire.A)[:-4]) == name


def test_addresses_along_an_alias() -> None:
    reply = decode(
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
    assert reply.rcode == 0
    assert reply.addresses == ("192.0.2.1", "192.0.2.2")
    assert (reply.cnames, wire.to_text(reply.target)) == (1, "web.test")


def test_ipv6_addresses() -> None:
    reply = decode(message("www.test", "AAAA", [("www.test.", "AAAA", "2001:db8:0:0::1")]))
    assert reply.addresses == ("2001:db8::1",)


def test_records_of_another_name_do_not_count() -> None:
    reply = decode(message("www.test", "A", [("other.test.", "A", "203.0.113.66")]))
    assert reply.addresses == ()


@pytest.mark.parametrize("ttl", [0, 2**31 - 1])
def test_absence_with_the_time_to_remember_it(ttl: int) -> None:
    reply = decode(message("www.test", "A", [], soa=ttl, rcode=3))
    assert (reply.rcode, reply.addresses, reply.negative_ttl) == (3, (), min(ttl, 120))


def test_a_ttl_with_the_top_bit_set_is_zero() -> None:
    packet = bytearray(message("www.test", "A", [], soa=300))
    at = packet.index(struct.pack("!HHI", 6, 1, 300)) + 4
    packet[at : at + 4] = b"\x80\x00\x00\x00"
    assert decode(bytes(packet)).negative_ttl == 0


@pytest.mark.parametrize("ttl", [0, 2**31, 2**32 - 1])
def test_any_ttl_on_an_address(ttl: int) -> None:
    record = RECORD_A[:6] + struct.pack("!I", ttl) + RECORD_A[10:]
    assert decode(raw(QUESTION, record, answers=1)).addresses == ("192.0.2.1",)


def test_absence_without_a_soa() -> None:
    assert decode(message("www.test", "A", [])).negative_ttl is None


def test_a_truncated_message_is_read_no_further() -> None:
    packet = raw(QUESTION, b"\xc0\xff\xc0", answers=9, flags=0x8380)
    reply = decode(packet)
    assert reply.truncated
    assert reply.addresses == ()


def test_thousands_of_addresses() -> None:
    packet = raw(QUESTION, RECORD_A * 4000, answers=4000)
    assert len(packet) > 60000
    started = process_time()
    reply = decode(packet)
    assert process_time() - started < 0.2
    assert reply.addresses == ("192.0.2.1",) * 16


def test_a_chain_of_aliases_is_followed_for_a_while() -> None:
    def chain(length: int) -> wire.Reply:
        links = [(f"n{i}.test.", "CNAME", f"n{i + 1}.test.") for i in range(length)]
        end = (f"n{length}.test.", "A", "192.0.2.1")
        return decode(message("n0.test", "A", [*links, end]))

    assert chain(11).addresses == ("192.0.2.1",)
    assert chain(20).addresses == ()
    assert chain(20).cnames > wire.MAX_CNAMES


def test_a_loop_of_aliases_ends() -> None:
    loop = [("www.test.", "CNAME", "b.test."), ("b.test.", "CNAME", "www.test.")]
    assert decode(message("www.test", "A", loop)).cnames > wire.MAX_CNAMES
    itself = [("www.test.", "CNAME", "www.test.")]
    assert decode(message("www.test", "A", itself)).cnames > wire.MAX_CNAMES


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
    reply = decode(raw(QUESTION, record, answers=1))
    assert (reply.cnames, reply.target, wire.to_text(reply.target)) == (1, name, None)


def test_an_alias_that_is_too_long() -> None:
    name = (b"\x3f" + b"x" * 63) * 4 + b"\x00"
    record = b"\xc0\x0c" + struct.pack("!HHIH", 5, 1, 300, len(name)) + name
    with pytest.raises(wire.WireError):
        decode(raw(QUESTION, record, answers=1))


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
            decode(packet)


def test_a_name_has_at_most_sixteen_pointers() -> None:
    """Each leads to the one before."""
    at = 12 + len(QUESTION) + 12
    for count, read in ((15, True), (16, False)):
        chain = b"\xc0\x0c" + b"".join(
            struct.pack("!H", 0xC000 | at + 2 * number) for number in range(count - 1)
        )
        records = [
            b"\xc0\x0c" + struct.pack("!HHIH", wire.SOA, 1, 300, len(chain)) + chain,
            struct.pack("!H", 0xC000 | at + 2 * (count - 1)) + RECORD_A[2:],
        ]
        packet = bytearray(raw(QUESTION, records[0] + records[1], answers=0))
        packet[8:10], packet[10:12] = b"\0\0", b"\0\2"
        assert (_read_or_none(bytes(packet)) is not None) is read


def _read_or_none(packet: bytes) -> wire.Reply | None:
    try:
        return decode(packet)
    except wire.WireError:
        return None


def test_pointers_to_pointers_cost_no_time() -> None:
    chain = b"".join(struct.pack("!H", 0xC000 | at) for at in range(0x24, 0x3F00, 2))
    start = b"\xc0\x0c" + struct.pack("!HHIH", 16, 1, 300, len(chain) + 2) + b"\xc0\x0c" + chain
    last = struct.pack("!H", 0xC000 | 0x3EFE) + RECORD_A[2:]
    packet = raw(QUESTION, start + last * 3000, answers=3001)
    started = process_time()
    with pytest.raises(wire.WireError):
        decode(packet)
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
    assert wire.plain(packet, QUESTION) == ()
    with pytest.raises(wire.WireError):
        wire.decode(packet, QUESTION)


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
    reply = decode(packet)
    assert (reply.addresses, reply.cnames, reply.target) == (("192.0.2.1",), 1, b"\1b\4test\0")


def test_odd_and_long_is_refused() -> None:
    text = b"\xc0\x0c" + struct.pack("!HHIH", 16, 1, 300, 2) + b"\x01x"
    with pytest.raises(wire.WireError):
        decode(raw(QUESTION, text * 65, answers=65))
    for size, read in ((4096, True), (4097, False)):
        strings = b"\x01x" * 2040 + b"\x00"
        strings = strings[: size - 12 - len(QUESTION) - 12 - 2]
        filled = len(strings) - len(strings) % 2
        strings = strings[:filled] + b"\x00" * (size - 12 - len(QUESTION) - 12 - filled)
        text = b"\xc0\x0c" + struct.pack("!HHIH", 16, 1, 300, len(strings)) + strings
        packet = raw(QUESTION, text, answers=1)
        assert len(packet) == size
        assert (_read_or_none(packet) is not None) is read


def test_an_answer_is_one_to_its_question_only() -> None:
    packet = message("WWW.test", "A", [("www.test.", "A", "192.0.2.1")])
    for section in (QUESTION, wire.in_random_case(QUESTION, b"\xff" * len(QUESTION))):
        assert wire.decode(packet, section).addresses == ("192.0.2.1",)
    for section in (wire.question("www.test", wire.AAAA), wire.question("ww.test", wire.A)):
        assert wire.plain(packet, section) == ()
        with pytest.raises(wire.WireError):
            wire.decode(packet, section)


def test_plain_answers_are_read_the_short_way() -> None:
    two = raw(QUESTION, RECORD_A + RECORD_A[:-1] + b"\x02", answers=2)
    assert wire.plain(two, QUESTION) == ("192.0.2.1", "192.0.2.2")
    odd = wire.in_random_case(QUESTION, b"\xff" * len(QUESTION))
    assert wire.plain(two, odd) == ()
    assert wire.decode(two, odd).addresses == ("192.0.2.1", "192.0.2.2")


@pytest.mark.parametrize(
    "packet",
    [
        pytest.param(raw(QUESTION, b"", answers=0), id="nothing"),
        pytest.param(raw(QUESTION, RECORD_A, answers=1, flags=0x8380), id="truncated"),
        pytest.param(raw(QUESTION, RECORD_A, answers=1, flags=0x8182), id="an error"),
        pytest.param(raw(QUESTION, RECORD_A, answers=1, flags=0x0180), id="a question"),
        pytest.param(raw(QUESTION, RECORD_A[:-1], answers=1), id="cut"),
        pytest.param(raw(QUESTION, RECORD_A + b"\0", answers=1), id="more"),
        pytest.param(raw(QUESTION, RECORD_A, answers=2), id="miscounted"),
        pytest.param(raw(QUESTION, b"\xc0\x10" + RECORD_A[2:], answers=1), id="another owner"),
    ],
)
def test_answers_that_are_not_plain(packet: bytes) -> None:
    assert wire.plain(packet, QUESTION) == ()


def test_an_ipv4_address_is_no_answer_to_a_question_for_ipv6() -> None:
    packet = raw(wire.question("www.test", wire.AAAA), RECORD_A, answers=1)
    assert decode(packet).addresses == ()


def test_a_bare_header_counts_as_an_error_only() -> None:
    formerr = struct.pack("!HHHHHH", 77, 0x8181, 0, 0, 0, 0)
    assert wire.decode(formerr, QUESTION).rcode == 1
    with pytest.raises(wire.WireError):
        wire.decode(struct.pack("!HHHHHH", 77, 0x8180, 0, 0, 0, 0), QUESTION)


LABEL = "x" * 63


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("A.Test", "a.test"),
        ("a.", "a"),
        ("-a.test", "-a.test"),
        ("a_b.test", "a_b.test"),
        (f"{LABEL}.test", f"{LABEL}.test"),
        (f"{LABEL}.{LABEL}.{LABEL}.{LABEL[:61]}", f"{LABEL}.{LABEL}.{LABEL}.{LABEL[:61]}"),
        (f"{LABEL}.{LABEL}.{LABEL}.{LABEL[:62]}", None),
        (f"{LABEL}x.test", None),
        *((text, None) for text in ("", ".", "a..b", ".a", "a.test..", " ", "a b", "a\tb", "a\0b")),
        *(
            (text, None)
            for text in ("*.test", "a\\.b", "\\097", "\xe9", "%41", "[::1]", "a/b", "a:80")
        ),
    ],
)
def test_names_that_can_be_asked_for(text: str, name: str | None) -> None:
    assert wire.host_name(text) == name
    if name is not None:
        assert dns.name.from_text(name).to_wire() == wire.question(name, wire.A)[:-4]


def test_names_that_broke_other_parsers() -> None:
    for path in suite("c-ares-fuzz/fuzznames").iterdir():
        text = path.read_bytes().decode("latin-1")
        name = wire.host_name(text)
        assert (
            name is None or dns.name.from_text(name).to_wire() == wire.question(name, wire.A)[:-4]
        )
