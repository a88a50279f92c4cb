import pytest
from hypothesis import given
from hypothesis import strategies as st

from larbinpy.storage.caches import BloomFilter

MANY = 100_000


@given(st.lists(st.text()), st.sampled_from([0.5, 1e-2, 1e-6]))
def test_an_added_text_is_found(texts: list[str], error: float) -> None:
    bloom = BloomFilter(1 + len(texts), error)
    for text in texts:
        bloom.add(text)
    assert all(text in bloom for text in texts)
    assert len(bloom) <= len(set(texts))


@pytest.mark.parametrize(("error", "least", "most"), [(1e-2, 840, 1160), (1e-3, 50, 150)])
def test_a_full_filter_errs_as_often_as_it_was_made_for(
    error: float, least: int, most: int
) -> None:
    """The bounds are five standard deviations of that many independent errors."""
    bloom = BloomFilter(110_000, error)
    for number in range(bloom.capacity):
        bloom.add(f"www{number}.gone.test")
    assert least <= sum(f"{number}.here.test" in bloom for number in range(MANY)) <= most


@pytest.mark.parametrize("capacity", [100, 1000, 10_000])
def test_a_small_filter_does_not_err_in_a_few(capacity: int) -> None:
    """0.1 errors are expected; five happen once in ten million runs."""
    bloom = BloomFilter(capacity)
    for number in range(bloom.capacity):
        bloom.add(f"www{number}.gone.test")
    assert sum(f"{number}.here.test" in bloom for number in range(MANY)) <= 4
    assert bloom.capacity - 4 <= len(bloom) <= bloom.capacity


def test_a_name_takes_29_bits_at_one_error_in_a_million() -> None:
    bloom = BloomFilter(100_000)
    assert bloom.size_bytes * 8 / bloom.capacity == pytest.approx(28.76, abs=0.01)


def test_an_empty_filter_holds_nothing() -> None:
    bloom = BloomFilter(10)
    assert ("a.test" in bloom, "" in bloom, len(bloom)) == (False, False, 0)


def test_a_text_added_twice_counts_once() -> None:
    bloom = BloomFilter(10)
    bloom.add("a.test")
    bloom.add("a.test")
    assert len(bloom) == 1


def test_clearing_takes_out_everything() -> None:
    bloom = BloomFilter(1000)
    for number in range(1000):
        bloom.add(str(number))
    bloom.clear()
    assert len(bloom) == 0
    assert not any(str(number) in bloom for number in range(1000))


def test_places_past_32_bits_are_used() -> None:
    """4,000 bits are set, and one in 240 of all lies beyond 2^32."""
    bloom = BloomFilter(150_000_000)
    for number in range(200):
        bloom.add(str(number))
    assert all(str(number) in bloom for number in range(200))
    assert not any(str(number) in bloom for number in range(200, 2000))
    assert any(bloom._bits[2**32 // 8 :])


@pytest.mark.parametrize(("capacity", "error"), [(0, 0.1), (-1, 0.1), (10, 0), (10, 1), (10, 2)])
def test_invalid_sizes_are_refused(capacity: int, error: float) -> None:
    with pytest.raises(ValueError, match="no filter"):
        BloomFilter(capacity, error)
