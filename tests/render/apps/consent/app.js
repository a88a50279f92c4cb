// A wall that bars the page until it is left alone for a while; then it notes a choice in a cookie
// and loads the page again.
const chosen = document.cookie.includes("choice=necessary");

if (!chosen) {
  document.body.style.overflow = "hidden";
  document.body.insertAdjacentHTML("beforeend", `
    <div style="position: fixed; inset: 0; background: white">
      <p>We value your privacy.</p><button>Accept</button></div>`);
  setTimeout(() => {
    document.cookie = "choice=necessary; path=/; max-age=86400; SameSite=Lax";
    location.reload();
  }, 2000);
} else {
  const paths = await (await fetch("/api/menu")).json();
  const reply = await fetch("/api/page?path=" + encodeURIComponent(location.pathname));
  const { text } = await reply.json();
  document.querySelector("main").innerHTML =
    `<p>${text}</p>` + paths.map((to) => `<a href="${to}">${to}</a>`).join(" ");
}
