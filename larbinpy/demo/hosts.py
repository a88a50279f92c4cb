"""The hosts of the demo web, also those that are hard to read: charsets, markup, types, odd URLs.

One short function makes each host or group of hosts, and generates its small files: pictures,
sound, XML, CSS. The path of every page that a crawler must not reach contains "hidden", and that of
every missing page "missing". Tests check this, so that a typo here is not taken for intent.
"""

import re
import struct
import zlib
from random import Random
from urllib.parse import quote

from larbinpy.demo.site import HTML, Host, Link, Location, Resource, Web, html, squeeze


def png(shade: int) -> bytes:
    """A 16 x 16 picture in one colour (PNG, RFC 2083)."""

    def chunk(name: bytes, data: bytes) -> bytes:
        check = zlib.crc32(name + data)
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", check)

    colour = bytes((40 + shade * 17 % 200, 90, 200 - shade * 13 % 180))
    rows = (b"\0" + colour * 16) * 16
    header = struct.pack(">IIBBBBB", 16, 16, 8, 2, 0, 0, 0)
    parts = chunk(b"IHDR", header), chunk(b"IDAT", zlib.compress(rows)), chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


def svg(shade: int) -> str:
    """A disc."""
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" width="16" height="16">'
        f'<circle cx="8" cy="8" r="7" fill="#{shade * 0x111:03x}"/></svg>\n'
    )


def tone() -> bytes:
    """A tenth of a second of a square wave (WAVE, PCM, 8 bit, 8 kHz)."""
    samples = (b"\x40" * 9 + b"\xc0" * 9) * 44
    form = struct.pack("<4sIHHIIHH", b"fmt ", 16, 1, 1, 8000, 8000, 1, 8)
    data = struct.pack("<4sI", b"data", len(samples)) + samples
    return struct.pack("<4sI4s", b"RIFF", 4 + len(form) + len(data), b"WAVE") + form + data


def cascading(*urls: str) -> str:
    """A style sheet with `urls` as backgrounds."""
    rules = (f"h{n} {{ background: url({url}) no-repeat right }}" for n, url in enumerate(urls, 1))
    return "\n".join(["body { font: 16px/1.5 serif; max-width: 40em; margin: auto }", *rules, ""])


def _urls(host: Host, paths: list[str]) -> list[str]:
    return [f"http://{host.name}:{host.port}{path}" for path in paths]


def sitemap(host: Host, paths: list[str], *, index: bool = False) -> bytes:
    """A sitemap of `paths`, or an index of sitemaps (sitemaps.org, 0.9)."""
    outer, inner = ("sitemapindex", "sitemap") if index else ("urlset", "url")
    entries = (f"<{inner}><loc>{url}</loc></{inner}>\n" for url in _urls(host, paths))
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        f'<{outer} xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n'
        f"{''.join(entries)}</{outer}>\n"
    ).encode()


def rss(host: Host, paths: list[str]) -> bytes:
    """A feed of `paths` (RSS 2.0)."""
    items = (f"<item><title>A</title><link>{url}</link></item>\n" for url in _urls(host, paths))
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n<rss version="2.0"><channel><title>News</title>\n'
        f"{''.join(items)}</channel></rss>\n"
    ).encode()


def atom(host: Host, paths: list[str]) -> bytes:
    """A feed of `paths` (Atom, RFC 4287)."""
    entries = (f'<entry><link href="{url}"/></entry>\n' for url in _urls(host, paths))
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n<feed xmlns="http://www.w3.org/2005/Atom">\n'
        f"{''.join(entries)}</feed>\n"
    ).encode()


#: Codec, the label in pages, a name in that script, a sentence.
_SCRIPTS = (
    ("utf-8", "utf-8", "ψηφίδες", "ψηφίδες δίπλα σε ψηφίδες"),
    ("iso-8859-1", "iso-8859-1", "araignée", "Une araignée tisse déjà à Noël"),
    ("windows-1251", "windows-1251", "паук", "Ёж и паук плетут жёлтую сеть"),
    ("shift_jis", "Shift_JIS", "蜘蛛", "蜘蛛の糸ソ表"),
    ("euc_kr", "euc-kr", "거미", "거미가 줄을 친다"),
    ("gb18030", "gb18030", "蜘蛛网", "蜘蛛结网𠀀"),
)


def letters(host: Host) -> None:
    """The same kind of page in many charsets, labelled by header, by meta element or not."""
    ways = _mislabelled(host)
    for codec, label, name, text in _SCRIPTS:
        by_header = Resource(type=f"{HTML}; charset={label}")
        ways += [f"/header/{codec}.html", f"/meta/{codec}.html"]
        _lettered(host, ways[-2], f"/header/{name}.html", by_header, text, codec, "")
        _lettered(host, ways[-1], f"/meta/{name}.html", Resource(), text, codec, label)
    host.page("/", *(Link("a", way) for way in ways))


