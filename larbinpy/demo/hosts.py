"""The hosts of the demo web: one short function for each host or group of hosts.

The path of every page that a crawler must not reach contains "hidden", and that of every
missing page "missing". Tests check this, so that a typo here is not taken for intent.
"""

import re
from random import Random

from larbinpy.demo.files import atom, cascading, png, rss, sitemap
from larbinpy.demo.oddities import letters, markup, parcels, paths
from larbinpy.demo.site import Host, Link, Location, Resource, Web, html, squeeze

_TOPICS = ("alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta")
_SECTIONS = ("threads", "knots", "patterns")
_ARTICLES = 4
_WORDS = (
    "a spider walks the web and follows each thread to the next knot where it waits for the "
    "wind to settle before it takes another step because a hurried spider tears what it reads "
    "and finds every door shut on the following morning"
)
_FORBIDDEN = Resource(outcome="forbiddenRobots")


def build(port: int) -> Web:
    """The whole demo web as served on `port`; the first host is the one to start from."""
    web = Web(port)
    portal = web.host("www.demo")
    for number, name in enumerate(_TOPICS):
        _topic(web.host(f"www.{name}.demo"), number)
    for part in (_moved, _rules, _strange_rules, _errors, _trap, _news, _names, _unreachable):
        part(web)
    letters(web.host("letters.demo"))
    markup(web.host("markup.demo"))
    parcels(web.host("parcels.demo"))
    paths(web.host("paths.demo"))
    _portal(portal, [name for name in web.hosts if name != portal.name])
    web.seeds = (Location(portal.name, "/"),)
    return web


def _prose(*what: object, sentences: int = 6) -> str:
    chance, words = Random(repr(what)), _WORDS.split()
    texts = (" ".join(chance.choices(words, k=chance.randint(6, 14))) for _ in range(sentences))
    return " ".join(f"{text.capitalize()}." for text in texts)


def _portal(portal: Host, names: list[str]) -> None:
    links = [Link("a", f"//{name}/") for name in names]
    links += [
        Link("style", "/style.css"),
        Link("img", "/logo.png"),
        Link("a", "/about.html"),
    ]
    portal.page("/", *links, title="The demo web", text=_prose("portal"))
    portal.page("/about.html", Link("a", "/"), text=_prose("about"))
    portal.file("/style.css", "h1 { color: #345 }\n", "text/css")
    portal.file("/logo.png", png(0), "image/png")


def _topic(host: Host, number: int) -> None:
    """A plain site: sections, articles, links to neighbours, a style sheet and a picture."""
    dress = (Link("style", "/style.css"), Link("img", "/logo.png"))
    doors = [Link("a", f"/{section}/") for section in _SECTIONS]
    other = Link("a", f"//www.{_TOPICS[(number + 3) % len(_TOPICS)]}.demo/")
    host.page("/", *doors, Link("a", "/about.html"), *dress, other, text=_prose(host.name))
    host.page("/about.html", Link("a", "/"), other, *dress, text=_prose(host.name, "about"))
    host.file("/style.css", cascading("/logo.png"), "text/css", Link("part", "/logo.png"))
    host.file("/logo.png", png(number + 1), "image/png")
    for section in _SECTIONS:
        _section(host, section, dress, other)


def _section(host: Host, section: str, dress: tuple[Link, ...], other: Link) -> None:
    names = [f"/{section}/{n}.html" for n in range(1, _ARTICLES + 1)]
    links = [Link("a", name, name.rpartition("/")[2]) for name in names]
    host.page(f"/{section}/", *links, Link("a", "/", ".."), *dress, text=_prose(host, section))
    for here, following in zip(names, [*names[1:], f"/{section}/"], strict=True):
        links = [Link("a", following), Link("a", f"/{section}/", "./"), other]
        host.page(here, *links, *dress, text=_prose(host.name, here, sentences=12))


def _moved(web: Web) -> None:
    """Redirects of every status, relative and absolute, in a chain and in a loop."""
    host = web.host("moved.demo")
    statuses = (301, 302, 303, 307, 308)
    ways = [f"/by-{status}" for status in statuses]
    ways += ["/chain/1", "/elsewhere", "/circle/a", "/self", "/folder", "/nowhere", "/mail"]
    host.page("/", *(Link("a", way) for way in ways))
    for status in statuses:
        host.redirect(f"/by-{status}", status, f"/landed/{status}.html")
        host.page(f"/landed/{status}.html", Link("a", "/"))
    host.redirect("/chain/1", 301, "/chain/2", "2")
    host.redirect("/chain/2", 302, "/chain/3", "../chain/3")
    host.redirect("/chain/3", 307, "/chain/4")
    host.redirect("/chain/4", 308, "/chain/end.html", "http://MOVED.demo:{port}/chain/end.html")
    host.page("/chain/end.html")
    host.redirect("/elsewhere", 302, "//www.demo/from-elsewhere.html")
    web.hosts["www.demo"].page("/from-elsewhere.html")
    host.redirect("/circle/a", 301, "/circle/b")
    host.redirect("/circle/b", 302, "/circle/a")
    host.redirect("/self", 302, "/self")
    host.redirect("/folder", 301, "/folder/")
    host.page("/folder/")
    host.put("/nowhere", Resource(302))
    host.put("/mail", Resource(302, headers=(("Location", "mailto:nobody@www.demo"),)))


