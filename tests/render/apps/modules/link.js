export function link(path) {
  const element = document.createElement("a");
  element.href = path;
  element.textContent = path;
  return element;
}
