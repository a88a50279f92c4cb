"""The lists of known bugs fit the program; scripts/mutation-test puts each bug in."""

from pathlib import Path

import pytest
from mutation_test import Mutation, read

from tests.support.checkout import ROOT

MUTATIONS = read(sorted((ROOT / "tests" / "mutations").glob("*.toml")))


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.id)
def test_the_text_to_replace_stands_once(mutation: Mutation) -> None:
    assert (ROOT / mutation.file).read_text().count(mutation.old) == 1
    assert mutation.new != mutation.old


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.id)
def test_its_tests_are_there(mutation: Mutation) -> None:
    assert mutation.tests
    for test in mutation.tests:
        file, _, name = test.partition("::")
        assert Path(ROOT / file).exists()
        assert f"def {name.partition('[')[0]}(" in (ROOT / file).read_text() or not name
