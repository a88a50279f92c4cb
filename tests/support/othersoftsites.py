"""Sites with soft 404s in other ways, written after the rules of `frontier.soft404` were chosen."""

import json
from html import escape
from random import Random
from urllib.parse import unquote

from tests.support.smallweb import Answer
from tests.support.softsites import (
    SoftSite,
    article,
    error,
    framed,
    framed_home,
    html,
    list_of,
    moved,
    name_of,
    nonce,
    pages,
    prose,
    some,
    stub,
)


def _capitals(path: str, random: Random) -> Answer:
    """Repeats the name in other spellings."""
    name = name_of(path)
    main = f"<h1>{name.upper()}</h1><p>Désolé, « {name.title()} » est introuvable.</p>"
    return html(framed(name.title(), main, site="La Vallée"))


def _with_noise(main: str, title: str, random: Random) -> Answer:
    """On all pages, a quotation, a counter and a token."""
    quotations = [
        "Know thyself.",
        "Nothing in excess.",
        "Time is money.",
        "All is vanity, said he.",
    ]
    side = (
        f"<blockquote>{random.choice(quotations)}</blockquote><p>Visitor {random.randrange(10**6)},"
        f" session {nonce(random, 16)}</p>"
    )
    return html(framed(title, main, side))


def _noisy(path: str, random: Random) -> Answer:
    return _with_noise("<h1>Nothing here</h1><p>No such page.</p>", "Nothing here", random)


def _noisy_pages() -> dict[str, Answer]:
    random = Random("noisy")
    texts = {path: prose(path, 150) for path in some("/", 3, kind="long")}
    texts |= {path: prose(path, 3) for path in some("/", 3, kind="short")}
    texts |= dict.fromkeys(some("/", 2, kind="bare"), "")
    return {
        path: _with_noise(f"<h1>{name_of(path)}</h1><p>{text}</p>", name_of(path), random)
        for path, text in texts.items()
    }


def _noisy_wiki(path: str, random: Random) -> Answer:
    if not path.startswith("/wiki/"):
        return html("Not found", status=404)
    main = f"<h1>{escape(name_of(path))}</h1><p>There is no such article; you can write it.</p>"
    return _with_noise(main, name_of(path), random)


def _noisy_wiki_pages() -> dict[str, Answer]:
    random = Random("wiki")
    texts = {"Castle": prose("castle", 90), "Hill": "A village.", "River": "", "Write": "To write."}
    return {
        f"/wiki/{name}": _with_noise(f"<h1>{name}</h1><p>{text}</p>", name, random)
        for name, text in texts.items()
    }


def _japanese(path: str, random: Random) -> Answer:
    name = escape(name_of(path))
    main = f"<h1>エラー</h1><p>{name}は見つかりませんでした。お探しのページは移動しました。</p>"
    return html(f"<title>{name}</title><nav>ホーム ニュース</nav>{main}", "shift_jis")


def _japanese_pages() -> dict[str, Answer]:
    texts = {"/yama": "山", "/kawa": "川の話", "/mura": "村のページは準備中です。", "/x": "ページ"}
    return {
        path: html(f"<title>{t}</title><nav>ホーム ニュース</nav><h1>{t}</h1>", "shift_jis")
        for path, t in texts.items()
    }


def _arabic_pages() -> dict[str, Answer]:
    texts = {"/madina": "المدينة القديمة", "/nahr": "النهر", "/jabal": "صفحة قيد الإنشاء"}
    return {path: html(framed(t, f"<h1>{t}</h1>", site="الوادي")) for path, t in texts.items()}


def _arabic(path: str, random: Random) -> Answer:
    return html(framed("خطأ", "<h1>خطأ</h1><p>الصفحة المطلوبة غير موجودة.</p>", site="الوادي"))


def _spanish(path: str, random: Random) -> Answer:
    related = random.sample(some("/tienda/", 12, kind="real"), 4)
    main = f"<h1>Vaya</h1><p>Este artículo ya no está.</p><p>Otros artículos:</p>{list_of(related)}"
    return html(framed("Vaya", main, site="Tienda"))


