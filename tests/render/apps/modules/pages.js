export async function show(element) {
  const url = new URL("/api/page", import.meta.url);
  url.searchParams.set("path", location.pathname);
  element.textContent = (await (await fetch(url)).json()).text;
}
