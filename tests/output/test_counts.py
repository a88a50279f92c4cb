"""Stats mode counts, in bounded memory."""

import json

from larbinpy.output import save
from larbinpy.output.save import StatsOutput
from larbinpy.page import Outcome, Page
from larbinpy.url import Url


def page(url: str, size: int, kind: str = "text/html", status: int = 200) -> Page:
    headers = [("content-type", kind)]
    return Page(Url(url, 1), Outcome.SUCCESS, status, headers, b"x" * size)


def test_counts_by_type_status_size_and_host() -> None:
    output = StatsOutput()
    output.loaded(page("http://a/", 4095))
    output.loaded(page("http://a:81/x", 4096, "Text/HTML; charset=x"))
    output.loaded(page("http://b/", 1_000_000, "image/png", 203))
    output.loaded(page("http://b/2", 0, ""))
    output.failed(Url("http://c/", 1), Outcome.TIMEOUT)
    output.failed(Url("http://c/", 1), Outcome.TIMEOUT)
    found = output.stats()
    assert found["pages"] == 4
    assert found["bytes"] == 1_008_191
    assert found["mean_size"] == 252_047
    assert found["types"] == {"text/html": 2, "image/png": 1, "none": 1}
    assert found["statuses"] == {"200": 3, "203": 1}
    assert found["hosts"] == {"a": 2, "b": 2}
    assert found["failures"] == {"timeout": 2}
    sizes = found["sizes"]
    assert isinstance(sizes, dict)
    assert sizes["pages"] == [2, 1] + [0] * 22 + [1]
    assert sizes["bytes"] == [4095, 4096] + [0] * 22 + [1_000_000]
    json.dumps(found)


def test_nothing_counted() -> None:
    assert StatsOutput().stats()["mean_size"] == 0


def test_servers_cannot_fill_the_memory() -> None:
    output = StatsOutput()
    for number in range(save._MAX_KEYS + 5):
        output.loaded(page(f"http://h{number}/", 0, f"{number}/" + "x" * 1000))
    assert output._types.others == 5
    assert len(output._types.counts) == save._MAX_KEYS
    assert max(map(len, output._types.counts)) == save._MAX_KEY
    types = output.stats()["types"]
    assert isinstance(types, dict)
    assert len(types) == 50
