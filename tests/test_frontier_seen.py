import pytest
from hypothesis import given
from hypothesis import strategies as st

from larbinpy.frontier.seen import Seen

PRINTS = st.integers(0, 2**64 - 1)


@given(st.lists(st.lists(st.integers(0, 20) | PRINTS)))
def test_each_fingerprint_is_new_once(batches):
    seen, model = Seen(), set()
    for batch in batches:
        fresh = seen.add(batch)
        for fingerprint, is_new in zip(batch, fresh, strict=True):
            assert is_new == (fingerprint not in model)
            model.add(fingerprint)
            assert fingerprint in seen
    assert len(seen) == len(model)


def test_the_same_twice_in_a_batch_is_new_once():
    assert Seen().add([1, 2, 1]) == [True, True, False]


@pytest.fixture
def path(tmp_path):
    return tmp_path / "seen.bin"


def test_a_save_appends_what_is_new(path):
    seen = Seen()
    seen.add([1, 2, 2**64 - 1])
    assert seen.save(path) == 3
    assert seen.save(path) == 3
    before = path.read_bytes()
    seen.add([2, 4])
    assert seen.save(path) == 4
    assert path.read_bytes()[:24] == before
    assert path.stat().st_size == 32


def test_what_was_saved_is_known_again(path):
    seen = Seen()
    seen.add([5, 6])
    seen.save(path)
    loaded = Seen.load(path, 2)
    assert loaded.add([5, 6, 7]) == [False, False, True]
    assert loaded.save(path) == 3
    assert len(Seen.load(path, 3)) == 3


def test_what_a_later_save_began_does_not_count(path):
    seen = Seen()
    seen.add([1])
    size = seen.save(path)
    seen.add([2, 3])
    seen.save(path)
    loaded = Seen.load(path, size)
    assert 1 in loaded and 2 not in loaded
    loaded.add([9])
    assert loaded.save(path) == 2
    assert path.stat().st_size == 16


def test_a_torn_save_is_made_good_by_the_next(path):
    seen = Seen()
    seen.add([1])
    seen.save(path)
    with path.open("ab") as file:
        file.write(b"torn")
    seen.add([2])
    assert seen.save(path) == 2
    assert 2 in Seen.load(path, 2)


@pytest.mark.parametrize("size", [3, 10**6, 10**18, -1])
def test_a_file_that_is_too_short_is_refused(path, size):
    seen = Seen()
    seen.add([1, 2])
    seen.save(path)
    with pytest.raises(ValueError, match="fingerprints"):
        Seen.load(path, size)


def test_a_torn_file_is_refused(path):
    seen = Seen()
    seen.add([1, 2])
    seen.save(path)
    path.write_bytes(path.read_bytes()[:-3])
    with pytest.raises(ValueError, match="fingerprints"):
        Seen.load(path, 2)


def test_a_missing_file_is_refused(path):
    with pytest.raises(FileNotFoundError):
        Seen.load(path, 1)


def test_repr(path):
    seen = Seen()
    seen.add([1, 2])
    assert repr(seen) == "<Seen 2 URLs, 2 not saved>"
    seen.save(path)
    assert repr(seen) == "<Seen 2 URLs, 0 not saved>"
