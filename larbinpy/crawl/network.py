"""The network side of a crawl: its fetcher and its resolver on one poller."""

import resource
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from typing import Protocol

from larbinpy.config import Config
from larbinpy.crawl.request_options import Logins, SiteOptions
from larbinpy.crawl.resolver import make_resolver
from larbinpy.crawl.sites import SiteConfigs
from larbinpy.dns.cache import NameCache
from larbinpy.dns.lookup import TRIES, Answer
from larbinpy.dns.resolver import OnFound, Resolver
from larbinpy.fetch.fetcher import CONNECTIONS_PER_HANDLE, Fetcher
from larbinpy.fetch.options import FetchSettings, RequestOptions
from larbinpy.loop.poller import Poller

#: Descriptors besides those of transfers: standard streams, log and lock, a page being written
#: and its folders, clients of the ports, and the resolver's UDP ports (64 for each address
#: family, and some that were replaced).
OTHER_FILES = 250
#: The limit of open files that is at least requested, so that pagesConnexions may still grow.
_FILES = 1 << 14
#: With its host, stands for the address of a site that only the proxy knows. So waits by address
#: are waits by host there.
BY_PROXY = "proxy:"


class Names(Protocol):
    """The resolver as the engine sees it."""

    @property
    def room(self) -> int: ...

    @property
    def deadline(self) -> float | None: ...

    def ask(self, name: str, now: float, *, refresh: bool = False) -> Answer | None: ...

    def expect(self, names: Iterable[str], now: float) -> None: ...

    def step(self, now: float, on_found: OnFound) -> Sequence[Answer]: ...


class LocalNames(Names, Protocol):
    """Names that also tell which of them need no name server."""

    def at_hand(self, name: str) -> Answer | None: ...


class NameSharing(Protocol):
    """How the nodes of a fleet share their names."""

    def cache(self, size: int, absences: int, absence_time: float) -> NameCache:
        """The cache for the resolver."""

    def names(self, resolver: Resolver) -> LocalNames:
        """The names in front of the resolver that got the cache."""


class ProxyNames:
    """Replaces the resolver if there is a proxy, which resolves names itself.

    The resolver still answers for hosts that are `is_direct`, and for names that need no name
    server (addresses, the hosts file), so that private addresses are refused.
    """

    def __init__(self, resolver: LocalNames, is_direct: Callable[[str], bool]) -> None:
        self._resolver = resolver
        self._is_direct = is_direct

    @property
    def room(self) -> int:
        return self._resolver.room

    @property
    def deadline(self) -> float | None:
        return self._resolver.deadline

    def ask(self, name: str, now: float, *, refresh: bool = False) -> Answer | None:
        if self._is_direct(name):
            return self._resolver.ask(name, now, refresh=refresh)
        return self._resolver.at_hand(name) or Answer(name, (BY_PROXY + name,), None)

    def expect(self, names: Iterable[str], now: float) -> None:
        self._resolver.expect(filter(self._is_direct, names), now)

    def step(self, now: float, on_found: OnFound) -> Sequence[Answer]:
        return self._resolver.step(now, on_found)


def permitting(config: Config, is_public: Callable[[str], bool]) -> Callable[[str], bool]:
    """Whether requests may be sent to an address; a proxy checks those that it looks up."""
    allowed = config.allow_private
    return lambda address: allowed or address.startswith(BY_PROXY) or is_public(address)


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
    returns the limit. With `sharing` the nodes of a fleet share their names.
    """

    def __init__(
        self,
        config: Config,
        logins: Logins,
        sites: SiteConfigs,
        poller: Poller,
        closing: ExitStack,
        open_files: Callable[[int], int],
        dns_tries: int = TRIES,
        sharing: NameSharing | None = None,
        with_login: Callable[[str, RequestOptions], RequestOptions] | None = None,
    ) -> None:
        wanted = config.pages_connexions
        limit = open_files(max(_FILES, OTHER_FILES + wanted * CONNECTIONS_PER_HANDLE))
        most = max(1, (limit - OTHER_FILES) // CONNECTIONS_PER_HANDLE)
        self.options = SiteOptions(config, logins, sites, with_login)
        self.fetcher = Fetcher(poller, _fetch_settings(config, most))
        closing.callback(self.fetcher.close)
        make_cache = NameCache if sharing is None else sharing.cache
        self.resolver = make_resolver(config, poller, dns_tries, make_cache=make_cache)
        closing.callback(self.resolver.close)
        names = self.resolver if sharing is None else sharing.names(self.resolver)
        self.names: Names = names
        if any(each.proxy for each in (config, *sites.each_block())):
            self.names = ProxyNames(names, self.options.is_direct)


def _fetch_settings(config: Config, most_handles: int) -> FetchSettings:
    return FetchSettings(
        handles=config.pages_connexions,
        most_handles=most_handles,
        bond_width=config.bond_width,
        use_cookies=config.use_cookies or bool(config.cookie_file or config.save_cookies),
        cookie_file=config.cookie_file,
        keep_requests="warc" in config.output_mode,
    )
