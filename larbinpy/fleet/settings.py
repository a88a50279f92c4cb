"""Settings of a fleet: those that all nodes share are kept with the crawl, the others are a node's.

The first node makes the crawl and shares its settings. A later one takes those, and may name none
with another value: two nodes with different limits would not be one crawl. Only what its user wrote
is compared, also if it is the default; what a command assumes is not.
"""

import os
from collections.abc import Collection, Mapping
from dataclasses import fields, replace

from larbinpy.config import LIVE, Config, ConfigError, change
from larbinpy.config.config import SETTINGS
from larbinpy.config.grammar import read
from larbinpy.config.kinds import Setting
from larbinpy.fleet.board import Found

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
        "loginFile",
        "node",
        "noProxy",
        "outputDir",
        "pagesConnexions",
        "printStats",
        "proxy",
        "readers",
        "roundTime",
        "saveCookies",
        "shards",
        "sourceAddress",
        "spoolMax",
        "startUrl",
        "stateDir",
    ]
)

#: Keywords that only a crawl of one process may set, and why.
_ALONE = {
    "rewriteLinks": "the pages of a mirror that browses offline would lie in many folders; "
    "outputMode mirror without it keeps them as they came",
    "checkLinks": "each node knows only the pages that have its own links",
}


def shared(config: Config) -> dict[str, str]:
    """The settings that all nodes share, as lines of a file, by keyword; only changed ones."""
    return {
        row.keyword: "\n".join(row.lines(getattr(config, row.attribute)))
        for row in SETTINGS.values()
        if row.keyword not in OWN and _is_changed(row, config)
    }


def refuse(config: Config) -> None:
    """Raise ConfigError for a setting that a node cannot have."""
    for keyword, why in _ALONE.items():
        if getattr(config, SETTINGS[keyword.lower()].attribute):
            raise ConfigError(f"{keyword} cannot be used with {_ways(config)}: {why}")


def _ways(config: Config) -> str:
    """The ways to be a node; an address that is not on the command line is easily forgotten."""
    is_exported = config.join and os.environ.get("LARBINPY_JOIN") == config.join
    return "join (LARBINPY_JOIN is set) or --nodes" if is_exported else "join or --nodes"


def as_node(config: Config) -> Config:
    """`config` with folders, and a database in a file, of the node's own."""
    node, database = config.node, config.database
    if database and "://" not in database:
        folder, name = os.path.split(database)
        database = os.path.join(folder, node, name)
    return replace(
        config,
        state_dir=os.path.join(config.state_dir, node),
        output_dir=os.path.join(config.output_dir, node),
        database=database,
    )


def joined(
    config: Config, crawl: Mapping[str, str], shards: int, written: Collection[str] | None = None
) -> Config:
    """`config` with the shared settings of a `crawl`, which has so many `shards`.

    `written` are the fields whose values the user gave; None: all that are not the default.
    Raises ConfigError if one of them has another value in the crawl.
    """
    if written is None:
        written = {row.attribute for row in SETTINGS.values() if _is_changed(row, config)}
    if "shards" in written and config.shards != shards:
        raise _differs("shards", str(shards))
    text = "\n".join(crawl.values())
    theirs = replace(Config(), **read(text, "the settings of the fleet", SETTINGS))
    given = shared(config)
    for row in SETTINGS.values():
        is_compared = row.attribute in written and row.keyword not in OWN
        if is_compared and given.get(row.keyword) != crawl.get(row.keyword):
            raise _differs(row.keyword, row.text(getattr(theirs, row.attribute)))
    own = {row.attribute for row in SETTINGS.values() if row.keyword in OWN}
    values = {field.name: getattr(theirs, field.name) for field in fields(Config)}
    others = {name: value for name, value in values.items() if name not in own}
    return replace(config, **others, shards=shards)


def _differs(keyword: str, value: str) -> ConfigError:
    return ConfigError(
        f"{keyword}: the crawl that this node joins has another value ({value or 'not set'}); "
        "leave the setting out"
    )


def as_it_runs(config: Config, found: Found, written: Collection[str] | None = None) -> Config:
    """`config` with the settings of a crawl, as they are now. Arguments and errors of `joined`."""
    settings = dict(found.crawl.settings)
    shards = int(settings.pop("shards"))
    config = joined(config, settings, shards, written)
    for keyword, text in found.changed.items():
        config = change(config, keyword, text)
    return config


def to_steer(found: Found) -> Config:
    """The settings of a crawl that commands need.

    Others may name files that are on the machines of the nodes alone.
    """
    needed = {row.keyword for row in LIVE.values()} | {"shards", "stay", "lockSite"}
    settings = {name: text for name, text in found.crawl.settings.items() if name in needed}
    return as_it_runs(Config(), found._replace(crawl=found.crawl._replace(settings=settings)))


def has_area(config: Config) -> bool:
    """Whether the crawl keeps to an area around its seeds, which all nodes must know."""
    return config.stay != "any" or config.lock_site


def _is_changed(row: Setting, config: Config) -> bool:
    return bool(row.own(getattr(config, row.attribute)) != row.default)
