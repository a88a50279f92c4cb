"""Archive mode: WARC files of a crawl, whole whatever happens."""

import errno
import json
import os
import re
import zlib
from collections.abc import Callable, Iterator
from itertools import count, islice
from pathlib import Path
from typing import Any

import pytest
from warcio.archiveiterator import ArchiveIterator

from larbinpy.dns.lookup import Answer
from larbinpy.output.warc.records import Original
from larbinpy.output.warc.warc import FirstCaptures, WarcOutput
from larbinpy.page import Outcome, Page
from larbinpy.url import Url
from tests.support.faultydisk import CHANGES, FaultyDisk, Killed
from tests.support.warcs import captures, records, warcs

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n"
ABOUT = {"software": "larbinpy/1"}


def page(number: int, body: bytes | None = None, host: str = "h") -> Page:
    body = b"page %d" % number if body is None else body
    url = Url(f"http://{host}/{number}", 1)
    return Page(url, Outcome.SUCCESS, 200, [("content-type", "text/plain")], head=HEAD, body=body)


#: Makes outputs of one folder; takes the sizes that `WarcOutput` does.
Outputs = Callable[..., WarcOutput]


class Clock:
    """Returns a later second each time."""

    def __init__(self) -> None:
        self._seconds = count(1_800_000_000)

    def __call__(self) -> float:
        return next(self._seconds)


@pytest.fixture
def outputs(tmp_path: Path) -> Iterator[Outputs]:
    """Make outputs of one folder; closes the files of those that a test did not close."""
    made: list[WarcOutput] = []

    def make(**sizes: Any) -> WarcOutput:
        made.append(WarcOutput(tmp_path, ABOUT, Clock(), **sizes))
        return made[-1]

    yield make
    for output in made:
        kill(output)


def kill(output: WarcOutput) -> None:
    """Close its files, and nothing else."""
    growing = output._series._growing
    if growing is not None:
        growing.close()
        output._series._growing = None
    output._series._sorting = None
    output._series._unsorted.clear()
    output._series._sorted.clear()
    try:
        output.close()
    except OSError as error:
        assert error.errno == errno.EBADF


def numbers(folder: Path) -> list[int]:
    """Return the numbers of the pages in the files of `folder`, with repetitions."""
    found = captures(*sorted(folder.glob("*.warc.gz*")))
    for url, bodies in found.items():
        assert all(body == b"page " + url.rpartition("/")[2].encode() for body in bodies)
    return sorted(int(url.rpartition("/")[2]) for url, bodies in found.items() for _ in bodies)


def check_indexes(folder: Path) -> None:
    """Check that each file has an index with the position of each capture."""
    for file in warcs(folder):
        lines = Path(f"{str(file).removesuffix('.warc.gz')}.cdxj").read_text().splitlines()
        assert lines == sorted(lines)
        listed = [json.loads(line.split(" ", 2)[2]) for line in lines]
        assert {line["filename"] for line in listed} <= {file.name}
        indexed = sorted((int(t["offset"]), int(t["length"]), t["url"]) for t in listed)
        kinds = ("response", "revisit", "resource")
        assert indexed == [(r.offset, r.length, r.url) for r in records(file) if r.kind in kinds]
    names = os.listdir(folder)
    assert len(names) == 2 * len(warcs(folder)), names


def test_a_crawl_is_one_file_with_its_index(tmp_path: Path, outputs: Outputs) -> None:
    output = outputs()
    for number in range(3):
        output.loaded(page(number))
    assert all(name.endswith(".open") for name in os.listdir(tmp_path))
    output.close()
    [file] = warcs(tmp_path)
    assert re.match(r"larbinpy_[0-9a-f]{8}-20270115080000000-00000-", file.name)
    assert numbers(tmp_path) == [0, 1, 2]
    check_indexes(tmp_path)
    first = records(file)[0]
    assert first.lines[0] == "software: larbinpy/1"
    assert first.lines[1] == f"isPartOf: {file.name[:17]}"


