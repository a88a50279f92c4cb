"""Programs of Python's documentation (Debian's python3-doc), as Markdown of their pages."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import turbohtml

from tests.support.contents import content

pytestmark = pytest.mark.slow

_FOLDER = Path("/usr/share/doc/python3-doc/html")
_PAGES = (
    *("introduction", "controlflow", "datastructures", "modules", "inputoutput", "errors"),
    *("classes", "stdlib", "stdlib2", "floatingpoint"),
    *("../library/doctest", "../library/re", "../library/json", "../library/collections"),
    *("../library/itertools", "../library/string", "../library/statistics"),
    *("../library/datetime", "../library/enum", "../howto/functional", "../howto/sorting"),
)
_FENCE = re.compile(r"(?P<before>[> ]*)(?:- |\d+\. )?(?P<fence>`{3,})[\w+#.-]*")


@pytest.mark.parametrize("name", _PAGES)
def test_every_example_is_there_byte_for_byte(name: str) -> None:
    path = _FOLDER / "tutorial" / f"{name}.html"
    if not path.exists():
        pytest.skip("the package python3-doc is missing")
    body = path.read_bytes()
    programs = turbohtml.parse(body).select("[role=main] pre")
    assert programs
    found = set(_programs(content(body.decode()).as_markdown()))
    assert [each.text for each in programs if each.text.strip("\n") not in found] == []


def _programs(markdown: str) -> Iterator[str]:
    """Yield what stands between fences, without the marks of lists and quotations before it."""
    lines = iter(markdown.split("\n"))
    for line in lines:
        if (opening := _FENCE.fullmatch(line)) is None:
            continue
        program = []
        for each in lines:
            if each.strip(" >") == opening["fence"]:
                break
            program.append(each.removeprefix(opening["before"]) if each.strip() else "")
        yield "\n".join(program).strip("\n")
