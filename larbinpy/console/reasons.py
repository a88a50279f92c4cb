"""Why a URL ended as it did, in words: an outcome's name is for programs."""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

_WORDS = {
    "noDNS": "the name has no address",
    "noConnection": "no connection",
    "forbiddenRobots": "robots.txt refuses it",
    "timeout": "took too long",
    "badType": "not a wanted type",
    "tooBig": "too big",
    "err30X": "moved",
    "err40X": "not there, or not for all",
    "earlyStop": "the reply was cut off",
    "fastRobots": "robots.txt refuses it",
    "fastNoConn": "its site did not connect lately",
    "fastNoDns": "its site had no address lately",
    "badTLS": "certificate or handshake failed",
    "badURL": "not a URL that can be crawled",
    "privateAddress": "its address is not a public one",
    "err50X": "the server failed",
    "trap": "looks endless",
}


def words(outcome: str) -> str:
    """What an outcome means, where nothing else is known; names that nobody explains stay."""
    return _WORDS.get(outcome, outcome)


def reason(fate: Mapping[str, Any]) -> str:
    """One short line: the status where it decided, else what is known."""
    outcome, status, detail = (fate.get(key) for key in ("outcome", "status", "detail"))
    if isinstance(status, int) and status >= 300:
        return _status(status)
    said = words(str(outcome or "-"))
    return f"{said}: {detail}" if detail else said


def _status(status: int) -> str:
    try:
        return f"{status} {HTTPStatus(status).phrase}"
    except ValueError:
        return f"status {status}"