def test_each_record_is_a_gzip_member(tmp_path: Path, outputs: Outputs) -> None:
    output = outputs()
    output.loaded(page(1))
    output.close()
    [file] = warcs(tmp_path)
    data, members = file.read_bytes(), []
    while data:
        member = zlib.decompressobj(31)
        members.append(member.decompress(data))
        data = member.unused_data
    assert [m.startswith(b"WARC/1.1\r\n") and m.endswith(b"\r\n\r\n") for m in members] == [
        True
    ] * 3


def test_a_crawl_without_pages_leaves_nothing(tmp_path: Path, outputs: Outputs) -> None:
    output = outputs()
    output.cut()
    output.sync()
    output.close()
    assert os.listdir(tmp_path) == []


def test_a_file_that_is_full_is_followed_by_another(tmp_path: Path, outputs: Outputs) -> None:
    output = outputs(file_size=3000)
    for number in range(20):
        output.loaded(page(number))
    done = [name for name in os.listdir(tmp_path) if name.endswith(".warc.gz")]
    assert len(done) >= 4
    assert all(3000 <= (tmp_path / name).stat().st_size < 4000 for name in done)
    output.close()
    assert numbers(tmp_path) == [*range(20)]
    check_indexes(tmp_path)
    serials = [file.name.split("-")[2] for file in warcs(tmp_path)]
    assert serials == [f"{n:05}" for n in range(len(serials))]
    parts = {records(file)[0].lines[1] for file in warcs(tmp_path)}
    assert len(parts) == 1


def test_a_payload_that_came_before_is_a_revisit(tmp_path: Path, outputs: Outputs) -> None:
    output = outputs()
    for number in range(3):
        output.loaded(page(number, b"same"))
    output.loaded(page(3, b"other"))
    stats = output.stats()
    output.close()
    assert (stats["captures"], stats["revisits"]) == (4, 2)
    [file] = warcs(tmp_path)
    kinds = [r.kind for r in records(file) if r.kind in ("response", "revisit")]
    assert kinds == ["response", "revisit", "revisit", "response"]
    for revisit in (r for r in records(file) if r.kind == "revisit"):
        first = next(r for r in records(file) if r.kind == "response")
        assert revisit.fields["WARC-Refers-To-Target-URI"] == "http://h/0"
        assert revisit.fields["WARC-Refers-To-Date"] == first.fields["WARC-Date"]
    check_indexes(tmp_path)


def test_empty_and_truncated_payloads_have_no_revisits(
    outputs: Outputs,
) -> None:
    output = outputs()
    part = page(0, b"part")
    part.truncated = "length"
    for taken in (part, page(1, b"part"), page(2, b""), page(3, b"")):
        output.loaded(taken)
    assert output.stats()["revisits"] == 0


def test_payloads_are_remembered_by_their_last_use(
    outputs: Outputs,
) -> None:
    output = outputs(originals=FirstCaptures(2))
    for body in (b"a", b"b", b"a", b"c", b"a", b"b"):
        output.loaded(page(0, body))
    # b was forgotten for c; a was used in between.
    assert output.stats()["revisits"] == 2


def test_look_ups_come_before_the_first_capture_of_their_host(
    tmp_path: Path, outputs: Outputs
) -> None:
    output = outputs()
    output.resolved(Answer("a.test", ("192.0.2.1",), None))
    output.resolved(Answer("b.test", ("192.0.2.2",), None))
    output.resolved(Answer("c.test", (), "nxdomain"))
    output.resolved(Answer("192.0.2.3", ("192.0.2.3",), None))
    for number, host in enumerate(("a.test", "a.test", "c.test", "192.0.2.3")):
        output.loaded(page(number, None, host))
    output.close()
    [file] = warcs(tmp_path)
    found = [(r.kind, r.url) for r in records(file) if r.kind in ("resource", "response")]
    assert found[:3] == [
        ("resource", "dns:a.test"),
        ("response", "http://a.test/0"),
        ("response", "http://a.test/1"),
    ]
    assert [kind for kind, _ in found].count("resource") == 1
    check_indexes(tmp_path)


