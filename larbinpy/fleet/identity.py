"""Which node this is: the crawl that its state belongs to, the names of its sessions, its settings.

A session is `NODE.SHARE-MARK`. The share is a name that each state gets when it is new: a session
of the same node and the same share is an earlier one of this very node, which is dead, since the
folder is locked. With another share it is another node of this name. The mark is that of a process:
a node that was killed can do nothing any more, and nodes of its machine need not watch for seconds
whether it is alive, as the system tells them. Those on other machines have to watch.

The first node makes the crawl and shares its settings (`shared`). A later one takes those, and may
name none with another value: two nodes with different limits would not be one crawl. Only what its
user wrote is compared, also if it is the default; what a command assumes is not.
"""

import os
import re
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import fields, replace
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import NamedTuple

from larbinpy.config import LIVE, SETTINGS, Config, ConfigError, change
from larbinpy.config.grammar import read
from larbinpy.config.kinds import Setting
from larbinpy.fleet.board import FoundCrawl
from larbinpy.loop import child
from larbinpy.storage.state import SavedValue, State, StateError

_BOOT = Path("/proc/sys/kernel/random/boot_id")
_PROCESSES = Path("/proc/self/ns/pid")
#: Hexadecimal digits: of the machine, of the process, and of what tells its sessions apart.
_MARK = re.compile(r"(.{12})([0-9a-f]{6})[0-9a-f]{8}").fullmatch


@cache
def _machine() -> str:
    """Equal in all processes that see each other's numbers, and in no others."""
    try:
        name = _BOOT.read_bytes() + os.readlink(_PROCESSES).encode()
    except OSError:
        # It is not Linux: no other process is known.
        name = os.urandom(16)
    return blake2b(name, digest_size=6).hexdigest()


def new_mark() -> str:
    """26 hexadecimal digits that were never used: those of a session of this process."""
    return f"{_machine()}{os.getpid():06x}{os.urandom(4).hex()}"


def process_has_ended(mark: str) -> bool:
    """Whether the process that made a mark is known to have ended; False if it is elsewhere."""
    match = _MARK(mark)
    if match is None or match[1] != _machine():
        return False
    return child.has_ended(int(match[2], 16))


_SESSION = re.compile(r"(.*)\.([0-9a-f]*)-[0-9a-f]+").fullmatch


def session_name(node: str, share: str) -> str:
    """A name that was never used."""
    return f"{node}.{share}-{new_mark()}"


def node_of(session: str) -> str:
    """The name of the node that has a session."""
    return session.rpartition(".")[0]


def has_ended(session: str) -> bool:
    """Whether the process of a session is known to have ended, since it ran on this machine."""
    return process_has_ended(session.rpartition("-")[2])


def are_namesakes(one: str, other: str) -> bool:
    """Whether two sessions are of two nodes that have the same name."""
    first, second = _SESSION(one), _SESSION(other)
    if first is None or second is None:
        return False
    return first[1] == second[1] and first[2] != second[2]


class SavedNode(NamedTuple):
    """The node that a state belongs to: the id of its crawl, and the name of its share."""

    crawl: str
    share: str
    #: The name of the crawl.
    name: str


def saved_node(folder: Path) -> SavedNode | None:
    """The node whose state is in `folder`; None if there is none."""
    with suppress(StateError), State(folder).reading() as manifest:
        if "fleet" in manifest:
            fleet = manifest["fleet"]
            return SavedNode(str(fleet["crawl"]), str(fleet["share"]), str(fleet["name"]))
    return None


def of_another(folder: Path, name: str = "") -> StateError:
    """The error for a node in `folder` that is of another crawl, which may have this `name`."""
    which = f"another crawl, {name}" if name else "another crawl"
    return StateError(f"{folder}: holds a node of {which}; --scratch forgets it")


class Identity(SavedValue):
    """The crawl that a state belongs to, which `load` compares; and its share.

    `load` raises StateError.
    """

    def __init__(self, crawl: str, name: str, folder: Path) -> None:
        self._crawl = crawl
        self._name = name
        self._folder = folder
        #: The name of this state: that of its share in limitPage, and a part of its sessions'.
        self.share = os.urandom(6).hex()

    def cut(self, now: float, *, ended: bool) -> dict[str, str]:
        return {"crawl": self._crawl, "name": self._name, "share": self.share}

    def load(self, value: Mapping[str, str], now: float) -> None:
        if value["crawl"] != self._crawl:
            raise of_another(self._folder)
        self.share = str(value["share"])


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
        "items",
        "join",
        "loginFile",
        "minFree",
        "node",
        "noProxy",
        "outputDir",
        "pagesConnexions",
        "printStats",
        "proxy",
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


def as_it_runs(config: Config, found: FoundCrawl, written: Collection[str] | None = None) -> Config:
    """`config` with the settings of a crawl, as they are now. Arguments and errors of `joined`."""
    settings = dict(found.crawl.settings)
    shards = int(settings.pop("shards"))
    config = joined(config, settings, shards, written)
    for keyword, text in found.changed.items():
        config = change(config, keyword, text)
    return config


def to_steer(found: FoundCrawl) -> Config:
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
