// Ways by which a page makes a browser send something. Each is called with `to`, which gives the
// address to ask for from the name of the way; nothing here waits for an answer.
const add = (html) => document.body.insertAdjacentHTML("beforeend", html);
const element = (name, properties) => {
  const made = Object.assign(document.createElement(name), properties);
  document.head.append(made);
  return made;
};
const link = (rel, href, more = {}) => element("link", { rel, href, ...more });
const script = (text, type = "text/javascript") => element("script", { type, textContent: text });
const frame = (html) => add(`<iframe srcdoc="${html.replaceAll('"', "&quot;")}"></iframe>`);
const blob = (text, type) => URL.createObjectURL(new Blob([text], { type }));
const click = (properties) => {
  const anchor = element("a", properties);
  document.body.append(anchor);
  anchor.click();
};
const socket = (url) => url.replace(/^http/, "ws");
const host = (url) => new URL(url).host;

export const WAYS = {
  // Requests of scripts
  "fetch": (to) => fetch(to),
  "fetch-no-cors": (to) => fetch(to, { mode: "no-cors" }),
  "fetch-keepalive": (to) => fetch(to, { keepalive: true, method: "POST", body: "x", mode: "no-cors" }),
  "fetch-later": (to) => fetchLater(to, { activateAfter: 0 }),
  "fetch-put": (to) => fetch(to, { method: "PUT", body: "x" }),
  "xhr": (to) => { const x = new XMLHttpRequest(); x.open("GET", to); x.send(); },
  "xhr-sync": (to) => { const x = new XMLHttpRequest(); x.open("GET", to, false); x.send(); },
  "beacon": (to) => navigator.sendBeacon(to, "x"),
  "beacon-on-hide": (to) => addEventListener("pagehide", () => navigator.sendBeacon(to, "x")),
  "beacon-on-unload": (to) => addEventListener("unload", () => navigator.sendBeacon(to, "x")),
  "event-source": (to) => new EventSource(to),
  "websocket": (to) => new WebSocket(socket(to)),
  "websocket-stream": (to) => new WebSocketStream(socket(to)),
  "webtransport": (to) => new WebTransport(to),
  "webrtc-stun": async (to) => {
    const peer = new RTCPeerConnection({ iceServers: [{ urls: "stun:" + host(to) }] });
    peer.createDataChannel("x");
    await peer.setLocalDescription(await peer.createOffer());
  },
  "webrtc-turn": async (to) => {
    const servers = [`turn:${host(to)}?transport=tcp`, `turn:${host(to)}?transport=udp`];
    const iceServers = servers.map((urls) => ({ urls, username: "a", credential: "b" }));
    const peer = new RTCPeerConnection({ iceServers });
    peer.createDataChannel("x");
    await peer.setLocalDescription(await peer.createOffer());
  },
  "webrtc-candidate": async (to) => {
    const peer = new RTCPeerConnection();
    peer.createDataChannel("x");
    const offer = await peer.createOffer();
    await peer.setRemoteDescription({ type: "offer", sdp: offer.sdp.replace(/a=setup:\w+/, "a=setup:actpass") });
    await peer.setLocalDescription();
    const { hostname, port } = new URL(to);
    const candidate = `candidate:1 1 udp 2122 ${hostname} ${port || 80} typ host`;
    await peer.addIceCandidate({ candidate, sdpMid: "0" });
  },
  "cache-add": async (to) => (await caches.open("c")).add(to),
  // Pictures
  "image": (to) => { new Image().src = to; },
  "image-srcset": (to) => add(`<img srcset="${to} 1x">`),
  "picture": (to) => add(`<picture><source srcset="${to}"><img></picture>`),
  "input-image": (to) => add(`<input type="image" src="${to}">`),
  "svg-image": (to) => add(`<svg><image href="${to}"/></svg>`),
  "svg-use": (to) => add(`<svg><use href="${to}#a"/></svg>`),
  "svg-filter": (to) => add(`<svg><filter id="f"><feImage href="${to}"/></filter></svg>`),
  "body-background": (to) => document.body.setAttribute("background", to),
  "favicon": (to) => link("icon", to),
  "touch-icon": (to) => link("apple-touch-icon", to),
  "notification": (to) => new Notification("x", { icon: to }),
  "media-session": (to) => {
    navigator.mediaSession.metadata = new MediaMetadata({ artwork: [{ src: to }] });
  },
  "canvas-pattern": (to) => createImageBitmap(Object.assign(new Image(), { src: to })),
  // Style sheets
  "css-link": (to) => link("stylesheet", to),
  "css-alternate": (to) => link("alternate stylesheet", to, { title: "other" }),
  "css-import": (to) => add(`<style>@import url("${to}");</style>`),
  "css-background": (to) => add(`<p style="background: url(${to})">x</p>`),
  "css-image-set": (to) => add(`<p style="background: image-set(url(${to}) 1x)">x</p>`),
  "css-cursor": (to) => add(`<p style="cursor: url(${to}), auto">x</p>`),
  "css-mask": (to) => add(`<p style="mask-image: url(${to}#m)">x</p>`),
  "css-list": (to) => add(`<ul style="list-style: url(${to})"><li>x</ul>`),
  "css-content": (to) => add(`<style>#c::before { content: url(${to}) }</style><p id="c">`),
  "css-shape": (to) => add(`<p style="float: left; shape-outside: url(${to})">x</p>`),
  "font-face": (to) => new FontFace("f", `url(${to})`).load(),
  "font-rule": (to) => add(`<style>@font-face { font-family: g; src: url(${to}) }</style><p style="font-family: g">x`),
  "css-module": (to) => script(`import s from "${to}" with { type: "css" };`, "module"),
  // Scripts
  "script": (to) => element("script", { src: to }),
  "script-written": (to) => document.write(`<script src="${to}"></` + "script>"),
  "module": (to) => element("script", { src: to, type: "module" }),
  "import": (to) => import(to),
  "json-module": (to) => script(`import s from "${to}" with { type: "json" };`, "module"),
  "module-preload": (to) => link("modulepreload", to),
  "source-map": (to) => script(`var s;\n//# sourceMappingURL=${to}`),
  "worker": (to) => new Worker(to),
  "worker-fetch": (to) => new Worker(blob(`fetch("${to}")`)),
  "worker-import": (to) => new Worker(blob(`importScripts("${to}")`)),
  "worker-socket": (to) => new Worker(blob(`new WebSocket("${socket(to)}")`)),
  "worker-nested": (to) => new Worker(blob(`new Worker(URL.createObjectURL(new Blob(['fetch("${to}")'])))`)),
  "shared-worker": (to) => new SharedWorker(to),
  "shared-worker-fetch": (to) => new SharedWorker(blob(`fetch("${to}")`)),
  "service-worker": (to) => navigator.serviceWorker.register("/service.js?" + encodeURIComponent(to)),
  "worklet": (to) => CSS.paintWorklet.addModule(to),
  "audio-worklet": (to) => new OfflineAudioContext(1, 1, 8000).audioWorklet.addModule(to),
  // Hints
  "preload": (to) => link("preload", to, { as: "script" }),
  "prefetch": (to) => link("prefetch", to),
  "prerender": (to) => link("prerender", to),
  "dns-prefetch": (to) => link("dns-prefetch", to),
  "preconnect": (to) => link("preconnect", to),
  "speculation-prefetch": (to) => script(JSON.stringify(
    { prefetch: [{ source: "list", urls: [to], eagerness: "immediate" }] }), "speculationrules"),
  "speculation-prerender": (to) => script(JSON.stringify(
    { prerender: [{ source: "list", urls: [to], eagerness: "immediate" }] }), "speculationrules"),
  "manifest": (to) => link("manifest", to),
  "open-search": (to) => link("search", to, { type: "application/opensearchdescription+xml" }),
  "dictionary": (to) => link("compression-dictionary", to),
  // Media and plug-ins
  "video": (to) => add(`<video src="${to}" autoplay muted></video>`),
  "poster": (to) => add(`<video poster="${to}"></video>`),
  "audio": (to) => new Audio(to).play(),
  "track": (to) => add(`<video src="data:video/mp4,"><track default src="${to}"></video>`),
  "object": (to) => add(`<object data="${to}"></object>`),
  "embed": (to) => add(`<embed src="${to}">`),
  "pdf": (to) => add(`<embed type="application/pdf" src="${to}">`),
  // Frames
  "iframe": (to) => add(`<iframe src="${to}"></iframe>`),
  "iframe-lazy": (to) => add(`<iframe loading="lazy" src="${to}"></iframe>`),
  "iframe-sandbox": (to) => add(`<iframe sandbox="allow-scripts" src="${to}"></iframe>`),
  "frame-set": (to) => add(`<iframe src="data:text/html,<frameset><frame src='${to}'></frameset>"></iframe>`),
  "frame-image": (to) => frame(`<img src="${to}">`),
  "frame-in-frame": (to) => frame(`<script>
    const inner = document.createElement("iframe");
    inner.srcdoc = "<img src=${to}>";
    document.documentElement.append(inner);</` + "script>"),
  "frame-of-data": (to) => add(`<iframe src="data:text/html,<img src='${to}'>"></iframe>`),
  "frame-of-blob": (to) => add(`<iframe src="${blob(`<img src="${to}">`, "text/html")}"></iframe>`),
  "frame-script": (to) => add(`<iframe src="javascript:'<img src=${to}>'"></iframe>`),
  "frame-refresh": (to) => frame(`<meta http-equiv="refresh" content="0;url=${to}">`),
  "frame-moves": (to) => frame(`<script>location = "${to}"</` + "script>"),
  "frame-other-site": (to) => add(
    `<iframe src="//second.${location.host}/frame?${encodeURIComponent(to)}"></iframe>`),
  "frame-form": (to) => {
    add(`<iframe name="target"></iframe><form id="form" target="target" method="post" action="${to}"></form>`);
    document.querySelector("#form").submit();
  },
  "frame-csp-report": (to) => frame(
    `<meta http-equiv="Content-Security-Policy" content="img-src 'none'; report-uri ${to}"><img src="/x.png">`),
  "fenced-frame": (to) => document.body.append(Object.assign(
    document.createElement("fencedframe"), { config: new FencedFrameConfig(to) })),
  // Redirects of the own site, which lead elsewhere
  "redirect-fetch": (to) => fetch("/to?" + encodeURIComponent(to), { mode: "no-cors" }),
  "redirect-image": (to) => { new Image().src = "/to?" + encodeURIComponent(to); },
  "redirect-script": (to) => element("script", { src: "/to?" + encodeURIComponent(to) }),
  "redirect-iframe": (to) => add(`<iframe src="/to?${encodeURIComponent(to)}"></iframe>`),
  "redirect-preserving": (to) => fetch("/to307?" + encodeURIComponent(to), { mode: "no-cors" }),
  "redirect-worker": (to) => new Worker("/to?" + encodeURIComponent(to)),
  "header-refresh": (to) => add(`<iframe src="/refresh?${encodeURIComponent(to)}"></iframe>`),
  "header-link": (to) => add(`<iframe src="/linked?${encodeURIComponent(to)}"></iframe>`),
  "header-report": (to) => add(`<iframe src="/reports?${encodeURIComponent(to)}"></iframe>`),
  "header-nel": (to) => fetch("/nel?" + encodeURIComponent(to)),
  // XML
  "xslt": (to) => add(`<iframe src="/xml?${encodeURIComponent(to)}"></iframe>`),
  "xslt-document": (to) => {
    const sheet = new DOMParser().parseFromString(`<x:stylesheet version="1.0"
      xmlns:x="http://www.w3.org/1999/XSL/Transform"><x:template match="/"><x:copy-of
      select="document('${to}')"/></x:template></x:stylesheet>`, "text/xml");
    const processor = new XSLTProcessor();
    processor.importStylesheet(sheet);
    processor.transformToFragment(sheet, document);
  },
  "xml-entity": (to) => add(`<iframe src="${blob(
    `<!DOCTYPE a [<!ENTITY e SYSTEM "${to}">]><a>&e;</a>`, "text/xml")}"></iframe>`),
  // What a reader does
  "ping": (to) => click({ href: "#ping", ping: to }),
  "download": (to) => click({ href: to, download: "x" }),
  "attribution": (to) => element("script", { attributionSrc: to, src: "data:," }),
  "window-open": (to) => window.open(to),
  "window-noopener": (to) => window.open(to, "_blank", "noopener"),
  "new-tab": (to) => click({ href: to, target: "_blank" }),
  "form-new-tab": (to) => {
    add(`<form id="tab" target="_blank" method="post" action="${to}"></form>`);
    document.querySelector("#tab").submit();
  },
  "payment": (to) => new PaymentRequest([{ supportedMethods: to }], {
    total: { label: "x", amount: { currency: "EUR", value: "1" } } }).canMakePayment(),
  "background-fetch": async (to) => (await navigator.serviceWorker.ready).backgroundFetch.fetch("x", [to]),
  "federated": (to) => navigator.credentials.get({ identity: { providers: [{ configURL: to, clientId: "x" }] } }),
  "protocol": (to) => navigator.registerProtocolHandler("web+x", new URL("/%s", location)) ?? click({ href: "web+x:" + to }),
};