def test_a_host_with_a_final_dot_has_the_look_up_of_its_name(
    tmp_path: Path, outputs: Outputs
) -> None:
    output = outputs()
    output.resolved(Answer("a.test", ("192.0.2.1",), None))
    for number, host in enumerate(("a.test.", "a.test")):
        output.loaded(page(number, None, host))
    output.close()
    found = [r for r in records(*warcs(tmp_path)) if r.kind in ("resource", "response")]
    assert [r.url for r in found] == ["dns:a.test", "http://a.test./0", "http://a.test/1"]


def test_names_are_remembered_within_bounds(tmp_path: Path, outputs: Outputs) -> None:
    output = outputs(answers=2)
    for name in ("a", "b", "c"):
        output.resolved(Answer(name, ("192.0.2.1",), None))
    for name in ("a", "b", "c"):
        output.loaded(page(1, name.encode(), name))
    output.close()
    urls = [r.url for r in records(*warcs(tmp_path)) if r.kind == "resource"]
    assert urls == ["dns:b", "dns:c"]


def test_replies_are_kept_unless_their_body_was_not_read(tmp_path: Path, outputs: Outputs) -> None:
    output = outputs()
    moved = Page(Url("http://h/moved", 1), Outcome.ERR_30X, 302, [], head=b"HTTP/1.1 302 Found\r\n")
    image = Page(Url("http://h/image", 1), Outcome.BAD_TYPE, 200, [], head=HEAD)
    cut = Page(
        Url("http://h/cut", 1), Outcome.EARLY_STOP, 200, [], head=HEAD, truncated="disconnect"
    )
    for taken in (moved, image, cut):
        output.replied(taken)
    output.close()
    assert list(captures(*warcs(tmp_path))) == ["http://h/moved"]


def test_a_capture_is_dated_when_its_fetch_began(tmp_path: Path) -> None:
    """The clock shows when it ended."""
    output = WarcOutput(tmp_path, ABOUT, lambda: 1_800_000_000.0)
    taken = page(1)
    taken.ms = 2500
    output.loaded(taken)
    output.close()
    dates = {r.kind: r.fields["WARC-Date"] for r in records(*warcs(tmp_path))}
    began = "2027-01-15T07:59:57.500Z"
    assert dates == {
        "warcinfo": "2027-01-15T08:00:00.000Z",
        "response": began,
        "metadata": began,
    }


# As a part of the state.


def names_of(folder: Path, ending: str) -> set[str]:
    """The series' files with that ending, named without it."""
    return {file.name.removesuffix(ending) for file in folder.glob(f"*{ending}")}


def test_files_journal_and_folder_are_synced(
    tmp_path: Path, outputs: Outputs, monkeypatch: pytest.MonkeyPatch
) -> None:
    output = outputs()
    output.loaded(page(1))
    output.cut()
    synced: list[str] = []
    monkeypatch.setattr(os, "fsync", lambda fd: synced.append(os.readlink(f"/proc/self/fd/{fd}")))
    output.sync()
    [growing] = tmp_path.glob("*.warc.gz.open")
    [journal] = tmp_path.glob("*.cdxj.open")
    assert sorted(synced) == sorted(map(str, (growing, journal, tmp_path)))


def test_a_journal_stays_until_a_cut_after_its_index(tmp_path: Path, outputs: Outputs) -> None:
    """Before the sync of such a cut only the journal is surely on the disk."""
    output = outputs(file_size=2000)
    while not names_of(tmp_path, ".warc.gz"):
        output.loaded(page(1, os.urandom(500)))
    [name] = names_of(tmp_path, ".warc.gz")
    assert name not in names_of(tmp_path, ".cdxj")
    output.cut()
    while name not in names_of(tmp_path, ".cdxj"):
        output.loaded(page(2, b""))
    output.sync()
    assert name in names_of(tmp_path, ".cdxj.open")
    output.cut()
    output.sync()
    assert name not in names_of(tmp_path, ".cdxj.open")


