"""The surroundings of a crawl: clocks, poller and streams, and sizes that no setting changes.

These are constants for a user; a test passes others.
"""

import resource
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TextIO

from larbinpy.crawl import ending, intake
from larbinpy.dns.address import is_public
from larbinpy.frontier.sizes import DEFAULT_SIZES, FrontierSizes
from larbinpy.loop.clock import Clock
from larbinpy.loop.poller import Poller


def raise_open_files(wanted: int) -> int:
    """Raise the limit of open files to `wanted`, as far as it may be; the limit then."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    limit, most = (wanted if n == resource.RLIM_INFINITY else n for n in (soft, hard))
    if limit < wanted:
        limit = min(wanted, most)
        resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))
    return limit


@dataclass(frozen=True, slots=True, kw_only=True)
class Tuning:
    """Sizes of a crawl, times in seconds, and the system calls that it depends on."""

    #: The state is saved this often; a kill then costs so much work, and no URL.
    checkpoint: float = 5.0
    #: And this often with canReload.
    checkpoint_can_reload: float = 1.0
    pages_a_turn: int = intake.PAGES
    frontier: FrontierSizes = DEFAULT_SIZES
    grace: float = ending.GRACE
    #: Bytes after which the next WARC file is begun (WARC 1.1, Annex C: 10^9).
    warc_file_size: int = 10**9
    #: Raises the limit of open files to a number, as far as it may be; returns the limit.
    open_files: Callable[[int], int] = raise_open_files
    #: May an address be asked without allowPrivate?
    is_public: Callable[[str], bool] = is_public


DEFAULT = Tuning()


@dataclass(frozen=True, slots=True)
class Surroundings:
    """The world around a crawl; `closing` closes at the end all that the crawl has opened."""

    poller: Poller
    clock: Clock
    wall: Clock
    stdout: TextIO
    stderr: TextIO
    closing: ExitStack
    tuning: Tuning
