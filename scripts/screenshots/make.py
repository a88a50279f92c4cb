"""Crawls the demo web and twenty copies of the Python documentation, and takes pictures of it.

The crawl asks only the demo's name server, so nothing leaves this machine. Names that the server
does not know fail, as some do in every crawl.
"""

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from experiments import nginx

from larbinpy.demo import serve
from larbinpy.loop.poller import Poller
from tests.support.browser import Browser
from tests.support.ports import free_port

#: Picture, address, width and height (pixels).
PICTURES = (
    ("overview", "/?span=minute", 1280, 800),
    ("sites", "/urls.html", 1280, 800),
    ("phone", "/?span=minute", 390, 800),
    ("search", "/search.html?q=event+loop+asyncio", 1280, 800),
    ("search-phone", "/search.html?q=event+loop+asyncio", 390, 800),
)

#: Time until the plots of a minute are full (s).
SECONDS = 75
DOCS = "/usr/share/doc/python3-doc/html"
HOSTS = [f"127.1.0.{n}" for n in range(1, 21)]
NGINX = """\
daemon off;
master_process off;
pid {folder}/pid;
error_log stderr crit;
events {{ worker_connections 1000; }}
http {{
  include /etc/nginx/mime.types;
  access_log off;
  {temporary}
  server {{ {listen} root {root}; }}
}}
"""
CONF = """
httpPort {port}
pagesConnexions 50
{seeds}
"""


def main() -> int:
    options = _options()
    options.folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="screenshots-") as name:
        folder = Path(name)
        with _docs(folder) as web, _crawl(folder, web) as port:
            print(f"crawling for {SECONDS} s", file=sys.stderr, flush=True)
            time.sleep(SECONDS)
            _take(folder, port, options.folder)
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="screenshots/make",
        description=f"Take pictures of the status page, {SECONDS} seconds into a crawl.",
    )
    docs = Path(__file__).parents[2] / "docs" / "pictures"
    parser.add_argument("folder", nargs="?", type=Path, default=docs, help="where to write them")
    return parser.parse_args()


@contextmanager
def _docs(folder: Path) -> Iterator[int]:
    """Serve the documentation at all of `HOSTS`; gives their port."""
    port = free_port()
    listen = "".join(f"listen {host}:{port};" for host in HOSTS)
    listen += f"listen 127.0.0.1:{port};"
    paths = nginx.temporary_paths(folder)
    configuration = NGINX.format(listen=listen, root=DOCS, folder=folder, temporary=paths)
    with nginx.running(configuration, folder, port):
        yield port


@contextmanager
def _crawl(folder: Path, web: int) -> Iterator[int]:
    """Run a crawl while the block lasts; gives the port of its status page."""
    port = free_port()
    conf = folder / "larbin.conf"
    seeds = "\n".join(f"startUrl http://{host}:{web}/" for host in HOSTS)
    with serve(flaky=0.05, seed=1) as demo:
        extra = CONF.format(port=port, seeds=seeds)
        text = demo.conf(
            folder / "mirror", folder / "state", wait=0.5, modes="mirror,database", extra=extra
        )
        conf.write_text(text.replace("limitPage 2000\n", ""))
        command = [sys.executable, "-m", "larbinpy", "crawl", "-c", str(conf)]
        with subprocess.Popen([*command, "--progress", "none"]) as crawl:
            try:
                yield port
            finally:
                crawl.kill()


def _take(folder: Path, port: int, pictures: Path) -> None:
    poller = Poller()
    browser = Browser(folder / "profile", poller, lambda: None)
    try:
        for name, path, width, height in PICTURES:
            tab = browser.tab(width)
            tab.go(f"http://127.0.0.1:{port}{path}")
            file = pictures / f"{name}.png"
            file.write_bytes(tab.picture(height))
            print(f"{file}: {file.stat().st_size:,} bytes")
            tab.close()
    finally:
        browser.close()
        poller.close()


if __name__ == "__main__":
    sys.exit(main())
