"""What differs from site to site, and the request for a URL.

`SiteConfigs` has the configuration of each site: that of the crawl, with the site blocks for it put
in. `SiteOptions` are the options that all requests to a site share: what is sent and on which way.
`RequestMaker` adds what the URL decides, and how much of the reply is read. `Types` decides by the
headers which media types are fetched. `Logins` are those that seeds gave, each for its own origin;
they are kept with the state of the crawl.
"""

import json
import socket
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from math import inf
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import unquote

from larbinpy.config import Config, ConfigError
from larbinpy.config.grammar import SiteBlock, SiteValue
from larbinpy.config.kinds import Proxy, check_certificate
from larbinpy.config.patterns import HostPatterns
from larbinpy.crawl.own_plug import RequestChanger
from larbinpy.fetch.cookies import login_jar
from larbinpy.fetch.options import Refusal, Request, RequestOptions
from larbinpy.fetch.robots import MAX_SIZE
from larbinpy.frontier.scope import Reason, Scope
from larbinpy.frontier.soft404.answers import COMPARED
from larbinpy.output.plug import NO_REFRESH, Refresher
from larbinpy.page import Outcome
from larbinpy.parse import LONGEST_SITEMAP, is_sitemap_name
from larbinpy.storage.files import write_atomic
from larbinpy.url import Aim, Ask, Url, bare, login_of, site_of, split, typed

#: Sites whose configuration is remembered; finding it anew takes 2 us.
_MOST_CONFIGS = 1 << 14


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
            self.of = of = lru_cache(_MOST_CONFIGS)(self._find)
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


#: Types that may have links: pages, feeds and sitemaps, and documents without a type.
_PAGES = frozenset(
    {
        "",
        # Not known either (MIME Sniffing standard, section 7): the bytes say what it is.
        "unknown/unknown",
        "application/unknown",
        "text/html",
        "application/xhtml+xml",
        "application/xml",
        "text/xml",
        "application/rss+xml",
        "application/atom+xml",
        "application/rdf+xml",
        "application/feed+json",
    }
)
#: Types of sitemaps that are compressed, or plain lists of URLs.
_SITEMAPS = frozenset(
    {"application/gzip", "application/x-gzip", "application/octet-stream", "text/plain"}
)


def any_reply(media_type: str, size: int | None) -> Refusal | None:
    """Accepts every media type and size."""
    return None


class Types:
    """The types that anyType, getImage and specificSearch admit besides pages."""

    def __init__(self, config: Config) -> None:
        self._config = config
        #: Prefixes, as Larbin compares them: `audio/` takes all audio.
        self._specific = tuple(media_type.lower() for media_type, _ in config.sought)

    def refuse(self, url: str, media_type: str) -> Outcome | None:
        """badType if `media_type` (lower case, no parameters) is not wanted, else None."""
        if self._config.any_type or media_type in _PAGES or self.specific(media_type):
            return None
        if self._config.get_image and media_type.startswith("image/"):
            return None
        return None if _may_be_sitemap(url, media_type) else Outcome.BAD_TYPE

    def specific(self, media_type: str) -> bool:
        """Whether it is one of the types of specificSet."""
        return bool(self._specific) and media_type.startswith(self._specific)


def _may_be_sitemap(url: str, media_type: str) -> bool:
    """Whether type and name together suggest a sitemap or feed; neither is enough alone."""
    file = url.partition("?")[0].rpartition("/")[2].lower()
    if media_type == "application/json":
        return file.endswith("feed.json")
    return media_type in _SITEMAPS and ("sitemap" in file or file.endswith(".xml.gz"))


#: In stateDir. Only its owner may read it.
NAME = "logins.json"


