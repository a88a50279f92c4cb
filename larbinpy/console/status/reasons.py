"""Why a URL ended as it did, in a line of a table."""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from larbinpy.outcome import in_words


def reason(fate: Mapping[str, Any]) -> str:
    """One short line: the status where it decided, else what is known."""
    outcome, status, detail = (fate.get(key) for key in ("outcome", "status", "detail"))
    if isinstance(status, int) and status >= 300:
        return _status(status)
    words = in_words(str(outcome or "-"))
    return f"{words}: {detail}" if detail else words


def _status(status: int) -> str:
    try:
        return f"{status} {HTTPStatus(status).phrase}"
    except ValueError:
        return f"status {status}"