def go_on(make: Outputs, mark: Any) -> WarcOutput:
    output = make()
    output.load(json.loads(json.dumps(mark)))
    return output


def test_an_index_is_synced_before_its_journal_goes(
    tmp_path: Path, outputs: Outputs, monkeypatch: pytest.MonkeyPatch
) -> None:
    output = outputs()
    output.loaded(page(1))
    synced: list[tuple[str, bool]] = []

    def fsync(fd: int) -> None:
        has_journal = bool(names_of(tmp_path, ".cdxj.open"))
        synced.append((os.readlink(f"/proc/self/fd/{fd}"), has_journal))

    monkeypatch.setattr(os, "fsync", fsync)
    output.close()
    [index] = tmp_path.glob("*.cdxj")
    assert (str(index), True) in synced
    assert not names_of(tmp_path, ".cdxj.open")


def test_a_file_that_grows_again_has_no_index(tmp_path: Path, outputs: Outputs) -> None:
    output = outputs()
    output.loaded(page(1))
    mark = output.cut()
    output.loaded(page(2))
    output.close()
    [name] = names_of(tmp_path, ".cdxj")
    output = go_on(outputs, mark)
    assert names_of(tmp_path, ".warc.gz.open") == names_of(tmp_path, ".cdxj.open") == {name}
    assert not names_of(tmp_path, ".cdxj")
    output.close()
    assert numbers(tmp_path) == [1]
    check_indexes(tmp_path)


def test_after_a_kill_pages_since_the_mark_are_there_once(tmp_path: Path, outputs: Outputs) -> None:
    output = outputs()
    output.loaded(page(1))
    mark = output.cut()
    output.sync()
    output.loaded(page(2))
    assert output.cut() != mark
    kill(output)
    [grown] = tmp_path.glob("*.warc.gz.open")
    with grown.open("ab") as file:
        file.write(b"\x1f\x8b torn")
    with next(tmp_path.glob("*.cdxj.open")).open("ab") as file:
        file.write(b'h)/3 2027 {"url": "ht')
    output = go_on(outputs, mark)
    for number in (2, 3):
        output.loaded(page(number))
    output.close()
    assert numbers(tmp_path) == [1, 2, 3]
    check_indexes(tmp_path)
    found = records(*warcs(tmp_path))
    assert {r.fields["WARC-Warcinfo-ID"] for r in found[1:]} == {found[0].fields["WARC-Record-ID"]}


def test_after_a_kill_a_file_can_be_read_up_to_its_torn_end(
    tmp_path: Path, outputs: Outputs
) -> None:
    output = outputs()
    for number in range(5):
        output.loaded(page(number))
    output.cut()
    kill(output)
    [grown] = tmp_path.glob("*.warc.gz.open")
    whole = records(grown)
    assert len(whole) == 1 + 2 * 5
    for length in range(whole[-1].offset, grown.stat().st_size, 17):
        torn = tmp_path / "torn"
        torn.write_bytes(grown.read_bytes()[:length])
        with torn.open("rb") as stream:
            read = [r.rec_type for r in islice(ArchiveIterator(stream), len(whole) - 1)]
        assert read == [r.kind for r in whole[:-1]]


def test_records_wait_for_a_quarter_of_a_megabyte_or_a_cut(
    tmp_path: Path, outputs: Outputs
) -> None:
    output = outputs()
    output.loaded(page(0))
    [grown] = tmp_path.glob("*.warc.gz.open")
    assert len(records(grown)) == 1
    output.loaded(page(1, os.urandom(1 << 18)))
    output.loaded(page(2))
    assert len(records(grown)) == 1 + 2 * 2
    length = output.cut()["length"]
    assert len(records(grown)) == 1 + 2 * 3
    assert length == grown.stat().st_size