def _rules(web: Web) -> None:
    """robots.txt with exceptions, wildcards, a group for larbinpy, a delay and sitemaps."""
    robots = (
        "\ufeff# The longest match wins\nUser-agent: otherbot\nDisallow: /\n\n"
        "User-agent: *\nDisallow: /private/\nAllow: /private/open\nDisallow: /*.secret$\n"
        "Disallow: /find*q=\nDisallow: /caf%C3%A9\nUnknown: line\n\n"
        "Sitemap: http://rules.demo:{port}/sitemap-index.xml\n"
    )
    host = web.host("rules.demo", robots)
    host.sitemaps = ("/sitemap-index.xml",)
    free = ["/private/open.html", "/plan.secret.html", "/find?p=1"]
    shut = ["/private/", "/private/diary.html", "/plan.secret", "/find?p=1&q=2", "/caf%C3%A9"]
    host.page("/", *(Link("a", path) for path in free + shut))
    for path in free:
        host.page(path, Link("a", "/"))
    for path in shut:
        host.page(path, Link("a", "/hidden/behind.html"), traits=_FORBIDDEN)
    host.page("/hidden/behind.html")
    _sitemaps(host)

    host = web.host(
        "agents.demo",
        "User-agent: *\nDisallow: /\n\nUser-agent: Larbinpy\nDisallow: /ours/\n\n"
        "User-agent: larbinpy\nDisallow: /also/\n",
    )
    host.page(
        "/",
        Link("a", "/ours/x.html"),
        Link("a", "/also/x.html"),
        Link("a", "/open.html"),
    )
    host.page("/open.html")
    host.page("/ours/x.html", traits=_FORBIDDEN)
    host.page("/also/x.html", traits=_FORBIDDEN)

    host = web.host("patient.demo", "User-agent: *\nCrawl-delay: 0.2\n")
    host.page("/", *(Link("a", f"/{n}.html") for n in range(1, 6)))
    for n in range(1, 6):
        host.page(f"/{n}.html")


def _sitemaps(host: Host) -> None:
    """An index of two maps, the second one compressed; their pages have no other link."""
    parts = ["/sitemap-1.xml", "/sitemap-2.xml.gz"]
    for path, names in zip(parts, [("one", "two"), ("three", "four")], strict=True):
        pages = [f"/mapped/{name}.html" for name in names]
        body = sitemap(host, pages)
        packed = path.endswith(".gz")
        type_ = "application/gzip" if packed else "application/xml"
        links = [Link("entry", page) for page in pages]
        host.file(path, squeeze(body) if packed else body, type_, *links)
        for page in pages:
            host.page(page)
    index = sitemap(host, parts, index=True)
    host.file("/sitemap-index.xml", index, "text/xml", *(Link("map", part) for part in parts))


def _strange_rules(web: Web) -> None:
    """Other replies to a request for robots.txt (RFC 9309, 2.3.1)."""
    missing = web.host("unruled.demo", None)
    refusing = web.host("rules-403.demo", Resource(403))
    near = web.host("rules-near.demo", Resource(301, headers=(("Location", "/rules/robots.txt"),)))
    elsewhere = f"http://www.demo:{web.port}/shared/robots.txt"
    far = web.host("rules-far.demo", Resource(302, headers=(("Location", elsewhere),)))
    text = "User-agent: *\nDisallow: /shut/\n"
    near.file("/rules/robots.txt", text, "text/plain")
    web.hosts["www.demo"].file("/shared/robots.txt", text, "text/plain")
    for host in (missing, refusing, near, far):
        host.page("/", Link("a", "/open/x.html"), Link("a", "/shut/x.html"))
        host.page("/open/x.html")
    for host in (missing, refusing):
        host.page("/shut/x.html")
    for host in (near, far):
        host.page("/shut/x.html", Link("a", "/hidden/x.html"), traits=_FORBIDDEN)
        host.page("/hidden/x.html")
    broken = web.host("rules-500.demo", Resource(500))
    broken.page("/", Link("a", "/hidden/x.html"), traits=_FORBIDDEN)
    broken.page("/hidden/x.html")