class Logins:
    """Site key -> ``USER:PASSWORD``. The file is rewritten when a login is new.

    Logins are in no other file: URLs lose theirs before they are queued or logged.
    """

    def __init__(self, folder: Path) -> None:
        self._path = folder / NAME
        self._by_site: dict[str, str] = {}
        self._saved: dict[str, str] = {}
        #: Called when a login is new.
        self.on_change: Callable[[], None] = lambda: None

    def __bool__(self) -> bool:
        return bool(self._by_site)

    def learn(self, seed: str) -> None:
        """Take the login in a URL that the operator gave, if it has one."""
        login, href = login_of(seed), typed(seed)
        if not login or href is None:
            return
        site, login = site_of(href), unquote(login)
        if self._by_site.get(site) != login:
            self._by_site[site] = login
            self.on_change()

    def of(self, site: str) -> str:
        """The login for a site key; empty for none."""
        return self._by_site.get(site, "")

    # Saved with the state.

    def cut(self) -> int:
        """Write the file if a login is new; the mark is the number of logins."""
        if self._by_site != self._saved:
            write_atomic(self._path, [json.dumps(self._by_site).encode()], mode=0o600)
            self._saved = dict(self._by_site)
        return len(self._by_site)

    def sync(self) -> None:
        """`cut` has flushed the file."""

    def load(self, mark: Any) -> None:
        """Add the saved logins to those given now, which replace the ones of their sites."""
        if mark:
            self._saved = _read(self._path)
            self._by_site = self._saved | self._by_site
            self.on_change()

    def add_shared(self, folder: Path) -> None:
        """Add the logins that all nodes with a folder in `folder` have, if it has some."""
        with suppress(FileNotFoundError):
            self._by_site = _read(folder / NAME) | self._by_site
            self.on_change()

    def tidy(self, mark: Any) -> None:
        pass

    def clear(self) -> None:
        self._path.unlink(missing_ok=True)


def _read(path: Path) -> dict[str, str]:
    return {site: str(login) for site, login in json.loads(path.read_bytes()).items()}


#: Sites whose options are remembered; making them anew takes some 20 us.
_MOST_SITES = 20_000


class SiteOptions:
    """The options of the requests to each site, made when a site is first asked.

    Equal options are one object. While no site differs from another, all have one object, which
    costs a request nothing. Raises ConfigError for settings that cannot work on this machine.
    """

    def __init__(
        self,
        config: Config,
        logins: Logins,
        sites: SiteConfigs,
        with_login: Callable[[str, RequestOptions], RequestOptions] | None = None,
    ) -> None:
        """`with_login` adds the login of loginFile to the options for a site key."""
        self._logins = logins
        self._with_login = with_login
        self._config_at = sites.config_at
        self._uniform = not (config.site_blocks or (config.proxy and config.no_proxy) or with_login)
        # The settings of a host are the same on all other ports.
        configs = (config, *sites.each_block())
        excepted = [pattern for each in configs for pattern in each.no_proxy]
        self._ports = {0, *sites.ports, *(p.port for p in excepted if p.port)}
        self._proxies: dict[Proxy, tuple[str, str]] = {}
        self._same: dict[RequestOptions, RequestOptions] = {}
        self._by_site: dict[str, RequestOptions] = {}
        self._everywhere: RequestOptions | None = None
        for each in configs:
            _check_sources(each)
            _check_certificate(each)
            if each.proxy:
                self._way_to(each.proxy)
        usual = self._made(config, direct=False)
        self._usual = self._same.setdefault(usual, usual)
        self.forget()
        logins.on_change = self.forget

    def for_url(self, url: Url) -> RequestOptions:
        """The options for the site of `url`, which is not even computed if all sites have one."""
        everywhere = self._everywhere
        return self.of(url.site) if everywhere is None else everywhere

    def of(self, site: str) -> RequestOptions:
        """The options for the site key of a URL."""
        known = self._by_site.get(site)
        if known is None:
            if len(self._by_site) >= _MOST_SITES:
                self._by_site.clear()
            known = self._by_site[site] = self._make(site)
        return known

    def is_direct(self, host: str) -> bool:
        """Whether a site of `host`, on any port, is asked without a proxy."""
        return any(_is_direct(self._config_at(host, port), host, port) for port in self._ports)

    def forget(self) -> None:
        """Make all options anew, because a login is new."""
        self._same.clear()
        self._same[self._usual] = self._usual
        self._by_site.clear()
        self._everywhere = self._usual if self._uniform and not self._logins else None

    def _make(self, site: str) -> RequestOptions:
        _, host, port, _ = split(f"{site}/")
        config = self._config_at(host, port)
        made = self._made(config, direct=_is_direct(config, host, port))
        login = self._logins.of(site)
        made = replace(made, login=login) if login else made
        made = self._with_login(site, made) if self._with_login is not None else made
        return self._same.setdefault(made, made)

    def _made(self, config: Config, *, direct: bool) -> RequestOptions:
        proxy = None if direct else config.proxy
        url, address = self._way_to(proxy) if proxy else ("", "")
        return RequestOptions(
            user_agent=config.user_agent,
            sender=config.sender,
            accept="*/*" if config.any_type else RequestOptions.accept,
            accept_language=config.accept_language,
            headers=config.header,
            timeout_page=config.timeout_page,
            timeout_connect=config.timeout_connect,
            proxy_url=url,
            proxy_address=address,
            proxy_login=proxy.login if proxy else "",
            ca_file=config.ca_file,
            insecure_tls=config.insecure_tls,
            http_version=config.http_version,
            client_cert=config.client_cert,
            client_key=config.client_key or config.client_cert,
            source_addresses=config.source_address,
        )

    def _way_to(self, proxy: Proxy) -> tuple[str, str]:
        if proxy not in self._proxies:
            self._proxies[proxy] = _look_up(proxy)
        return self._proxies[proxy]