def test_a_crawl_that_ended_well_goes_on_in_a_new_file(tmp_path: Path, outputs: Outputs) -> None:
    output = outputs()
    output.loaded(page(1))
    mark = output.cut()
    output.close()
    [first] = warcs(tmp_path)
    data = first.read_bytes()
    output = go_on(outputs, mark)
    output.loaded(page(2))
    output.close()
    assert first.read_bytes() == data
    assert len(warcs(tmp_path)) == 2
    assert numbers(tmp_path) == [1, 2]
    check_indexes(tmp_path)


def test_a_file_that_was_taken_away_is_not_missed(tmp_path: Path, outputs: Outputs) -> None:
    output = outputs()
    output.loaded(page(1))
    mark = output.cut()
    output.close()
    for file in tmp_path.iterdir():
        file.unlink()
    output = go_on(outputs, mark)
    output.loaded(page(2))
    output.close()
    assert numbers(tmp_path) == [2]


def test_complete_files_may_be_taken_away_while_the_crawl_goes_on(
    tmp_path: Path, outputs: Outputs
) -> None:
    output = outputs(file_size=2000)
    kept = 0
    for number in range(20):
        output.loaded(page(number))
        done = [file.name.removesuffix(".warc.gz") for file in warcs(tmp_path)]
        for file in [file for file in tmp_path.iterdir() if file.name.startswith(tuple(done))]:
            file.unlink()
        kept += len(done)
        if number % 3 == 0:
            output.cut()
            output.sync()
    output.close()
    assert kept > 3
    assert numbers(tmp_path)[-1] == 19


def test_a_shortened_file_is_an_error(tmp_path: Path, outputs: Outputs) -> None:
    output = outputs()
    output.loaded(page(1))
    mark = output.cut()
    kill(output)
    os.truncate(next(tmp_path.glob("*.warc.gz.open")), 100)
    with pytest.raises(ValueError, match="shorter than it was"):
        go_on(outputs, mark)


def test_files_of_other_crawls_are_left_alone(tmp_path: Path, outputs: Outputs) -> None:
    ours, theirs = outputs(), outputs()
    mark = ours.cut()
    ours.loaded(page(1))
    theirs.loaded(page(2))
    theirs.close()
    kill(ours)
    (tmp_path / "larbinpy_01234567-20270115080000000-00007-x.warc.gz").write_bytes(b"not gzip")
    (tmp_path / "larbinpy_01234567-20270115080000000-00008-x.cdxj").write_bytes(b"alone")
    kept = {p.name for p in tmp_path.iterdir() if not p.name.endswith(".open")}
    assert len(kept) == 4
    go_on(outputs, mark).close()
    assert {p.name for p in tmp_path.iterdir()} == kept


def live(folder: Path, marks: list[Any], disk: FaultyDisk) -> bool:
    """Archive pages from the last of `marks` on, adding a mark before each third; did it end?"""
    output = None
    try:
        with disk.under(*CHANGES):
            output = WarcOutput(folder, ABOUT, Clock(), file_size=2000, merged_lines=2)
            mark, first = marks[-1]
            if mark is not None:
                output.load(mark)
            for number in range(first, 12):
                if number % 3 == 0:
                    cut = json.loads(json.dumps(output.cut()))
                    output.sync()
                    marks.append((cut, number))
                output.loaded(page(number))
            output.close()
            return True
    except Killed:
        return False
    finally:
        if output is not None:
            kill(output)


