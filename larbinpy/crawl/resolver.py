"""The resolver of a configuration.

Not in the module `assembly`, so that `larbinpy resolve` does not load a crawler.
"""

from larbinpy.config import Config, ConfigError
from larbinpy.dns.cache import NameCache
from larbinpy.dns.resolver import Resolver, read_hosts, system_servers
from larbinpy.loop.poller import Poller


def make_resolver(
    config: Config,
    poller: Poller,
    cache: NameCache | None = None,
) -> Resolver:
    """The resolver; it asks the system's servers if `config` names none.

    `cache` replaces that of the configuration. Raises ConfigError if there is no server that
    can be asked.
    """
    if cache is None:
        cache = NameCache(config.dns_cache_size, config.dns_negative_size, config.dns_cache_time)
    servers = config.dns_server or system_servers()
    try:
        return Resolver(
            poller,
            servers,
            cache,
            read_hosts(),
            in_flight=config.dns_connexions,
            send_queue=config.dns_send_queue,
            timeout=config.dns_timeout,
            address_time=config.dns_cache_time,
        )
    except ValueError as error:
        raise ConfigError(f"{error} that can be asked; name one with dnsServer") from None