def _lettered(
    host: Host, path: str, name: str, traits: Resource, text: str, codec: str, label: str
) -> None:
    """A page whose one link is spelled in its own charset, and the page behind it."""
    link = Link("a", quote(name), name)
    host.page(path, link, traits=traits, text=text, codec=codec, label=label)
    host.page(link.target)


def _mislabelled(host: Host) -> list[str]:
    """Pages with wrong charset labels; their links are ASCII and must be found anyway."""
    french, cyrillic, chinese = (_SCRIPTS[n][3] for n in (1, 2, 5))
    cases = {
        "/wrong/meta.html": (HTML, "windows-1251", "utf-8", cyrillic),
        "/wrong/header.html": (f"{HTML}; charset=iso-8859-1", "utf-8", "", cyrillic),
        "/wrong/both.html": (f"{HTML}; charset=utf-8", "gb18030", "euc-kr", chinese),
        "/wrong/unknown.html": (f"{HTML}; charset=klingon", "utf-8", "", cyrillic),
        "/wrong/none.html": (HTML, "utf-8", "", french),
        "/wrong/bom.html": (HTML, "utf-16", "", french),
    }
    for path, (type_, codec, label, text) in cases.items():
        link = Link("a", path.replace("/wrong/", "/right/"))
        host.page(path, link, traits=Resource(type=type_), text=text, codec=codec, label=label)
        host.page(link.target)
    return list(cases)


def markup(host: Host) -> None:
    """Every way to write a link, and every way to write something that is not one."""
    pages = ["area", "iframe", "form", "next", "refresh"]
    ways = [Link(how, f"/by/{how}.html") for how in pages]
    for way in ways:
        host.page(way.target)
    never = [Link(how, f"/hidden/{how}.html") for how in ("nofollow", "post", "comment")]
    never += [Link(how, f"/hidden/{how}.html") for how in ("string", "text", "data")]
    for link in never:
        host.page(link.target)
    more = ["/frames.html", "/base.html", "/headers.html", "/pictures.html", "/junk.html"]
    more += ["/noindex.html", "/nofollow.html", "/nofollow-header.html", "/deaf.html"]
    host.page("/", *ways, *never, *(Link("a", path) for path in more))
    _frames_and_bases(host)
    _asking(host)
    _pictures(host)
    _junk(host)


def _frames_and_bases(host: Host) -> None:
    frames = [Link("entry", "/frame/left.html"), Link("entry", "/frame/right.html")]
    columns = "".join(f'<frame src="{frame.target}">' for frame in frames)
    body = f'<html><head><title>Frames</title></head><frameset cols="*,*">{columns}</frameset>'
    host.file("/frames.html", body + "</html>\n", HTML, *frames)
    base = '<base href="/far/away/"><base href="/hidden/second-base/">'
    below = Link("a", "/far/away/below.html", "below.html")
    host.page("/base.html", below, Link("a", "/far/up.html", "../up.html"), head=base)
    for path in (*(frame.target for frame in frames), below.target, "/far/up.html"):
        host.page(path)
    headers = (
        ("Link", '</linked.html>; rel="next", </hidden/preconnect>; rel=preconnect'),
        ("Refresh", "3; url=/refreshed.html"),
    )
    links = host.found((Link("entry", "/linked.html"), Link("entry", "/refreshed.html")))
    host.page("/headers.html", traits=Resource(headers=headers, links=links))
    host.page("/linked.html")
    host.page("/refreshed.html")


def _asking(host: Host) -> None:
    """Pages that ask robots not to keep them, or not to follow their links."""
    mute = Resource(indexed=False)
    asks = '<meta name="robots" content="{}">'
    host.page("/noindex.html", Link("a", "/kept.html"), traits=mute, head=asks.format("noindex"))
    host.page("/kept.html")
    host.page("/nofollow.html", Link("shown", "/hidden/1.html"), head=asks.format("NoFollow"))
    header = Resource(headers=(("X-Robots-Tag", "otherbot: none"), ("X-Robots-Tag", "nofollow")))
    host.page("/nofollow-header.html", Link("shown", "/hidden/2.html"), traits=header)
    host.page("/deaf.html", Link("a", "/heard.html"), head=asks.format("noodp, noarchive"))
    host.page("/heard.html")
    for path in ("/hidden/1.html", "/hidden/2.html"):
        host.page(path)


def _pictures(host: Host) -> None:
    """Images and other requisites, some of which only a style sheet names."""
    images = {"img": "/i/1.png", "srcset": "/i/2.png", "source": "/i/3.png", "icon": "/i/4.png"}
    parts = {"inline-style": "/i/5.png", "style-element": "/i/6.png"}
    links = [Link(how, path) for how, path in (images | parts).items()]
    links += [Link("img", "/i/disc.svg"), Link("audio", "/tone.wav")]
    links += [
        Link("style", "/main.css"),
        Link("script", "/app.js"),
        Link("manifest", "/app.json"),
    ]
    host.page("/pictures.html", *links)
    for number, path in enumerate([*images.values(), *parts.values(), "/i/7.png", "/i/8.png"]):
        host.file(path, png(number + 20), "image/png")
    host.file("/i/disc.svg", svg(5), "image/svg+xml")
    host.file("/tone.wav", tone(), "audio/wav")
    host.file("/app.js", "var page = 'x';\n", "text/javascript")
    icons = '{"name": "Demo", "icons": [{"src": "/i/7.png"}]}\n'
    host.file("/app.json", icons, "application/manifest+json", Link("part", "/i/7.png"))
    imported = '@import "more/extra.css";\n/* url(/hidden/comment.png) */\n'
    host.file("/main.css", imported + cascading(), "text/css", Link("part", "/more/extra.css"))
    extra = cascading("../i/8.png")
    host.file("/more/extra.css", extra, "text/css", Link("part", "/i/8.png"))


