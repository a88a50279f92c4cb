"""Sites that answer to names that do not exist as if they did, each in a way of its own.

`SITES` were used to choose the rules of `frontier.soft404`; `tests.support.othersoftsites` has
sites that were written afterwards.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from random import Random
from string import ascii_lowercase
from urllib.parse import unquote

from tests.support.smallweb import Answer, Web


@dataclass(frozen=True)
class SoftSite:
    """A site: `real` pages by path, and the answer to all other paths.

    The home page links to all real pages and to all that are `gone`.
    """

    name: str
    real: Mapping[str, Answer]
    gone: Sequence[str]
    #: Path -> the answer, which is random where the site is.
    missing: Callable[[str, Random], Answer]
    #: Lines of its robots.txt.
    robots: Sequence[str] = ()
    #: Further lines of the configuration.
    settings: Sequence[str] = ("getCGI",)
    #: Further paths that are not real, for redirects that lead to them.
    handlers: Sequence[str] = ()
    home: Callable[[str], Answer] = field(default=lambda links: html(f"<title>Home</title>{links}"))

    @property
    def host(self) -> str:
        return f"{self.name}.test"

    def put(self, web: Web) -> None:
        """Serve it in `web`."""
        random = Random(self.name)
        for path, answer in self.real.items():
            web.put(f"{self.host}{path}", answer)
        links = list_of([*self.real, *self.gone])
        web.put(f"{self.host}/", self.home(links))
        if self.robots:
            web.robots(self.host, *self.robots)

        def make(place: str) -> Answer | None:
            path = place.removeprefix(self.host)
            return None if path == "/robots.txt" else self.missing(path, random)

        web.make = make


def html(text: str, charset: str = "utf-8", **traits: object) -> Answer:
    return Answer(text.encode(charset), f"text/html; charset={charset}", **traits)  # type: ignore[arg-type]


def list_of(paths: Iterable[str]) -> str:
    items = (f'<li><a href="{escape(path)}">{escape(unquote(path))}</a></li>' for path in paths)
    return f"<ul>{''.join(items)}</ul>"


def moved(target: str) -> Answer:
    return Answer(status=302, headers=(f"Location: {target}",))


def name_of(path: str) -> str:
    """The last part of a path, as people write it."""
    return unquote(path.rstrip("/").rpartition("/")[2]).replace("-", " ").replace("_", " ")


_WORDS = [
    "water",
    "river",
    "stone",
    "hill",
    "market",
    "road",
    "bridge",
    "church",
    "garden",
    "school",
    "winter",
    "summer",
    "history",
    "people",
    "music",
    "village",
    "station",
    "library",
    "council",
    "museum",
    "harbour",
    "forest",
    "valley",
    "tower",
    "castle",
    "bread",
    "silver",
    "paper",
    "engine",
    "letter",
    "window",
    "morning",
    "journey",
    "island",
    "northern",
    "southern",
    "eastern",
    "western",
    "ancient",
]


def prose(key: str, words: int, vocabulary: Sequence[str] = _WORDS) -> str:
    """A text, always the same for `key`."""
    random = Random(key)
    return " ".join(random.choice(vocabulary) for _ in range(words)).capitalize() + "."


def nonce(random: Random, letters: int = 12) -> str:
    return "".join(random.choice(ascii_lowercase) for _ in range(letters))


def framed(title: str, main: str, side: str = "", site: str = "The Valley Gazette") -> str:
    """A page with the navigation, the sidebar and the footer that all pages of a site have."""
    nav = "".join(f'<a href="/">{word.title()}</a> ' for word in _WORDS[:12])
    news = "".join(f"<p>{prose(f'news {number}', 9)}</p>" for number in range(8))
    return (
        f"<!DOCTYPE html><html><head><title>{title} - {site}</title>"
        f'<meta charset="utf-8"><style>p {{ color: red }}</style></head><body><nav>{nav}</nav>'
        f"<main>{main}</main><aside><h2>Latest news</h2>{news}{side}</aside>"
        f"<footer>All rights reserved. Imprint, privacy, contact, page not for sale, nothing was "
        f"found here by chance.</footer></body></html>"
    )


def article(path: str, words: int = 200) -> Answer:
    title = name_of(path).title()
    return html(framed(title, f"<h1>{title}</h1><p>{prose(path, words)}</p>"))


def stub(path: str, words: int = 4) -> Answer:
    """A page with hardly a text of its own."""
    return article(path, words)


def some(folder: str, count: int, end: str = "", kind: str = "gone") -> list[str]:
    """Paths in `folder`."""
    random = Random(folder + kind)
    names = [f"{random.choice(_WORDS)}-{random.choice(_WORDS)}-{n}" for n in range(count)]
    return [f"{folder}{name}{end}" for name in names]


def pages(folder: str, end: str = "", count: int = 6) -> dict[str, Answer]:
    """Articles and stubs in `folder`."""
    paths = some(folder, count, end, "real")
    return {path: article(path) if n % 2 else stub(path) for n, path in enumerate(paths)}


def framed_home(links: str) -> Answer:
    return html(framed("Home", f"<h1>Welcome</h1><p>{prose('home', 60)}</p>{links}"))


def error(title: str, main: str) -> Callable[[str, Random], Answer]:
    """Answers with a page of which `main` may name PATH."""

    def missing(path: str, random: Random) -> Answer:
        return html(framed(title, main.replace("PATH", escape(unquote(path)))))

    return missing


# The ways of sites.


def _nonces(path: str, random: Random) -> Answer:
    reference = f"<p>Reference: {nonce(random)}, {random.random():.9f}, {nonce(random, 30)}</p>"
    return html(framed("Oops", f"<h1>Something went wrong</h1>{reference}"))


def _suggestions(path: str, random: Random) -> Answer:
    found = random.sample(some("/news/", 30, kind="real"), 3)
    main = f"<h1>Not here</h1><p>This article is no more. Read instead:</p>{list_of(found)}"
    return html(framed("Not here", main))


def _chinese(path: str, random: Random) -> Answer:
    name = escape(unquote(path))
    main = f"<h1>页面不存在</h1><p>对不起您要找的{name}页面不存在或已被删除请返回首页</p>"
    return html(f"<title>出错了</title><nav>首页新闻体育财经娱乐</nav>{main}", "gb18030")


def _chinese_pages() -> dict[str, Answer]:
    texts = {
        "/gushi": "很久以前有一个村庄",
        "/xinwen": "今天没有新闻",
        "/jia": "页面",
        "/kong": "空",
    }
    return {
        path: html(
            f"<title>{text}</title><nav>首页新闻体育财经娱乐</nav><h1>{text}</h1><p>{text}</p>",
            "gb18030",
        )
        for path, text in texts.items()
    }


def _russian(path: str, random: Random) -> Answer:
    main = "<h1>Ошибка</h1><p>Запрошенная страница не найдена.</p>"
    return html(f"<title>Ошибка</title><nav>Главная Новости Архив</nav>{main}", "windows-1251")


def _russian_pages() -> dict[str, Answer]:
    texts = {"/istoria": "История города", "/reka": "Река", "/stranica": "Страница не готова"}
    return {
        path: html(
            f"<title>{text}</title><nav>Главная Новости Архив</nav><h1>{text}</h1>", "windows-1251"
        )
        for path, text in texts.items()
    }


def _only_in(
    folder: str, inside: Callable[[str, Random], Answer]
) -> Callable[[str, Random], Answer]:
    """Soft in `folder` alone; elsewhere as it should be."""

    def missing(path: str, random: Random) -> Answer:
        return inside(path, random) if path.startswith(folder) else html("Not found", status=404)

    return missing


_WIKI_FRAME = (
    "<p>From the free encyclopedia. Jump to navigation, search. Views: article, discussion, edit "
    "this page, history. Personal tools: create account or log in. Navigation: main page, "
    "community portal, current events, recent changes, random page, help. Search for this page "
    "title. Toolbox: what links here, related changes, special pages, printable version, "
    "permanent link. About, disclaimers, privacy. Text is available under a free licence.</p>"
)


def _wiki(title: str, text: str) -> Answer:
    title = escape(title[:1].upper() + title[1:])
    return html(
        f"<!DOCTYPE html><title>{title} - Valleywiki</title><h1>{title}</h1><div>{text}</div>"
        f"<hr>{_WIKI_FRAME}"
    )


def _wiki_missing(title: str) -> Answer:
    return _wiki(
        title,
        "<p>There is currently no text in this page. You can <a href='/search'>search for this page"
        " title</a> in other pages, or <a href='/edit'>edit this page</a>.</p>",
    )


def _wiki_texts() -> dict[str, str]:
    return {
        "Castle": f"<p>{prose('castle', 300)}</p>",
        "Silver": f"<p>{prose('silver', 120)}</p>",
        "Upper_Hill": "<p>Upper Hill is a village.</p>",
        "Lower_Hill": "<p>Lower Hill is a village in the valley.</p>",
        "Hill": "<ul><li>Upper Hill</li><li>Lower Hill</li></ul>",
        "Bread": "<p>This page is a stub.</p>",
        "River": "<p>A river.</p>",
        "Category:Bridges": "<p>There are no pages in this category.</p>",
        "Talk:Castle": "<p>Nobody has said anything.</p>",
        "Stone": "",
    }


def _shop(title: str, text: str) -> Answer:
    return html(framed(title, f"<h1>{title}</h1>{text}", site="Valley Shop"))


def _shop_pages() -> dict[str, Answer]:
    buy = "<p>Price: {} euros. <button>Buy</button></p>"
    goods = some("/product/", 5, kind="real")
    made = {path: _shop(name_of(path), buy.format(n + 3)) for n, path in enumerate(goods)}
    sold = "<p>Price: 7 euros. This product is sold out.</p>"
    made |= {path: _shop(name_of(path), sold) for path in some("/product/", 3, kind="sold")}
    none = "<p>No products in this category.</p>"
    return made | {path: _shop(name_of(path), none) for path in some("/category/", 3, kind="none")}


def _shop_missing(path: str, random: Random) -> Answer:
    return _shop("Product", "<p>This product is not available any more.</p>")


def _searched(path: str, random: Random) -> Answer:
    words = escape(name_of(path.partition("?")[0]))
    main = (
        f"<form><input name=q value='{words}'></form><p>Your search for {words} gave 0 results.</p>"
    )
    return html(framed("Search", f"<h1>Search</h1>{main}"))


def _search_pages() -> dict[str, Answer]:
    tagged = {
        path: html(framed("Tag", f"<h1>Tag</h1><p>Nothing has the tag {name_of(path)} yet.</p>"))
        for path in some("/tag/", 3, kind="tags")
    }
    return pages("/") | tagged


def _blank(path: str, random: Random) -> Answer:
    return html(framed("Gallery", "<div></div>"))


def _pictures() -> dict[str, Answer]:
    def shown(path: str, text: str) -> Answer:
        picture = f"<img src='/img{path}.jpg' alt=''>{text}"
        return html(framed("Gallery", f"<div>{picture}</div>"))

    texts = ("", "<p>A bridge.</p>", "", "<p>Winter</p>", "")
    paths = some("/photo/", len(texts), kind="real")
    return {path: shown(path, text) for path, text in zip(paths, texts, strict=True)}


def _number(path: str, random: Random) -> Answer:
    return html(framed("Valley", "<h1>404</h1>"))


def _headings() -> dict[str, Answer]:
    def headed(text: str) -> Answer:
        return html(framed("Valley", f"<h1>{text}</h1>"))

    titles = {path: name_of(path) for path in some("/", 4, kind="real")}
    return {
        path: headed(text) for path, text in (titles | {"/403": "403", "/2024": "2024"}).items()
    }


def _crumbs(path: str) -> str:
    parts = [part for part in path.split("/") if part]
    return f"<ol><li>Start</li>{''.join(f'<li>{name_of(part)}</li>' for part in parts)}</ol>"


def _crumbed(path: str, random: Random) -> Answer:
    return html(framed("Sorry", f"{_crumbs(path)}<h1>Sorry</h1><p>We do not have this page.</p>"))


def _crumbed_pages() -> dict[str, Answer]:
    paths = [*some("/town/", 3, kind="real"), *some("/town/old/", 3, kind="real")]
    return {
        path: html(framed(name_of(path), f"{_crumbs(path)}<h1>{name_of(path)}</h1><p>Old.</p>"))
        for path in paths
    }


def _plain(path: str, random: Random) -> Answer:
    return Answer(f"error: no record {unquote(path)}\n".encode(), "text/plain")


def _records() -> dict[str, Answer]:
    paths = some("/record/", 5, kind="real")
    return {
        path: Answer(f"{n}\n{prose(path, 3)}\n".encode(), "text/plain")
        for n, path in enumerate(paths)
    }


_GIF = b"GIF89a\x01\x00\x01\x00\x80\x00\x00\xff\xff\xff\x00\x00\x00!\xf9\x04\x01"


def _picture(path: str, random: Random) -> Answer:
    return Answer(_GIF, "image/gif")


def _slashed(path: str, random: Random) -> Answer:
    if not path.endswith("/"):
        return moved(f"{path}/")
    return html(framed("Lost", f"<h1>Lost</h1><p>{escape(path)} leads nowhere.</p>"))


def _topics() -> dict[str, Answer]:
    def topic(n: int, text: str) -> Answer:
        return html(framed(f"Topic {n}", f"<h1>Topic {n}</h1><p>{text}</p>", site="Forum"))

    texts = [prose("topic", 80), "Thanks!", "+1", "This topic was closed.", "Me too.", "See above."]
    return {f"/viewtopic.php?t={n}": topic(n, text) for n, text in enumerate(texts, 1)}


def _no_topic(path: str, random: Random) -> Answer:
    if not path.startswith("/viewtopic.php"):
        return html("Not found", status=404)
    main = "<h1>Information</h1><p>The requested topic does not exist.</p>"
    return html(framed("Information", main, site="Forum"))


def _handled(path: str, random: Random) -> Answer:
    if path.startswith("/error.aspx"):
        wanted = escape(unquote(path.rpartition("=")[2]))
        return html(framed("Error", f"<h1>Error</h1><p>{wanted} does not exist.</p>"))
    return moved(f"/error.aspx?aspxerrorpath={path}")


def _to_page(path: str, random: Random) -> Answer:
    if path == "/notfound.html":
        return html(framed("Not found", "<h1>Not found</h1><p>Try the search.</p>"))
    return moved("/notfound.html")


def _home_again(path: str, random: Random) -> Answer:
    return framed_home(list_of(["/a", "/b"]))


def _climbing(path: str, random: Random) -> Answer:
    """With relative links, which lead ever deeper."""
    main = f"<h1>Not found</h1><p>No {escape(path)}.</p><a href='more/'>x</a><a href='b/c'>y</a>"
    return html(framed("Not found", main))


SITES = [
    SoftSite(
        "echo",
        pages("/"),
        some("/", 6) + some("/a/b/", 3),
        error("Page not found", "<h1>Page not found</h1><p>The page PATH was not found.</p>"),
        home=framed_home,
    ),
    SoftSite("climbing", pages("/docs/"), some("/", 3) + some("/docs/", 5, "/"), _climbing),
    SoftSite("nonce", pages("/"), some("/", 8), _nonces, home=framed_home),
    SoftSite("homeward", pages("/"), some("/", 5) + some("/x/", 3), lambda p, r: moved("/")),
    SoftSite("errorpage", pages("/"), some("/", 8), _to_page, handlers=("/notfound.html",)),
    SoftSite(
        "handler", pages("/", ".aspx"), some("/", 8, ".aspx"), _handled, handlers=("/error.aspx",)
    ),
    SoftSite(
        "german",
        {
            **{path: stub(path) for path in some("/", 3, ".html", "real")},
            "/leer.html": html(framed("Leer", "<h1>Leer</h1><p>Diese Seite ist noch leer.</p>")),
        },
        some("/", 8, ".html"),
        error("Fehler", "<h1>Fehler</h1><p>Die Seite PATH wurde leider nicht gefunden.</p>"),
    ),
    SoftSite(
        "chinese",
        _chinese_pages(),
        ["/shan", "/he", "/%E6%9D%91%E5%BA%84", "/xue", "/lu"],
        _chinese,
    ),
    SoftSite("russian", _russian_pages(), some("/", 6), _russian),
    SoftSite(
        "wiki",
        {f"/wiki/{title}": _wiki(name_of(title), text) for title, text in _wiki_texts().items()},
        [f"/wiki/{name}" for name in ("Tower", "Old_Tower", "Paper", "Engine", "Free", "Page")],
        _only_in("/wiki/", lambda path, random: _wiki_missing(name_of(path))),
    ),
    SoftSite(
        "oldwiki",
        {
            f"/index.php?title={title}": _wiki(name_of(title), text)
            for title, text in _wiki_texts().items()
        },
        [f"/index.php?title={name}" for name in ("Tower", "Old_Tower", "Paper", "Engine", "Snow")],
        _only_in(
            "/index.php?", lambda path, random: _wiki_missing(name_of(path.rpartition("=")[2]))
        ),
    ),
    SoftSite("shop", _shop_pages(), some("/product/", 8), _shop_missing, home=framed_home),
    SoftSite("catchall", pages("/"), some("/", 5) + some("/y/", 3), _home_again, home=framed_home),
    SoftSite("suggesting", pages("/news/", count=10), some("/news/", 8), _suggestions),
    SoftSite("searching", _search_pages(), some("/", 8), _searched),
    SoftSite("blank", _pictures(), some("/photo/", 8), _blank),
    SoftSite("number", _headings(), some("/", 8), _number),
    SoftSite("crumbs", _crumbed_pages(), some("/town/", 5) + some("/town/old/", 5), _crumbed),
    SoftSite("plain", _records(), some("/record/", 8), _plain, settings=("anyType",)),
    SoftSite(
        "picture",
        {
            path: Answer(_GIF + path.encode(), "image/gif")
            for path in some("/i/", 4, ".gif", "real")
        },
        some("/i/", 8, ".gif"),
        _picture,
        settings=("getImage",),
    ),
    SoftSite(
        "slashed",
        {path: stub(path) for path in some("/", 5, "/", "real")},
        some("/", 4, "/") + some("/", 4, kind="bare"),
        _slashed,
    ),
    SoftSite("forum", _topics(), [f"/viewtopic.php?t={n}" for n in range(900, 908)], _no_topic),
    SoftSite(
        "blog",
        pages("/blog/") | pages("/") | pages("/shop/", count=3),
        some("/blog/", 8),
        _only_in("/blog/", error("Blog", "<h1>Blog</h1><p>No such entry: PATH</p>")),
    ),
    SoftSite("good", pages("/"), (), lambda p, r: html("Not found", status=404)),
]