def _errors(web: Web) -> None:
    """Pages that fail, once or always, and slow pages."""
    host = web.host("errors.demo")
    failing = {"/401": 401, "/403": 403, "/gone": 410, "/teapot": 418, "/500": 500, "/501": 501}
    good = ["/busy-once", "/busy-a-second", "/empty", "/created"]
    paths = [*failing, "/missing", "/missing/too.html?x=1", *good]
    host.page("/", *(Link("a", path) for path in paths))
    for path, status in failing.items():
        host.page(path, Link("shown", "/hidden/behind-an-error.html"), traits=Resource(status))
    host.page("/hidden/behind-an-error.html")
    host.page("/busy-once", Link("a", "/after-busy"), traits=Resource(busy=0))
    host.page("/busy-a-second", traits=Resource(busy=1))
    host.page("/after-busy")
    host.put("/empty", Resource())
    created = Resource(
        201,
        headers=(("Location", "/made.html"),),
        links=host.found((Link("entry", "/made.html"),)),
    )
    host.page("/created", traits=created)
    host.page("/made.html")
    slow = web.host("slow.demo")
    slow.page("/", Link("a", "/drip.html"), Link("a", "/quick.html"))
    text = _prose("slow", sentences=30)
    slow.page("/drip.html", Link("a", "/after.html"), traits=Resource(drip=1.0), text=text)
    slow.page("/quick.html")
    slow.page("/after.html")


def _trap(web: Web) -> None:
    """An endless calendar and an endless staircase: traps of new pages without content."""
    host = web.host("trap.demo")
    host.page(
        "/",
        Link("a", "/calendar/0"),
        Link("a", "/stairs/down/"),
        Link("a", "/way-out.html"),
    )
    host.page("/way-out.html")
    host.endless_prefixes = ("/calendar/", "/stairs/")
    host.endless = _endless


def _endless(host: Host, path: str) -> Resource | None:
    if not path.startswith(host.endless_prefixes):
        return None
    onward = f"{path}down/"
    if path.startswith("/calendar/"):
        month = path.removeprefix("/calendar/")
        if not re.fullmatch("[0-9]{1,9}", month):
            return None
        onward = f"/calendar/{int(month) + 1}"
    return Resource(body=html(host, path, (Link("a", onward), Link("a", "/"))))


def _news(web: Web) -> None:
    """Feeds and a plain sitemap; nothing else links to their pages."""
    host = web.host("news.demo", "Sitemap: http://news.demo:{port}/sitemap.xml\n")
    host.sitemaps = ("/sitemap.xml",)
    host.page("/", Link("feed", "/rss.xml"), Link("a", "/atom.xml"))
    listed = Link("entry", "/map-only.html")
    host.file("/sitemap.xml", sitemap(host, [listed.target]), "application/xml", listed)
    host.page(listed.target)
    stories = {"/rss.xml": ["/story/1.html", "/story/2.html"], "/atom.xml": ["/story/3.html"]}
    for path, pages in stories.items():
        type_, write = ("application/rss+xml", rss) if path == "/rss.xml" else ("text/xml", atom)
        host.file(path, write(host, pages), type_, *(Link("entry", page) for page in pages))
        for page in pages:
            host.page(page, Link("a", "/"))


def _names(web: Web) -> None:
    """An international name, two names for one address, a CNAME, two addresses for one name."""
    books = web.host("xn--bcher-kva.demo")
    books.page("/", Link("a", "/a.html", "http://b\u00fccher.demo:{port}/a.html"))
    books.page("/a.html", Link("a", "/b.html", "http://B%C3%9CCHER.demo:{port}/b.html"))
    books.page("/b.html")
    first = web.host("twin-a.demo")
    second = web.host("twin-b.demo", address=first.addresses[0])
    alias = web.host("alias.demo", address=first.addresses[0])
    alias.alias_of = first.name
    pair = web.host("pair.demo")
    pair.addresses += ("127.0.2.1",)
    for host in (first, second, alias, pair):
        host.page("/", Link("a", "/only-here.html"))
        host.page("/only-here.html", text=host.name)


def _unreachable(web: Web) -> None:
    """Names without an address, and an address that refuses connections."""
    for name, fate in (("nowhere.demo", "noDNS"), ("mute.demo", "noDNS")):
        host = web.host(name, None)
        host.addresses, host.fate = (), fate
    web.host("refused.demo", None).fate = "noConnection"
