"""DNS messages: bytes in, values out (RFC 1035 section 4).

Three decoders are tried. `plain` reads replies that have only A records, in a microsecond or two.
`decode` also reads aliases, AAAA records, and replies with a SOA and no address. Any other message
is passed to dnspython, which knows the rest of the standard and takes fifty times as long. A
message that none of them can decode raises `WireError`; nothing else is ever raised.

Internally, a name is its uncompressed wire form in lower case: two names are equal when their
bytes are (RFC 4343), and a dot or a NUL within a label is unambiguous. Names are converted to
text only if they could be asked for (`host_name`).

Questions carry no EDNS record: a reply beyond 512 octets comes by TCP, which a forger off the
path cannot write to, and no server has reason to reply FORMERR.
"""

import re
import struct
from ipaddress import IPv6Address
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import dns.message
    import dns.rrset

A = 1
CNAME = 5
SOA = 6
AAAA = 28
_IN = 1

#: CNAMEs followed from one name to its address. Chains of more than three are rare; common
#: resolvers allow 11 (unbound's max-query-restarts).
MAX_CNAMES = 11

#: Addresses kept for one name; the crawler tries one or two.
MAX_ADDRESSES = 16

_RESPONSE = 0x8000
_OPCODE = 0x7800
_TRUNCATED = 0x0200
_RECURSION_DESIRED = 0x0100
_ASK = struct.pack("!5H", _RECURSION_DESIRED, 1, 0, 0, 0)

#: Offset of the question: the size of the header.
QUESTION_AT = 12

# The header after its id: flags, and the number of records in each section.
_HEADER = struct.Struct("!2x5H")
_QUESTION = struct.Struct("!HH")
_RECORD = struct.Struct("!HHIH")
_SOA_NUMBERS = struct.Struct("!IIIII")

_MAX_NAME = 255
# Each pointer leads to a shorter suffix, so a valid chain is no longer than the name has labels;
# dnspython has the same limit.
_MAX_POINTERS = 16

# dnspython takes about 10 us a record. A resolver has no reason to send a message that is unusual
# as well as long, and it must not cost a turn of the loop.
_ODD_LENGTH = 4096
_ODD_RECORDS = 64

_HOST_NAME = re.compile(r"[a-z0-9_-]{1,63}(?:\.[a-z0-9_-]{1,63})*")

_QUESTION_END = {qtype: b"\0" + _QUESTION.pack(qtype, _IN) for qtype in (A, AAAA)}

# The header of a reply that may be plain: no error, not truncated, and no section but answers.
_PLAIN_HEADER = struct.Struct("!2xHHHI")
_PLAIN_FLAGS = _RESPONSE | _OPCODE | _TRUNCATED | 0xF

# An address record of the name in the question: the octets up to its TTL, and those after it.
_OWN = b"\xc0\x0c"
_PLAIN_HEAD = _OWN + struct.pack("!HH", A, _IN)
_PLAIN_LENGTH = b"\0\4"
_PLAIN = struct.Struct("!6s4x2s4B")
_PLAIN_SIZE = _PLAIN.size

# 0.3 us an address; socket.inet_ntoa takes 0.45 us and loads socket code.
_OCTETS = [str(octet) for octet in range(256)]

# 0x20 for each octet that is a letter. In a question section this changes letters only, because
# lengths and types are smaller numbers.
_CASE = bytes(0x20 if chr(octet).isalpha() else 0 for octet in range(128)) + bytes(128)


class WireError(ValueError):
    """Octets that are not a reply to the question."""


class Reply(NamedTuple):
    """The contents of a reply about the name in its question."""

    rcode: int
    #: The reply did not fit (TC): it must be asked for by TCP; nothing below counts.
    truncated: bool = False
    #: As text, at most `MAX_ADDRESSES`, in the order received.
    addresses: tuple[str, ...] = ()
    #: Aliases followed within the reply; above `MAX_CNAMES` for a loop.
    cnames: int = 0
    #: If there is no address: the target of the aliases in wire form, or the name itself if
    #: there are none.
    target: bytes = b""
    #: Seconds for which the absence may be remembered (RFC 2308 section 5); None without a SOA.
    negative_ttl: int | None = None


class _Sections(NamedTuple):
    """The records in use, by owner."""

    addresses: dict[bytes, list[bytes]]
    cnames: dict[bytes, bytes]
    negative_ttl: int | None


def host_name(text: str) -> str | None:
    """`text` as a name that can be asked for: lower case, no final dot; None if it cannot.

    Letters, digits, hyphen and underscore, as in host names that exist; labels of 1 to
    63 octets and 253 in all (RFC 1035 section 2.3.4).
    """
    if _HOST_NAME.fullmatch(text) is None:  # most match as they are
        text = text.lower().removesuffix(".") if text.isascii() else ""
        if _HOST_NAME.fullmatch(text) is None:
            return None
    return text if len(text) <= 253 else None


