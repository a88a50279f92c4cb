// Pages are shown by the History API; each path has the same document.
const article = document.querySelector("article");

async function show() {
  const reply = await fetch("/api/page?path=" + encodeURIComponent(location.pathname));
  article.innerHTML = `<p>${(await reply.json()).text}</p>`;
}

document.addEventListener("click", (event) => {
  if (event.target.matches("nav a")) {
    event.preventDefault();
    history.pushState(null, "", event.target.href);
    show();
  }
});
addEventListener("popstate", show);

// The home page is an alias: the address changes before anything is shown.
if (location.pathname === "/") history.replaceState(null, "", "/home");
const paths = await (await fetch("/api/menu")).json();
document.querySelector("nav").innerHTML = paths.map((to) => `<a href="${to}">${to}</a>`).join(" ");
await show();
