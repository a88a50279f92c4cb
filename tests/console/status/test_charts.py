import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from larbinpy.console.status import overview
from larbinpy.console.status.overview import Unit, plot, round_up


def points(text: str, kind: str = "line s0") -> list[tuple[float, float]]:
    [path] = re.findall(rf'<path class="{kind}" d="M([^"]*)h0">', text)
    pairs = (point.split() for point in path.split("L"))
    return [(float(x), float(y)) for x, y in pairs]


def drawn(values: list[float], cells: int = 4, unit: Unit = overview.PER_SECOND) -> str:
    return plot("Pages", {"pages": values}, cells, "1 min ago", unit)


def test_a_line_is_to_scale_and_ends_now() -> None:
    shown = drawn([0, 5, 10, 2.5])
    assert points(shown) == [(0, 100), (1, 50), (2, 0), (3, 75)]
    assert 'viewBox="0 0 3 100"' in shown


def test_a_short_series_began_later() -> None:
    assert points(drawn([10, 5])) == [(2, 0), (3, 50)]
    assert points(drawn([10])) == [(3, 0)]


def test_a_long_series_is_not_cut_in_the_middle() -> None:
    """Markup cuts long crawled text; a path is not crawled."""
    values = [123.4 + n for n in range(96)]
    assert len(points(drawn(values, cells=96))) == 96


def test_nothing_yet_is_a_frame() -> None:
    shown = drawn([])
    assert "nothing yet" in shown
    assert "line s0" not in shown


def test_several_series_share_a_scale_and_are_named() -> None:
    series = {"replies": [10, 20], "failed": [1, 2]}
    shown = plot("Pages", series, 2, "1 min ago", overview.PER_SECOND)
    assert points(shown)[1] == (1, 0)
    assert points(shown, "line s1") == [(0, 95), (1, 90)]
    assert shown.count("area") == 1
    for name in series:
        assert f">{name}</span>" in shown
    assert "replies now 20/s, highest 20/s; failed now 2/s" in shown


def test_words_beside_it() -> None:
    shown = drawn([1500.0, 500.0], unit=overview.BYTES_PER_SECOND)
    for part in (">2 kB/s<", ">1 kB/s<", ">0 B/s<", "mean 1.0 kB/s, highest 1.5 kB/s"):
        assert part in shown


def test_a_name_is_text() -> None:
    shown = plot("<b>", {"<i>": [1], '"': [2]}, 2, "<u>", overview.NUMBER)
    assert not re.search(r"<[iu]>", shown)
    assert shown.count("<b>") == 1


@pytest.mark.parametrize(
    ("value", "top"),
    [
        (0, 1),
        (0.004, 0.004),
        (0.7, 0.8),
        (1, 1),
        (1.01, 2),
        (7, 8),
        (9, 10),
        (29, 30),
        (4100, 5000),
    ],
)
def test_scales_end_with_round_numbers(value: float, top: float) -> None:
    assert round_up(value) == pytest.approx(top)


@given(st.floats(1e-6, 1e15))
def test_the_scale_fits_the_values(value: float) -> None:
    assert value <= round_up(value) * (1 + 1e-9)
    assert round_up(value) <= 2 * value * (1 + 1e-9)


def test_a_distribution_has_percentiles() -> None:
    histogram = {"bounds_s": [0.01, 0.1, 1.0], "counts": [0, 60, 38, 2]}
    shown = overview.distribution(histogram)
    assert "half up to 100 ms; 95 % up to 1 s; 99 % over 1 s" in shown
    assert "up to 10 ms" not in shown
    assert shown.count("<rect") == 3


def test_how_long_a_share_of_all_took() -> None:
    histogram = {"bounds_s": [0.01, 0.1, 1.0], "counts": [1, 60, 38, 1]}
    shares = (0.01, 0.5, 0.95, 0.995, 1.0)
    words = ["up to 10 ms", "up to 100 ms", "up to 1 s", "over 1 s", "over 1 s"]
    assert [overview.within(histogram, share) for share in shares] == words
    for odd in ({}, {"bounds_s": [1.0], "counts": [0, 0]}, {"bounds_s": [1.0], "counts": [3]}):
        assert overview.within(odd, 0.5) == "-"


def test_a_share_is_a_bar() -> None:
    assert 'width="25.00"' in overview.share(1, 4)
    assert 'width="0.00"' in overview.share(1, 0)
