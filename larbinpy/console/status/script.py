"""The script of the status pages, inlined in each page; it keeps the page up to date.

While the page is visible it fetches it again every second and changes only the nodes that
differ, so that selections, scroll positions, folded parts and the focus are preserved. Text is
set as text, and new elements are taken from the parsed page, in which the server has escaped all
crawled text. A page is complete without the script.
"""

from base64 import b64encode
from hashlib import sha256

SCRIPT = """
"use strict";
(() => {
const live = document.getElementById("live"), lost = document.getElementById("lost");
const parts = ["header", "main"], every = 1000, longest = 30000;
let wait = every, timer = 0, asking = false, heard = new Date();
function adapt(old, now) {
  if (old.nodeType !== now.nodeType || old.nodeName !== now.nodeName) {
    old.replaceWith(now);
    return;
  }
  if (old.nodeType !== Node.ELEMENT_NODE) {
    if (old.nodeValue !== now.nodeValue) old.nodeValue = now.nodeValue;
    return;
  }
  for (const name of old.getAttributeNames())
    if (name !== "open" && !now.hasAttribute(name)) old.removeAttribute(name);
  for (const {name, value} of now.attributes)
    if (old.getAttribute(name) !== value) old.setAttribute(name, value);
  const before = [...old.childNodes], after = [...now.childNodes];
  after.forEach((node, at) => before[at] ? adapt(before[at], node) : old.append(node));
  before.slice(after.length).forEach((node) => node.remove());
}
async function look() {
  clearTimeout(timer);
  if (asking || document.hidden || !live.checked) return;
  asking = true;
  try {
    const reply = await fetch(location.href, {cache: "no-store", redirect: "error",
      referrerPolicy: "no-referrer", signal: AbortSignal.timeout(8000)});
    if (!reply.ok) throw new Error(reply.status);
    const page = new DOMParser().parseFromString(await reply.text(), "text/html");
    for (const part of parts) adapt(document.querySelector(part), page.querySelector(part));
    document.title = page.title;
    lost.hidden = true;
    heard = new Date();
    wait = every;
  } catch {
    lost.textContent = "The crawl has not answered since " + heard.toLocaleTimeString() +
      " and may have ended. The page shows its state at that time.";
    lost.hidden = false;
    wait = Math.min(wait * 2, longest);
  }
  asking = false;
  timer = setTimeout(look, wait);
}
document.getElementById("bar").hidden = false;
document.addEventListener("visibilitychange", look);
live.addEventListener("change", look);
timer = setTimeout(look, every);
})();
"""

#: The source expression of the script for Content-Security-Policy (CSP level 3, 2.3.1).
SCRIPT_HASH = "'sha256-" + b64encode(sha256(SCRIPT.encode()).digest()).decode() + "'"

#: The icon of the browser tab.
ICON = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16">'
    '<rect width="16" height="16" rx="4" fill="#2f6f9f"/>'
    '<path d="M5.5 3.5v9h5.5" fill="none" stroke="#fff" stroke-width="2"/></svg>\n'
)
