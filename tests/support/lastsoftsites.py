"""Sites with soft 404s in further ways, on which no rule of `frontier.soft404` was tried before."""

from base64 import b64encode
from html import escape
from random import Random
from urllib.parse import unquote
from uuid import UUID

from tests.support.smallweb import Answer
from tests.support.softsites import (
    SoftSite,
    framed,
    framed_home,
    html,
    list_of,
    moved,
    name_of,
    pages,
    prose,
    some,
)


def _plain_page(title: str, text: str) -> Answer:
    return html(f"<!DOCTYPE html><title>{title}</title><h1>{title}</h1>{text}")


def _titles(folder: str, texts: dict[str, str], title: str) -> dict[str, Answer]:
    """Pages with a name in their titles."""
    return {
        f"{folder}{name}": html(framed(title.format(name), f"<h1>{name}</h1>{text}"))
        for name, text in texts.items()
    }


def _cloud(path: str, random: Random) -> Answer:
    """A proxy's error, with an identifier and the time."""
    ray = f"{random.getrandbits(64):016x}"
    when = f"2026-11-24 {random.randrange(24):02}:{random.randrange(60):02}:09 UTC"
    request = UUID(int=random.getrandbits(128))
    text = f"<p>The origin has no such object.</p><p>Ray ID: {ray} {when} {request}"
    return _plain_page("Object missing", text)


def _encoded(path: str, random: Random) -> Answer:
    where = b64encode(path.encode()).decode()
    return _plain_page("Dead link", f"<p>Report it: <a href='/report?u={where}'>{where}</a></p>")


def _polish_pages() -> dict[str, Answer]:
    texts = {"zamek": "<p>Zamek stoi na wzgórzu.</p>", "most": "<p>Brak opisu.</p>", "las": ""}
    return _titles("/", texts, "{} | Dolina")


def _polish(path: str, random: Random) -> Answer:
    wanted = escape(unquote(path))
    main = f"<h1>Błąd</h1><p>Brak strony {wanted}. Strona została usunięta lub przeniesiona.</p>"
    return html(framed("Błąd | Dolina", main))


def _korean(path: str, random: Random) -> Answer:
    wanted = escape(name_of(path))
    text = f"<p>요청하신 {wanted}페이지를 찾을 수 없습니다.</p>"
    return html(f"<title>오류</title><h1>오류</h1>{text}", "euc-kr")


def _korean_pages() -> dict[str, Answer]:
    texts = {"/san": "산", "/gang": "강 이야기", "/maeul": "준비 중인 페이지입니다."}
    return {p: html(f"<title>{t}</title><h1>{t}</h1>", "euc-kr") for p, t in texts.items()}


def _thai(path: str, random: Random) -> Answer:
    return html(framed("ผิดพลาด", f"<h1>ผิดพลาด</h1><p>ไม่พบหน้า{escape(unquote(path))}ที่คุณต้องการ</p>"))


_MEDIAWIKI_TEXTS = {
    "Ash": "<p>Ash may mean:</p><ul><li>Ash (tree)</li><li>Ash, a village</li></ul>",
    "Ash_(tree)": f"<p>{prose('ash', 180)}</p>",
    "Ash,_Kent": "<p>Ash is a village in Kent.</p><p><i>This article is a stub.</i></p>",
    "Oak": "<p>Redirect to: Tree</p>",
    "Elm": "<p><i>This article is a stub.</i></p>",
    "User:Bob": "<p>Hi.</p>",
    "File:Oak.jpg": "<img src=/oak.jpg>",
    "Talk:Elm": "<p>This page does not exist yet? It does now. Bob</p>",
}


def _mediawiki(title: str, text: str, random: Random) -> Answer:
    """With the time of the server in a comment and its number at the foot, as they have."""
    tools = list_of(["/wiki/Main_Page", "/wiki/Special:Random", f"/wiki/Special:Links/{title}"])
    served = f"<!-- served by {random.getrandbits(32):x} -->"
    tail = f"{served}<footer>Viewed {random.randrange(9**9)} times"
    shown = escape(title.replace("_", " "))
    return html(
        f"<!DOCTYPE html><title>{shown} - Treepedia</title><h1>{shown}</h1>{text}{tools}"
        f"<p>From Treepedia, the free encyclopedia that does not exist yet.</p>{tail}"
    )


def _mediawiki_missing(path: str, random: Random) -> Answer:
    if not path.startswith("/wiki/"):
        return moved("/wiki/Main_Page") if path == "/wiki" else html("<h1>404</h1>", status=404)
    title = unquote(path.removeprefix("/wiki/"))
    text = (
        f"<p>Treepedia does not have an article with this exact name. Search for {escape(title)} "
        f"in Treepedia, or start the {escape(title.replace('_', ' '))} article.</p>"
    )
    return _mediawiki(title, text, random)


def _permanent(path: str, random: Random) -> Answer:
    return Answer(status=301, headers=("Location: /",))


