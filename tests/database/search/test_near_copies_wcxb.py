"""Near copies of the pages of the suite main-text (WCXB), and among them."""

from itertools import combinations
from random import Random

import pytest
from experiments.contents import cases
from experiments.nearcopies import Text, found

from larbinpy.database.content import read
from larbinpy.database.search.fingerprint import is_copy, keys
from tests.support.contents import AT
from tests.support.suites import suite

pytestmark = pytest.mark.slow


@pytest.fixture(name="texts", scope="module")
def _texts() -> dict[str, list[Text]]:
    """The texts as they are read, and as people mark them."""
    ours, theirs = [], []
    for case in cases(suite("main-text")):
        content, url = read(case.page, AT), case.page.url.href
        ours.append(Text(url, content.title, content.text))
        theirs.append(Text(url, content.title, case.truth["main_content"] or ""))
    return {"ours": [text for text in ours if text.text], "theirs": [t for t in theirs if t.text]}


@pytest.mark.parametrize("kind", ["ours", "theirs"])
@pytest.mark.parametrize(("share", "least"), [(0.01, 0.98), (0.05, 0.88)])
def test_copies_with_other_words_are_found(
    texts: dict[str, list[Text]], kind: str, share: float, least: float
) -> None:
    """0.99 and more of the copies with 1 % of the words changed, 0.93 of those with 5 %."""
    random = Random(20)
    words = [word for text in texts[kind] for word in text.text.split()]
    assert found(texts[kind], share, lambda: random.choice(words), random).both >= least


@pytest.mark.parametrize("kind", ["ours", "theirs"])
def test_no_page_is_a_copy_of_another(texts: dict[str, list[Text]], kind: str) -> None:
    """Nor would it be with the same title."""
    with_keys = [(each, set(keys("", each.text))) for each in texts[kind]]
    for (one, own), (other, others) in combinations(with_keys, 2):
        if own & others:
            assert not is_copy(one.text, one.url, other.text, other.url), (one.url, other.url)
