"""Moments of a kill, for tests that would take long if each run had all of them."""

import os
from collections.abc import Iterator
from itertools import count
from random import randrange

#: The environment variable that repeats a draw, or takes all moments.
NAME = "MOMENTS"


def moments() -> Iterator[int]:
    """Every third of the numbers from 0 on; where they begin is drawn, and shown if a test fails.

    With MOMENTS=0, 1 or 2 they begin there; with MOMENTS=all, all come.
    """
    wanted = os.environ.get(NAME) or str(randrange(3))
    print(f"{NAME}={wanted}")
    return count() if wanted == "all" else count(int(wanted), 3)
