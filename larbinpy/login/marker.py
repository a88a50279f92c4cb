"""Markers: texts, or regular expressions between slashes, that tell pages of a session apart."""

from collections.abc import Callable
from functools import lru_cache

#: Memory of a compiled expression (bytes). RE2 refuses a larger one.
_MEMORY = 1 << 20

Marker = Callable[[str], bool]


@lru_cache(256)
def marker(text: str) -> Marker:
    """Whether a page has the marker `text`; raises ValueError if it is no expression of RE2.

    RE2 takes a time linear in the length of the page, whatever the expression.
    """
    if len(text) < 3 or not (text[0] == text[-1] == "/"):
        return lambda page: text in page
    # Here, since a configuration without logins needs no RE2.
    import re2

    options = re2.Options()
    options.max_mem = _MEMORY
    options.log_errors = False
    try:
        search = re2.compile(text[1:-1], options).search
    except re2.error as error:
        reason = error.args[0] if error.args else ""
        shown = reason.decode(errors="replace") if isinstance(reason, bytes) else reason
        raise ValueError(f"{text[:60]!r} is not a regular expression of RE2: {shown}") from None
    return lambda page: search(page) is not None