def _spanish_pages() -> dict[str, Answer]:
    made = {}
    for n, path in enumerate(some("/tienda/", 12, kind="real")):
        left = "Agotado." if n % 3 else f"Quedan {n}."
        made[path] = html(
            framed(name_of(path), f"<h1>{name_of(path)}</h1><p>{left}</p>", site="Tienda")
        )
    return made


def _sections(path: str, random: Random) -> Answer:
    """Has the name and the sidebar of the section that a path lies in."""
    section = path.split("/")[1] if path.count("/") > 1 else "start"
    main = f"<h1>{section.title()}</h1><p>Unfortunately we could not find that.</p>"
    return html(framed(f"{section.title()} - lost", main, f"<p>{prose(section, 12)}</p>"))


def _dated(path: str, random: Random) -> Answer:
    when = f"{random.randrange(24)}:{random.randrange(60)}, 24 November 2026"
    main = f"<h1>Missing</h1><p>Missing since {when}. Request {random.getrandbits(64):x}.</p>"
    return html(framed("Missing", main))


def _tables(path: str, random: Random) -> Answer:
    rows = f"<tr><td>File not on this server<td>Ticket {nonce(random, 8)}</tr>"
    return html(f"<title>My page</title><table><tr><td>Menu<td>Links</tr>{rows}</table>")


def _table_pages() -> dict[str, Answer]:
    def tabled(text: str) -> Answer:
        rows = f"<tr><td>{text}<td>Ticket for you</tr>"
        return html(f"<title>My page</title><table><tr><td>Menu<td>Links</tr>{rows}</table>")

    texts = {"/cats.html": "My cats", "/dogs.html": "No dogs", "/guestbook.html": "File a wish"}
    return {path: tabled(text) for path, text in texts.items()}


def _xhtml(text: str) -> Answer:
    head = '<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml">'
    page = f"{head}<head><title>Valley</title></head><body><p>Menu</p>{text}</body></html>"
    return Answer(page.encode(), "application/xhtml+xml")


def _items() -> dict[str, Answer]:
    def item(n: int, text: str) -> Answer:
        return html(framed("Item", f"<h1>Item</h1><p>Number {n}</p><p>{text}</p>"))

    texts = ["A lamp.", "Lamp", "", "Red", "No item of ours is better.", prose("item", 30)]
    return {f"/item.php?id={n}": item(n, text) for n, text in enumerate(texts, 1)}


def _no_item(path: str, random: Random) -> Answer:
    return html(framed("Item", "<h1>Item</h1><p>Unknown number</p>"))


def _app(data: object, title: str = "App") -> Answer:
    state = f'<script type="application/json" id="state">{json.dumps(data)}</script>'
    return html(
        f'<title>{title}</title><div id="root"></div>{state}<script src="/app.js"></script>'
    )


def _refreshing(path: str, random: Random) -> Answer:
    return html('<title>Moved</title><meta http-equiv="refresh" content="0; url=/">Please wait.')


def _empty(path: str, random: Random) -> Answer:
    return html("")


def _folder(path: str, random: Random) -> Answer:
    """Shows the index of the manual for what is not in it."""
    return _manual_index()


def _manual_index() -> Answer:
    return html(framed("Manual", f"<h1>Manual</h1>{list_of(some('/manual/', 6, kind='real'))}"))


def _profiles() -> dict[str, Answer]:
    def profile(user: str, text: str) -> Answer:
        return html(framed(user, f"<h1>{user}</h1><p>{user} {text}</p>", site="Network"))

    quiet = "has not written anything yet."
    texts = {
        "anna": prose("anna", 50),
        "bert": quiet,
        "carl": quiet,
        "dora": "is away.",
        "no": quiet,
    }
    return {f"/user/{user}": profile(user, text) for user, text in texts.items()}


def _no_profile(path: str, random: Random) -> Answer:
    user = escape(name_of(path))
    return html(framed(user, f"<h1>{user}</h1><p>{user} has no profile.</p>", site="Network"))