@pytest.mark.parametrize("torn", [False, True])
def test_killed_at_any_moment_each_page_is_there_once(tmp_path: Path, torn: bool) -> None:
    """Killed at each change of the disk in turn, and once more while it resumes."""
    for nth in count(1):
        folder = tmp_path / str(nth)
        marks: list[Any] = [(None, 0)]
        for moment in (nth, 1 + nth % 11):
            disk = FaultyDisk()
            disk.kill(moment, torn=torn)
            ended = live(folder, marks, disk)
            if ended:
                break
        if moment == nth and ended:
            break
        # A crawl that died before its first mark cannot be resumed; its files stay.
        if len(marks) > 1:
            assert ended or live(folder, marks, FaultyDisk())
            assert numbers(folder) == [*range(12)], nth
            check_indexes(folder)
    assert nth > 50


def test_a_full_disk_leaves_whole_records_and_lets_the_page_come_again(tmp_path: Path) -> None:
    for nth in range(1, 40):
        folder = tmp_path / str(nth)
        output = WarcOutput(folder, ABOUT, Clock(), file_size=2000)
        disk = FaultyDisk()
        with disk.under("open", "write", "rename"):
            disk.fail(nth, times=2, torn=True)
            for number in range(8):
                while True:
                    try:
                        output.loaded(page(number))
                        break
                    except OSError as error:
                        assert error.errno == errno.ENOSPC
        output.close()
        assert numbers(folder) == [*range(8)], nth
        check_indexes(folder)


def test_payloads_of_earlier_archives_are_revisits(tmp_path: Path, outputs: Outputs) -> None:
    output = outputs()
    for number in range(3):
        output.loaded(page(number))
    output.close()
    [index] = tmp_path.glob("*.cdxj")
    first = next(r for r in records(*warcs(tmp_path)) if r.url == "http://h/1")
    earlier = FirstCaptures(files=[str(index), str(index)], folder=str(tmp_path))
    assert not list(tmp_path.glob(".*"))
    second = outputs(originals=earlier, prefix="second.day")
    second.loaded(page(1, host="other"))
    second.loaded(page(7))
    second.close()
    [file] = tmp_path.glob("second.day_*.warc.gz")
    found = [r for r in records(file) if r.kind in ("response", "revisit")]
    assert [(r.kind, r.url) for r in found] == [
        ("revisit", "http://other/1"),
        ("response", "http://h/7"),
    ]
    fields = found[0].fields
    assert fields["WARC-Refers-To-Target-URI"] == "http://h/1"
    # An index has whole seconds.
    assert fields["WARC-Refers-To-Date"] == first.fields["WARC-Date"][:19] + "Z"
    assert fields["WARC-Payload-Digest"] == first.fields["WARC-Payload-Digest"]


@pytest.mark.parametrize(
    ("digest", "found"),
    [
        ("sha1:AAAQEAYEAUDAOCAJBIFQYDIOB4IBCEQT", True),
        ("AAAQEAYEAUDAOCAJBIFQYDIOB4IBCEQT", True),
        ("sha1:000102030405060708090a0b0c0d0e0f10111213", True),
        ("sha256:" + "0" * 64, False),
        ("-", False),
    ],
)
def test_digests_of_other_programs_are_understood(tmp_path: Path, digest: str, found: bool) -> None:
    fields = {"url": "http://h/", "mime": "text/html", "digest": digest}
    lines = [f"h)/ 20260131235959 {json.dumps(fields)}", "!meta 0 {}", "h)/ 2026"]
    revisit = fields | {"mime": "warc/revisit", "digest": "sha1:" + "A" * 32}
    index = tmp_path / "i.cdxj"
    index.write_text("\n".join([*lines, f"h)/ 20260131235959 {json.dumps(revisit)}\n"]))
    if not found:
        with pytest.raises(OSError, match=r"no line of CDXJ with a SHA-1 digest"):
            FirstCaptures(files=[str(index)], folder=str(tmp_path))
        return
    earlier = FirstCaptures(files=[str(index)], folder=str(tmp_path))
    original = earlier.get("sha1:AAAQEAYEAUDAOCAJBIFQYDIOB4IBCEQT")
    assert original == Original("http://h/", "2026-01-31T23:59:59Z")
    assert earlier.get("sha1:" + "A" * 32) is None
    earlier.close()
