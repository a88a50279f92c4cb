"""One crawl on many nodes: who owns which hosts, and what is shared through Redis.

Deciders without socket and clock, from the top down:

node       one session after another: joins, beats, says whether requests may be opened, leaves
session    a name, and questions to the vault that are asked again
members    who is alive, and until when this session certainly is
ownership  the shards of the session: looks, takes, loads and leaves them; `holding` has their
           stages, `shards` who should have which, `ending` the proof that all is done
exchange   rounds out and letters in; `rounds` sends one, `letters` packs lines
journal    what has changed in the own shards since their last commits
thinning   reads blocks that are mostly done, so that the journal writes them again
vault      the protocol through which they see Redis; `memory` has one for tests
local      the crawl of this process, as they see it

Beside them: `settings` (shared or a node's own), `identity` (whose state a folder has), `process`
(whether a session's on this machine has ended), `share` (of limitPage), `board` and `answers` (what
operators see), `area` (around the seeds), `names` (shared by the resolvers).
"""

from importlib.util import find_spec

from larbinpy.errors import UserError


def require() -> None:
    """Raise UserError if the package that speaks with Redis is not installed."""
    if find_spec("hiredis") is None:
        raise UserError(
            "--join and --nodes need hiredis, which is not installed: pip install 'larbinpy[fleet]'"
        )
