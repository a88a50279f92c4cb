"""Twelve small applications whose pages are made by scripts, each under a name of its own.

The documents that the servers send have no word and no link of any page: scripts ask for both.
`tests/render/apps` has the files; those that frameworks built are made by `apps/sources/build`.
"""

import json
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import parse_qs, urlsplit

from tests.support.checkout import ROOT
from tests.support.crawling import Asked, missing, ok
from tests.support.webserver import Act, Step, reply

FOLDER = ROOT / "tests" / "render" / "apps"
APPS = (
    "react",
    "vue",
    "svelte",
    "angular",
    "login",
    "shadow",
    "modules",
    "hash",
    "history",
    "infinite",
    "images",
    "consent",
)
PATHS = ("/", "/seals", "/tides/spring")
PICTURES = tuple(f"/pictures/{name}.png" for name in ("native", "watched", "set", "background"))
#: Items of a list, which come in fives.
ITEMS = 30
SESSION = "session=of-a-member"

_DOOR = ("/login", "/enter")
_TYPES = {".js": "text/javascript", ".html": "text/html; charset=utf-8"}
#: A picture.
PIXEL = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010806000000"
    "1f15c4890000000d49444154789c6360606060000000050001a5f645400000000049454e44ae426082"
)


def text_of(app: str, path: str) -> str:
    """The words of one page, which no other page has."""
    return f"At {path} of {app} the water is {len(app) * 100 + len(path)} m deep."


def item_of(name: str, number: int) -> str:
    return f"Item {number} of the {name} list."


def texts_of(app: str) -> list[str]:
    """All words of an application that a reader would see on one of its pages."""
    texts = [text_of(app, path) for path in PATHS]
    if app == "infinite":
        texts += [item_of(name, n) for name in ("watched", "scrolled") for n in range(ITEMS)]
    if app == "history":
        texts[0] = text_of(app, "/home")
    if app == "images":
        texts.append(text_of(app, "/late"))
    return texts


def paths_of(app: str) -> list[str]:
    """The addresses of its pages, as the links of its menu have them."""
    return [f"/#{path}" for path in PATHS] if app == "hash" else list(PATHS)


def answer(asked: Asked) -> Iterator[Step]:
    """Serve the application that the host names."""
    app = asked.host.removesuffix(".test")
    url = urlsplit(asked.path)
    api = _API.get(url.path)
    file = FOLDER / app / url.path.lstrip("/")
    if app not in APPS:
        yield missing()
    elif app == "login" and (url.path in _DOOR or (api and SESSION not in _cookie(asked))):
        yield from _login(asked)
    elif api is not None:
        yield _json(api(app, {name: values[0] for name, values in parse_qs(url.query).items()}))
    elif url.path in PICTURES:
        yield ok(PIXEL, "image/png")
    elif file.suffix in _TYPES and file.is_file():
        # Their names could change with their content, so caches may keep them.
        yield ok(file.read_bytes(), _TYPES[file.suffix], "Cache-Control: max-age=3600")
    elif url.path in (*PATHS, "/home"):
        yield ok((FOLDER / app / "index.html").read_bytes(), _TYPES[".html"])
    else:
        yield missing()


def _page(app: str, query: dict[str, str]) -> dict[str, str]:
    return {"text": text_of(app, query["path"])}


def _items(_app: str, query: dict[str, str]) -> list[dict[str, str]]:
    """Five items of a list; the last one of all links to the other pages."""
    start, name = int(query["start"]), query["list"]
    items = [{"text": item_of(name, n)} for n in range(start, min(start + 5, ITEMS))]
    if items and start + 5 >= ITEMS:
        items += [{"text": path, "path": path} for path in PATHS if start + 5 == ITEMS]
    return items


_API: dict[str, Callable[[str, dict[str, str]], Any]] = {
    "/api/menu": lambda _app, _query: list(PATHS),
    "/api/page": _page,
    "/api/items": _items,
}


def _json(value: Any) -> bytes:
    return ok(json.dumps(value).encode(), "application/json", "Cache-Control: no-store")


def _cookie(asked: Asked) -> str:
    return asked.headers.get("cookie", "")


def _login(asked: Asked) -> Iterator[Step]:
    """The form, the session that it leads to, or a refusal."""
    path = urlsplit(asked.path).path
    if path == "/login":
        fields = '<input name="user"><input type="password" name="password">'
        yield ok(f'<form method="post" action="/enter">{fields}</form>'.encode())
    elif path == "/enter":
        # The body stays unread, so that the connection is of no use afterwards.
        yield reply(
            b"",
            "Location: /",
            f"Set-Cookie: {SESSION}; HttpOnly; Path=/; SameSite=Strict",
            "Connection: close",
            status="302 Found",
        )
        yield Act.CLOSE
    else:
        yield reply(b"{}", "Content-Type: application/json", status="401 Unauthorized")
