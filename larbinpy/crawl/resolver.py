"""The resolver of a configuration.

Not in the module `assembly`, so that `larbinpy resolve` does not load a crawler.
"""

from collections.abc import Callable

from larbinpy.config import Config, ConfigError
from larbinpy.dns.cache import NameCache
from larbinpy.dns.lookup import TRIES
from larbinpy.dns.resolver import Resolver, read_hosts, system_servers
from larbinpy.loop.poller import Poller


def make_resolver(
    config: Config,
    poller: Poller,
    tries: int = TRIES,
    *,
    cached: int | None = None,
    make_cache: Callable[[int, int, float], NameCache] = NameCache,
) -> Resolver:
    """The resolver; it asks the system's servers if `config` names none.

    `cached` replaces dnsCacheSize, and may be 0, which a crawl cannot have.
    Raises ConfigError if there is no server that can be asked.
    """
    size = config.dns_cache_size if cached is None else cached
    servers = config.dns_server or system_servers()
    try:
        return Resolver(
            poller,
            servers,
            make_cache(size, config.dns_negative_size, config.dns_cache_time),
            read_hosts(),
            in_flight=config.dns_connexions,
            send_queue=config.dns_send_queue,
            timeout=config.dns_timeout,
            address_time=config.dns_cache_time,
            tries=tries,
        )
    except ValueError as error:
        raise ConfigError(f"{error} that can be asked; name one with dnsServer") from None