def of_login(options: RequestOptions, url: Url, ask: Ask) -> RequestOptions:
    """The options of a login's request, an object of its own.

    Its cookies are those that the login has for the origin of `url`.
    """
    given = {line.partition(":")[0].lower() for line in ask.headers}
    kept = (line for line in options.headers if line.partition(":")[0].lower() not in given)
    headers = (*kept, *ask.headers)
    jar = login_jar(url.purpose.owner or url.site, url.site)
    return replace(options, headers=headers, body=ask.body, jar=jar)


def _is_direct(config: Config, host: str, port: int) -> bool:
    host = host.removesuffix(".")
    return config.proxy is None or any(p.match(host, port) for p in config.no_proxy)


def _look_up(proxy: Proxy) -> tuple[str, str]:
    """The URL of a proxy, and its address. As in Larbin, its name is looked up once."""
    try:
        found = socket.getaddrinfo(proxy.host.strip("[]"), proxy.port, type=socket.SOCK_STREAM)
    except OSError as error:
        raise ConfigError(f"proxy {proxy.host}: no address found ({error.strerror})") from None
    address = str(found[0][4][0])
    # With "socks5h" the proxy gets names; with "socks5" libcurl would look them up.
    scheme = "socks5h" if proxy.scheme == "socks5" else proxy.scheme
    return f"{scheme}://{proxy.host}:{proxy.port}", address


def _check_certificate(config: Config) -> None:
    try:
        check_certificate(config.client_cert, config.client_key)
    except ValueError as error:
        raise ConfigError(str(error)) from None


def _check_sources(config: Config) -> None:
    """Raise ConfigError if this machine cannot send from an address of sourceAddress."""
    for address in config.source_address:
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        try:
            with socket.socket(family, socket.SOCK_STREAM) as test:
                test.bind((address, 0))
        except OSError as error:
            raise ConfigError(
                f"sourceAddress {address}: not an address of this machine ({error.strerror})"
            ) from None


#: RFC 9309, 2.5: at least 500 KiB of a robots.txt are read, whatever maxPageSize is. One byte more
#: than is used shows whether the file is longer, so that its last line may be incomplete.
ROBOTS_SIZE = MAX_SIZE + 1


#: Types that are no sitemaps; all others may be, as their bytes show.
_NO_TEXT = ("image/", "video/", "audio/", "font/")


