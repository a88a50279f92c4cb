"""The tests of the effect of each keyword."""

from collections.abc import Callable
from typing import Any, TypeVar

from larbinpy.config import SETTINGS

_Test = TypeVar("_Test", bound=Callable[..., Any])

#: Keyword -> names of the tests that show its effect.
TESTED: dict[str, list[str]] = {row.keyword: [] for row in SETTINGS.values()}


def effect_of(*keywords: str) -> Callable[[_Test], _Test]:
    """Mark a test that fails without the effect of `keywords`."""

    def mark(test: _Test) -> _Test:
        assert test.__name__.startswith("test_"), test
        for keyword in keywords:
            TESTED[keyword].append(test.__name__)
        return test

    return mark
