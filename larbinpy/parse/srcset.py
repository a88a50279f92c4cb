"""Image candidates: HTML's "parse a srcset attribute", in time linear in its length."""

import re

#: Separators, then a URL: everything up to white space.
_CANDIDATE = re.compile(r"[ \t\n\f\r,]*+([^ \t\n\f\r]++)")
#: Descriptors end at a comma outside parentheses; parentheses do not nest.
_DESCRIPTORS = re.compile(r"(?:[^,(]++|\([^)]*+\)?)*+")
_INTEGER = re.compile(r"[0-9]+")
_FLOAT = re.compile(r"-?(?:[0-9]+(?:\.[0-9]+)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
#: Which descriptors may stand together; "h" is only there for the future, beside "w".
_TOGETHER = frozenset(map(frozenset, ("", "x", "w", "wh")))
_BLANKS = re.compile(r"[ \t\n\f\r]+")


def srcset(value: str) -> list[str]:
    """URLs of the candidates in `value`, in order, those with wrong descriptors left out."""
    found = []
    position = 0
    while (candidate := _CANDIDATE.match(value, position)) is not None:
        url, position = candidate[1], candidate.end()
        if url.endswith(","):
            url = url.rstrip(",")
            fits = True
        else:
            descriptors = _DESCRIPTORS.match(value, position)
            assert descriptors is not None  # it matches the empty string
            position = descriptors.end()
            fits = _fits(descriptors[0])
        if fits:
            found.append(url)
    return found


def _fits(descriptors: str) -> bool:
    """Whether the descriptors of one candidate are valid together."""
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
