"""A reply of the status server, and the policies of its pages."""

from http import HTTPStatus
from typing import NamedTuple

from larbinpy.console.status.assets import SCRIPT_HASH, STYLE_HASH
from larbinpy.console.text import TEXT

_ALWAYS = f"default-src 'none'; style-src {STYLE_HASH}; img-src 'self'; "
_ALWAYS += "base-uri 'none'; frame-ancestors 'none'; "

#: Content-Security-Policy of the status pages: their one script, and no form.
POLICY = f"{_ALWAYS}script-src {SCRIPT_HASH}; connect-src 'self'; form-action 'none'"
#: The policy of the search pages: a form, and no script at all.
SEARCH_POLICY = f"{_ALWAYS}form-action 'self'"


class HttpReply(NamedTuple):
    """A reply before it is serialized."""

    status: HTTPStatus
    body: str | bytes
    type: str = TEXT
    headers: tuple[tuple[str, str], ...] = ()
    policy: str = POLICY


def refusal(status: HTTPStatus, why: str, *headers: tuple[str, str]) -> HttpReply:
    return HttpReply(status, f"{status.value} {status.phrase}: {why}\n", headers=headers)
