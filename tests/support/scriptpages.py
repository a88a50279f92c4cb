"""Pages whose scripts are hard on a browser, each with the words that it has without and with them.

`ODD` are pages of the real web on which crawlers with browsers wait for ever, or lose the text.
`FAULTS` are pages that never come to an end, or harm the browser. All are on one site, `SITE`;
`OTHER` has what they load from elsewhere.
"""

import base64
import hashlib
import json
from collections.abc import Iterator, Mapping
from urllib.parse import urlsplit

from tests.support.crawling import Answer, Asked, missing, moved, ok
from tests.support.renderweb import PIXEL
from tests.support.webserver import Act, Endless, Step, reply

SITE, OTHER = "scripts.test", "other.test"

_SHOW = "const show = () => document.querySelector('#text').textContent = words;"
_LIBRARY = b"function library(show) { show(); }"
_HASH = "sha384-" + base64.b64encode(hashlib.sha384(_LIBRARY).digest()).decode()

#: What they draw, and the rules that they add, are in the document.
DRAWN, STYLED = "with a canvas", "with rules of its script"

#: Name -> script. It calls `show()` when a reader would see the words; `get(url)` fetches text.
ODD = {
    "at once": "show();",
    "after a while": "setTimeout(show, 6000);",
    "after a request that is never answered": "fetch('/never'); get('/text').then(show);",
    "with events of a server": "new EventSource('/stream'); get('/text').then(show);",
    "with a socket that is refused": (
        "const s = new WebSocket(`ws://${location.host}/socket`); s.onerror = show;"
    ),
    "from a worker": (
        "const w = new Worker('/worker.js'); w.onmessage = show; w.postMessage('/text');"
    ),
    "from a worker of a blob": (
        "const code = `fetch('${origin}/text').then(() => postMessage(1))`;"
        "new Worker(URL.createObjectURL(new Blob([code]))).onmessage = show;"
    ),
    "from a frame of another site": (
        "onmessage = show; const f = document.createElement('iframe');"
        "f.src = `//other.test:${location.port}/frame`; document.body.append(f);"
    ),
    "with a service worker": (
        "const sw = navigator.serviceWorker?.register('/service.js') ?? Promise.reject();"
        "Promise.race([sw.catch(() => 0), new Promise((r) => setTimeout(r, 500))])"
        ".then(() => get('/text')).then(show);"
    ),
    "of another origin": "get(`//other.test:${location.port}/shared`).then(show);",
    "of another origin that asks first": (
        "fetch(`//other.test:${location.port}/shared`, { headers: { 'X-App': '1' } })"
        ".then((r) => r.text()).then(show);"
    ),
    "with a library of known content": (
        f"const s = document.createElement('script'); s.integrity = '{_HASH}';"
        "s.crossOrigin = 'anonymous'; s.onload = () => library(show);"
        "s.src = `//other.test:${location.port}/library.js`; document.head.append(s);"
    ),
    "by a redirect": (
        "const s = document.createElement('script'); s.src = '/moved.js';"
        "s.onload = () => library(show); document.head.append(s);"
    ),
    "after a message": "alert('Welcome'); confirm('Sure?'); prompt('Name?'); print(); show();",
    "after leaving was asked": (
        "onbeforeunload = (e) => { e.preventDefault(); return 'Stay?'; }; show();"
    ),
    "after an animation": (
        "let n = 0; const step = () => ++n < 60 ? requestAnimationFrame(step) : show();"
        "requestAnimationFrame(step);"
    ),
    "with an endless animation": "const f = () => requestAnimationFrame(f); f(); show();",
    "when idle": "requestIdleCallback(show);",
    "when visible": "if (document.visibilityState === 'visible' && !document.hidden) show();",
    "after a transition": (
        "const p = document.querySelector('#text'); p.animate([{ opacity: 0 }, { opacity: 1 }],"
        "{ duration: 700 }).onfinish = show;"
    ),
    "after a picture": "const i = new Image(); i.onload = show; i.src = '/picture.png';",
    "after a font": (
        "const f = new FontFace('f', 'url(/font.woff2)'); document.fonts.add(f);"
        "f.load().finally(show).catch(() => 0);"
    ),
    "when fonts are ready": "document.fonts.ready.then(show);",
    "after a refusal": "fetch('/unauthorized').then(show);",
    "after an error": "setTimeout(show, 10); throw new Error('not caught');",
    "with a stored value": (
        "localStorage.a = 1; sessionStorage.b = 2; const r = indexedDB.open('d');"
        "r.onsuccess = r.onerror = show;"
    ),
    "with all timers": "setInterval(() => 0, 0); setTimeout(show, 100);",
    "after a long task": "const t = Date.now(); for (let i = 0; i < 2e7; i++); show();",
    "at another address": "history.pushState(null, '', '/elsewhere'); show();",
    "after permission was asked": (
        "Notification.requestPermission(); navigator.geolocation.getCurrentPosition(show, show);"
        "setTimeout(show, 100);"
    ),
    "in a module of data": ("import('data:text/javascript,export default 1').then(show);"),
    "by WebAssembly": (
        "WebAssembly.instantiate(new Uint8Array([0,97,115,109,1,0,0,0])).then(show);"
    ),
    "in a frame that it writes": (
        "const f = document.createElement('iframe'); document.body.append(f);"
        "f.contentDocument.write('<p>' + words); f.contentDocument.close();"
    ),
    "in a frame of a blob": (
        "const f = document.createElement('iframe');"
        "f.src = URL.createObjectURL(new Blob(['<p>' + words], { type: 'text/html' }));"
        "document.body.append(f);"
    ),
    "in a field": (
        "const f = document.createElement('input'); document.body.append(f); f.value = words;"
    ),
    "after a wait in a loop": "const t = new Date(); while (new Date() - t < 500); show();",
    "after the first move of a reader": (
        "for (const name of ['keydown', 'mousemove', 'touchstart'])"
        "addEventListener(name, show, { once: true });"
    ),
    "after its database was written": (
        "const r = indexedDB.open('w'); r.onupgradeneeded = () => r.result.createObjectStore('s');"
        "r.onsuccess = () => { const t = r.result.transaction('s', 'readwrite');"
        "for (let n = 0; n < 5000; n++) t.objectStore('s').put('x'.repeat(100), n);"
        "t.oncomplete = show; };"
    ),
    "from workers in turn": (
        "const code = 'onmessage = () => { let n = 0; while (n < 3e7) n++; postMessage(n); }';"
        "const url = URL.createObjectURL(new Blob([code])); let turns = 0;"
        "const next = () => { const w = new Worker(url);"
        "w.onmessage = () => ++turns < 3 ? next() : show(); w.postMessage(0); }; next();"
    ),
    "with a list that keeps what is in view": (
        "const list = document.createElement('div'); document.body.append(list);"
        "list.style.cssText = 'position: relative; height: 20000px';"
        "const row = (n) => `<a href='/row/${n}' style='position: absolute; top: ${n}px'>x</a>`;"
        "const draw = () => { list.innerHTML = ''; for (let n = 0; n < 20000; n += 2000)"
        "if (n >= scrollY && n < scrollY + innerHeight) list.innerHTML += row(n); };"
        "addEventListener('scroll', draw); draw(); show();"
    ),
    "after a move over the page": "document.body.addEventListener('mouseover', show);",
    "in the languages of the crawl": (
        "if (navigator.language === 'de' && navigator.languages.join() === 'de,en') show();"
    ),
    "with a cookie of the crawl": "if (document.cookie.includes('known=1')) show();",
    "in a root that was sent closed": (
        "</script><x-a><template shadowrootmode='closed'><p>x</p></template></x-a><script>"
        "customElements.define('x-a', class extends HTMLElement { constructor() { super();"
        "this.attachInternals().shadowRoot.firstChild.textContent = words; } });"
    ),
    "at the end of a row": (
        "document.body.insertAdjacentHTML('beforeend', `<div style='width: 400px; height: 50px;"
        " overflow-x: auto; white-space: nowrap'><b style='padding-left: 3000px'>x</b></div>`);"
        "new IntersectionObserver((seen) => { if (seen.some((e) => e.isIntersecting)) show(); })"
        ".observe(document.querySelector('div').appendChild(document.createElement('i')));"
        "document.querySelector('i').textContent = 'x';"
    ),
    "at the end of a list of a closed root": (
        "const a = document.createElement('x-b'); document.body.append(a);"
        "const r = a.attachShadow({ mode: 'closed' }); r.innerHTML ="
        "`<div style='height: 300px; overflow: auto'><p style='height: 5000px'>x</p><i>x</i>`;"
        "new IntersectionObserver((seen) => { if (seen.some((e) => e.isIntersecting)) show(); })"
        ".observe(r.querySelector('i'));"
    ),
    "with fields that are named as methods": (
        "document.body.insertAdjacentHTML('beforeend', `<form name='links'>"
        "<input name='getAttributeNames'><input name='removeAttribute'><input name='scrollHeight'>"
        "</form><p style='height: 20000px'>`); show();"
    ),
    DRAWN: (
        "const c = document.createElement('canvas'); document.body.append(c);"
        "c.getContext('2d').fillText(words, 10, 20); show();"
    ),
    STYLED: (
        "const s = document.createElement('style'); s.textContent = 'b { color: red }';"
        "document.head.append(s); s.sheet.insertRule('.added { color: blue }', 1); show();"
    ),
    "with a stopped debugger": "debugger; show();",
    "with large data": "show(); window.kept = new Uint8Array(50e6);",
}

