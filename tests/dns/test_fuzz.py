"""Messages with faults in them: read rightly or not at all, within their time.

A longer run is `scripts/fuzz-dns messages`.
"""

import os
import subprocess
import sys
from collections.abc import Callable
from itertools import islice
from random import Random
from socket import inet_ntoa

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from larbinpy.dns import wire
from tests.support.checkout import ROOT
from tests.support.dnsfuzz import (
    FAULTS,
    Case,
    Fault,
    Mutator,
    Tally,
    foreign,
    honest,
    large,
    message,
    sound,
)
from tests.support.suites import suite

pytestmark = pytest.mark.slow


def judged(cases: list[Case]) -> Tally:
    tally = Tally()
    tally.run(cases, compare_each=1)
    assert tally.findings == []
    return tally


def test_sound_messages_are_read_and_mean_what_dnspython_says() -> None:
    cases = honest()
    assert judged(cases).compared == len(cases)


def test_packets_with_odd_names_counts_and_lengths() -> None:
    """Each as a whole message, and its records behind a question of ours."""
    head = b"\0\x4d\x81\x80\0\1\0\1\0\0\0\0"
    asked = b"\3www\4test\0\0\1\0\1"
    address = b"\0\1\0\1\0\0\1\x2c\0\4\xc0\0\2\1"
    owners = [
        b"\xc0\x0c",
        b"\xc0\x1e",  # a pointer to itself
        b"\xc0\xff",  # beyond the end
        b"\xff\xff",
        b"\3www\xc0\x10",
        b"\x40www\0",  # a length that no label has
        b"\x80\0",
        b"\x3f" + b"x" * 63 + b"\xc0\x0c",
        (b"\x3f" + b"x" * 63) * 4 + b"\0",  # 257 octets
        b"\0",
        b"\3w.w\4test\0",
        b"\3w\0w\4test\0",
        b"",
    ]
    tails = [
        address,
        address[:-1],
        address + b"\0",
        address.replace(b"\0\4", b"\0\5"),
        address.replace(b"\0\4", b"\xff\xff"),
        b"\0\5" + address[2:],  # a CNAME of four octets
        b"\0\5\0\1\0\0\1\x2c\0\2\xc0\x1e" + b"\xc0\x0c" + address,  # to itself
        b"\0\x29" + address[2:],
        b"",
    ]
    packets = [head + asked + owner + tail for owner in owners for tail in tails]
    packets += [head[:count] for count in range(13)] + [
        head + asked[:-1],
        head + b"\xc0\x0c\0\1\0\1",
    ]
    packets.append(head.replace(b"\0\1\0\1", b"\0\2\xff\xff") + asked + owners[0] + address)
    assert 5 < judged(foreign(packets)).accepted < len(packets)


def test_packets_that_broke_other_parsers() -> None:
    folder = suite("c-ares-fuzz/fuzzinput")
    cases = foreign(path.read_bytes() for path in sorted(folder.iterdir()))
    assert len(cases) > 250
    assert 50 < judged(cases).accepted < len(cases)


@pytest.mark.parametrize("seed", [1, 2])
def test_mutated_messages_mean_what_dnspython_says_or_nothing(seed: int) -> None:
    tally = judged(list(islice(Mutator(Random(seed), []), 10_000)))
    assert 1500 < tally.accepted < 8000


names = st.sampled_from(["www.test", "a.test", "b.test", "c.d.test", "MIXED.test", "x_1.other"])
owners = names.map("{}.".format)
records = st.one_of(
    st.tuples(owners, st.just("A"), st.ip_addresses(v=4).map(str)),
    st.tuples(owners, st.just("CNAME"), owners),
    st.tuples(owners, st.just("AAAA"), st.ip_addresses(v=6).map(str)),
    st.tuples(owners, st.just("TXT"), st.just('"t"')),
)
messages = st.builds(
    message,
    names,
    st.sampled_from(["A", "AAAA"]),
    st.lists(records, max_size=12),
    soa=st.none() | st.integers(0, 2**31 - 1),
    rcode=st.sampled_from([0, 0, 0, 2, 3, 5]),
    additional=st.lists(records, max_size=2),
)


@given(messages)
@settings(max_examples=300)
def test_generated_messages_mean_what_dnspython_says(packet: bytes) -> None:
    tally = Tally()
    tally.judge(sound(packet))
    assert tally.compared == 1


@given(messages, st.lists(st.sampled_from(FAULTS), min_size=1), st.randoms())
@settings(max_examples=500)
def test_faults_in_generated_messages(packet: bytes, faults: list[Fault], dice: Random) -> None:
    changed = bytearray(packet)
    for fault in faults:
        fault(changed, dice)
    Tally().judge(Case(bytes(changed), sound(packet).section))


@given(st.binary(max_size=600))
@settings(max_examples=300)
def test_any_octets_are_an_answer_or_are_not(packet: bytes) -> None:
    for case in foreign([packet]):
        Tally().judge(case)


def test_the_largest_messages() -> None:
    assert judged(large()).accepted == 3


decode = wire.decode


def _believes_all(packet: bytes, section: bytes) -> wire.Reply:
    try:
        return decode(packet, section)
    except wire.WireError:
        return wire.Reply(0)


def _escapes(packet: bytes, section: bytes) -> wire.Reply:
    if len(packet) % 32 == 0:
        raise IndexError
    return decode(packet, section)


def _takes_any_address(packet: bytes, section: bytes) -> wire.Reply:
    reply = decode(packet, section)
    at = packet.rfind(b"\0\4")
    return reply._replace(addresses=(*reply.addresses, inet_ntoa(packet[at + 2 : at + 6])))


def _does_not_count(packet: bytes, section: bytes) -> wire.Reply:
    return decode(packet[:10] + b"\0\0" + packet[12:], section)


def _never_ends(packet: bytes, section: bytes) -> wire.Reply:
    while len(packet) == 50:
        pass
    return decode(packet, section)


@pytest.mark.parametrize(
    "reader", [_believes_all, _escapes, _takes_any_address, _does_not_count, _never_ends]
)
def test_a_bad_decoder_is_found_out(reader: Callable[[bytes, bytes], wire.Reply]) -> None:
    tally = Tally(reader, patience=0.2)
    tally.run(islice(Mutator(Random(1), []), 2000), compare_each=1)
    assert tally.findings != []


def test_the_script_runs_and_says_what_it_found() -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "scripts/fuzz_dns.py", "--count", "2000", "--names", "50"],
        env={**os.environ, "PYTHONPATH": f"{ROOT}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "2000 messages in" in done.stdout
    assert "0 findings" in done.stdout
    assert "2000 of them rejected" in done.stdout
    assert "50 names resolved afterwards, 0 fooled" in done.stdout
