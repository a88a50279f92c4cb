"""The control of a running crawl: its commands, and the values that they change.

Commands come from the console or POST /control, through the ports that are opened here. Of the
settings in force the console may change some. `explain` searches the disk for clients, each of
which gets a fair share. About a crawl that does not run its state answers, which is never changed;
before the first run the configuration alone.
"""

import errno
import os
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from larbinpy.config import SETTINGS, Config, ConfigError, Origins, change, texts
from larbinpy.config.kinds import ALWAYS
from larbinpy.console.ports import reply
from larbinpy.console.ports.commands import CommandSteps, Result, Wait, Watcher, Watchers
from larbinpy.console.ports.finder_process import FinderProcess, finder_command
from larbinpy.console.ports.http import Posting, StatusServer
from larbinpy.console.ports.input_port import DOOR, InputPort
from larbinpy.context import Context
from larbinpy.crawl.engine import Listener
from larbinpy.crawl.mode import Mode
from larbinpy.crawl.on_disk import OnDisk
from larbinpy.crawl.parts import SettingsBySite, make_frontier, read_login_links
from larbinpy.crawl.requests import Logins, SiteConfigs
from larbinpy.errors import Ending, what_failed
from larbinpy.fetch.fetcher import Fetcher
from larbinpy.frontier.frontier import Frontier
from larbinpy.loop.clock import SLICE, Clock, Slice
from larbinpy.observe.explain import explain
from larbinpy.observe.report.log import StoppedLog, first_time
from larbinpy.observe.snapshot import Snapshots, Totals
from larbinpy.page import SEED_AGAIN, Outcome, timestamp
from larbinpy.storage.state import SavedValue, State
from larbinpy.url import fault, site_of, typed


class LiveSettings(SavedValue):
    """The configuration of a run, with the changes by `set`, which outlive the run.

    A change made in an earlier run does not override what the command line gives (`origins`), nor
    the keywords `changed` of a fleet.
    """

    def __init__(
        self,
        context: Context,
        origins: Origins,
        changed: Collection[str],
        mode: Mode,
        site_settings: SettingsBySite,
        frontier: Frontier,
        fetcher: Fetcher,
    ) -> None:
        self.config = context.config
        self._origins = origins
        self._fixed = {keyword.lower() for keyword in (*origins.fixed, *changed)}
        self._mode = mode
        self._site_settings = site_settings
        self._frontier = frontier
        self._fetcher = fetcher
        self._clock = context.clock
        # The configured maxWait. The one in force is longer while waitDuration is longer.
        self._max_wait = self.config.max_wait
        #: Keyword -> value, as set by the console, in this run or before.
        self._changed: dict[str, str] = {}
        #: Lines about the changes of an earlier run.
        self.notes: list[str] = []

    def set(self, key: str, value: str) -> str | None:
        """Change a setting from the next request on; return the reason if that is refused."""
        before = self._site_settings.usual.waits.least
        try:
            config = change(replace(self.config, max_wait=self._max_wait), key, value)
        except ConfigError as error:
            return str(error)
        if config.pages_connexions > self._fetcher.most:
            most = f"at most {self._fetcher.most}: the limit of open files (ulimit -n)"
            return f"pagesConnexions {value}: {most}"
        if config.drop_parameters != self.config.drop_parameters:
            self._frontier.drop_parameters(config.drop_parameters)
        self.config = config
        self._changed[SETTINGS[key.lower()].keyword] = value
        self._site_settings.change(config)
        if config.wait_duration < before:
            self._frontier.shorten_waits(self._clock())
        self._frontier.guard(config)
        self._mode.limit_page = config.limit_page
        self._fetcher.resize(config.pages_connexions)
        self._frontier.resize(config.pages_connexions)
        self._fetcher.limit(config.bond_width, self._clock())
        return None

    def sources(self) -> dict[str, str]:
        """Keyword -> what set it, in a few words, for the settings without their default."""
        found = {
            row.keyword: self._origins.of(row.keyword)
            for row in SETTINGS.values()
            if getattr(self.config, row.attribute) != row.default
        }
        return {**found, **dict.fromkeys(self._changed, "the console")}

    # As a part of the state:

    def cut(self, now: float, *, ended: bool) -> dict[str, str]:
        return dict(self._changed)

    def load(self, value: Mapping[str, str], now: float) -> None:
        restored = []
        for key, text in dict(value).items():
            if key.lower() in self._fixed:
                continue
            # A value may be refused now, as another machine has other limits.
            refused = self.set(key, str(text))
            if refused is None:
                restored.append(f"{key} {text}")
            else:
                self.notes.append(f"not as set earlier: {refused}")
        if restored:
            self.notes.append(f"set earlier: {', '.join(restored)}; --set changes it")