#: Name -> script. What they show is kept if the browser can, and the page as it was sent otherwise.
FAULTS = {
    "loops": "while (true);",
    "loops when it is left": "addEventListener('pagehide', () => { while (true); }); show();",
    "loops later": "setTimeout(() => { while (true); }, 50);",
    "loops in a promise": "const f = () => Promise.resolve().then(f); f();",
    "loops in a worker": "new Worker(URL.createObjectURL(new Blob(['while (true);']))); show();",
    "fills the memory": "const a = []; while (true) a.push(new Array(1e6).fill(a.length));",
    "fills buffers": "const a = []; while (true) a.push(new Uint8Array(1e8).fill(1));",
    "doubles a text": "let s = 'x'; while (true) s += s;",
    "multiplies timers": "const f = () => { setTimeout(f); setTimeout(f); }; f();",
    "fetches without end": "let n = 0; const f = () => fetch('/text?' + n++).finally(f); f();",
    "fetches much": "for (let n = 0; n < 3000; n++) fetch('/text?' + n);",
    "waits for answers": (
        "let n = 0; while (true) { const x = new XMLHttpRequest();"
        "x.open('GET', '/text?' + n++, false); x.send(); }"
    ),
    "says much": "while (true) console.log('x'.repeat(1000));",
    "throws without end": "setInterval(() => { throw new Error('x'.repeat(1000)); }, 0);",
    "asks without end": "while (true) alert('Hello');",
    "opens windows": "for (let n = 0; n < 200; n++) window.open('/text?' + n);",
    "opens frames": (
        "for (let n = 0; n < 1000; n++) document.body.append(document.createElement('iframe'));"
    ),
    "opens frames of pages": (
        "for (let n = 0; n < 300; n++) { const f = document.createElement('iframe');"
        "f.src = '/text?' + n; document.body.append(f); }"
    ),
    "opens frames in frames": (
        "const f = document.createElement('iframe'); f.src = '/nested?0'; document.body.append(f);"
    ),
    "loads itself again": "location.reload();",
    "goes on and on": "location.href = '/on?0';",
    "goes away": "location.href = '/text';",
    "goes to another site": "location.href = `//other.test:${location.port}/shared`;",
    "goes to a place without an answer": "location.href = '/never';",
    "goes to data": "location.href = 'data:text/html,<p>gone';",
    "changes its address much": (
        "for (let n = 0; n < 5000; n++) history.pushState(null, '', '/p?' + n); show();"
    ),
    "writes itself anew": (
        "document.open(); document.write('<p id=text>'); document.close(); show();"
    ),
    "writes without end": "while (true) document.write('<p>more</p>');",
    "grows": (
        "setInterval(() => { for (let n = 0; n < 5000; n++)"
        "document.body.append(document.createElement('p')); }, 0);"
    ),
    "nests deeply": (
        "let e = document.body; for (let n = 0; n < 50000; n++)"
        "e = e.appendChild(document.createElement('div')); show();"
    ),
    "has a large text": "document.body.append('x'.repeat(1e8));",
    "sends messages without end": "onmessage = () => postMessage(1); postMessage(1); show();",
    "watches itself": (
        "let n = 0; new MutationObserver(() => document.body.dataset.n = n++)"
        ".observe(document.body, { attributes: true }); document.body.dataset.n = 'x';"
    ),
    "takes its page away": "document.documentElement.remove();",
    "replaces what is used": (
        "Object.defineProperty(window, 'document', { get: () => null });"
        "Node.prototype.appendChild = Array.from = JSON.stringify = Map.prototype.get ="
        "Element.prototype.getHTML = () => { throw 1; };"
        "XMLSerializer = TextEncoder = Object.keys = undefined;"
    ),
    "closes itself": "window.close(); close();",
    "downloads": "location.href = '/download';",
}

