"""The surroundings of a crawl: clocks, poller and streams, and sizes that no setting changes.

Users cannot change them; tests pass others.
"""

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TextIO

from larbinpy.crawl.resources.frontier import KINDS, Kinds
from larbinpy.crawl.resources.network import raise_open_files
from larbinpy.dns.address import is_public
from larbinpy.dns.lookup import TRIES
from larbinpy.frontier.sizes import DEFAULT_SIZES, FrontierSizes
from larbinpy.loop.clock import Clock
from larbinpy.loop.poller import Poller


@dataclass(frozen=True, slots=True, kw_only=True)
class Tuning:
    """Sizes and classes of a crawl, times in seconds, and the system calls that it depends on."""

    #: The state is saved at this interval. A kill costs the work since the last save, and no URL.
    checkpoint: float = 5.0
    #: The interval with canReload.
    checkpoint_can_reload: float = 1.0
    #: Pages taken in one turn: parsing is expensive, and sockets must not wait long.
    pages_a_turn: int = 32
    frontier: FrontierSizes = DEFAULT_SIZES
    #: The classes of the frontier of a crawl of one process.
    kinds: Kinds = KINDS
    #: Time after the first signal for transfers in flight, and after that for the last work of
    #: the outputs.
    grace: float = 10.0
    #: Bytes after which the next WARC file is begun (WARC 1.1, Annex C: 10^9).
    warc_file_size: int = 10**9
    #: Questions sent for one record before its name fails.
    dns_tries: int = TRIES
    #: Raises the limit of open files to a number, as far as possible; returns the limit.
    open_files: Callable[[int], int] = raise_open_files
    #: Whether requests may be sent to an address without allowPrivate.
    is_public: Callable[[str], bool] = is_public


DEFAULT = Tuning()


@dataclass(frozen=True, slots=True)
class Surroundings:
    """The surroundings of one crawl; `closing` finally closes everything that it opened."""

    poller: Poller
    clock: Clock
    wall: Clock
    stdout: TextIO
    stderr: TextIO
    closing: ExitStack
    tuning: Tuning
