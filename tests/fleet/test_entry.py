"""The checks before a node makes or joins a crawl."""

from pathlib import Path
from typing import Any

import pytest

from larbinpy.config import Config
from larbinpy.crawl.fleet.membership import EntryCheck
from larbinpy.errors import UserError
from larbinpy.fleet.identity import SavedNode
from larbinpy.fleet.redis.wire import CrawlAddress
from larbinpy.storage.state import Start


class EmptyRedis:
    """Stands for the overview, and for what asks it."""

    find = None

    def ask(self, question: object) -> None:
        return None


@pytest.mark.parametrize(
    ("files", "stay"), [(None, ""), ([], ""), (["index.html"], "pages stay in {}, ")]
)
def test_a_crawl_that_is_gone_leaves_pages_only_where_some_are(
    tmp_path: Path, files: list[str] | None, stay: str
) -> None:
    folder = tmp_path / "save"
    for name in files or ():
        folder.mkdir()
        (folder / name).touch()
    if files == []:
        folder.mkdir()
    redis: Any = EmptyRedis()
    config = Config(output_dir=str(folder), state_dir=str(tmp_path / "state"))
    before = SavedNode("1234", "share", "news")
    entry = EntryCheck(redis, redis, CrawlAddress.of("redis://127.0.0.1/news"), config, before)
    with pytest.raises(UserError) as raised:
        entry.find(Start.RESUME, begins=False)
    said = str(raised.value)
    assert said.endswith(f"Redis has lost its data; {stay.format(folder)}--scratch begins anew")
