"""The network side of a crawl: its fetcher and its resolver on one poller."""

import resource
import socket
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import Protocol

from larbinpy.config import Config, ConfigError
from larbinpy.crawl.resolver import make_resolver
from larbinpy.dns.lookup import TRIES, Answer
from larbinpy.dns.resolver import OnFound, Resolver
from larbinpy.fetch.fetcher import CONNECTIONS_PER_HANDLE, Fetcher
from larbinpy.fetch.settings import FetchSettings, RequestOptions
from larbinpy.loop.poller import Poller

#: Descriptors besides those of transfers: standard streams, log and lock, a page being written
#: and its folders, clients of the ports, and the resolver's UDP ports (64 for each address
#: family, and some that were replaced).
OTHER_FILES = 250
#: The limit of open files that is at least requested, so that pagesConnexions may still grow.
_FILES = 1 << 14
#: Stands for the address of a site that only the proxy knows.
BY_PROXY = "proxy"
#: Names that the proxy takes in one turn.
_ANY_NUMBER = 1000


class Names(Protocol):
    """The resolver as the engine sees it."""

    @property
    def room(self) -> int: ...

    @property
    def deadline(self) -> float | None: ...

    def ask(self, name: str, now: float, *, refresh: bool = False) -> Answer | None: ...

    def expect(self, names: Iterable[str], now: float) -> None: ...

    def step(self, now: float, on_found: OnFound) -> Sequence[Answer]: ...


class ProxyNames:
    """Replaces the resolver if there is a proxy, which resolves names itself.

    Names that need no name server (addresses, the hosts file) are still answered by the
    resolver, so that private addresses are refused.
    """

    room = _ANY_NUMBER
    deadline: float | None = None

    def __init__(self, resolver: Resolver) -> None:
        self._resolver = resolver

    def __repr__(self) -> str:
        return "<ProxyNames>"

    def ask(self, name: str, now: float, *, refresh: bool = False) -> Answer | None:
        return self._resolver.at_hand(name) or Answer(name, (BY_PROXY,), None)

    def expect(self, names: Iterable[str], now: float) -> None:
        pass

    def step(self, now: float, on_found: OnFound) -> Sequence[Answer]:
        return ()


def raise_open_files(wanted: int) -> int:
    """Raise the limit of open files to `wanted`, as far as possible; return the new limit."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    limit, most = (wanted if n == resource.RLIM_INFINITY else n for n in (soft, hard))
    if limit < wanted:
        limit = min(wanted, most)
        resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))
    return limit


class Network:
    """Fetcher and resolver, which are closed with `closing`. Raises ConfigError or OSError.

    `open_files` raises the limit of open files to a number, as far as the system allows, and
    returns the limit.
    """

    def __init__(
        self,
        config: Config,
        poller: Poller,
        closing: ExitStack,
        open_files: Callable[[int], int],
        dns_tries: int = TRIES,
    ) -> None:
        wanted = config.pages_connexions
        limit = open_files(max(_FILES, OTHER_FILES + wanted * CONNECTIONS_PER_HANDLE))
        most = max(1, (limit - OTHER_FILES) // CONNECTIONS_PER_HANDLE)
        #: The options of requests that no site block changes.
        self.options = request_options(config)
        self.fetcher = Fetcher(poller, _fetch_settings(config, most))
        closing.callback(self.fetcher.close)
        self.resolver = make_resolver(config, poller, dns_tries)
        closing.callback(self.resolver.close)
        self.names: Names = ProxyNames(self.resolver) if config.proxy else self.resolver

    def __repr__(self) -> str:
        return f"<Network {self.fetcher!r} {self.names!r}>"


def _fetch_settings(config: Config, most_handles: int) -> FetchSettings:
    return FetchSettings(
        handles=config.pages_connexions,
        most_handles=most_handles,
        bond_width=config.bond_width,
        use_cookies=config.use_cookies,
        keep_requests="warc" in config.output_mode,
    )


def request_options(config: Config) -> RequestOptions:
    """The options of all requests that `config` decides. Raises ConfigError."""
    options = RequestOptions(
        user_agent=config.user_agent,
        sender=config.sender,
        timeout_page=config.timeout_page,
        timeout_connect=config.timeout_connect,
        proxy_url=_proxy_url(config),
        ca_file=config.ca_file,
        insecure_tls=config.insecure_tls,
    )
    return replace(options, accept="*/*") if config.any_type else options


def _proxy_url(config: Config) -> str:
    """The URL of the proxy by address, or empty. As in Larbin, its name is looked up once."""
    if config.proxy is None:
        return ""
    host, port = config.proxy
    try:
        found = socket.getaddrinfo(host.strip("[]"), port, type=socket.SOCK_STREAM)
    except OSError as error:
        raise ConfigError(f"proxy {host}: no address found ({error.strerror})") from None
    address = str(found[0][4][0])
    return f"http://[{address}]:{port}" if ":" in address else f"http://{address}:{port}"