#: Is sent with headers by which a browser saves it to a file.
ATTACHED = "at once"

#: Those that take the browser seconds, or much memory; `scripts/render-test` has them all.
COSTLY = frozenset(
    {
        "loops", "loops when it is left", "loops later", "loops in a promise",
        "fills buffers", "doubles a text", "multiplies timers", "fetches without end",
        "fetches much", "waits for answers", "says much", "throws without end",
        "asks without end", "opens windows", "opens frames", "opens frames of pages",
        "opens frames in frames", "writes without end", "grows", "nests deeply",
        "has a large text", "watches itself", "with large data",
        "goes to a place without an answer", "sends messages without end",
        "loops in a worker", "after a request that is never answered",
    }
)  # fmt: skip
#: Name -> script, of those that the tests take.
QUICK = {name: script for name, script in (ODD | FAULTS).items() if name not in COSTLY}


def path_of(name: str) -> str:
    return "/" + name.replace(" ", "-")


def raw_words(name: str) -> str:
    """Words of the document as it is sent."""
    return f"Sent: {name}."


def words(name: str) -> str:
    """Words that the script writes, which the document as it is sent does not have as such."""
    return f"Shown: {name}."


def page(name: str, script: str) -> bytes:
    text = json.dumps(words(name)).replace("Shown", "Sho\\u0077n")
    return ok(
        f"""<!DOCTYPE html><meta charset="utf-8"><title>{name}</title>
        <p>{raw_words(name)}</p><p id="text"></p>
        <script>const words = {text}; {_SHOW}
        const get = (url) => fetch(url).then((r) => r.text());</script>
        <script>{script}</script>""".encode(),
        "text/html",
        *(["Content-Disposition: attachment"] if name == ATTACHED else []),
    )


