"""The table of settings, and their values as one frozen object.

The fields of `Config` are the one table of settings. The file, the environment, `--set`,
live changes, check-config and the manual are all driven by it: a new setting is one field
here, plus the code that uses it.

Keywords are Larbin's where Larbin had them. Some defaults are more polite than Larbin's; they
come from the study that measured Larbin (30 s between requests).
"""

import os
from dataclasses import dataclass, fields
from functools import wraps
from hashlib import blake2b
from operator import attrgetter
from typing import Any

from larbinpy._version import __version__
from larbinpy.config.grammar import SITE, ConfigError, SiteBlock, checked, unknown_attribute
from larbinpy.config.kinds import (
    ADDRESS,
    ALWAYS,
    AUTHORITIES,
    CLIENT_CERT,
    CLIENT_KEY,
    COOKIES,
    DATABASE,
    DOMAIN,
    EXTENSION,
    FILE,
    FLEET,
    FOLDER,
    HEADER,
    HEADER_LINE,
    HOSTS,
    HOURS,
    INDEX,
    ITEMS,
    MODES,
    NAME,
    NEW_FILE,
    NODE,
    NOTIFY,
    PAGES,
    PARAMETER,
    PLUG,
    PORT,
    PREFIX,
    PROXY,
    SEED,
    SERVER,
    SOURCE,
    SPECIFIC,
    STATUS,
    SWITCH,
    ModeTrait,
    OutputMode,
    Proxy,
    Setting,
    choice,
    count,
    duration,
    ordered,
    setting,
    settings,
    several,
    size,
)
from larbinpy.config.patterns import DROPPED, HostPattern
from larbinpy.config.rule import ACCEPT, REJECT, RENDERED, Rule

