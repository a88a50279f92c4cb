"""The scripts that run in pages, and the document that a page has become."""

from codecs import BOM_UTF8

#: Before any script of a page: shadow roots are open, so that the document can be read whole.
OPEN_ROOTS = """
(() => {
  const attach = Element.prototype.attachShadow;
  Element.prototype.attachShadow = function attachShadow(init) {
    return attach.call(this, {...init, mode: "open"});
  };
})()
"""

#: Before any script of a page: a frame comes each 16 ms, after two seconds each 200 ms. Those of
#: the browser come in real time, so virtual time would be over before the second of them.
FRAMES = """
(() => {
  let frames = 0;
  window.requestAnimationFrame = (callback) =>
    setTimeout(() => callback(performance.now()), frames++ < 120 ? 16 : 200);
  window.cancelAnimationFrame = (handle) => clearTimeout(handle);
})()
"""

#: Before any script of a page: a loop that waits for a time comes to it. Virtual time stands still
#: meanwhile, so after 2000 looks at the same time each look takes 0.05 ms.
CLOCK = """
(() => {
  const date = Date, now = date.now, precise = performance.now.bind(performance);
  let last = -1, looks = 0, ahead = 0;
  const look = () => {
    const at = precise();
    if (at !== last) { last = at; looks = 0; }
    else if (++looks > 2000) ahead += 0.05;
    return ahead;
  };
  date.now = () => Math.floor(now() + look());
  performance.now = () => precise() + look();
  globalThis.Date = new Proxy(date, {
    construct: (made, values, target) =>
      Reflect.construct(made, values.length ? values : [date.now()], target),
    apply: () => new date(date.now()).toString(),
  });
  date.prototype.constructor = globalThis.Date;
})()
"""

#: Before any script of a page: what goes on in real time, apart from its timers, is counted: calls
#: of its databases and caches, sockets, and what is computed elsewhere. SETTLE asks for the numbers
#: of those that were begun, and that have not ended.
ELSEWHERE = """
(() => {
  let begun = 0, under = 0;
  const ends = ["success", "blocked", "complete", "abort", "error", "open", "close"];
  const watch = (result) => {
    const kinds = [IDBOpenDBRequest, IDBTransaction, WebSocket];
    let end = () => { end = () => 0; under--; };
    if (result instanceof Promise) result.then(() => end(), () => end());
    else if (kinds.some((kind) => result instanceof kind)) {
      for (const name of ends) result.addEventListener(name, () => end());
    } else return result;
    begun++;
    under++;
    return result;
  };
  const wrap = (owner, names) => {
    for (const name of names || Object.getOwnPropertyNames(owner || {})) {
      const known = Object.getOwnPropertyDescriptor(owner, name);
      if (name === "constructor" || typeof known.value !== "function") continue;
      const made = {[name](...values) { return watch(known.value.apply(this, values)); }};
      Object.defineProperty(owner, name, {...known, value: made[name]});
    }
  };
  for (const name of ["IDBFactory", "IDBDatabase", "CacheStorage", "Cache", "SubtleCrypto"])
    wrap(globalThis[name]?.prototype);
  wrap(WebAssembly, ["compile", "instantiate", "compileStreaming", "instantiateStreaming"]);
  wrap(globalThis, ["createImageBitmap"]);
  wrap(Blob.prototype, ["text", "arrayBuffer"]);
  globalThis.WebSocket = new Proxy(WebSocket, {
    construct: (made, values, target) => watch(Reflect.construct(made, values, target)),
  });
  const tell = () =>
    dispatchEvent(new CustomEvent("larbinpy-told", {detail: `${begun} ${under}`}));
  addEventListener("larbinpy-ask", tell);
})()
"""

#: Scrolls on by what is in view, the lists within the page to their ends, and ends its animations.
#: Pages that wait for a reader's first move see one. Returns, as a list, what may change by that
#: (whether the end is seen, heights, numbers of elements and of what was begun ELSEWHERE), and how
#: much of that has not ended. `larbinpyLinks` are the links so far: lists take away what is out of
#: view.
SETTLE = """
(() => {
  const page = document.scrollingElement || document.documentElement;
  if (!page) return ["", 0];
  const tell = (target, names) => {
    for (const name of names) target.dispatchEvent(new Event(name, {bubbles: true}));
  };
  const scrolled = (target) => tell(target, ["scroll", "scrollend"]);
  const end = () => innerHeight + scrollY >= page.scrollHeight - 1;
  const all = document.querySelectorAll("body *");
  let lists = 0;
  if (!globalThis.larbinpyLinks) {
    globalThis.larbinpyLinks = new Set();
    const moves = ["pointermove", "mousemove", "mouseover", "wheel", "touchstart", "touchmove"];
    tell(document.body || document, moves);
  }
  if (larbinpyLinks.size || !end()) {
    for (const each of document.querySelectorAll("a[href], area[href]")) {
      if (larbinpyLinks.size < 5000) larbinpyLinks.add(each.href);
    }
  }
  const elements = Array.prototype.slice.call(all, 0, 20000);
  for (const each of elements) {
    if (each.shadowRoot && elements.length < 20000) {
      for (const inner of each.shadowRoot.querySelectorAll("*")) elements.push(inner);
    }
    const down = each.scrollHeight - each.clientHeight, on = each.scrollWidth - each.clientWidth;
    if (!(down >= 100 || on >= 100) || !each.clientHeight || lists >= 20) continue;
    const style = getComputedStyle(each);
    if (!/auto|scroll/.test(style.overflowX + style.overflowY)) continue;
    lists++;
    each.scrollTop = down;
    each.scrollLeft = on;
    scrolled(each);
  }
  // A page that is shorter than this window would be longer than that of a reader.
  scrollBy({top: innerHeight, behavior: "instant"});
  scrolled(document);
  for (const each of document.getAnimations()) {
    try { each.finish(); } catch {}
  }
  let elsewhere = "0 0";
  addEventListener("larbinpy-told", (event) => { elsewhere = event.detail; }, {once: true});
  dispatchEvent(new Event("larbinpy-ask"));
  const [begun, under] = elsewhere.split(" ").map(Number);
  return [[end(), scrollY, page.scrollHeight, all.length, begun].join(" "), under];
})()
"""

