"""One crawl on many nodes: who owns which hosts, and what is shared through Redis.

Deciders without socket and clock, from the top down:

node       one session after another: joins, beats, takes and leaves shards; rounds out, letters in
ownership  the shards: who should own which, the stages of those that move; the proof of the end
journal    what has changed in the own shards since their last commits
vault      the protocol through which they see Redis; a session, whose questions are asked again

Beside them: `identity` (whose state a folder has, which settings are shared) and `board` (what
operators see and change: reports, the area around the seeds, the share of limitPage).
"""

from importlib.util import find_spec

from larbinpy.errors import UserError


def require() -> None:
    """Raise UserError if the package that speaks with Redis is not installed."""
    if find_spec("hiredis") is None:
        raise UserError(
            "--join and --nodes need hiredis, which is not installed: pip install 'larbinpy[fleet]'"
        )