def site_of(scripts: Mapping[str, str]) -> Answer:
    """A web of both sites, with a page for each of `scripts`."""
    pages = {path_of(name): page(name, script) for name, script in scripts.items()}
    return lambda asked: _answer(asked, pages)


def _answer(asked: Asked, pages: Mapping[str, bytes]) -> Iterator[Step]:
    path = urlsplit(asked.path).path
    if path == "/robots.txt":
        yield reply(b"", "Set-Cookie: known=1; Path=/", status="404 Not Found")
    elif path == "/" and asked.host == SITE:
        links = "".join(f'<a href="{path}">x</a>' for path in pages)
        yield ok(f"<!DOCTYPE html><title>t</title>{links}".encode())
    elif path == "/":
        yield ok(b"<!DOCTYPE html><title>t</title>")
    elif path in pages:
        yield pages[path]
    elif path == "/never":
        yield Act.HANG
    elif path == "/stream":
        yield b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"
        yield Endless(b"data: x\n\n")
    else:
        yield _part(path, urlsplit(asked.path).query)


_FOR_ALL = (
    "Access-Control-Allow-Origin: *",
    "Access-Control-Allow-Headers: *",
    "Timing-Allow-Origin: *",
)


def _part(path: str, query: str) -> bytes:
    number = int(query) + 1 if query.isdigit() else 0
    match path:
        case "/worker.js":
            code = b"onmessage = (e) => fetch(e.data).then(() => postMessage(1));"
            return ok(code, "text/javascript")
        case "/service.js":
            code = b"addEventListener('fetch', (e) => e.respondWith(fetch(e.request)));"
            return ok(code, "text/javascript")
        case "/library.js":
            return ok(_LIBRARY, "text/javascript", *_FOR_ALL)
        case "/moved.js":
            return moved("/library.js")
        case "/frame":
            return ok(
                b"<!DOCTYPE html><script>fetch('/text').then(() => parent.postMessage(1, '*'));"
                b"</script>"
            )
        case "/nested":
            return ok(f'<!DOCTYPE html><iframe src="/nested?{number}"></iframe>'.encode())
        case "/on":
            return ok(f"<!DOCTYPE html><script>location = '/on?{number}'</script>".encode())
        case "/unauthorized":
            realm = 'WWW-Authenticate: Basic realm="members"'
            return reply(b"", realm, status="401 Unauthorized")
        case "/picture.png":
            return ok(PIXEL, "image/png")
        case "/download":
            attachment = "Content-Disposition: attachment; filename=x.zip"
            return ok(b"x", "application/zip", attachment)
        case "/text" | "/shared":
            return ok(b"a text", "text/plain", *_FOR_ALL)
        case _:
            return missing()