#: The largest depth, in links.
MOST_DEPTH = 10**6


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """All settings. Times in seconds, sizes in bytes; an empty tuple means "no such limit"."""

    sender: str = setting("From", HEADER, "", "your mail address; sent to every site", by_site=True)
    user_agent: str = setting(
        "UserAgent",
        NAME,
        f"larbinpy/{__version__}",
        "name of the crawler; sent to every site",
        by_site=True,
    )
    header: tuple[str, ...] = settings(
        "header", HEADER_LINE, "header to send with each request; repeatable", by_site=True
    )
    referer: str = setting(
        "referer",
        choice("off", "same-site", "always"),
        "same-site",
        "name the page that led there: never; for what it needs to be displayed; always",
        by_site=True,
    )
    accept_language: str = setting(
        "acceptLanguage", HEADER, "", "languages to ask for, such as de,en;q=0.5", by_site=True
    )

    start_url: tuple[str, ...] = settings("startUrl", SEED, "URL to start from; repeatable")
    output_mode: tuple[str, ...] = setting(
        "outputMode", MODES, (), "outputs: 0 none, 1 save, 2 mirror, 3 stats, warc, wacz, database"
    )
    output_dir: str = setting("outputDir", FOLDER, "save", "folder for pages")
    state_dir: str = setting("stateDir", FOLDER, "state", "folder for the queues and the crawl log")
    warc_size: int = setting(
        "warcSize", size(1, 1 << 50), 10**9, "bytes after which an archive goes on in a new file"
    )
    warc_prefix: str = setting(
        "warcPrefix", PREFIX, "larbinpy", "beginning of the names of archives"
    )
    warc_dedup: tuple[str, ...] = settings(
        "warcDedup",
        INDEX,
        "index of an earlier archive, whose contents are referred to; repeatable",
    )
    database: str = setting(
        "database", DATABASE, "", "content database; by default larbinpy.db in outputDir"
    )
    plug: str = setting("plug", PLUG, "", "class of your own that gets the pages; also --plug")
    items: str | None = setting(
        "items", ITEMS, None, "file for what the plug emits, .jsonl or .csv; also -O"
    )
    notify: str = setting(
        "notify",
        NOTIFY,
        "",
        "command, or URL of a web hook, that gets the report at the end of a run",
    )
    keep_bodies: bool = setting(
        "keepBodies", SWITCH, False, "keep the pages themselves in the database, too"
    )
    near_duplicates: str = setting(
        "nearDuplicates",
        choice("off", "mark", "skip"),
        "off",
        "pages in the database that say the same but for a few words: all are found; or all are"
        " found and later ones are marked; or only the first is found",
    )
    spool_max: int = setting(
        "spoolMax",
        size(1, 1 << 50),
        1 << 30,
        "most bytes that wait in stateDir for the database; then no page is requested",
    )
    revisit: str = setting(
        "revisit",
        choice("off", "on", "round"),
        "off",
        "fetch pages of the database again when they are due: on, until stopped; round, once",
    )
    revisit_min: float = setting("revisitMin", duration(0.001), 3600.0, "least time between visits")
    revisit_max: float = setting("revisitMax", duration(0.001), 7776e3, "most time between visits")
    revisit_budget: int = setting("revisitBudget", count(), 0, "most visits a day; 0 is no limit")
    rewrite_links: bool = setting(
        "rewriteLinks", SWITCH, False, "rewrite links so that a mirror browses offline"
    )
    keep_originals: bool = setting(
        "keepOriginals",
        SWITCH,
        False,
        "also keep the original of each rewritten page, as NAME#.orig",
    )
    lower_case_names: bool = setting(
        "lowerCaseNames",
        SWITCH,
        False,
        "use only lower-case file names in a mirror with rewriteLinks",
    )
    check_links: bool = setting(
        "checkLinks",
        SWITCH,
        False,
        "fetch pages of the seeds' hosts alone, and ask for all else with HEAD",
    )
    check_folder: str = setting(
        "checkFolder", PAGES, "", "folder that a link check serves itself, as the site to check"
    )
    accept_status: tuple[str, ...] = settings(
        "acceptStatus", STATUS, "statuses of links that a link check takes for working"
    )
    broken_status: tuple[str, ...] = settings(
        "brokenStatus", STATUS, "statuses of links that a link check takes for broken, such as 403"
    )
    known_faults: str | None = setting(
        "knownFaults", FILE, None, "file of URLs whose faults do not count in a link check"
    )
    keep_links: bool = setting(
        "keepLinks", SWITCH, True, "note which pages link to which, to report broken links"
    )
    file_names: str = setting(
        "fileNames",
        choice("ascii", "unicode", "windows"),
        "ascii",
        "spelling of file names in a mirror with rewriteLinks: as in URLs, readable, for Windows",
    )
    purge: bool = setting(
        "purge", SWITCH, False, "remove files of pages that are gone when a mirror is refreshed"
    )
    can_reload: bool = setting(
        "canReload", SWITCH, False, "save the state every second instead of every 5 s"
    )

    http_port: int = setting("httpPort", PORT, 0, "port of the status page; 0 is off")
    http_host: str = setting(
        "httpHost", ADDRESS, "127.0.0.1", "address that the status page listens on"
    )
    input_port: int = setting("inputPort", PORT, 0, "port for seeds and commands; 0 is off")
    input_host: str = setting(
        "inputHost", ADDRESS, "127.0.0.1", "address that the input port listens on"
    )
    histograms: bool = setting("histograms", SWITCH, False, "show histograms on the status page")
    high_level_web_server: bool = setting(
        "highLevelWebServer", SWITCH, False, "keep the status page open after the end of the crawl"
    )
    print_stats: bool = setting("printStats", SWITCH, False, "print statistics every 8 s")
    fetch_info: bool = setting("fetchInfo", SWITCH, False, "print a line for each finished URL")
    debug: bool = setting("debug", SWITCH, False, "print the state of the crawler every second")

    wait_duration: float = setting(
        "waitDuration",
        duration(),
        30.0,
        "time between two requests to one server",
        live=True,
        by_site=True,
    )
    wait_by: str = setting(
        "waitBy",
        choice("ip", "site", "both"),
        "ip",
        "unit of waitDuration: an IP address, a site, or both",
    )
    max_wait: float = setting(
        "maxWait",
        duration(),
        300.0,
        "longest time between requests, whatever a site asks for",
        by_site=True,
    )
    max_connexions_by_site: int = setting(
        "maxConnexionsBySite",
        count(1, 1000),
        1,
        "simultaneous requests to one server",
        by_site=True,
    )
    hours: tuple[tuple[int, int], ...] = setting(
        "hours",
        HOURS,
        ALWAYS.ranges,
        "times of day, local time, when requests may be sent",
        by_site=True,
    )
    ignore_robots: bool = setting("ignoreRobots", SWITCH, False, "ignore robots.txt", by_site=True)
    robots_meta: str = setting(
        "robotsMeta",
        choice("on", "nofollow", "off"),
        "on",
        "obey what pages ask of robots: nofollow and noindex; nofollow alone; nothing",
        by_site=True,
    )
    guess_sitemap: bool = setting("guessSitemap", SWITCH, True, "try /sitemap.xml", by_site=True)
    retries: int = setting(
        "retries", count(0, 100), 3, "retries of a URL that failed", by_site=True
    )
    retry_wait: float = setting(
        "retryWait", duration(), 15.0, "time before a failed URL is tried again", by_site=True
    )

    rules: tuple[Rule, ...] = ordered(
        attrgetter("keyword"),
        (
            "accept",
            ACCEPT,
            "fetch URLs that match a glob, /regex/, host:, domain:, depth:, hops:, type: or size:, "
            "or a pattern in @FILE; the first accept or reject that matches decides",
        ),
        ("reject", REJECT, "do not fetch URLs that match; patterns as for accept"),
    )
    seed_rules: bool = setting("seedRules", SWITCH, False, "apply accept and reject to seeds, too")
    stay: str = setting(
        "stay",
        choice("any", "page", "prefix", "host", "domain"),
        "any",
        "how far to go from the seeds: to these pages, their folders, hosts or domains alone",
    )
    lock_site: bool = setting("lockSite", SWITCH, False, "stay on the hosts of the seeds")
    follow_seed: bool = setting(
        "followSeed",
        SWITCH,
        False,
        "if a seed redirects to another site, take that site, too, not that page alone",
    )
    depth_in_site: int = setting(
        "depthInSite", count(0, MOST_DEPTH), 5, "how many links to follow from a seed", by_site=True
    )
    depth_by_site: bool = setting("depthBySite", SWITCH, False, "count the depth anew on each host")
    no_external_links: bool = setting(
        "noExternalLinks", SWITCH, False, "do not follow links to other hosts"
    )
    limit_to_domain: tuple[str, ...] = settings(
        "limitToDomain", DOMAIN, "fetch only from hosts in these domains"
    )
    forbidden_extensions: tuple[str, ...] = settings(
        "forbiddenExtensions",
        EXTENSION,
        "do not fetch URLs whose file names end so, such as .zip",
    )
    get_cgi: bool = setting("getCGI", SWITCH, False, "also fetch URLs with a query")
    get_image: bool = setting(
        "getImage", SWITCH, False, "also fetch images, as links like any other"
    )
    any_type: bool = setting("anyType", SWITCH, False, "fetch files of all types")
    requisites: str = setting(
        "requisites",
        choice("off", "site", "everywhere"),
        "off",
        "fetch what pages need to be displayed (images, styles, scripts), and from where",
    )
    specific_search: bool = setting(
        "specificSearch", SWITCH, False, "keep only files of the types in specificSet"
    )
    specific_set: tuple[tuple[str, str], ...] = settings(
        "specificSet",
        SPECIFIC,
        "media types to keep, each with an extension to fetch first",
    )
    render: tuple[str, ...] = settings(
        "render",
        RENDERED,
        "read pages that match in a browser: auto for those that are empty without scripts, or a "
        "pattern as for accept; repeatable",
    )
    render_browser: str | None = setting(
        "renderBrowser", FILE, None, "Chromium to use, if not the one that is found"
    )
    render_time: float = setting(
        "renderTime", duration(0.1), 8.0, "time that the scripts of a page have, waits not counted"
    )
    render_wait: float = setting(
        "renderWait",
        duration(),
        0.0,
        "time between the requests of a page in the browser to one server; 0 is a twentieth of "
        "waitDuration, at least 0.1 s",
    )
    render_post: bool = setting(
        "renderPost", SWITCH, False, "let pages in the browser send data to their own site"
    )
    page_no_duplicate: bool = setting(
        "pageNoDuplicate", SWITCH, False, "drop pages whose content was seen already"
    )
    probe_soft_404: bool = setting("probeSoft404", SWITCH, False, "probe sites to find soft 404s")
    traps: tuple[str, ...] = setting(
        "traps",
        several("repeats", "calendars"),
        ("repeats", "calendars"),
        "spider traps to stay out of; none for all URLs",
        live=True,
    )
    limit_by_shape: int = setting(
        "limitByShape",
        count(),
        20000,
        "most URLs of a site that differ in numbers only; 0 is no limit",
        live=True,
    )
    drop_parameters: tuple[str, ...] = settings(
        "dropParameters",
        PARAMETER,
        "parameters to remove from links: tracking, session IDs; none end keeps all",
        default=DROPPED,
        live=True,
    )
    punycode: bool = setting(
        "punycode", SWITCH, False, "no effect; international host names always work"
    )
    max_urls_by_site: int = setting(
        "maxUrlsBySite",
        count(2, 10**9),
        10000,
        "bounds memory, not pages: most URLs of one site in memory, 400 at most",
    )
    site_blocks: tuple[SiteBlock, ...] = settings(
        "site", SITE, "settings for the hosts that PATTERN matches; the first that sets one decides"
    )

    limit_time: float = setting(
        "limitTime", duration(bare=60), 0.0, "end each run after this time; 0 is no limit"
    )
    limit_page: int = setting(
        "limitPage", count(), 0, "end each run after this many pages; 0 is no limit", live=True
    )
    limit_kept: int = setting(
        "limitKept",
        count(),
        0,
        "end each run once this many pages went to the outputs; 0 is no limit",
    )
    min_free: int = setting(
        "minFree",
        size(0, 1 << 60),
        0,
        "room to leave on the disks of outputDir and stateDir; below it, the crawl waits",
    )
    limit_page_by_site: int = setting(
        "limitPageBySite", count(), 0, "most pages of one site; 0 is no limit", by_site=True
    )
    limit_bytes_by_site: int = setting(
        "limitBytesBySite",
        size(0, 1 << 50),
        0,
        "no request to a site that has sent this many bytes; 0 is no limit",
        by_site=True,
    )
    bond_width: int = setting(
        "bondWidth", size(0, 1 << 40), 0, "most bytes to receive a second; 0 is no limit", live=True
    )
    pages_connexions: int = setting(
        "pagesConnexions", count(1, 100_000), 100, "pages to fetch at the same time", live=True
    )
    max_page_size: int = setting(
        "maxPageSize", size(1, 1 << 30), 8 << 20, "most bytes to read of a page", by_site=True
    )
    timeout_page: float = setting(
        "timeoutPage", duration(0.001), 30.0, "timeout of a page", by_site=True
    )
    timeout_connect: float = setting(
        "timeoutConnect", duration(0.001), 10.0, "timeout of a connection attempt"
    )
    use_cookies: bool = setting("useCookies", SWITCH, False, "keep cookies and send them back")
    cookie_file: str | None = setting(
        "cookieFile", COOKIES, None, "cookies.txt of a browser, whose cookies are sent"
    )
    save_cookies: str | None = setting("saveCookies", NEW_FILE, None, "file for cookies at the end")
    login_file: str | None = setting("loginFile", FILE, None, "how to log in to sites, in TOML")
    proxy: Proxy | None = setting(
        "proxy",
        PROXY,
        None,
        "proxy for all requests; HOST may be SCHEME://USER:PASSWORD@HOST",
        by_site=True,
    )
    no_proxy: tuple[HostPattern, ...] = settings(
        "noProxy", HOSTS, "hosts that are asked without the proxy", by_site=True
    )
    source_address: tuple[str, ...] = settings(
        "sourceAddress",
        SOURCE,
        "address to send from, one for IPv4 and IPv6 each; repeatable",
        by_site=True,
    )
    allow_private: bool = setting(
        "allowPrivate", SWITCH, False, "also fetch from private and loopback addresses"
    )
    ca_file: str | None = setting(
        "caFile", AUTHORITIES, None, "PEM file of the only certificates to trust", by_site=True
    )
    insecure_tls: bool = setting(
        "insecureTLS", SWITCH, False, "do not verify TLS certificates", by_site=True
    )
    http_version: str = setting(
        "httpVersion",
        choice("1.0", "1.1", "2"),
        "2",
        "newest version of HTTP to offer; 2 by TLS alone",
        by_site=True,
    )
    client_cert: str | None = setting(
        "clientCert",
        CLIENT_CERT,
        None,
        "PEM file of the certificate to show to servers",
        by_site=True,
    )
    client_key: str | None = setting(
        "clientKey",
        CLIENT_KEY,
        None,
        "PEM file of its key, unless that is in clientCert",
        by_site=True,
    )

    # A DNS query ID has 16 bits.
    dns_connexions: int = setting(
        "dnsConnexions",
        count(1, 65535),
        1000,
        "names that may wait for the answer to their first DNS query",
    )
    dns_server: tuple[tuple[str, int], ...] = settings(
        "dnsServer", SERVER, "name server to use instead of the system's; repeatable"
    )
    dns_cache_size: int = setting("dnsCacheSize", count(1, 10**9), 50000, "names in the DNS cache")
    dns_negative_size: int = setting(
        "dnsNegativeSize", count(1, 10**9), 10**6, "names cached as not existing"
    )
    dns_cache_time: float = setting(
        "dnsCacheTime", duration(), 1800.0, "how long an address is used, whatever its TTL"
    )
    dns_send_queue: int = setting(
        "dnsSendQueue", count(1, 10**6), 1024, "names that may wait for their first DNS query"
    )
    dns_timeout: float = setting("dnsTimeout", duration(0.001), 1.0, "timeout of a DNS query")

    join: str = setting("join", FLEET, "", "fleet to be a node of; its Redis, and a name")
    node: str = setting("node", NODE, "a", "name of this node of the fleet")
    shards: int = setting("shards", count(1, 16384), 256, "parts in which a fleet divides the web")
    round_time: float = setting(
        "roundTime",
        duration(0.1),
        1.0,
        "how often a node writes to Redis what it did; a kill costs the pages of two rounds",
    )

    @property
    def check_place(self) -> tuple[str, int]:
        """The loopback address and the port at which a link check serves checkFolder.

        They come from the path, so that a check that is continued finds its pages where they were.
        No address and 0 without such a folder.
        """
        if not (self.check_links and self.check_folder):
            return "", 0
        path = os.path.realpath(self.check_folder)
        digest = blake2b(os.fsencode(path), digest_size=2).digest()
        # Other servers are in 127.0.0.0/16; the last byte is no 0 and no 255.
        return f"127.89.{digest[0]}.{digest[1] % 254 + 1}", 8089

    @property
    def content_database(self) -> str:
        """The content database: the path of a file, or a URL."""
        return self.database or os.path.join(self.output_dir, "larbinpy.db")

    # What a mode of outputMode does: see the traits.

    @property
    def keeps_files(self) -> bool:
        return self._has(ModeTrait.FILES)

    @property
    def keeps_each(self) -> bool:
        return self._has(ModeTrait.EACH)

    @property
    def keeps_exchanges(self) -> bool:
        return self._has(ModeTrait.EXCHANGES)

    @property
    def only_archives(self) -> bool:
        """Whether all that is kept is requests and replies as they were."""
        kept = ModeTrait.FILES | ModeTrait.DATABASE
        traits = [OutputMode(name).traits for name in self.output_mode]
        return self.keeps_exchanges and all(
            ModeTrait.EXCHANGES in each for each in traits if each & kept
        )

    @property
    def packs(self) -> bool:
        return self._has(ModeTrait.PACKED)

    @property
    def has_views(self) -> bool:
        """Whether views of a page (``#/a``) are pages of their own."""
        return bool(self.render)

    @property
    def fills_database(self) -> bool:
        return self._has(ModeTrait.DATABASE)

    def _has(self, trait: ModeTrait) -> bool:
        return any(trait in OutputMode(name).traits for name in self.output_mode)

    @property
    def sought(self) -> tuple[tuple[str, str], ...]:
        """The media types and file extensions of specificSet, if specificSearch is on."""
        return self.specific_set if self.specific_search else ()

    def __post_init__(self) -> None:
        """Check all values as those of a file, and parse texts. Raises ConfigError."""
        for attribute, rows in _ROWS.items():
            value = getattr(self, attribute)
            if value is not rows[0].default and value != rows[0].default:
                object.__setattr__(self, attribute, checked(rows, value))
        self._refuse_contradictions()

    def _refuse_contradictions(self) -> None:
        """Raise ConfigError for values that exclude each other."""
        if self.revisit_min > self.revisit_max:
            least, most = _shown("revisitMin", self), _shown("revisitMax", self)
            raise ConfigError(f"{least} is longer than {most}; set a longer revisitMax")
        ports = (self.http_host, self.http_port), (self.input_host, self.input_port)
        if self.http_port and ports[0] == ports[1]:
            raise ConfigError(
                f"inputPort and httpPort are both {self.http_port}; set another port for one"
            )


#: Keyword in lower case -> setting, in the order of the fields. Two keywords may have one field.
SETTINGS: dict[str, Setting] = {
    row["keyword"].lower(): Setting(attribute=field.name, default=field.default, **row)
    for field in fields(Config)
    for row in field.metadata.get("rows", [field.metadata])
}

#: Field -> its settings.
_ROWS = {
    field.name: tuple(row for row in SETTINGS.values() if row.attribute == field.name)
    for field in fields(Config)
}


def _shown(keyword: str, config: Config) -> str:
    """A setting as a line of a file."""
    row = SETTINGS[keyword.lower()]
    return f"{keyword} {row.text(getattr(config, row.attribute))}"


LIVE: dict[str, Setting] = {name: row for name, row in SETTINGS.items() if row.live}

_set_fields = Config.__init__


@wraps(_set_fields)
def _set_known_fields(self: Config, **settings: Any) -> None:
    for name in settings.keys() - _ROWS.keys():
        raise unknown_attribute(name, SETTINGS)
    _set_fields(self, **settings)


# A dataclass raises a TypeError that names no remedy.
Config.__init__ = _set_known_fields  # type: ignore[method-assign]