class RequestMaker(Protocol):
    """Makes the request for a URL, at one of the addresses of its site."""

    def make(self, url: Url, address: str) -> Request: ...


class Requests:
    """Makes ordinary requests.

    `most_bytes` returns maxPageSize for a URL, `options` the options of its requests,
    `login_headers` the header lines of the login to its site, None if no site has one, and
    `names_referer` whether a request names the page that led to the URL.
    """

    def __init__(
        self,
        types: Types,
        scope: Scope,
        most_bytes: Callable[[Url], int],
        options: Callable[[Url], RequestOptions],
        refresher: Refresher = NO_REFRESH,
        login_headers: Callable[[Url], Sequence[str]] | None = None,
        names_referer: Callable[[Url], bool] = lambda url: False,
    ) -> None:
        self._types = types
        self._scope = scope
        self._most_bytes = most_bytes
        self._options = options
        self._refresher = refresher
        self._login_headers = login_headers
        self._names_referer = names_referer

    def make(self, url: Url, address: str) -> Request:
        """The request for `url` at `address`."""
        options = self._options(url)
        most = self._most_bytes(url)
        purpose = url.purpose
        if purpose.ask is not None:
            return Request(url, address, any_reply, most, of_login(options, url, purpose.ask))
        if purpose.aim is Aim.ROBOTS:
            return Request(url, address, any_reply, ROBOTS_SIZE, options)
        login = () if self._login_headers is None else self._login_headers(url)
        if purpose.aim is Aim.PROBE:
            return Request(url, address, any_reply, COMPARED, options, login)
        beyond = max(LONGEST_SITEMAP - most, 0) if _is_sitemap(url) else 0
        accept = partial(self._refuse, url, inf if beyond else most)
        headers = (*self._refresher.conditions(url.href), *login)
        if url.via is not None and self._names_referer(url) and not _has_referer(options):
            headers = (*headers, *referer(url.href, url.via))
        return Request(url, address, accept, most, options, headers, beyond)

    def _refuse(
        self, url: Url, max_size: float, media_type: str, size: int | None
    ) -> Refusal | None:
        """Why the body of a reply for `url` is not received; None if it is.

        A reply that declares more than `max_size` would be cut, and thus be of no use.
        """
        verdict = self._scope.at_headers(url, media_type, size)
        if isinstance(verdict, Reason):
            return Refusal(verdict.outcome, verdict.why)
        if size is not None and size > max_size:
            return Refusal(Outcome.TOO_BIG, f"{size} bytes, and maxPageSize is {max_size}")
        if url.requisite or (verdict is not None and verdict.has_type):
            return None
        if _is_sitemap(url) and not media_type.startswith(_NO_TEXT):
            return None
        outcome = self._types.refuse(url.href, media_type)
        return None if outcome is None else Refusal(outcome)


def referer(href: str, page: str) -> Sequence[str]:
    """The header line that names `page` in a request for `href`, as browsers do by default.

    Another site gets the origin alone, and one without TLS nothing of a page with TLS (Referrer
    Policy, strict-origin-when-cross-origin).
    """
    origin = site_of(page)
    if origin.startswith("https:") and not href.startswith("https:"):
        return ()
    named = bare(page) if site_of(href) == origin else f"{origin}/"
    return (f"Referer: {named}",)


def _has_referer(options: RequestOptions) -> bool:
    return any(line.lower().startswith("referer:") for line in options.headers)


def _is_sitemap(url: Url) -> bool:
    """Whether a URL is that of a sitemap, before its reply is known."""
    return url.is_sitemap or (url.seed and is_sitemap_name(url.href))


class ChangedRequests:
    """Makes requests whose options the operator's plug may change."""

    def __init__(self, requests: RequestMaker, changer: RequestChanger) -> None:
        self._requests = requests
        self._changer = changer

    def make(self, url: Url, address: str) -> Request:
        request = self._requests.make(url, address)
        request.options = self._changer.request(url, request.options)
        return request
