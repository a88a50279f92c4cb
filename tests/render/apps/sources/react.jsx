import { createRoot } from "react-dom/client";
import { useEffect, useState } from "react";
import { Link, useLocation } from "wouter";

function useJson(url) {
  const [value, set] = useState(null);
  useEffect(() => {
    let wanted = true;
    set(null);
    fetch(url).then((reply) => reply.json()).then((found) => wanted && set(found));
    return () => { wanted = false; };
  }, [url]);
  return value;
}

function Menu() {
  const menu = useJson("/api/menu");
  return <nav>{menu ? menu.map((path) => <Link key={path} href={path}>{path}</Link>) : "Loading"}</nav>;
}

function Page() {
  const page = useJson("/api/page?path=" + encodeURIComponent(useLocation()[0]));
  return page ? <article><p>{page.text}</p></article> : <p>Loading</p>;
}

createRoot(document.getElementById("root")).render(
  <>
    <Menu />
    <Page />
  </>,
);
