"""The judgement of a crawl finds what is wrong: a site without a login, and one with a leak."""

from dataclasses import dataclass
from html import escape
from pathlib import Path

import pytest

from tests.support.doors.crawl import WAIT, DoorCrawl
from tests.support.doors.door import Door, Life, asks_for_login
from tests.support.doors.ledger import ledger
from tests.support.doors.server import Heard

pytestmark = pytest.mark.slow


@dataclass
class OpenDoor(Door):
    """Shows its pages to anybody."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.begin("all")

    def key_of(self, heard: Heard) -> str | None:
        return "all"


def test_a_crawl_without_a_login_is_judged(tmp_path: Path) -> None:
    door = OpenDoor(pages=20)
    crawl = DoorCrawl(tmp_path, door)
    try:
        assert crawl.run() == 0, crawl.printed
        assert crawl.faults() == []
        assert crawl.leaks() == []
    finally:
        crawl.kill()
        door.close()
    seen = ledger(door)
    assert (seen.wasted, seen.at_once, seen.entangled) == (0, 1, [])
    assert seen.gap >= WAIT
    assert set(seen.pages) == set(door.paths)


@dataclass
class BadDoor(OpenDoor):
    """Shows a password on a page, and asks some visitors to sign in."""

    def _page(self, path: str) -> str:
        words = f"<p>The password of the day is {escape(self.password)}.</p></main>"
        return super()._page(path).replace("</main>", words if path == "/p/1" else "</main>")


def test_logged_out_pages_and_leaks_are_found(tmp_path: Path) -> None:
    door = BadDoor(asks_for_login, Life(pages=6), pages=9)
    crawl = DoorCrawl(tmp_path, door)
    try:
        assert crawl.run() == 0, crawl.printed
        faults, leaks = crawl.faults(), crawl.leaks()
    finally:
        crawl.kill()
        door.close()
    for output in ("mirror", "save", "warc"):
        assert sum(fault.startswith(output) and "logged out" in fault for fault in faults) == 4
    assert any(fault.endswith("larbinpy.db: logged out") for fault in faults)
    host = door.server.host
    places = {leak.partition(": ")[0] for leak in leaks}
    assert {"export", f"save/{host}/p/1"} <= places
    assert any(place.startswith("save/d00000/f") for place in places)
    assert any(place.endswith(".warc.gz") for place in places)
    assert all(leak.endswith(door.password) for leak in leaks)
    assert ledger(door).refused == 4