def _see_other(path: str, random: Random) -> Answer:
    return Answer(status=303, headers=("Location: /oops.php?code=404",))


def _twice(path: str, random: Random) -> Answer:
    """Redirects to lower case, and from there to the home page."""
    return moved(path.lower()) if path != path.lower() else moved("/")


def _classified(path: str, random: Random) -> Answer:
    return html(framed("Advertisement", "<h1>Advertisement</h1><p>It has expired.</p>"))


def _classifieds() -> dict[str, Answer]:
    texts = ["Bike, 50 euros.", "It is free.", "Sofa. It has expired? No.", "", "Wanted: piano."]
    return {
        f"/ad/{n}.html": html(framed("Advertisement", f"<h1>Advertisement</h1><p>{text}</p>"))
        for n, text in enumerate(texts, 1001)
    }


def _forum(path: str, random: Random) -> Answer:
    """With the number of those who are there, and who they are."""
    there = random.sample(["anna", "bert", "carl", "dora", "emil", "fritz", "gina", "hans"], 3)
    main = f"<h1>Board</h1><p>No thread with this name.</p><p>Online: {', '.join(there)}</p>"
    return html(framed("Board", main))


def _threads() -> dict[str, Answer]:
    random = Random("threads")
    made = {}
    for path in some("/thread/", 6, kind="real"):
        there = random.sample(["anna", "bert", "carl", "dora", "emil", "fritz"], 3)
        text = f"<p>{random.choice(['Bump.', 'Thanks!', 'No.', 'Same here.'])}</p>"
        main = f"<h1>{name_of(path)}</h1>{text}<p>Online: {', '.join(there)}</p>"
        made[path] = html(framed("Board", main))
    return made


def _json(path: str, random: Random) -> Answer:
    return Answer(b'{"ok": false, "error": "unknown endpoint"}', "application/json")


def _jsons() -> dict[str, Answer]:
    texts = (
        '{"ok": true}',
        '{"ok": false}',
        '{"ok": true, "error": "", "names": ["unknown"]}',
        "[]",
    )
    return {f"/api/{n}": Answer(text.encode(), "application/json") for n, text in enumerate(texts)}


def _frames(path: str, random: Random) -> Answer:
    return html(
        "<html><frameset><frame src='/menu.html'><frame src='/nothing.html'></frameset></html>"
    )


def _albums() -> dict[str, Answer]:
    """Pages of pictures without any text."""
    return {
        path: html(f"<title>Album</title><p>{'<img src=/x.jpg>' * n}</p>")
        for n, path in enumerate(some("/album/", 4, kind="real"), 1)
    }


def _album(path: str, random: Random) -> Answer:
    return html("<title>Album</title><p></p>")


def _lists() -> dict[str, Answer]:
    """A list that shows its first page for a number that it does not know."""

    def listed(n: int) -> Answer:
        return html(framed("List", f"<h1>List</h1>{list_of(some(f'/i{n}/', 5, kind='real'))}"))

    return {"/list": listed(1)} | {f"/list?page={n}": listed(n) for n in (2, 3, 4)}


def _list(path: str, random: Random) -> Answer:
    return _lists()["/list"] if path.startswith("/list?") else html("No", status=404)


LAST_SITES = [
    SoftSite("cloud", pages("/"), some("/", 8), _cloud),
    SoftSite("encoded", pages("/"), some("/", 8), _encoded),
    SoftSite("polish", _polish_pages(), some("/", 8), _polish),
    SoftSite("korean", _korean_pages(), some("/", 8), _korean),
    SoftSite("thai", pages("/"), some("/", 8), _thai),
    SoftSite(
        "mediawiki",
        {f"/wiki/{t}": _mediawiki(t, x, Random(t)) for t, x in _MEDIAWIKI_TEXTS.items()},
        [
            f"/wiki/{t}"
            for t in ("Fir", "Yew", "Ash_(god)", "Pine", "Free", "Does_not", "Exact", "Z")
        ],
        _mediawiki_missing,
    ),
    SoftSite("permanent", pages("/", ".html"), some("/", 8, ".html"), _permanent, home=framed_home),
    SoftSite("seeother", pages("/a/"), some("/a/", 8), _see_other),
    SoftSite("twice", pages("/"), [p.title() for p in some("/", 8)], _twice),
    SoftSite(
        "classified", _classifieds(), [f"/ad/{n}.html" for n in range(2001, 2009)], _classified
    ),
    SoftSite("online", _threads(), some("/thread/", 8), _forum),
    SoftSite("json", _jsons(), [f"/api/{n}" for n in range(70, 78)], _json, settings=("anyType",)),
    SoftSite("frames", pages("/", ".html"), some("/", 8, ".html"), _frames),
    SoftSite("album", _albums(), some("/album/", 8), _album),
    SoftSite("lists", _lists(), (), _list),
]
