// Waits at its top level: what imports it runs later.
const paths = await (await fetch("/api/menu")).json();

export default async function menu() {
  const { link } = await import("./link.js");
  return paths.map(link);
}
