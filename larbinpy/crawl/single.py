"""One URL through resolver, fetcher and parser, and nothing else: ``larbinpy fetch``."""

from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from hashlib import sha1
from io import StringIO
from tempfile import TemporaryDirectory
from typing import Any

from larbinpy.config import Config
from larbinpy.context import Context
from larbinpy.crawl.network import Names, Network, permitting
from larbinpy.crawl.requests import Logins, SiteConfigs, any_reply, of_login
from larbinpy.dns.lookup import Answer, is_public
from larbinpy.fetch.fetcher import Fetcher
from larbinpy.fetch.options import Request
from larbinpy.loop.clock import clock
from larbinpy.loop.poller import Poller
from larbinpy.page import READABLE, Outcome, Page
from larbinpy.parse import read, urls
from larbinpy.url import Url, masked_typed, port_of, site_of, typed


def fetch_one(text: str, config: Config) -> dict[str, object]:
    """Fetch one URL; the result as JSON-able values.

    No robots.txt is read, no redirect followed, and every type accepted. If the headers of a
    reply contradict its body, the page is requested again and these headers are ignored. `size`
    counts decoded bytes; `truncated` is None, "length" (cut at maxPageSize) or "disconnect".
    """
    href = typed(text)
    if href is None:
        return describe(Page(Url(masked_typed(text), 0), Outcome.BAD_URL))
    sites = SiteConfigs(config)
    config = sites.of(site_of(href)).config
    with ExitStack() as closing:
        context = Context.open(config, closing)
        logins = Logins(context.folder)
        logins.learn(text)
        network = Network(context, logins, sites)
        page = fetch(Url(href, 0, attempt=1), config, context.poller, network)
    if page.body and (page.outcome in READABLE or page.outcome is Outcome.EARLY_STOP):
        parsed = read(page, config.user_agent)
        page.charset = parsed.charset
        page.list_links = partial(urls, parsed.links)
    return describe(page)


class _Kept:
    """An output that keeps the last page, or the failure."""

    def __init__(self, href: str) -> None:
        self.page = Page(Url(href, 0), Outcome.BAD_URL)

    def loaded(self, page: Page) -> None:
        self.page = page

    def missed(self, page: Page) -> None:
        self.page = page

    def failed(self, url: Url, outcome: Outcome) -> None:
        pass

    def stats(self) -> dict[str, object]:
        return {}

    def close(self) -> None:
        pass


#: Seconds between the requests for a page and before it.
_MOST_WAIT = 1.0


def of_one_page(config: Config, folder: str) -> Config:
    """The configuration of a crawl of one page in a browser, which writes to `folder` alone."""
    changes: dict[str, Any] = {
        **dict.fromkeys(("state_dir", "output_dir"), folder),
        **dict.fromkeys(("output_mode", "start_url"), ()),
        **dict.fromkeys(("depth_in_site", "limit_kept", "http_port", "input_port"), 0),
        **dict.fromkeys(("guess_sitemap", "keep_links", "probe_soft_404", "check_links"), False),
        **dict.fromkeys(("fetch_info", "print_stats"), False),
        **dict.fromkeys(("items", "save_cookies"), None),
        **dict.fromkeys(("notify", "join", "plug"), ""),
        "revisit": "off",
        "render": ("**",),
        "limit_page": 1,
        "wait_duration": min(config.wait_duration, _MOST_WAIT),
    }
    return replace(config, **changes)


def render_one(text: str, config: Config) -> dict[str, object]:
    """As `fetch_one`, by a crawl of one page that a browser reads; robots.txt is obeyed.

    `rendered` has the milliseconds that it took, what was refused to the page, the URLs that it led
    to, and why it was not rendered, if so.
    """
    # Here, since only this needs a whole crawl.
    from larbinpy.crawl.crawl import Crawl

    href = typed(text, views=True)
    if href is None:
        return describe(Page(Url(masked_typed(text), 0), Outcome.BAD_URL))
    kept = _Kept(href)
    with TemporaryDirectory(prefix="larbinpy-") as folder:
        one = of_one_page(config, folder)
        Crawl(one, output=kept, seeds=[text], stderr=StringIO()).run()
    rendering = kept.page.rendering
    found = describe(kept.page)
    if rendering is not None:
        found["rendered"] = {**rendering.as_dict(), "leads": list(rendering.leads)}
    return found


def fetch(
    url: Url,
    config: Config,
    poller: Poller,
    network: Network,
    headers: tuple[str, ...] = (),
) -> Page:
    """The page of `url`, from a public address of its host, unless allowPrivate permits all.

    `url` may be the request of a login; `headers` are further header lines.
    """
    answer = _resolve(url.host, poller, network.names)
    if answer.reason is not None:
        return Page(url, Outcome.NO_DNS, detail=answer.reason)
    permits, port = permitting(config, is_public), port_of(url.site)
    permitted = [address for address in answer.addresses if permits(address, port)]
    if not permitted:
        return Page(url, Outcome.PRIVATE_ADDRESS, detail=answer.addresses[0])
    options = network.options.for_url(url)
    if url.purpose.ask is not None:
        options = of_login(options, url, url.purpose.ask)
    request = Request(url, permitted[0], any_reply, config.max_page_size, options, headers)
    page = _request(request, poller, network.fetcher)
    if page.misread or (page.outcome is Outcome.EARLY_STOP and page.status and not page.body):
        url.attempt += 1
        page = _request(request, poller, network.fetcher)
    return page


def _request(request: Request, poller: Poller, fetcher: Fetcher) -> Page:
    fetcher.start(request, clock())
    while True:
        now = clock()
        pages = fetcher.step(now)
        if pages:
            return pages[0]
        _wait(poller, fetcher.deadline, now)


def _resolve(host: str, poller: Poller, names: Names) -> Answer:
    answer = names.ask(host, clock())
    while answer is None:
        now = clock()
        answer = next(iter(names.step(now, lambda _: None)), None)
        if answer is None:
            _wait(poller, names.deadline, now)
    return answer


def wait_until(time: float, poller: Poller) -> None:
    """Do nothing until the `time` of the clock."""
    while (now := clock()) < time:
        _wait(poller, time, now)


def _wait(poller: Poller, deadline: float | None, now: float) -> None:
    poller.wait(1.0 if deadline is None else min(deadline - now, 1.0))


def describe(page: Page) -> dict[str, object]:
    """`page` as ``larbinpy fetch --json`` prints it."""
    return {
        "url": page.url.href,
        "outcome": page.outcome.value,
        "status": page.status or None,
        "detail": page.detail or None,
        "location": page.header("location"),
        "size": len(page.body),
        "truncated": page.truncated,
        "type": page.type or None,
        "charset": page.charset,
        "sha1": sha1(page.body).hexdigest() if page.body else None,
        "ip": page.ip,
        "attempt": page.url.attempt,
        "ms": page.ms,
        "links": page.links,
    }
