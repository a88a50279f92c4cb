"""The console of a crawl on Redis, without one."""

import json
from collections.abc import Iterable
from io import StringIO
from typing import Any, cast

import pytest

from larbinpy.console.terminal.prompt import Script
from larbinpy.crawl.fleet.remote import LOGINS_STAY, FleetConsole, Remote
from larbinpy.url import typed


class _Seeded:
    """Stands for the crawl: it takes seeds."""

    def seed(self, urls: Iterable[str], **options: Any) -> list[str]:
        return [url for url in urls if typed(url) is None]


def test_a_command_that_is_none_is_told() -> None:
    stdout = StringIO()
    console = FleetConsole(cast(Remote, _Seeded()), stdout, as_json=True)
    console.run(Script(StringIO("dance\n")))
    answer = json.loads(stdout.getvalue())
    assert not answer["ok"] and "dance" in answer["error"]


@pytest.mark.parametrize("as_json", [True, False])
def test_logins_of_seeds_are_not_dropped_in_silence(as_json: bool) -> None:
    for seeds, noted in (("http://me:pw@a.test/ http://b.test/", True), ("http://a.test/", False)):
        stdout = StringIO()
        console = FleetConsole(cast(Remote, _Seeded()), stdout, as_json=as_json)
        console.run(Script(StringIO(f"add {seeds}\n")))
        text = stdout.getvalue()
        assert "pw" not in text
        if as_json:
            assert json.loads(text).get("note", "") == (LOGINS_STAY if noted else "")
        else:
            assert (LOGINS_STAY in text.splitlines()) is noted
