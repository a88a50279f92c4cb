"""One crawl on many nodes: who owns which hosts, and what is shared through Redis.

Deciders without socket and clock: `node` conducts `members` (who is alive), `shards` and `holding`
(who should own what, and does), `journal` and `letters` (what changed), `rounds` (how it is sent)
and `ending`. They see Redis as a `vault`; `memory` is one for tests. `names` has the values of
names that nodes share.
"""

from importlib.util import find_spec

from larbinpy.errors import UserError


def require() -> None:
    """Raise UserError if the package that speaks with Redis is not installed."""
    if find_spec("hiredis") is None:
        raise UserError("join needs hiredis, which is not installed: pip install larbinpy[fleet]")