// Ways that take the page away: one to a page.
export const MOVES = {
  "location": (to) => { location = to; },
  "location-replace": (to) => location.replace(to),
  "navigation": (to) => navigation.navigate(to),
  "anchor": (to) => click({ href: to }),
  "form-get": (to) => { add(`<form id="get" action="${to}"></form>`); document.querySelector("#get").submit(); },
  "form-post": (to) => { add(`<form id="post" method="post" action="${to}"></form>`); document.querySelector("#post").submit(); },
  "refresh": (to) => { element("meta", { httpEquiv: "refresh", content: `0;url=${to}` }); },
  "script-url": (to) => { location = `javascript:location="${to}"`; },
  "open-self": (to) => window.open(to, "_self"),
  "data-url": (to) => { location = `data:text/html,<img src="${to}">`; },
  "blob-url": (to) => { location = blob(`<img src="${to}">`, "text/html"); },
  "document-written": (to) => { document.open(); document.write(`<meta http-equiv="refresh" content="0;url=${to}">`); document.close(); },
  "redirected": (to) => { location = "/to?" + encodeURIComponent(to); },
  "download": () => { location = "/download"; },
};

export async function tryAll(ways, addresses) {
  const said = [];
  for (const [name, way] of Object.entries(ways)) {
    for (const [kind, base] of Object.entries(addresses)) {
      try {
        Promise.resolve(way(base + name)).catch(() => {});
      } catch {
        said.push(name);
      }
    }
  }
  return said;
}
