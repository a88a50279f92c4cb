"""Settings of a fleet: those that all nodes share are kept with the crawl, the others are a node's.

The first node makes the crawl and shares its settings. A later one takes those, and may name none
with another value: two nodes with different limits would not be one crawl.
"""

from collections.abc import Mapping
from dataclasses import fields, replace

from larbinpy.config import Config, ConfigError
from larbinpy.config.config import SETTINGS
from larbinpy.config.grammar import read
from larbinpy.config.kinds import Setting

#: Keywords whose values are a node's own: its machine, its files and its ports.
OWN = frozenset(
    [
        "bondWidth",
        "caFile",
        "canReload",
        "clientCert",
        "clientKey",
        "cookieFile",
        "database",
        "debug",
        "dnsCacheSize",
        "dnsConnexions",
        "dnsNegativeSize",
        "dnsSendQueue",
        "dnsServer",
        "fetchInfo",
        "highLevelWebServer",
        "histograms",
        "httpHost",
        "httpPort",
        "inputHost",
        "inputPort",
        "join",
        "node",
        "noProxy",
        "outputDir",
        "pagesConnexions",
        "printStats",
        "proxy",
        "readers",
        "roundTime",
        "shards",
        "sourceAddress",
        "spoolMax",
        "startUrl",
        "stateDir",
    ]
)


def shared(config: Config) -> dict[str, str]:
    """The settings that all nodes share, as lines of a file, by keyword; only changed ones."""
    return {
        row.keyword: "\n".join(row.lines(getattr(config, row.attribute)))
        for row in SETTINGS.values()
        if row.keyword not in OWN and _is_changed(row, config)
    }


def joined(config: Config, crawl: Mapping[str, str]) -> Config:
    """`config` with the shared settings of a `crawl`.

    Raises ConfigError if `config` has another value of one of them.
    """
    text = "\n".join(crawl.values())
    theirs = replace(Config(), **read(text, "the settings of the fleet", SETTINGS))
    given = shared(config)
    for row in SETTINGS.values():
        if row.keyword in given and given[row.keyword] != crawl.get(row.keyword):
            value = row.text(getattr(theirs, row.attribute)) or "not set"
            raise ConfigError(
                f"{row.keyword}: the crawl that this node joins has another value ({value}); "
                "leave the setting out"
            )
    own = {row.attribute for row in SETTINGS.values() if row.keyword in OWN}
    values = {field.name: getattr(theirs, field.name) for field in fields(Config)}
    return replace(config, **{name: value for name, value in values.items() if name not in own})


def _is_changed(row: Setting, config: Config) -> bool:
    return bool(row.own(getattr(config, row.attribute)) != row.default)
