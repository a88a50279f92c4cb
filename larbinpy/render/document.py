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

#: Scrolls on by what is in view, the lists within the page to their ends, and ends its animations.
#: Returns what may change by that: heights and the number of elements; and whether the end is seen.
SETTLE = """
(() => {
  const page = document.scrollingElement || document.documentElement;
  if (!page) return "";
  const scrolled = (target) => target.dispatchEvent(new Event("scroll", {bubbles: true}));
  const end = () => innerHeight + scrollY >= page.scrollHeight - 1;
  const all = document.querySelectorAll("body *");
  let lists = 0;
  for (const each of Array.prototype.slice.call(all, 0, 20000)) {
    const more = each.scrollHeight - each.clientHeight;
    if (more < 100 || !each.clientHeight || ++lists > 20) continue;
    if (!/auto|scroll/.test(getComputedStyle(each).overflowY)) continue;
    each.scrollTop = more;
    scrolled(each);
  }
  // A page that is shorter than this window would be longer than that of a reader.
  scrollBy({top: innerHeight, behavior: "instant"});
  scrolled(document);
  for (const each of document.getAnimations()) {
    try { each.finish(); } catch {}
  }
  return [end(), scrollY, page.scrollHeight, all.length].join(" ");
})()
"""

#: Ends when the page has been drawn, so that what waits to come into view knows that it has.
DRAWN = """
new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(() => drawn(1))))
"""

#: Returns, as a list, the document as HTML and the views of it that its links name (``#/a``). The
#: document is as it is seen: with shadow roots, with the rules that scripts added to style sheets,
#: without scripts and what is shown only without them. This changes it.
READ = r"""
(() => {
  if (scrollY) {
    scrollTo({top: 0, behavior: "instant"});
    document.dispatchEvent(new Event("scroll", {bubbles: true}));
  }
  const roots = [document];
  const collect = (root) => {
    for (const each of root.querySelectorAll("*")) {
      if (each.shadowRoot) { roots.push(each.shadowRoot); collect(each.shadowRoot); }
    }
  };
  collect(document);
  const data = /^(?:application\/(?:[\w.-]+\+)?json|text\/(?:x-)?template|text\/html)\b/i;
  for (const root of roots) {
    for (const each of root.querySelectorAll("script")) {
      if (!data.test(each.type)) each.remove();
    }
    const hidden = "noscript, link[rel~=modulepreload i], link[rel~=preload i][as=script i],"
      + " meta[http-equiv=content-security-policy i]";
    for (const each of root.querySelectorAll(hidden)) each.remove();
    for (const each of root.querySelectorAll("*")) {
      for (const name of each.getAttributeNames()) {
        if (/^on/i.test(name)) each.removeAttribute(name);
      }
    }
    const rules = (sheet) => {
      try { return Array.from(sheet.cssRules, (rule) => rule.cssText).join("\n"); }
      catch { return ""; }
    };
    for (const each of root.querySelectorAll("style")) {
      if (each.sheet && !each.textContent.trim()) each.textContent = rules(each.sheet);
    }
    const adopted = (root.adoptedStyleSheets || []).map(rules).filter(Boolean);
    if (adopted.length) {
      const style = document.createElement("style");
      style.textContent = adopted.join("\n");
      (root.head || root).append(style);
    }
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
  const shell = top.cloneNode(false).outerHTML.match(/^([^]*)(<\/[^<]*>)$/);
  const inner = top.getHTML({serializableShadowRoots: true, shadowRoots: roots.slice(1)});
  const views = new Set();
  for (const root of roots) {
    for (const each of root.querySelectorAll("a[href*='#/'], a[href*='#!']")) {
      if (/^#[/!]/.test(each.hash)) views.add(each.href);
    }
  }
  return [`${doctype}${doctype ? "\n" : ""}${shell[1]}${inner}${shell[2]}\n`, ...views];
})()
"""


def body_of(text: str) -> bytes:
    """The document as a body, with a mark that says the encoding, whatever else does."""
    return BOM_UTF8 + text.encode(errors="replace")
