"""Surroundings of a crawl, of which a test gives what matters to it."""

from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

from larbinpy.config import Config
from larbinpy.context import Context, Tuning
from larbinpy.stats import Stats


def make_context(
    config: Config | None = None,
    *,
    clock: Callable[[], float] = lambda: 0.0,
    wall: Callable[[], float] = lambda: 0.0,
    poller: Any = None,
    closing: ExitStack | None = None,
    stats: Stats | None = None,
    **tuning: Any,
) -> Context:
    """`tuning` are fields of a `Tuning`. A `closing` that is not given closes nothing."""
    return Context(
        Config() if config is None else config,
        poller,
        clock,
        wall,
        Stats(clock(), wall()) if stats is None else stats,
        ExitStack() if closing is None else closing,
        Tuning(**tuning),
    )
