"""larbinpy: a web crawler in the Larbin mould. One process, one poll loop, many transfers.

The packages, from the values up; each imports only from those above it:

    url, outcome, page, agent    the values that travel
    errors, exit_status          errors that end a command; how a crawl ends
    config/                      all settings: file, environment, command line
    loop/                        the one epoll, the two clocks, signals, long work in steps
    stats/                       counters, histories, histograms, the process's own usage
    storage/                     files, queues and fingerprints on disk; the saved state
    dns/                         names to addresses, without blocking
    fetch/                       the pool of curl handles, robots.txt rules, throttle
    parse/                       charset, links, sitemaps
    workers/                     processes that parse pages beside the crawl
    frontier/                    seen -> scope -> store -> sequencer -> NamedSite -> IPSite
    output/                      save, mirror, WARC, stats, the crawl log
    observe/                     snapshot and report of a crawl, the status of one URL
    console/                     input port, status page, metrics, progress
    crawl/                       assembly of a crawl, the engine's turn, its control and end
    cli/, demo/                  the commands; an embedded web to try them on

A URL passes frontier, dns, fetch, parse and output in turn: `crawl/engine.py` is the loop.

For other programs: `Crawl` and `Config` below, `larbinpy.output.Output` as the place to
add code, and `larbinpy.url`, `larbinpy.parse`, `larbinpy.fetch.robots`, `larbinpy.dns` by
themselves.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from larbinpy._version import __version__

if TYPE_CHECKING:
    from larbinpy.config import Config, load
    from larbinpy.crawl.crawl import Crawl
    from larbinpy.storage.state import Start

__all__ = ["Config", "Crawl", "Start", "__version__", "load"]

_HOMES = {"Config": "config", "Crawl": "crawl.crawl", "Start": "storage.state", "load": "config"}


def __getattr__(name: str) -> Any:
    """Load a name when it is used: a program that needs only `larbinpy.url` loads no libcurl."""
    if name not in _HOMES:
        raise AttributeError(f"module 'larbinpy' has no attribute {name!r}")
    return getattr(import_module(f"larbinpy.{_HOMES[name]}"), name)
