"""Image candidates: HTML's "parse a srcset attribute", in time linear in its length."""

import re
from collections.abc import Callable, Iterator

from larbinpy.loop.steps import Steps, replaced

#: Separators, then a URL: everything up to white space.
_CANDIDATE = re.compile(r"[ \t\n\f\r,]*+([^ \t\n\f\r]++)")
#: Descriptors end at a comma outside parentheses; parentheses do not nest.
_DESCRIPTORS = re.compile(r"(?:[^,(]++|\([^)]*+\)?)*+")
_INTEGER = re.compile(r"[0-9]+")
_FLOAT = re.compile(r"-?(?:[0-9]+(?:\.[0-9]+)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
#: The units of descriptors that may be combined; "h" is reserved, and valid only with "w".
_TOGETHER = frozenset(map(frozenset, ("", "x", "w", "wh")))
_BLANKS = re.compile(r"[ \t\n\f\r]+")


def srcset(value: str) -> list[str]:
    """Return the URLs of the candidates in `value`, in order, without malformed candidates."""
    return [value[start:end] for start, end in _spans(value)]


def replace_srcset(value: str, replace: Callable[[str], str | None]) -> Steps[str]:
    """Return `value` with the URLs that `srcset` finds replaced by `replace`, in steps.

    `replace` returns None to leave a URL unchanged.
    """

    def new(start: int, end: int) -> str | None:
        found = replace(value[start:end])
        # A comma at either end would be a separator.
        return None if found is None else found.strip(",")

    return replaced(value, _spans(value), new)


def _spans(value: str) -> Iterator[tuple[int, int]]:
    """Yield the spans of the candidates' URLs."""
    position = 0
    while (candidate := _CANDIDATE.match(value, position)) is not None:
        (start, end), position = candidate.span(1), candidate.end()
        if value[end - 1] == ",":
            end = start + len(candidate[1].rstrip(","))
            fits = True
        else:
            descriptors = _DESCRIPTORS.match(value, position)
            assert descriptors is not None  # it matches the empty string
            position = descriptors.end()
            fits = _fits(descriptors[0])
        if fits:
            yield start, end


def _fits(descriptors: str) -> bool:
    """Whether the descriptors of one candidate are a valid combination."""
    seen: set[str] = set()
    for descriptor in _BLANKS.split(descriptors):
        if not descriptor:
            continue
        number, unit = descriptor[:-1], descriptor[-1]
        if unit in seen or not _valid(number, unit):
            return False
        seen.add(unit)
    return seen in _TOGETHER


def _valid(number: str, unit: str) -> bool:
    if unit == "x":
        return bool(_FLOAT.fullmatch(number)) and float(number) >= 0
    return unit in "wh" and bool(_INTEGER.fullmatch(number)) and bool(number.strip("0"))
