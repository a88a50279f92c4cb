"""Pages that try every way by which a browser sends something by itself.

`waysout/ways.js` lists the ways: requests of scripts, pictures, style sheets, fonts, scripts and
modules, workers, hints, media, frames, redirects, headers, reports, windows, forms, downloads,
sockets and calls; each with an address that robots.txt forbids, one out of scope, one that is
private, and one that is allowed. Most of them do send something in an ordinary Chromium. The
browser has no network namespace of its own here, but that of the test, so that all it sent would
be seen.
"""

import json
import os
import shutil
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.support.browser import chromium
from tests.support.checkout import ROOT
from tests.support.waysweb import (
    PART_WAIT,
    PROBED,
    PUBLIC,
    SECOND,
    SITE,
    WAIT,
    Seen,
    Watched,
    ways,
)

pytestmark = pytest.mark.slow

_NAMESPACES = ["unshare", "--net", "--mount"]
#: Ways that ask for the address that is allowed, by the crawl.
_ASKED = ("fetch", "xhr", "css-link", "script", "module", "import", "worker", "worker-fetch")


@pytest.fixture(scope="module")
def watched(tmp_path_factory: pytest.TempPathFactory) -> Watched:
    chromium()
    if os.geteuid() or subprocess.run([*_NAMESPACES, "true"], capture_output=True).returncode:
        pytest.skip("only root may make a network here")
    folder = tmp_path_factory.mktemp("ways")
    environment = {**os.environ, "PATH": f"{_without_unshare(folder)}:{os.environ['PATH']}"}
    unshare = shutil.which(_NAMESPACES[0])
    assert unshare is not None
    command = [unshare, *_NAMESPACES[1:], sys.executable, "-m", "tests.support.waysweb"]
    ended = subprocess.run(
        [*command, str(folder)], cwd=ROOT, env=environment, capture_output=True, text=True
    )
    assert ended.returncode == 0, ended.stderr
    found = json.loads(ended.stdout)
    found["requests"] = [Seen(**each) for each in found["requests"]]
    return Watched(**found)


def _without_unshare(folder: Path) -> Path:
    """A folder for PATH, with which the crawl finds that it cannot make namespaces."""
    programs = folder / "programs"
    programs.mkdir()
    (programs / "unshare").write_text("#!/bin/sh\nexit 1\n")
    (programs / "unshare").chmod(0o755)
    return programs


def test_there_are_many_ways() -> None:
    assert len(ways()) > 110
    assert len(ways("MOVES")) > 10


def test_all_ways_were_tried(watched: Watched) -> None:
    assert watched.code == 0, watched.said
    details = {str(fate["url"]): fate.get("detail") for fate in watched.fates}
    failed = [url for url, detail in details.items() if "not rendered" in str(detail)]
    assert failed == []
    asked = {seen.path.rpartition("/")[2] for seen in watched.requests if "/allowed/" in seen.path}
    assert set(_ASKED) <= asked


def test_nothing_that_robots_txt_forbids(watched: Watched) -> None:
    paths = [seen.path.partition("?")[0] for seen in watched.requests]
    assert [path for path in paths if path.startswith("/forbidden")] == []


def test_nothing_out_of_scope_and_nothing_private(watched: Watched) -> None:
    assert {(seen.address, seen.host) for seen in watched.requests} == {
        (PUBLIC, SITE),
        (PUBLIC, SECOND),
    }
    assert {to for to, number in watched.accepted.items() if number} == {PUBLIC}


def test_no_packet_to_anyone_else(watched: Watched) -> None:
    probe = SimpleNamespace(**dict(zip(("kind", "to", "at"), PROBED, strict=True)))
    assert watched.strangers == [f"{probe.kind} {probe.to}:{probe.at}"]


def test_all_waits_are_kept(watched: Watched) -> None:
    requests = sorted(watched.requests, key=lambda seen: seen.at)
    # Robots.txt of a second site may follow at once: an address waits between pages and parts.
    gaps = [(after.at - before.at, after.path) for before, after in pairwise(requests)]
    assert [gap for gap in gaps if gap[0] < PART_WAIT - 0.01 and "robots" not in gap[1]] == []
    pages = [seen for seen in requests if seen.path.split("/")[1] in ("some", "move", "private")]
    short = [b.path for a, b in pairwise(pages) if b.at - a.at < WAIT - 0.02]
    assert short == []
