"""The network side of a crawl: its fetcher and its resolver on one poller."""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Protocol

from larbinpy.config import Config, ConfigError
from larbinpy.context import Context
from larbinpy.crawl.requests import Logins, SiteConfigs, SiteOptions
from larbinpy.crawl.resolver import make_resolver
from larbinpy.dns.cache import NameCache
from larbinpy.dns.lookup import Answer
from larbinpy.dns.resolver import OnFound, Resolver
from larbinpy.fetch.fetcher import CONNECTIONS_PER_HANDLE, Fetcher
from larbinpy.fetch.options import FetchSettings, Request, RequestOptions
from larbinpy.page import Page

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


class Fetching(Protocol):
    """The fetcher, or one that opens requests later."""

    @property
    def free(self) -> int: ...

    @property
    def busy(self) -> int: ...

    @property
    def deadline(self) -> float | None: ...

    def start(self, request: Request, now: float) -> None: ...

    def step(self, now: float) -> list[Page]: ...


#: Makes a resolver with a cache; returns it with the names in front of it.
ShareNames = Callable[[Callable[[NameCache | None], Resolver]], tuple[Resolver, Names]]


def unshared(make: Callable[[NameCache | None], Resolver]) -> tuple[Resolver, Names]:
    """No other process has the names."""
    resolver = make(None)
    return resolver, resolver


class ProxyNames:
    """Replaces the resolver if there is a proxy, which resolves names itself.

    The resolver still answers for hosts that are `is_direct`, and for names that are `at_hand`, as
    they need no name server (addresses, the hosts file), so that private addresses are refused.
    """

    def __init__(
        self,
        resolver: Names,
        at_hand: Callable[[str], Answer | None],
        is_direct: Callable[[str], bool],
    ) -> None:
        self._resolver = resolver
        self._at_hand = at_hand
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
        return self._at_hand(name) or Answer(name, (BY_PROXY + name,), None)

    def expect(self, names: Iterable[str], now: float) -> None:
        self._resolver.expect(filter(self._is_direct, names), now)

    def step(self, now: float, on_found: OnFound) -> Sequence[Answer]:
        return self._resolver.step(now, on_found)


def permitting(
    config: Config,
    is_public: Callable[[str], bool],
    is_own: Callable[[str, int], bool] | None = None,
) -> Callable[[str, int], bool]:
    """Whether requests may be sent to an address and port; a proxy checks those that it looks up.

    `is_own` is whether a server that the crawl itself relies on is there.
    """
    allowed, served = config.allow_private, config.check_place

    def permits(address: str, port: int) -> bool:
        if is_own is not None and is_own(address, port):
            return False
        if (address, port) == served:
            return True
        return allowed or address.startswith(BY_PROXY) or is_public(address)

    return permits


class Network:
    """Fetcher and resolver, which are closed with the crawl. Raises ConfigError or OSError.

    `share` lets the nodes of a fleet share their names; `with_login` adds the login of a site,
    by its key, to the options of its requests.
    """

    def __init__(
        self,
        context: Context,
        logins: Logins,
        sites: SiteConfigs,
        share: ShareNames = unshared,
        with_login: Callable[[str, RequestOptions], RequestOptions] | None = None,
    ) -> None:
        config, closing = context.config, context.closing
        wanted = OTHER_FILES + config.pages_connexions * CONNECTIONS_PER_HANDLE
        limit = context.tuning.open_files(max(_FILES, wanted))
        if limit < OTHER_FILES:
            raise ConfigError(
                f"the limit of open files (ulimit -n) is {limit}, and a crawl needs {OTHER_FILES},"
                f" {CONNECTIONS_PER_HANDLE} more for each of pagesConnexions; ulimit -n 1024 raises"
                " it, LimitNOFILE=1024 that of a service"
            )
        most = max(1, (limit - OTHER_FILES) // CONNECTIONS_PER_HANDLE)
        self.options = SiteOptions(config, logins, sites, with_login)
        self.fetcher = Fetcher(context.poller, _fetch_settings(config, most))
        closing.callback(self.fetcher.close)
        self.resolver, names = share(partial(make_resolver, config, context.poller))
        closing.callback(self.resolver.close)
        self.names: Names = names
        if any(each.proxy for each in (config, *sites.each_block())):
            self.names = ProxyNames(names, self.resolver.at_hand, self.options.is_direct)
        #: The fetcher, or what opens its requests later.
        self.fetching: Fetching = self.fetcher
        #: Gets the answers that have just come from name servers.
        self.on_found: OnFound = lambda _answer: None


def _fetch_settings(config: Config, most_handles: int) -> FetchSettings:
    return FetchSettings(
        handles=config.pages_connexions,
        most_handles=most_handles,
        bond_width=config.bond_width,
        use_cookies=config.use_cookies or bool(config.cookie_file or config.save_cookies),
        cookie_file=config.cookie_file,
        keep_requests=config.keeps_exchanges,
    )