def to_text(name: bytes) -> str | None:
    """The `host_name` of a wire form; None if it is not one, as with "a.b" in a label."""
    labels = []
    pos = 0
    while size := name[pos]:
        labels.append(name[pos + 1 : pos + 1 + size].decode("latin-1"))
        pos += size + 1
    if any("." in label for label in labels):
        return None
    return host_name(".".join(labels))


def question(name: str, qtype: int) -> bytes:
    """The question section that asks for the records `qtype` of a `host_name`."""
    wire = ""
    for label in name.split("."):
        wire += chr(len(label)) + label
    return wire.encode() + _QUESTION_END[qtype]


def in_random_case(section: bytes, octets: bytes) -> bytes:
    """The question `section` with the case of each letter chosen by one of as many `octets`.

    A forger has to guess the case, too (draft-vixie-dnsext-dns0x20).
    """
    letters = int.from_bytes(section.translate(_CASE))
    return (int.from_bytes(section) ^ letters & int.from_bytes(octets)).to_bytes(len(section))


def encode(ident: bytes, section: bytes) -> bytes:
    """The message that asks a recursive server the question `section` under the id `ident`."""
    return ident + _ASK + section


def plain(packet: bytes, section: bytes) -> tuple[str, ...]:
    """The addresses in a reply that has only A records for the question `section`.

    Most replies are such. Empty for any other packet; `decode` reads those.
    """
    pos = QUESTION_AT + len(section)
    if not packet.startswith(section, QUESTION_AT) or section[-3] != A:
        return ()
    flags, questions, answers, others = _PLAIN_HEADER.unpack_from(packet)
    if flags & _PLAIN_FLAGS != _RESPONSE or questions != 1 or others:
        return ()
    if len(packet) != pos + answers * _PLAIN_SIZE:
        return ()
    found = []
    for start in range(pos, len(packet), _PLAIN_SIZE):
        head, length, a, b, c, d = _PLAIN.unpack_from(packet, start)
        if head != _PLAIN_HEAD or length != _PLAIN_LENGTH:
            return ()
        found.append(f"{_OCTETS[a]}.{_OCTETS[b]}.{_OCTETS[c]}.{_OCTETS[d]}")
    return tuple(found[:MAX_ADDRESSES])


def decode(packet: bytes, section: bytes) -> Reply:
    """Decode the reply to the question `section`; letter case does not matter.

    Raises `WireError`, and nothing else, for a packet that is not a reply to it. An error with an
    empty question section counts as a reply: servers that cannot read a question send it, and it
    only leads to the next server. The caller compares the id.

    The time is bounded: names by their length, pointers by their number and by going backwards,
    records by the length of the message.
    """
    if len(packet) < QUESTION_AT:
        raise WireError("no whole header")
    flags, questions, answers, authorities, additionals = _HEADER.unpack_from(packet)
    if not flags & _RESPONSE or flags & _OPCODE:
        raise WireError("no response to a query")
    rcode = flags & 0xF
    if questions == 0 and len(packet) == QUESTION_AT and rcode:
        return Reply(rcode)
    pos = QUESTION_AT + len(section)
    if questions != 1 or not _asks(packet, section):
        raise WireError("another question")
    if flags & _TRUNCATED:
        return Reply(rcode, truncated=True)
    return _read(packet, pos, section.lower(), (answers, authorities, additionals), rcode)


def _asks(packet: bytes, section: bytes) -> bool:
    """Whether the question in `packet` is `section`, ignoring case."""
    if packet.startswith(section, QUESTION_AT):
        return True
    return packet[QUESTION_AT : QUESTION_AT + len(section)].lower() == section.lower()


def _read(
    packet: bytes, pos: int, section: bytes, counts: tuple[int, int, int], rcode: int
) -> Reply:
    try:
        found = _read_ordinary(packet, pos, section, counts)
    except (struct.error, IndexError) as error:
        raise WireError("message ends early") from error
    if found is None:
        found = _read_with_dnspython(packet, sum(counts), section[-3])
    return _follow(found, section[:-4], rcode)


def _read_name(packet: bytes, pos: int) -> tuple[bytes, int]:
    """The name at `pos`, and the position after it.

    A pointer must lead to before the part of the name that it stands in (RFC 1035
    section 4.1.4: "a prior occurrence"), and that part may not run into this one.
    """
    labels = []
    length = 1
    start, end, after = pos, len(packet), 0
    pointers = 0
    while size := packet[pos]:
        if size < 64:
            labels.append(packet[pos : pos + size + 1])
            pos += size + 1
            length += size + 1
        elif size >= 192:
            after = after or pos + 2
            target = (size & 63) << 8 | packet[pos + 1]
            pointers += 1
            if target >= start or pos + 2 > end or pointers > _MAX_POINTERS:
                raise WireError("bad compression pointer")
            start, end, pos = target, start, target
        else:
            raise WireError("bad label type")
        if pos >= end or length > _MAX_NAME:
            raise WireError("bad name")
    return b"".join(labels).lower() + b"\0", after or pos + 1


