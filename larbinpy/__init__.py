"""larbinpy: a web crawler in the Larbin mould. One process, one poll loop, many transfers.

The story of one URL, and the rooms it passes:

    url, outcome, page, config   the values that travel and the settings
    frontier/                    seen -> scope -> store -> sequencer -> NamedSite -> IPSite
    dns/                         names to addresses, without blocking
    fetch/                       the pool of curl handles, robots.txt rules, throttle
    parse/                       charset, links, sitemaps
    reading/                     who has pages parsed: the crawl, or processes beside it
    output/                      save, mirror, stats, the crawl log: where pages go
    console/                     input port, status page, metrics, progress: people looking in
    poller                       the one epoll
    files                        how anything reaches the disk whole, or not at all
    engine, clock                one turn through all stages; the time, read there and told
    stats, snapshot              what is counted, and all that there is to see
    control, signals             what people may do while it runs
    wiring, resolving, opening   from a Config to objects, opened in their order
    crawl, stopping              the run from start to exit status; when it ends, and why
    cli, single, demo/           the commands; one URL alone; an embedded web to try it on

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
    """Loaded when asked for: who wants `larbinpy.url` alone should not load libcurl."""
    if name not in _HOMES:
        raise AttributeError(f"module 'larbinpy' has no attribute {name!r}")
    return getattr(import_module(f"larbinpy.{_HOMES[name]}"), name)