def _cut(path: str, random: Random) -> Answer:
    """Repeats the first letters of the path."""
    main = f"<h1>Error</h1><p>Cannot open {escape(unquote(path))[:12]}...</p>"
    return html(framed("Error", main))


def _guessing(path: str, random: Random) -> Answer:
    """Proposes pages with words of the path, if there are any."""
    words = set(name_of(path).split())
    near = [each for each in some("/", 30, kind="real") if words & set(name_of(each).split())]
    guess = f"<p>Did you mean one of these?</p>{list_of(near[:5])}" if near else ""
    return html(framed("Not found", f"<h1>Not found</h1><p>There is no such page.</p>{guess}"))


def _login(path: str, random: Random) -> Answer:
    if path.startswith("/sign-in"):
        return html(framed("Sign in", "<h1>Sign in</h1><form><input name=user></form>"))
    return moved(f"/sign-in?next={path}")


_TITLES = ("index.html", "default.htm")

OTHER_SITES = [
    SoftSite("french", pages("/"), some("/", 8), _capitals),
    SoftSite("noisy", _noisy_pages(), some("/", 8), _noisy),
    SoftSite("noisywiki", _noisy_wiki_pages(), some("/wiki/", 8), _noisy_wiki),
    SoftSite("query", pages("/"), some("/", 8), lambda p, r: moved(f"/?e={r.getrandbits(40):x}")),
    SoftSite("parked", pages("/"), some("/", 8), lambda p, r: moved("http://parking.test/")),
    SoftSite(
        "language",
        {"/en/": framed_home(""), "/fr/": framed_home("<p>Bonjour</p>"), **pages("/en/")},
        some("/en/", 5) + some("/fr/", 3),
        lambda p, r: moved("/en/"),
    ),
    SoftSite("japanese", _japanese_pages(), some("/", 8), _japanese),
    SoftSite("arabic", _arabic_pages(), some("/", 8), _arabic),
    SoftSite("spanish", _spanish_pages(), some("/tienda/", 8), _spanish),
    SoftSite(
        "sections",
        pages("/town/") | pages("/shop/") | pages("/"),
        some("/town/", 5) + some("/shop/", 2) + some("/", 1),
        _sections,
    ),
    SoftSite("dated", pages("/"), some("/", 8), _dated),
    SoftSite("tables", _table_pages(), some("/", 8, ".html"), _tables),
    SoftSite(
        "xhtml",
        {path: _xhtml(f"<p>{name_of(path)}</p>") for path in some("/", 4, kind="real")},
        some("/", 8),
        lambda p, r: _xhtml("<p>Nothing found</p>"),
    ),
    SoftSite("items", _items(), [f"/item.php?id={n}" for n in range(70, 78)], _no_item),
    SoftSite(
        "app",
        {path: _app({"text": prose(path, 20)}) for path in some("/", 4, kind="real")},
        some("/", 8),
        lambda p, r: _app({"error": "notFound"}),
    ),
    SoftSite("refreshing", pages("/"), some("/", 8), _refreshing, home=framed_home),
    SoftSite("empty", pages("/"), some("/", 8), _empty),
    SoftSite(
        "manual",
        {"/manual/": _manual_index(), **pages("/manual/"), "/index.html": framed_home("")},
        some("/manual/", 8),
        _folder,
    ),
    SoftSite("profiles", _profiles(), some("/user/", 8), _no_profile),
    SoftSite("cut", pages("/"), some("/", 8), _cut),
    SoftSite("guessing", {p: stub(p) for p in some("/", 30, kind="real")}, some("/", 8), _guessing),
    SoftSite("signin", pages("/"), some("/", 8), _login),
    SoftSite(
        "starts",
        {f"/{name}": article(f"/{name}") for name in _TITLES} | pages("/"),
        some("/", 8),
        error("Gone", "<h1>Gone</h1><p>PATH: gone.</p>"),
    ),
]