_T = TypeVar("_T")


class Searches:
    """Lets one search work at a time, however many clients search.

    All of them together take a slice of a turn, then pause for as long.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._next_at = 0.0

    def run(self, search: Iterable[_T | None]) -> Iterator[_T | Wait]:
        """The results of `search`, which yields None often; Wait.TURN while it must wait.

        Raises the OSError of the search.
        """
        try:
            yield from self._turn()
            work = Slice(self._clock)
            for found in search:
                if found is not None:
                    self._next_at = self._clock()
                    yield found
                elif work.over:
                    yield Wait.TURN
                    yield from self._turn()
                    work = Slice(self._clock)
        except OSError:
            self._next_at = self._clock()
            raise

    def _turn(self) -> Iterator[Wait]:
        """Wait until no other search is running and the pause after the last slice is over."""
        while self._clock() < self._next_at:
            yield Wait.TURN
        self._next_at = self._clock() + 2 * SLICE


class Control:
    """One method for each command; a returned text is the reason of a refusal."""

    def __init__(
        self,
        context: Context,
        settings: LiveSettings,
        mode: Mode,
        frontier: Frontier,
        logins: Logins,
        disk: OnDisk,
        totals: Totals,
        snapshots: Snapshots,
    ) -> None:
        self._settings = settings
        self._mode = mode
        self._frontier = frontier
        self._logins = logins
        self._saving = disk.saving
        self._log = disk.log
        self._totals = totals
        self._snapshots = snapshots
        self._clock = context.clock
        self._wall = context.wall
        #: The clients that follow the crawl (`watch`).
        self.watchers = Watchers()
        self._searches = Searches(context.clock)

    def status(self, ending: Ending | None = None) -> dict[str, object]:
        """A snapshot; at the end of the crawl, its state is the reason of the `ending`."""
        return self._snapshots.take(
            self.state if ending is None else ending.reason,
            texts(replace(self._settings.config, rules=self._frontier.scope.rules.current)),
            self._settings.sources(),
            # How fast all nodes of a fleet fetch is not known here.
            limit_page=self._mode.limit_page if self._mode.share is None else 0,
            limit_time=self._settings.config.limit_time,
        )

    @property
    def state(self) -> str:
        """The state of the crawl."""
        return self._mode.state(self._frontier.owed).value

    def add(
        self,
        url: str,
        *,
        depth: int | None = None,
        priority: bool = False,
        again: bool = False,
        label: str = "",
    ) -> str | None:
        if self._mode.draining:
            return "the crawl is ending"
        self._logins.learn(url)
        refused = self._frontier.seed(url, depth=depth, priority=priority, again=again, label=label)
        if refused is not None:
            why = fault(url) or refused.words
            return f"{why}; {SEED_AGAIN} it" if refused is Outcome.URL_DUP else why
        self._saving.request()
        return None

    def pause(self) -> None:
        self._mode.paused = True

    def resume(self) -> None:
        self._mode.paused = False

    def stop(self) -> None:
        self._mode.stop = True

    def set(self, key: str, value: str) -> str | None:
        """Change a setting that may change while the crawl runs, from the next request on."""
        return self._settings.set(key, value)

    def add_rule(self, accept: bool, pattern: str) -> str | None:
        try:
            self._frontier.add_rule(accept, pattern)
        except ValueError as error:
            return f"{'accept' if accept else 'reject'}: {error}"
        self._saving.request()
        return None

    def drop_rule(self, word: str) -> int | str:
        try:
            rule = self._frontier.drop_rule(word)
        except ValueError as error:
            return str(error)
        self._saving.request()
        return 0 if rule.accept else self._totals.counts()["rules"][rule.text]

    def rules(self) -> list[dict[str, object]]:
        decided = self._totals.counts()["rules"]
        return [
            {
                "number": number,
                "rule": rule.text,
                "source": rule.source,
                "decided": decided[rule.text],
            }
            for number, rule in enumerate(self._frontier.scope.rules.current, 1)
        ]

    def explain(self, url: str) -> CommandSteps:
        """Return the status of a URL; a search on the disk takes a slice of several turns."""
        began = first_time(self._totals.started)
        search = explain(self._frontier, self._log, url, self._clock, began)
        try:
            for found in self._searches.run(search):
                yield found if isinstance(found, Wait) else {"ok": True, **self._dated(found)}
        except OSError as error:
            yield {"ok": False, "error": what_failed(error)}

    def _dated(self, found: dict[str, Any]) -> Result:
        """Add the time when a wait ends, and whether all requests are paused."""
        if "in_s" in found:
            found["until"] = timestamp(self._wall() + found["in_s"])
        if self._mode.paused:
            found["paused"] = True
        return found

    def save(self) -> CommandSteps:
        """Save the present state while the crawl continues."""
        for saved in self._saving.save_now():
            if saved is None:
                yield Wait.EVENT
            elif saved:
                yield {"ok": True}
            else:
                yield {
                    "ok": False,
                    "error": "not saved: the disk refused it; it is tried again later",
                }

    def watch(self, word: str) -> Watcher:
        return self.watchers.join(word)


class Ports:
    """The input port and the status server, None if not configured; and the door in stateDir."""

    def __init__(self, context: Context, control: Control) -> None:
        config, poller, closing = context.config, context.poller, context.closing
        #: Searches the content database, if there is one.
        self.finder: FinderProcess | None = None
        if config.fills_database:
            self.finder = FinderProcess(poller, finder_command(config.content_database))
            closing.callback(self.finder.close)
        self.input: InputPort | None = None
        self.status: StatusServer | None = None
        if config.input_port:
            with _naming("inputPort", config.input_port):
                self.input = InputPort(poller, control, config.input_host, config.input_port)
            closing.callback(self.input.close)
        if config.http_port:
            self.status = _open_status_server(context, control, self.finder)
        #: A line if the door cannot be opened.
        self.notes: list[str] = []
        self._door = self._open_door(context, control)

    def _open_door(self, context: Context, control: Control) -> InputPort | None:
        """The socket by which commands find the crawl of a folder.

        Some file systems have no sockets.
        """
        path = os.path.join(context.config.state_dir, DOOR)
        try:
            door = InputPort(context.poller, control, path, 0)
        except OSError as error:
            self.notes.append(
                f"{path}: {error.strerror}, so only an inputPort takes seeds and commands"
            )
            return None
        context.closing.callback(door.close)
        return door

    @property
    def listeners(self) -> list[Listener]:
        return [port for port in (self.input, self.status, self._door) if port is not None]


def _open_status_server(
    context: Context, control: Control, finder: FinderProcess | None
) -> StatusServer:
    config, folder, closing = context.config, context.folder, context.closing
    posting = Posting(control, reply.issue(folder))
    closing.callback(reply.withdraw, folder)
    where = config.http_host, config.http_port
    with _naming("httpPort", config.http_port):
        server = StatusServer(
            context.poller, control.status, *where, config.histograms, posting, finder
        )
    closing.callback(server.close)
    return server


@contextmanager
def _naming(keyword: str, port: int) -> Iterator[None]:
    """Turn the error of a port that cannot be opened into one that names the setting."""
    try:
        yield
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else str(error)
        host = keyword.replace("Port", "Host")
        is_strange = error.errno == errno.EADDRNOTAVAIL
        way_out = f"set {host} to an address of this machine" if is_strange else "set another port"
        raise ConfigError(f"{keyword} {port}: {reason}; {way_out}") from error


#: The state has no texts of links.
_UNKNOWN_LINKS = "links whose texts say that they log out were left out (loginFile)"


def explain_stopped(config: Config, text: str) -> dict[str, object]:
    """The answer to `explain URL` about the crawl in stateDir, with the rules of `config`.

    The rules of robots.txt files are not saved, so they are not in the answer. Raises StateInUse
    if the crawl runs, StateError if there is none.
    """
    state = State(Path(config.state_dir))
    with state.at_rest(), state.reading() as manifest, ExitStack() as closing:
        context = Context.open(config, closing)
        settings = SettingsBySite(config, SiteConfigs(config))
        links = read_login_links(config)
        frontier = make_frontier(context, settings, sessions=links)
        closing.callback(frontier.close)
        frontier.read(manifest, context.clock())
        log = StoppedLog(context.folder / "crawl.jsonl")
        began = first_time(float(manifest["totals"]["started"]))
        steps = explain(frontier, log, text, context.clock, began)
        found = next(found for found in steps if found)
    if found["state"] == "queued":
        hours = settings.of(site_of(str(found["url"]))).hours.configured
        if hours != ALWAYS:
            found["why"] = f"{found['why']}; its site is asked {hours.in_words()} only (hours)"
    if found["state"] == "never seen" and links and links.has(site_of(str(found["url"]))):
        found["why"] = f"{found['why']}; {_UNKNOWN_LINKS}"
    return found


def explain_planned(config: Config, text: str) -> dict[str, object]:
    """Whether a crawl by `config` that has not begun would take a link to a URL on its site.

    The answer has the keys of `explain`. Traps and robots.txt are not known before the crawl.
    """
    settings = SettingsBySite(config, SiteConfigs(config))
    links = read_login_links(config)
    with ExitStack() as closing:
        context = Context.open(config, closing)
        frontier = make_frontier(context, settings, sessions=links)
        closing.callback(frontier.close)
        views = frontier.scope.has_views
        typed_seeds = (typed(seed, views=views) for seed in config.start_url)
        seeds = [seed for seed in typed_seeds if seed is not None]
        frontier.scope.area.add(seeds)
        log = StoppedLog(context.folder / "crawl.jsonl")
        steps = explain(frontier, log, text, context.clock)
        found = next(found for found in steps if found)
    none = f"no crawl in {config.state_dir} yet"
    if found["state"] != "never seen":
        return {**found, "why": f"{found['why']} ({none})"}
    # The first sentence says that no page links to it.
    accepted = str(found["why"]).split("; ")[1:]
    why = "it is a seed" if found["url"] in seeds else "a link to it would be queued"
    types = f"its type has to be one of: {', '.join(_types(config))}"
    reasons = [f"{none}; {why}", *accepted, *([] if config.any_type else [types])]
    return {**found, "state": "wanted", "why": "; ".join(reasons)}


def _types(config: Config) -> Iterator[str]:
    """The types that a crawl takes, with the keywords that ask for them."""
    yield "pages"
    if config.get_image:
        yield "images (getImage)"
    if config.requisites != "off":
        yield f"what pages need to be displayed (requisites {config.requisites})"
    if config.specific_search:
        yield from (f"{media_type} (specificSet)" for media_type, _ in config.specific_set)
    for rule in config.rules:
        if rule.accept and rule.has_type:
            yield f"those of {rule.described}"
