// Pictures that wait: for the browser, for an observer, for a script library, in a stylesheet.
const main = document.querySelector("main");
const paths = await (await fetch("/api/menu")).json();
const { text } = await (await fetch("/api/page?path=" + encodeURIComponent(location.pathname))).json();
main.innerHTML = `<p>${text}</p>` + paths.map((to) => `<a href="${to}">${to}</a>`).join(" ");

const watcher = new IntersectionObserver((entries) => {
  for (const { isIntersecting, target } of entries) {
    if (!isIntersecting) continue;
    watcher.unobserve(target);
    if (target.dataset.src) target.src = target.dataset.src;
    if (target.dataset.srcset) target.srcset = target.dataset.srcset;
    if (target.dataset.background) target.style.backgroundImage = `url(${target.dataset.background})`;
    if (target.dataset.text) fetch(target.dataset.text).then(async (reply) => {
      target.textContent = (await reply.json()).text;
    });
  }
}, { rootMargin: "200px" });

if (location.pathname === "/") {
  main.insertAdjacentHTML("beforeend", `
    <div style="height: 2000px"></div>
    <img loading="lazy" src="/pictures/native.png" width="40" height="40" alt="native">
    <div style="height: 2000px"></div>
    <img data-src="/pictures/watched.png" width="40" height="40" alt="watched">
    <div style="height: 2000px"></div>
    <picture><img data-srcset="/pictures/set.png 1x" width="40" height="40" alt="set"></picture>
    <div data-background="/pictures/background.png" style="height: 40px"></div>
    <div style="height: 2000px"></div>
    <section data-text="/api/page?path=/late" style="height: 40px"></section>`);
  document.querySelectorAll("[data-src], [data-srcset], [data-background], [data-text]")
    .forEach((element) => watcher.observe(element));
}
