"""Charts in SVG, without scripts and style attributes (the Content-Security-Policy forbids both).

A picture is stretched to the available width. Its text is HTML beside it, which is not stretched,
and its label has the same content for screen readers.
"""

from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate
from typing import NamedTuple

from larbinpy.console.status.markup import Html, el, join, table
from larbinpy.console.text import grouped, roughly, size

_HEIGHT = 100
#: First digits of the top of a scale; all are easy to divide by two.
_STEPS = (1, 2, 3, 4, 5, 6, 8, 10)

Values = Sequence[float]


class Unit(NamedTuple):
    """How the values of a plot are written."""

    show: Callable[[float], str]
    #: Written after each value.
    suffix: str = ""
    #: The smallest top of a scale, so that noise looks small.
    least: float = 0.0

    def __call__(self, value: float) -> str:
        return f"{self.show(value)}{self.suffix}"


def _count(value: float) -> str:
    return grouped(int(value) if value == int(value) else value)


PER_SECOND = Unit(_count, "/s", 1)
BYTES_PER_SECOND = Unit(size, "/s", 1000)
NUMBER = Unit(lambda value: grouped(round(value)), "", 10)
BYTES = Unit(size, "", 1000)
MILLISECONDS = Unit(lambda value: roughly(value / 1000), "", 10)


def share(part: float, whole: float) -> Html:
    """A bar of length `part` of `whole`; hidden from screen readers, as the number is beside it."""
    width = 100 * part / whole if whole > 0 else 0.0
    bar = el("rect", x=0, y=0, width=f"{width:.2f}", height=8)
    return el(
        "svg", bar, class_="share", viewBox="0 0 100 8", preserveAspectRatio="none",
        aria_hidden="true",
    )  # fmt: skip


def round_up(value: float) -> float:
    """The smallest number of at least `value` that may be the top of a scale."""
    power = 1.0
    while power * 10 < value:
        power *= 10
    while power > value > 0:
        power /= 10
    return next(step * power for step in _STEPS if step * power >= value)


def plot(
    title: str,
    series: Mapping[str, Values],
    cells: int,
    since: str,
    unit: Unit,
    *,
    titled: bool = True,
) -> Html:
    """Lines over `cells` steps of time, the newest at the right; the scale starts at 0.

    `series` are values by name; the area below the first is filled, and a series with fewer
    values starts later. `since` is the time at the left end, as text. Without `titled` the title
    is left out, for plots below a heading of their own.
    """
    top = round_up(max([unit.least, *(max(values, default=0) for values in series.values())]))
    width = max(cells - 1, 1)
    heading = el("b", title) if titled else None
    drawn = [el("path", class_="grid", d=f"M0 0H{width}M0 50H{width}M0 100H{width}")]
    for index, values in enumerate(series.values()):
        drawn += _line(values, top, width, index)
    picture = el(
        "svg", *drawn, viewBox=f"0 0 {width} {_HEIGHT}", preserveAspectRatio="none", role="img",
        aria_label=f"{title}, since {since}: {_summary(series, unit)}",
    )  # fmt: skip
    marks = [unit(top * part).replace(".0 ", " ") for part in (1, 0.5, 0)]
    scale = el("div", *(el("span", mark) for mark in marks), class_="scale")
    axis = el("div", el("span", since), el("span", "now"), class_="axis")
    return el(
        "figure", _caption(heading, series, unit), el("div", picture, scale, axis, class_="plot")
    )


def _caption(heading: Html | None, series: Mapping[str, Values], unit: Unit) -> Html:
    first = next(iter(series.values()), ())
    names = [
        el("span", name, class_=f"key s{index}")
        for index, name in enumerate(series)
        if len(series) > 1
    ]
    mean = f"mean {unit(sum(first) / len(first))}, highest {unit(max(first))}" if first else ""
    return el("figcaption", heading, *names, el("span", mean, class_="mean"))


def _summary(series: Mapping[str, Values], unit: Unit) -> str:
    parts = [
        f"{name} now {unit(values[-1])}, highest {unit(max(values))}"
        for name, values in series.items()
        if values
    ]
    return "; ".join(parts) or "nothing yet"


def _line(values: Values, top: float, width: int, index: int) -> list[Html]:
    """The path of one series; for the first one, also the area below it."""
    if not values:
        return []
    first = width + 1 - len(values)
    points = "L".join(
        f"{first + at} {_HEIGHT - _HEIGHT * value / top:.1f}" for at, value in enumerate(values)
    )
    # A line of length 0 makes a single point visible.
    line = el("path", class_=f"line s{index}", d=Html(f"M{points}h0"))
    if index:
        return [line]
    area = Html(f"M{first} {_HEIGHT}L{points}V{_HEIGHT}Z")
    return [el("path", class_=f"area s{index}", d=area), line]


def distribution(histogram: Mapping[str, object]) -> Html:
    """The buckets of a `Histogram.describe`, from the first to the last that is not empty."""
    bounds, counts = _numbers(histogram, "bounds_s"), _numbers(histogram, "counts")
    filled = [at for at, count in enumerate(counts) if count]
    if not filled or len(counts) != len(bounds) + 1:
        return el("p", "Nothing yet.", class_="none")
    most, names = max(counts), _names(bounds)
    rows = [
        (names[at], grouped(int(counts[at])), share(counts[at], most))
        for at in range(filled[0], filled[-1] + 1)
    ]
    parts = ((0.5, "half"), (0.95, "95 %"), (0.99, "99 %"))
    words = "; ".join(f"{name} {within(histogram, part)}" for part, name in parts)
    return join([el("p", words, class_="mean"), table(("Time", "#Number", ""), rows)])


def within(histogram: Mapping[str, object], part: float) -> str:
    """The time within which the share `part` of all ended, as text; a dash if there are none."""
    bounds, counts = _numbers(histogram, "bounds_s"), _numbers(histogram, "counts")
    if not sum(counts) or len(counts) != len(bounds) + 1:
        return "-"
    wanted, reached = part * sum(counts), accumulate(counts)
    return next(name for name, sum_ in zip(_names(bounds), reached, strict=True) if sum_ >= wanted)


def _names(bounds: Values) -> list[str]:
    return [*(f"up to {roughly(bound)}" for bound in bounds), f"over {roughly(bounds[-1])}"]


def _numbers(histogram: Mapping[str, object], name: str) -> list[float]:
    found = histogram.get(name)
    return found if isinstance(found, list) else []
