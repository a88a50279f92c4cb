"""Charts in SVG, without scripts and without style attributes (the policy allows neither)."""

from collections.abc import Sequence

from larbinpy.console.markup import Html, el
from larbinpy.console.text import grouped, size

_HEIGHT = 100


def share(part: float, whole: float) -> Html:
    """A bar as long as `part` is of `whole`; the number stands beside it for who sees none."""
    width = 100 * part / whole if whole > 0 else 0.0
    bar = el("rect", x=0, y=0, width=f"{width:.2f}", height=8)
    return el(
        "svg", bar, class_="share", viewBox="0 0 100 8", preserveAspectRatio="none",
        aria_hidden="true",
    )  # fmt: skip


def histogram(name: str, values: Sequence[float], *, is_bytes: bool = False) -> Html:
    """One bar a second, the newest at the right; the scale starts at 0."""
    show = size if is_bytes else grouped
    top = max(values, default=0)
    mean = sum(values) / len(values) if values else 0
    caption = el(
        "figcaption",
        el("b", name),
        el("span", f"mean {show(round(mean, 1))}/s, highest {show(top)}/s"),
    )
    bars = [_bar(i, value, top, len(values), show(value)) for i, value in enumerate(values)]
    picture = el(
        "svg", *bars, class_="bars", viewBox=f"0 0 {10 * max(len(values), 1)} {_HEIGHT}",
        preserveAspectRatio="none", role="img",
        aria_label=f"{name} per second over {len(values)} s: mean {mean:.1f}, highest {top}",
    )  # fmt: skip
    axis = el("div", el("span", f"{len(values)} s ago"), el("span", "now"), class_="axis")
    return el("figure", caption, picture, axis)


def _bar(index: int, value: float, top: float, count: int, shown: str) -> Html:
    height = _HEIGHT * value / top if top > 0 else 0
    title = el("title", f"{count - index} s ago: {shown}")
    x = 10 * index
    # The second rectangle, which is not seen, makes the whole column point at its title.
    return el(
        "g",
        title,
        el("rect", x=x + 1, y=f"{_HEIGHT - height:.2f}", width=8, height=f"{height:.2f}"),
        el("rect", x=x, y=0, width=10, height=_HEIGHT, class_="hit"),
    )
