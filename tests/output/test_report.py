"""The report of a crawl."""

import json
import os
from pathlib import Path

import pytest

from larbinpy.output.log import build_report, write_report

REPORT = build_report(
    version="1.0",
    started="2030-01-01T00:00:00Z",
    elapsed_s=1.23456,
    cpu_s=0.5,
    peak_rss_bytes=1000,
    stop_reason="\x1b\x7f\u202e",
    exit_code=0,
    totals={
        "pages": 1,
        "success": 2,
        "links": 3,
        "urls_seen": 4,
        "urls_queued": 5,
        "bytes_received": 6,
        "sites": 7,
        "addresses": 8,
        "retries": 9,
    },
    outcomes={"success": 2, "err40X": 1},
    robots={"fetched": 1, "denied": 2},
    dns={"asked": 1, "sent": 2, "answered": 3, "cached": 4, "failed": 5, "servers": []},
    left_out={"robots": 2, "rules": {}, "limits": {"lockSite": 3}, "links": {}},
)


def test_it_has_the_promised_keys_in_order() -> None:
    assert " ".join(REPORT) == (
        "version started elapsed_s cpu_s peak_rss_bytes stop_reason exit_code pages success "
        "outcomes links urls_seen urls_queued bytes_received sites addresses robots dns retries "
        "left_out"
    )
    assert REPORT["dns"] == {"asked": 1, "sent": 2, "answered": 3, "cached": 4, "failed": 5}
    assert REPORT["elapsed_s"] == 1.235
    assert REPORT["urls_queued"] == 5
    assert REPORT["left_out"] == {"robots": 2, "rules": {}, "limits": {"lockSite": 3}, "links": {}}


def test_it_is_written_whole_and_printable(tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    path.write_bytes(b"old")
    write_report(path, REPORT)
    assert json.loads(path.read_bytes()) == REPORT
    assert path.read_text("ascii").replace("\n", "").isprintable()
    assert os.listdir(tmp_path) == ["report.json"]


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    (tmp_path / "link").symlink_to("there/report.json")
    write_report(tmp_path / "link", REPORT)
    assert (tmp_path / "link").is_symlink()
    assert json.loads((tmp_path / "there/report.json").read_bytes()) == REPORT


def test_a_pipe_is_written_to_and_not_replaced() -> None:
    reading, writing = os.pipe()
    write_report(f"/dev/fd/{writing}", REPORT)
    os.close(writing)
    with open(reading, "rb") as file:
        assert json.load(file) == REPORT


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        write_report(tmp_path / "none" / "report.json", REPORT)


def test_a_report_to_standard_output(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    print("before")
    write_report("-", REPORT)
    before, _, report = capfdbinary.readouterr().out.partition(b"\n")
    assert (before, json.loads(report)) == (b"before", REPORT)
