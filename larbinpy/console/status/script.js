/* The script of the status pages, inline in each page: it updates the page and sends commands.

   While the page is visible it fetches it again every second and changes only the nodes that
   differ, so that selections, scroll positions, folded parts and the focus are preserved. Links to
   other status pages are followed in the same way, without a new document. Text is set as text, and
   new elements are taken from the parsed page, in which the server has escaped all crawled text. A
   page is complete without the script, except for the commands.

   Commands are posted to /control with the token, which the user enters once. It is in a variable of
   this script alone: not in storage, a cookie, an address or a field that browsers save. It is lost
   with the document. */
"use strict";
(() => {
const find = (id) => document.getElementById(id);
const live = find("live"), lost = find("lost");
const parts = ["header", "main"], every = 1000, longest = 30000;
let wait = every, timer = 0, asked = 0, asking = false, heard = new Date();
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
async function show() {
  clearTimeout(timer);
  asking = true;
  const number = ++asked;
  try {
    const reply = await fetch(location.href, {cache: "no-store", redirect: "error",
      referrerPolicy: "no-referrer", signal: AbortSignal.timeout(8000)});
    if (!reply.ok) throw new Error(reply.status);
    const page = new DOMParser().parseFromString(await reply.text(), "text/html");
    if (number !== asked) return;
    for (const part of parts) adapt(document.querySelector(part), page.querySelector(part));
    document.title = page.title;
    lost.hidden = true;
    heard = new Date();
    wait = every;
    mark();
  } catch {
    if (number !== asked) return;
    lost.textContent = "The crawl has not answered since " + heard.toLocaleTimeString() +
      " and may have ended. The page shows its state at that time.";
    lost.hidden = false;
    wait = Math.min(wait * 2, longest);
  }
  asking = false;
  timer = setTimeout(look, wait);
}
function look() {
  clearTimeout(timer);
  if (!asking && !document.hidden && live.checked) show();
}
find("bar").hidden = false;
document.addEventListener("visibilitychange", look);
live.addEventListener("change", look);
window.addEventListener("popstate", show);
document.addEventListener("click", (event) => {
  const link = event.target.closest("header a, main a");
  if (!link || link.origin !== location.origin || link.rel || event.button || event.ctrlKey ||
      event.metaKey || event.shiftKey || event.altKey) return;
  event.preventDefault();
  if (link.pathname !== location.pathname) scrollTo(0, 0);
  history.pushState(null, "", link.href);
  show();
});

const control = find("control");
let token = "", next = "";
function mark() {
  if (!control) return;
  const paused = document.querySelector(".state").textContent === "paused";
  find("pause").disabled = paused;
  find("resume").disabled = !paused;
}
function say(text) {
  const odd = /[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f]/g;
  find("answer").textContent = text.replace(odd, "\ufffd");
  find("answer").hidden = false;
}
function ask(why) {
  say(why);
  find("ask").hidden = false;
  find("token").focus();
}
function worded(found) {
  if (found.refused && found.refused.length)
    return found.refused.map((each) => each.url + ": " + each.reason).join("\n");
  if (!found.ok) return "Error: " + found.error;
  if (found.rules) return found.rules.map((each) =>
    each.number + "  " + each.rule + "  (" + each.source + ", " + each.decided + " links)").join("\n")
    || "There are no rules.";
  if ("rejected" in found) return "Done; the rule had rejected " + found.rejected + " links.";
  if (!found.why) return "Done.";
  const lines = [found.url, found.state + (found.paused ? ", and the crawl is paused" : "") +
    ": " + found.why];
  const names = {rule: "rule", line: "line", queue: "queue", ahead: "ahead of it",
    waits_for: "waits for", until: "until", attempt: "tries made"};
  for (const key in names)
    if (key in found) lines.push("  " + names[key] + ": " + found[key]);
  if (found.site) lines.push("  site: " + found.site.site + ", " + found.site.state + ", " +
    found.site.waiting + " waiting, every " + found.site.delay_s + " s");
  return lines.join("\n");
}
async function send(command) {
  next = command;
  if (!token) return ask("Enter the token once; it is forgotten with this page.");
  say("...");
  try {
    const reply = await fetch("control", {method: "POST", cache: "no-store", redirect: "error",
      credentials: "omit", referrerPolicy: "no-referrer", body: JSON.stringify({command}),
      headers: {"Authorization": "Bearer " + token, "Content-Type": "application/json"}});
    if (reply.status === 401) {
      token = "";
      return ask("This is not the token of this crawl.");
    }
    const json = reply.headers.get("Content-Type") === "application/json";
    say(json ? worded(await reply.json()) : await reply.text());
  } catch {
    say("The crawl does not answer.");
  }
  show();
}
if (control) {
  control.hidden = false;
  for (const verb of ["pause", "resume"]) find(verb).addEventListener("click", () => send(verb));
  find("stop").addEventListener("click", () => {
    if (confirm("Stop the crawl? It is saved, and crawl --resume continues it.")) send("stop");
  });
  find("explain").addEventListener("submit", (event) => {
    event.preventDefault();
    const url = find("url").value.trim().replaceAll(" ", "%20");
    if (url) send("explain " + url);
  });
  const what = find("what"), value = find("value");
  what.addEventListener("change", () => { value.disabled = what.value === "rules"; });
  find("change").addEventListener("submit", (event) => {
    event.preventDefault();
    const text = what.value === "rules" ? "" : value.value.trim();
    if (!text && what.value !== "rules") return say("Type its value.");
    send((what.value + " " + (what.value === "add" ? text.replaceAll(" ", "%20") : text)).trim());
  });
  find("ask").addEventListener("submit", (event) => {
    event.preventDefault();
    // Without characters that no header may have.
    token = find("token").value.replace(/[^!-~]/g, "");
    find("token").value = "";
    find("ask").hidden = true;
    send(next);
  });
  mark();
}
timer = setTimeout(look, every);
})();
