"""What a crawl was asked to do: larbin.conf, environment and command line as one frozen value.

The fields of `Config` are the one table of settings. The grammar, the environment, `--set`,
the changes while running and the output of check-config are all driven by it, so that a
new setting is one field here, its effect where it belongs, and nothing else.

Keywords are Larbin's where Larbin had them. Of its defaults some are other than in its
code, and kinder: they are those of the study that measured it (30 s between requests).
"""

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from larbinpy._version import __version__
from larbinpy.config.grammar import ConfigError, Report, at_once, read, read_value, unknown
from larbinpy.config.kinds import (
    ADDRESS,
    DOMAIN,
    EXTENSION,
    FILE,
    FOLDER,
    HEADER,
    MODES,
    NAME,
    PORT,
    PROXY,
    SERVER,
    SPECIFIC,
    SWITCH,
    URL,
    Setting,
    choice,
    count,
    duration,
    setting,
    settings,
    size,
)

__all__ = [
    "SETTINGS",
    "Config",
    "ConfigError",
    "assignment",
    "change",
    "check",
    "describe",
    "in_environment",
    "load",
    "texts",
]

#: Read where no file is named.
DEFAULT_FILE = "larbin.conf"

#: Links that are followed one after another, at most.
MOST_DEPTH = 10**6

_ENVIRONMENT = "LARBINPY_"
#: Errors that are told at once; whoever has so many gave the wrong file.
_MOST_ERRORS = 50
# A hundred thousand seeds fit; whatever is larger is not a configuration.
_MAX_FILE = 10 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """All settings. Times in seconds, sizes in bytes; an empty tuple means "no such limit"."""

    sender: str = setting("From", HEADER, "", "your mail address, sent to every site")
    user_agent: str = setting(
        "UserAgent", NAME, f"larbinpy/{__version__}", "name of the crawler, sent to every site"
    )

    start_url: tuple[str, ...] = settings("startUrl", URL, "where to begin; repeatable")
    output_mode: tuple[str, ...] = setting(
        "outputMode", MODES, (), "what becomes of pages: 0 none, 1 save, 2 mirror, 3 stats, warc"
    )
    output_dir: str = setting("outputDir", FOLDER, "save", "where pages are written")
    state_dir: str = setting("stateDir", FOLDER, "state", "where the crawl keeps queues and log")
    rewrite_links: bool = setting(
        "rewriteLinks", SWITCH, False, "make the mirror one that browses offline, and refreshes"
    )
    keep_originals: bool = setting(
        "keepOriginals", SWITCH, False, "keep rewritten pages as they came, too, as NAME#.orig"
    )
    lower_case_names: bool = setting(
        "lowerCaseNames", SWITCH, False, "such a mirror is for a disk that ignores case"
    )
    can_reload: bool = setting(
        "canReload", SWITCH, False, "save the state every second, not every five"
    )

    http_port: int = setting("httpPort", PORT, 0, "port of the status page; 0 for none")
    http_host: str = setting("httpHost", ADDRESS, "127.0.0.1", "address of the status page")
    input_port: int = setting("inputPort", PORT, 0, "port that takes URLs and commands; 0 for none")
    input_host: str = setting("inputHost", ADDRESS, "127.0.0.1", "address of the input port")
    histograms: bool = setting("histograms", SWITCH, False, "histograms on the status page")
    high_level_web_server: bool = setting(
        "highLevelWebServer", SWITCH, False, "keep the status page up when the crawl has ended"
    )
    print_stats: bool = setting("printStats", SWITCH, False, "print statistics now and then")
    fetch_info: bool = setting("fetchInfo", SWITCH, False, "print a line for each URL fetched")
    debug: bool = setting("debug", SWITCH, False, "print what the crawler is about")

    wait_duration: float = setting(
        "waitDuration", duration(), 30.0, "time between two requests to one server", live=True
    )
    wait_by: str = setting(
        "waitBy", choice("ip", "site", "both"), "ip", "what a server is: an address, a site, both"
    )
    max_wait: float = setting(
        "maxWait", duration(), 300.0, "longest time between requests that a site may ask for"
    )
    max_connexions_by_site: int = setting(
        "maxConnexionsBySite", count(1, 1000), 1, "requests to one server at the same time"
    )
    ignore_robots: bool = setting("ignoreRobots", SWITCH, False, "do not obey robots.txt")
    retries: int = setting("retries", count(0, 100), 3, "further tries for a URL that failed")
    retry_wait: float = setting("retryWait", duration(), 15.0, "time before a URL is tried again")

    lock_site: bool = setting("lockSite", SWITCH, False, "stay on the sites of the first URLs")
    depth_in_site: int = setting(
        "depthInSite", count(0, MOST_DEPTH), 5, "links that are followed one after another"
    )
    depth_by_site: bool = setting(
        "depthBySite", SWITCH, False, "count that depth anew on each site"
    )
    no_external_links: bool = setting(
        "noExternalLinks", SWITCH, False, "follow no link from one site to another"
    )
    limit_to_domain: tuple[str, ...] = settings(
        "limitToDomain", DOMAIN, "fetch only from hosts whose names end so"
    )
    forbidden_extensions: tuple[str, ...] = settings(
        "forbiddenExtensions", EXTENSION, "fetch no URL whose file name ends so"
    )
    get_cgi: bool = setting("getCGI", SWITCH, False, "fetch URLs with a query, too")
    get_image: bool = setting("getImage", SWITCH, False, "fetch images, too")
    any_type: bool = setting("anyType", SWITCH, False, "fetch everything, of whatever type")
    requisites: str = setting(
        "requisites",
        choice("off", "site", "everywhere"),
        "off",
        "fetch what pages need to be shown, and on which sites",
    )
    specific_search: bool = setting(
        "specificSearch", SWITCH, False, "look for the types of specificSet"
    )
    specific_set: tuple[tuple[str, str], ...] = settings(
        "specificSet", SPECIFIC, "types that are looked for, and the extensions they have"
    )
    page_no_duplicate: bool = setting(
        "pageNoDuplicate", SWITCH, False, "treat pages of the same content as one"
    )
    punycode: bool = setting(
        "punycode", SWITCH, False, "no effect: international host names are always understood"
    )
    max_urls_by_site: int = setting(
        "maxUrlsBySite", count(2, 10**9), 10000, "most URLs of one site in memory; never over 400"
    )

    limit_time: float = setting(
        "limitTime", duration(bare=60), 0.0, "end each run after this time; 0 for never"
    )
    limit_page: int = setting(
        "limitPage", count(), 0, "end each run after so many pages; 0 for never", live=True
    )
    bond_width: int = setting(
        "bondWidth", size(0, 1 << 40), 0, "bytes to receive a second; 0 for no limit", live=True
    )
    pages_connexions: int = setting(
        "pagesConnexions", count(1, 100_000), 100, "pages fetched at the same time", live=True
    )
    readers: int = setting(
        "readers", count(0, 1000), 0, "processes that read pages; 0: the crawl does it itself"
    )
    max_page_size: int = setting(
        "maxPageSize", size(1, 1 << 30), 8 << 20, "bytes of a page that are read"
    )
    timeout_page: float = setting("timeoutPage", duration(0.001), 30.0, "time for one page")
    timeout_connect: float = setting(
        "timeoutConnect", duration(0.001), 10.0, "time to reach a server"
    )
    use_cookies: bool = setting("useCookies", SWITCH, False, "keep cookies and send them back")
    proxy: tuple[str, int] | None = setting("proxy", PROXY, None, "send all requests through it")
    allow_private: bool = setting(
        "allowPrivate", SWITCH, False, "fetch from private and loopback addresses, too"
    )
    ca_file: str | None = setting("caFile", FILE, None, "certificates to trust, in PEM")
    insecure_tls: bool = setting("insecureTLS", SWITCH, False, "do not verify certificates")

    # At most so many, as a question is known by 16 bits.
    dns_connexions: int = setting(
        "dnsConnexions", count(1, 65535), 1000, "names asked for at the same time"
    )
    dns_server: tuple[tuple[str, int], ...] = settings(
        "dnsServer", SERVER, "name server in place of the system's; repeatable"
    )
    dns_cache_size: int = setting("dnsCacheSize", count(1, 10**9), 50000, "names remembered")
    dns_negative_size: int = setting(
        "dnsNegativeSize", count(1, 10**9), 10**6, "names remembered as not existing"
    )
    dns_cache_time: float = setting("dnsCacheTime", duration(), 1800.0, "and for how long")
    dns_send_queue: int = setting("dnsSendQueue", count(1, 10**6), 1024, "questions not yet sent")
    dns_timeout: float = setting("dnsTimeout", duration(0.001), 1.0, "time for one answer")


