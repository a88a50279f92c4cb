"""Fixtures that serve the demo web; a pytest plugin of conftest.py."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from larbinpy.demo import Serving, serve


@pytest.fixture(scope="session")
def demo_process() -> Iterator[Serving]:
    """One well-behaved demo web for the whole run."""
    with serve() as serving:
        yield serving


@pytest.fixture
def demo(demo_process: Serving) -> Serving:
    """The demo web with an empty log, as if just started."""
    demo_process.reset()
    return demo_process


@pytest.fixture
def demo_with() -> Iterator[Callable[..., Serving]]:
    """A function that starts a demo web of its own: ``demo_with(drop=0.2, flaky=0.05)``."""
    with ExitStack() as stack:

        def start(**options: Any) -> Serving:
            return stack.enter_context(serve(**options))

        yield start
