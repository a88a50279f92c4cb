"""larbinpy: a web crawler in the tradition of Larbin. One process, one poll loop, many transfers.

The packages; each imports only from those above it:

    url, page                    the values that travel; how they can end, in words
    errors                       errors that end a command; states and endings of a crawl
    native/                      compiled code, in C; optional
    config/                      all settings: file, environment, command line
    loop/                        the one epoll, the two clocks, signals, steps, child processes
    stats                        counters, histories, histograms, the process's own usage
    storage/                     queues and fingerprints on disk; the saved state
    dns/                         names to addresses, without blocking
    fetch/                       the pool of curl handles, robots.txt rules, throttle
    parse/                       charset, links, sitemaps
    context                      what each part of a crawl gets: settings, poller, clocks ...
    frontier/                    which URL is fetched next, and when
    fleet/                       one crawl on many nodes: which hosts are whose, what is shared
    login/                       how to log in to a site, and whether a page is of a session
    database/                    the content database: what a page says, its indexer, its search,
                                 when a page is worth another visit
    output/                      output modes (save, mirror, WARC, stats, database), crawl log
    render/                      pages that scripts make: a browser, and what it gets
    observe/                     snapshot and report of a crawl, the status of one URL
    console/                     input port, status page, metrics, progress
    crawl/                       assembly of a crawl, the engine's turn, its control and end
    cli/, demo/                  the commands, several nodes as one of them; an embedded web to
                                 try them on

A URL passes through frontier, dns, fetch, parse and output; `crawl/engine.py` is the loop. The
path in detail is in docs/architecture.md.

Other programs may use the names of `__all__` from here, `larbinpy.output.Output` to receive pages,
and the modules `larbinpy.url`, `larbinpy.parse`, `larbinpy.fetch.robots` and `larbinpy.dns`.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from larbinpy._version import __version__

if TYPE_CHECKING:
    from larbinpy.config import Config, ConfigError, load
    from larbinpy.crawl.crawl import Crawl
    from larbinpy.crawl.own_plug import Plug, PlugError
    from larbinpy.errors import UserError
    from larbinpy.fetch.options import RequestOptions
    from larbinpy.storage.state import Start, StateError

__all__ = [
    "Config",
    "ConfigError",
    "Crawl",
    "Plug",
    "PlugError",
    "RequestOptions",
    "Start",
    "StateError",
    "UserError",
    "__version__",
    "load",
]

_HOMES = {
    "Config": "config",
    "ConfigError": "config",
    "Crawl": "crawl.crawl",
    "Plug": "crawl.own_plug",
    "PlugError": "crawl.own_plug",
    "RequestOptions": "fetch.options",
    "Start": "storage.state",
    "StateError": "storage.state",
    "UserError": "errors",
    "load": "config",
}


def __getattr__(name: str) -> Any:
    """Load a name when it is used: a program that needs only `larbinpy.url` loads no libcurl."""
    if name not in _HOMES:
        raise AttributeError(f"module 'larbinpy' has no attribute {name!r}")
    return getattr(import_module(f"larbinpy.{_HOMES[name]}"), name)
