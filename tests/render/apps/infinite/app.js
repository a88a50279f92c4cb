// Two lists: one loads more when its end comes into view, the other when the reader scrolls.
const lists = { watched: 0, scrolled: 0 };

async function more(name) {
  const start = lists[name];
  const items = await (await fetch(`/api/items?list=${name}&start=${start}`)).json();
  lists[name] += items.length;
  for (const { text, path } of items) {
    const item = document.createElement("li");
    item.style.height = "150px";
    item.innerHTML = path ? `<a href="${path}">${text}</a>` : text;
    document.querySelector(`#${name}`).append(item);
  }
  return items.length > 0;
}

async function page() {
  const reply = await fetch("/api/page?path=" + encodeURIComponent(location.pathname));
  document.querySelector("article").textContent = (await reply.json()).text;
}

const end = document.querySelector("#end");
let busy = false;
const watcher = new IntersectionObserver(async ([entry]) => {
  if (!entry.isIntersecting) return;
  if (await more("watched")) {
    watcher.unobserve(end);
    watcher.observe(end);
  } else {
    watcher.disconnect();
  }
});

addEventListener("scroll", async () => {
  const near = innerHeight + scrollY >= document.documentElement.scrollHeight - 500;
  if (!near || busy) return;
  busy = true;
  busy = !(await more("scrolled"));
});

await page();
if (location.pathname === "/") {
  watcher.observe(end);
  await more("scrolled");
}
