"""Charts in SVG, without scripts and without style attributes (the policy allows neither).

A picture is stretched to the width it is given; its words stand beside it as text, which
keeps its size, and its label says the same to those who see no picture.
"""

from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate
from typing import NamedTuple

from larbinpy.console.status.markup import Html, el, join, table
from larbinpy.console.text import grouped, roughly, size

_HEIGHT = 100
#: Tops of a scale that people can halve in their heads.
_STEPS = (1, 2, 3, 4, 5, 6, 8, 10)

Values = Sequence[float]


class Unit(NamedTuple):
    """How values are written."""

    show: Callable[[float], str]
    #: After each.
    suffix: str = ""
    #: No scale ends below: noise is not to look like news.
    least: float = 0.0

    def __call__(self, value: float) -> str:
        return f"{self.show(value)}{self.suffix}"


def _count(value: float) -> str:
    return grouped(int(value) if value == int(value) else value)


#: A plot of what hardly ever happens keeps some room above its line.
PER_SECOND = Unit(_count, "/s", 1)
BYTES_PER_SECOND = Unit(size, "/s", 1000)
NUMBER = Unit(lambda value: grouped(round(value)), "", 10)
BYTES = Unit(size, "", 1000)
MILLISECONDS = Unit(lambda value: roughly(value / 1000), "", 10)


def share(part: float, whole: float) -> Html:
    """A bar as long as `part` is of `whole`; the number stands beside it for who sees none."""
    width = 100 * part / whole if whole > 0 else 0.0
    bar = el("rect", x=0, y=0, width=f"{width:.2f}", height=8)
    return el(
        "svg", bar, class_="share", viewBox="0 0 100 8", preserveAspectRatio="none",
        aria_hidden="true",
    )  # fmt: skip


def round_up(value: float) -> float:
    """The next number that a scale may end with."""
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
    """Lines over `cells` places in time, the newest at the right; the scale starts at 0.

    `series` by name, the first one filled down to the axis; a short one began later. `since`
    says when the left end was. A title that stands above already need not be shown again.
    """
    top = round_up(max([unit.least, *(max(values, default=0) for values in series.values())]))
    width = max(cells - 1, 1)
    heading = el("b", title) if titled else None
    drawn = [el("path", class_="grid", d=f"M0 0H{width}M0 50H{width}M0 100H{width}")]
    for place, values in enumerate(series.values()):
        drawn += _line(values, top, width, place)
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
        el("span", name, class_=f"key s{place}")
        for place, name in enumerate(series)
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


def _line(values: Values, top: float, width: int, place: int) -> list[Html]:
    """The path of one series, and for the first the area below it."""
    if not values:
        return []
    first = width + 1 - len(values)
    points = "L".join(
        f"{first + at} {_HEIGHT - _HEIGHT * value / top:.1f}" for at, value in enumerate(values)
    )
    # A line to the same place makes a dot of one point.
    line = el("path", class_=f"line s{place}", d=Html(f"M{points}h0"))
    if place:
        return [line]
    area = Html(f"M{first} {_HEIGHT}L{points}V{_HEIGHT}Z")
    return [el("path", class_=f"area s{place}", d=area), line]


def distribution(told: Mapping[str, object]) -> Html:
    """The buckets of a `Histogram.describe`, from the first to the last that holds something."""
    bounds, counts = _numbers(told, "bounds_s"), _numbers(told, "counts")
    filled = [at for at, count in enumerate(counts) if count]
    if not filled or len(counts) != len(bounds) + 1:
        return el("p", "Nothing yet.", class_="none")
    most, names = max(counts), _names(bounds)
    rows = [
        (names[at], grouped(int(counts[at])), share(counts[at], most))
        for at in range(filled[0], filled[-1] + 1)
    ]
    parts = ((0.5, "half"), (0.95, "95 %"), (0.99, "99 %"))
    words = "; ".join(f"{name} {within(told, part)}" for part, name in parts)
    return join([el("p", words, class_="mean"), table(("Time", "#Number", ""), rows)])


def within(told: Mapping[str, object], part: float) -> str:
    """How long that share of all took, in words; a dash where there are none."""
    bounds, counts = _numbers(told, "bounds_s"), _numbers(told, "counts")
    if not sum(counts) or len(counts) != len(bounds) + 1:
        return "-"
    wanted, reached = part * sum(counts), accumulate(counts)
    return next(name for name, sum_ in zip(_names(bounds), reached, strict=True) if sum_ >= wanted)


def _names(bounds: Values) -> list[str]:
    return [*(f"up to {roughly(bound)}" for bound in bounds), f"over {roughly(bounds[-1])}"]


def _numbers(told: Mapping[str, object], name: str) -> list[float]:
    found = told.get(name)
    return found if isinstance(found, list) else []
