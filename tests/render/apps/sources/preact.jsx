/* A site whose pages are for members: the session is a cookie that scripts cannot read. */
import { render } from "preact";
import { useEffect, useState } from "preact/hooks";

function ask(url, set) {
  const request = new XMLHttpRequest();
  request.open("GET", url);
  request.withCredentials = true;
  request.onload = () => set(request.status === 200 ? JSON.parse(request.responseText) : false);
  request.send();
}

function App() {
  const [menu, setMenu] = useState(null);
  const [page, setPage] = useState(null);
  useEffect(() => {
    ask("/api/menu", setMenu);
    ask("/api/page?path=" + encodeURIComponent(location.pathname), setPage);
  }, []);
  if (menu === null || page === null) return <p>Loading</p>;
  if (menu === false || page === false) return <a href="/login">Log in</a>;
  return (
    <main>
      <p>Log out</p>
      <nav>{menu.map((path) => <a href={path}>{path}</a>)}</nav>
      <article><p>{page.text}</p></article>
    </main>
  );
}

render(<App />, document.getElementById("root"));
