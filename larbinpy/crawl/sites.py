"""The values that differ from site to site.

configs          the configuration of each site, with its blocks put in
settings         its settings for the frontier, and the clock of the hours
request_options  what is sent to it, and on which way
logins           the logins that seeds gave
sessions         the sessions of loginFile; saved_sessions: as a part of the state
login_links      the links that these leave out, for looks at a stopped crawl
login_options    what their logins change in requests

The configuration of each site: that of the crawl, with the site blocks for it put in.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from larbinpy.config import Config
from larbinpy.config.grammar import SiteBlock, SiteValue
from larbinpy.config.patterns import HostPatterns
from larbinpy.url import Url, split

#: Sites whose configuration is remembered; finding it anew takes 2 us.
_MOST_SITES = 1 << 14


@dataclass(frozen=True, slots=True, eq=False)
class SiteConfig:
    """The configuration of all sites that the same blocks match."""

    blocks: tuple[SiteBlock, ...]
    config: Config
    #: Attribute of the Config -> the block that decides it, and its value there.
    decided: Mapping[str, tuple[SiteBlock, SiteValue]]

    def decider(self, attribute: str) -> SiteBlock | None:
        """The block that decides `attribute`; None if the crawl's own setting does."""
        return self.decided[attribute][0] if attribute in self.decided else None


class SiteConfigs:
    """Finds the configuration of a site by its host and port.

    For each keyword the first block decides that matches and sets it. Sites that the same blocks
    match share one object. Without blocks there is one object, found in no time.
    """

    def __init__(self, config: Config) -> None:
        self._config = config
        self._blocks = HostPatterns((block.pattern, block) for block in config.site_blocks)
        self._made: dict[tuple[int, ...], SiteConfig] = {}
        #: That of sites that no block matches.
        self.usual = self._shared(())
        #: That of a site, by its key.
        self.of: Callable[[str], SiteConfig] = lambda _key: self.usual
        #: That of the site of a URL, which is not even computed without blocks.
        self.for_url: Callable[[Url], Config] = lambda _url: config
        if config.site_blocks:
            self.of = of = lru_cache(_MOST_SITES)(self._find)
            self.for_url = lambda url: of(url.site).config

    def config_at(self, host: str, port: int) -> Config:
        return self._at(host, port).config

    def most_bytes(self, url: Url) -> int:
        """maxPageSize for `url`."""
        return self.for_url(url).max_page_size

    def robots_meta(self, url: Url) -> str:
        """robotsMeta for `url`: "off" with ignoreRobots."""
        config = self.for_url(url)
        return "off" if config.ignore_robots else config.robots_meta

    def names_referer(self, url: Url) -> bool:
        """Whether the request for `url` names the page that led there."""
        wanted = self.for_url(url).referer
        return wanted == "always" or (wanted == "same-site" and url.requisite)

    def agent(self, url: Url) -> str:
        return self.for_url(url).user_agent

    def each_block(self) -> Iterator[Config]:
        """The configuration of the crawl with the values of one block, for each block."""
        for block in self._config.site_blocks:
            yield merged(self._config, block.values)

    @property
    def ports(self) -> set[int]:
        """The ports that patterns name."""
        return {b.pattern.port for b in self._config.site_blocks if b.pattern.port is not None}

    def _find(self, key: str) -> SiteConfig:
        _, host, port, _ = split(f"{key}/")
        return self._at(host, port)

    def _at(self, host: str, port: int) -> SiteConfig:
        return self._shared(tuple(self._blocks.matching(host, port)))

    def _shared(self, blocks: tuple[SiteBlock, ...]) -> SiteConfig:
        key = tuple(map(id, blocks))
        if key not in self._made:
            decided: dict[str, tuple[SiteBlock, SiteValue]] = {}
            for block in blocks:
                for value in block.values:
                    decided.setdefault(value.row.attribute, (block, value))
            values = [value for _, value in decided.values()]
            self._made[key] = SiteConfig(blocks, merged(self._config, values), decided)
        return self._made[key]


def merged(config: Config, values: Iterable[SiteValue]) -> Config:
    """`config` with `values` of a site; maxWait is at least waitDuration, as for the crawl."""
    own: Any = {value.row.attribute: value.value for value in values}
    site = replace(config, **own)
    return replace(site, max_wait=max(site.max_wait, site.wait_duration))
