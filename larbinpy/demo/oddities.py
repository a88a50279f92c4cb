"""Hosts of the demo web that are hard to read: charsets, markup, file types, odd URLs."""

from urllib.parse import quote

from larbinpy.demo.files import cascading, png, svg, tone
from larbinpy.demo.site import HTML, Host, Link, Resource

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