def _junk(host: Host) -> None:
    """Broken HTML with one valid link among invalid ones."""
    bad = ["mailto:x@www.demo", "javascript:void(0)", "ftp://www.demo/x", "http://", "http://[::1"]
    bad += ["http://a b/", "http://www.demo:99999/", "data:text/html,x", "", "#top", "tel:1"]
    anchors = "".join(f'<a href="{url}">x' for url in bad)
    body = f"<p>{anchors}<table><b></p><a href=/after-junk.html <td></b>\0<a href='/hidden/open"
    host.file("/junk.html", body, HTML, Link("entry", "/after-junk.html"))
    host.page("/after-junk.html")


def parcels(host: Host) -> None:
    """Encodings of bodies, and types that a crawler of pages refuses."""
    packed = {
        "/gzip.html": Resource(gzip=True),
        "/chunked.html": Resource(chunked=True),
        "/both.html": Resource(gzip=True, chunked=True),
        "/picture.png.html": Resource(type="TEXT/HTML;charset=UTF-8"),
    }
    wrong = {
        "/files/archive.zip": "application/zip",
        "/files/program.bin": "application/octet-stream",
        "/files/paper.html": "application/pdf",
    }
    ways = [*packed, *wrong, "/strict.xhtml", "/visits.html", "/large.html"]
    host.page("/", *(Link("a", path) for path in ways))
    for path, traits in packed.items():
        host.page(path, Link("a", f"/inside{path}"), traits=traits)
        host.page(f"/inside{path}")
    for path, type_ in wrong.items():
        host.put(path, Resource(type=type_, body=b"%PDF\0" * 200, outcome="badType"))
    xhtml = (
        '<?xml version="1.0"?>\n<html xmlns="http://www.w3.org/1999/xhtml"><head><title>X</title>'
        '</head><body><p><a href="/strict-link.html">x</a></p></body></html>\n'
    )
    host.file("/strict.xhtml", xhtml, "application/xhtml+xml", Link("entry", "/strict-link.html"))
    host.page("/strict-link.html")
    host.page("/visits.html", traits=Resource(headers=(("Set-Cookie", "visited=1; Path=/"),)))
    many = [Link("a", f"/large/{n}.html") for n in range(3)]
    host.page("/large.html", *many, text="A long page. " * 4000)
    for link in many:
        host.page(link.target)


def paths(host: Host) -> None:
    """URLs that need escaping, look alike, or collide as file names."""
    spelled = {
        "/with%20space.html": "/with space.html",
        "/caf%C3%A9.html": "/café.html",
        "/%E6%97%A5%E6%9C%AC/": "/日本/",
        "/100%25.html": None,
        "/semi;colon=1.html": None,
        "/star*plus+.html": None,
        "/colon:at@.html": None,
        "/quote%22angle%3C.html": '/quote"angle<.html',
        "/enc%2Fslash.html": "/enc%2fslash.html",
        "/line%0Abreak.html": None,
        "/nul%00.html": None,
        "/etc.html": "/%2e%2e/%2E%2e/etc.html",
        "/plain.html": "up/../plain.html#part",
        "/back/slash.html": "/back\\slash.html",
        "/~user/": "/%7Euser/",
        "/newline.html": " /new\nline.html\t",
        "/.../dots.html": None,
        "/.dotfile": None,
        "/Case.html": None,
        "/case.html": None,
        "/double//slash.html": None,
        f"/{'long' * 75}.html": None,
        "/list?page=1": None,
        "/list?page=2&sort=up": "/list?page=2&sort=up",
        "/list": "/list?",
        "/list?q=http://x/../y%20z": "/list?q=http://x/../y z",
        "/secret.html": "http://user:password@paths.demo:{port}/secret.html",
        "/upper.html": "HTTP://PATHS.Demo:{port}/upper.html",
        "/a": None,
        "/a/": None,
        "/a/b": None,
        "/a.html": None,
        "/index/": None,
        "/index/index.html": None,
    }
    same = ["/same/1.html", "/same/2.html", "/same/3.html"]
    links = [Link("a", target, text) for target, text in spelled.items()]
    host.page("/", *links, *(Link("a", path) for path in same))
    for target in spelled:
        host.page(target)
    for path in same:
        host.page(path, title="The same words", text="Nothing here tells these pages apart.")


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
