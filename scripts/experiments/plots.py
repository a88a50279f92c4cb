"""Plots. A separate module, because matplotlib takes more memory than the measured programs."""

from collections.abc import Callable
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

_DOTS_PER_INCH = 110


def plot(path: Path, *draws: Callable[[Axes], None]) -> None:
    """Write a PNG file with a plot for each of `draws`, side by side."""
    figure = Figure(figsize=(6 * len(draws), 4.5), layout="tight")
    FigureCanvasAgg(figure)
    for number, draw in enumerate(draws):
        axes = figure.add_subplot(1, len(draws), number + 1)
        draw(axes)
        axes.grid(alpha=0.3)
    figure.savefig(path, dpi=_DOTS_PER_INCH)