#: Keyword in lower case -> setting, in the order of the fields.
SETTINGS: dict[str, Setting] = {
    field.metadata["keyword"].lower(): Setting(
        attribute=field.name, default=field.default, **field.metadata
    )
    for field in fields(Config)
}

LIVE: dict[str, Setting] = {name: row for name, row in SETTINGS.items() if row.live}


def load(
    path: str | None,
    environ: Mapping[str, str],
    overrides: Iterable[tuple[str, str]],
    defaults: Config | None = None,
) -> Config:
    """The configuration: `overrides` before `environ` before the file before `defaults`.

    The file is `path`, or larbin.conf in the working directory where there is one.
    `overrides` are keywords with values, as the command line gives them; an empty value
    brings the default back. Raises ConfigError, and nothing else.
    """
    return _load(path, environ, overrides, at_once, defaults or Config())


def check(
    path: str | None, environ: Mapping[str, str], overrides: Iterable[tuple[str, str]]
) -> list[ConfigError]:
    """All that `load` would find to be wrong, and not only the first."""
    wrong: list[ConfigError] = []

    def report(error: ConfigError) -> None:
        if len(wrong) == _MOST_ERRORS:
            raise ConfigError("and more; mend these first")
        wrong.append(error)

    try:
        _load(path, environ, overrides, report, Config())
    except ConfigError as error:
        wrong.append(error)
    return wrong