#: Ends when the page has been drawn, so that what waits to come into view knows that it has.
DRAWN = """
new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(() => drawn(1))))
"""

#: Returns, as a list, the document as HTML and the views of it that its links name (``#/a``). The
#: document is as it is seen: with shadow roots, with the rules that scripts added to style sheets
#: and what they drew, without scripts and what is shown only without them. This changes it.
READ = r"""
(() => {
  if (scrollY) {
    scrollTo({top: 0, behavior: "instant"});
    document.dispatchEvent(new Event("scroll", {bubbles: true}));
  }
  const roots = [document], frames = [];
  const collect = (root) => {
    for (const each of root.querySelectorAll("*")) {
      if (each.shadowRoot) { roots.push(each.shadowRoot); collect(each.shadowRoot); }
    }
    for (const each of root.querySelectorAll("iframe")) {
      const made = each.contentDocument;
      if (!made?.body || !/^(?:$|about:|blob:|javascript:)/.test(each.src)) continue;
      frames.push([each, made]);
      roots.push(made);
      collect(made);
    }
  };
  collect(document);
  const names = Element.prototype.getAttributeNames, remove = Element.prototype.removeAttribute;
  const data = /^(?:application\/(?:[\w.-]+\+)?json|text\/(?:x-)?template|text\/html)\b/i;
  const hasMore = (sheet, text) => {
    const own = new CSSStyleSheet();
    own.replaceSync(text);
    const imports = text.match(/@import/gi) || [];
    return sheet.cssRules.length > own.cssRules.length + imports.length;
  };
  let room = 4e6;
  for (const root of roots) {
    for (const each of root.querySelectorAll("script")) {
      if (!data.test(each.type)) each.remove();
    }
    const hidden = "noscript, link[rel~=modulepreload i], link[rel~=preload i][as=script i],"
      + " meta[http-equiv=content-security-policy i]";
    for (const each of root.querySelectorAll(hidden)) each.remove();
    for (const each of root.querySelectorAll("*")) {
      // The fields of a form hide its methods by their names.
      for (const name of names.call(each)) if (/^on/i.test(name)) remove.call(each, name);
    }
    const rules = (sheet) => {
      try { return Array.from(sheet.cssRules, (rule) => rule.cssText).join("\n"); }
      catch { return ""; }
    };
    for (const each of root.querySelectorAll("style")) {
      if (each.sheet && hasMore(each.sheet, each.textContent)) each.textContent = rules(each.sheet);
    }
    for (const each of root.querySelectorAll("canvas")) {
      try {
        const picture = each.toDataURL();
        if ((room -= picture.length) < 0) break;
        each.style.background = `url("${picture}") 0 0 / 100% 100% no-repeat`;
      } catch {}
    }
    const adopted = (root.adoptedStyleSheets || []).map(rules).filter(Boolean);
    if (adopted.length) {
      const style = document.createElement("style");
      style.textContent = adopted.join("\n");
      (root.head || root).append(style);
    }
  }
  const fields = "input:not([type=password i], [type=file i]), textarea, option";
  for (const root of roots) {
    for (const each of root.querySelectorAll(fields)) {
      if (each.type === "checkbox" || each.type === "radio") {
        each.toggleAttribute("checked", each.checked);
      } else if (each.localName === "option") each.toggleAttribute("selected", each.selected);
      else if (each.value !== each.defaultValue) each.defaultValue = each.value;
    }
  }
  const shadows = roots.filter((root) => root.host);
  const html = (top) => {
    const shell = top.cloneNode(false).outerHTML.match(/^([^]*)(<\/[^<]*>)$/);
    const inner = top.getHTML({serializableShadowRoots: true, shadowRoots: shadows});
    return `${shell[1]}${inner}${shell[2]}`;
  };
  for (const [frame, made] of frames.reverse()) {
    try {
      if (!made.body.innerHTML.trim()) continue;
      frame.srcdoc = html(made.documentElement);
      frame.removeAttribute("src");
    } catch {}
  }
  const top = document.documentElement;
  if (!top) return [""];
  const here = location.href.split("#")[0];
  if (document.baseURI.split("#")[0] === here && !document.querySelector("base")
      && document.head && globalThis.performance) {
    const first = performance.getEntriesByType("navigation")[0];
    const folder = (href) => href.split(/[?#]/)[0].replace(/[^/]*$/, "");
    if (first && folder(first.name) !== folder(here)) {
      const base = document.createElement("base");
      base.href = here;
      document.head.prepend(base);
    }
  }
  const doctype = document.doctype ? new XMLSerializer().serializeToString(document.doctype) : "";
  const views = new Set();
  for (const root of roots) {
    for (const each of root.querySelectorAll("a[href*='#/'], a[href*='#!']")) {
      if (/^#[/!]/.test(each.hash)) views.add(each.href);
    }
  }
  const gone = globalThis.larbinpyLinks || new Set();
  if (gone.size) {
    for (const each of document.querySelectorAll("a[href], area[href]")) gone.delete(each.href);
  }
  return [`${doctype}${doctype ? "\n" : ""}${html(top)}\n`, ...views, ...gone];
})()
"""


def body_of(text: str) -> bytes:
    """The document as a body, with a mark that says the encoding, whatever else does."""
    return BOM_UTF8 + text.encode(errors="replace")