def _read_ordinary(
    packet: bytes, pos: int, section: bytes, counts: tuple[int, int, int]
) -> _Sections | None:
    """The records after the question; None if any of them is unusual."""
    addresses: dict[bytes, list[bytes]] = {}
    cnames: dict[bytes, bytes] = {}
    owners = {_OWN: section[:-4]}
    qtype = section[-3]
    size = 4 if qtype == A else 16
    for _ in range(counts[0]):
        owner, pos = _read_owner(packet, pos, owners)
        rtype, rclass, _, length = _RECORD.unpack_from(packet, pos)
        pos += _RECORD.size
        if rclass != _IN:
            return None
        if rtype == qtype and length == size:
            addresses.setdefault(owner, []).append(packet[pos : pos + length])
        elif rtype == CNAME and owner not in cnames:
            cnames[owner], end = _read_name(packet, pos)
            if end != pos + length:
                return None
        else:
            return None
        pos += length
    negative_ttl, pos = _read_rest(packet, pos, counts, owners)
    return _Sections(addresses, cnames, negative_ttl) if pos == len(packet) else None


def _read_owner(packet: bytes, pos: int, owners: dict[bytes, bytes]) -> tuple[bytes, int]:
    """As `_read_name`, but a name that thousands of records point to is read once."""
    pointer = packet[pos : pos + 2]
    name = owners.get(pointer)
    if name is not None:
        return name, pos + 2
    name, end = _read_name(packet, pos)
    if pointer[0] >= 192:
        owners[pointer] = name
    return name, end


def _read_rest(
    packet: bytes, pos: int, counts: tuple[int, int, int], owners: dict[bytes, bytes]
) -> tuple[int | None, int]:
    """The SOA's time for remembering an absence, and the offset at which the last section ends."""
    negative_ttl = None
    for number in range(counts[1] + counts[2]):
        _, pos = _read_owner(packet, pos, owners)
        rtype, _, ttl, length = _RECORD.unpack_from(packet, pos)
        pos += _RECORD.size
        if rtype == SOA and number < counts[1]:
            negative_ttl = _negative_ttl(packet, pos, ttl)
        pos += length
    return negative_ttl, pos


def _negative_ttl(packet: bytes, pos: int, ttl: int) -> int:
    for _ in range(2):
        _, pos = _read_name(packet, pos)
    *_, minimum = _SOA_NUMBERS.unpack_from(packet, pos)
    return min(_seconds(ttl), _seconds(minimum))


def _seconds(ttl: int) -> int:
    """A TTL whose top bit is set counts as zero (RFC 2181 section 8)."""
    return ttl if ttl < 1 << 31 else 0


def _read_with_dnspython(packet: bytes, records: int, qtype: int) -> _Sections:
    """The same as `_read_ordinary`, by dnspython."""
    if len(packet) > _ODD_LENGTH or records > _ODD_RECORDS:
        raise WireError("neither ordinary nor short")
    # Most runs never see an unusual reply, and loading dnspython takes as long as all the rest.
    import dns.message

    try:
        message = dns.message.from_wire(packet)
        return _sections_of(message, qtype)
    except Exception as error:
        # dnspython's rdata classes do not check the octets and may raise any exception, not only
        # DNSException. In every case the packet is not a reply.
        raise WireError(f"{type(error).__name__}: {error}") from error


def _sections_of(message: "dns.message.Message", qtype: int) -> _Sections:
    if len(message.question) != 1:
        raise WireError("not one question")
    addresses: dict[bytes, list[bytes]] = {}
    cnames: dict[bytes, bytes] = {}
    for rrset in message.answer:
        owner = rrset.name.canonicalize().to_wire()
        if rrset.rdclass != _IN or owner is None:
            continue
        if rrset.rdtype == qtype:
            addresses.setdefault(owner, []).extend(rdata.to_wire() or b"" for rdata in rrset)
        elif rrset.rdtype == CNAME:
            cnames.setdefault(owner, rrset[0].target.canonicalize().to_wire())
    return _Sections(addresses, cnames, _negative_ttl_of(message.authority))


def _negative_ttl_of(authority: list["dns.rrset.RRset"]) -> int | None:
    soas = [rrset for rrset in authority if rrset.rdtype == SOA]
    return min(soas[-1].ttl, _seconds(soas[-1][0].minimum)) if soas else None


def _follow(found: _Sections, name: bytes, rcode: int) -> Reply:
    """Follow the aliases from `name`; records of other names do not count."""
    steps = 0
    while name not in found.addresses and name in found.cnames and steps <= MAX_CNAMES:
        name = found.cnames[name]
        steps += 1
    kept = found.addresses.get(name, ())[:MAX_ADDRESSES] if steps <= MAX_CNAMES else ()
    addresses = tuple(map(_address, kept))
    return Reply(rcode, False, addresses, steps, name, found.negative_ttl)


def _address(packed: bytes) -> str:
    if len(packed) == 4:
        return ".".join([_OCTETS[octet] for octet in packed])
    return str(IPv6Address(packed))