def _load(
    path: str | None,
    environ: Mapping[str, str],
    overrides: Iterable[tuple[str, str]],
    report: Report,
    defaults: Config,
) -> Config:
    values: dict[str, Any] = {}
    if path is not None or os.path.lexists(DEFAULT_FILE):
        name = DEFAULT_FILE if path is None else path
        values |= read(_text(name), name, SETTINGS, report)
    values |= _from_environment(environ, report)
    values |= _from_overrides(overrides, report, defaults)
    return _consistent(replace(defaults, **values))


def _consistent(config: Config) -> Config:
    output, state = (os.path.realpath(d) for d in (config.output_dir, config.state_dir))
    if os.path.commonpath((output, state)) == state:
        raise ConfigError(
            f"outputDir {config.output_dir} lies in stateDir {config.state_dir}: pages could "
            "overwrite the state; set another outputDir"
        )
    # A Larbin file may well ask for more than a longest wait that it knows nothing about.
    return replace(config, max_wait=max(config.max_wait, config.wait_duration))


def _text(name: str) -> str:
    """The text of a file; bytes that are no UTF-8 are let through, as comments may hold them."""
    try:
        with open(name, "rb") as file:
            data = file.read(_MAX_FILE + 1)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise ConfigError(f"{name}: cannot be read: {reason}; check name and rights") from None
    if len(data) > _MAX_FILE:
        raise ConfigError(f"{name}: larger than 10 MB, so hardly a configuration; check its name")
    if b"\0" in data:
        line = data.count(b"\n", 0, data.index(b"\0")) + 1
        raise ConfigError(f"{name}:{line}: not a text file; check its name")
    return data.removeprefix(b"\xef\xbb\xbf").decode(errors="surrogateescape")


def in_environment(environ: Mapping[str, str]) -> list[str]:
    """The names of variables that are settings."""
    return [name for name, text in environ.items() if name.startswith(_ENVIRONMENT) and text]


def _from_environment(environ: Mapping[str, str], report: Report) -> dict[str, Any]:
    values = {}
    for name in in_environment(environ):
        keyword, where = name.removeprefix(_ENVIRONMENT), f"environment {name}"
        try:
            row, value = _assigned(keyword, environ[name], where)
        except ConfigError as error:
            report(error)
        else:
            values[row.attribute] = value
    return values


def _from_overrides(
    overrides: Iterable[tuple[str, str]], report: Report, defaults: Config
) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for keyword, text in overrides:
        try:
            row, value = _assigned(keyword, text, f"command line, {keyword[:60]}")
        except ConfigError as error:
            report(error)
            continue
        if not text:
            value = getattr(defaults, row.attribute)
        elif row.many:
            value = tuple(dict.fromkeys(values.get(row.attribute, ()) + value))
        values[row.attribute] = value
    return values


def _assigned(keyword: str, text: str, where: str) -> tuple[Setting, Any]:
    row = SETTINGS.get(keyword.lower())
    if row is None:
        raise ConfigError(f"{where}: {unknown(keyword, SETTINGS)}")
    try:
        return row, read_value(text, row) if text else row.default
    except ValueError as error:
        raise ConfigError(f"{where}: {error}") from None


def assignment(text: str) -> tuple[str, str]:
    """KEY=VALUE as a pair for `load`; KEY alone switches on. Raises ConfigError."""
    keyword, equals, value = text.partition("=")
    keyword = keyword.strip()
    if not keyword:
        raise ConfigError(f"command line, {text[:60]!r}: no keyword; wanted: KEY=VALUE")
    row = SETTINGS.get(keyword.lower())
    if row is not None and row.kind.words and not equals:
        wanted = f"{row.keyword}={row.kind.usage}"
        raise ConfigError(f"command line, {keyword}: its value is missing; wanted: {wanted}")
    return keyword, value if equals else "on"


def change(config: Config, keyword: str, text: str) -> Config:
    """`config` with one setting changed, of those that may change while a crawl runs.

    Raises ConfigError.
    """
    if keyword.lower() in SETTINGS and keyword.lower() not in LIVE:
        may = ", ".join(row.keyword for row in LIVE.values())
        raise ConfigError(f"{keyword} cannot change while a crawl runs; these can: {may}")
    if not text.strip():
        raise ConfigError(f"{keyword[:60]}: needs a value")
    row, value = _assigned(keyword, text, keyword[:60])
    return _consistent(replace(config, **{row.attribute: value}))


def texts(config: Config) -> dict[str, str]:
    """Each keyword with its value in one line, for pages and snapshots."""
    return {row.keyword: row.text(getattr(config, row.attribute)) for row in SETTINGS.values()}


def describe(config: Config) -> list[str]:
    """`config` as lines of a file that means the same, every default included.

    A comment says what each line is for, and of those that differ, what the default is.
    """
    lines = []
    for row in SETTINGS.values():
        value = getattr(config, row.attribute)
        default = row.text(row.default) or "none"
        changed = "" if value == row.default else f"CHANGED (default {default}): "
        lines += [f"{line:<31} # {changed}{row.help}" for line in row.lines(value)]
    return lines
