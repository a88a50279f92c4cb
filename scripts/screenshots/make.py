"""Crawls the demo web and twenty copies of the Python documentation, and takes pictures of it.

The demo's name server is the only one that is asked, so nothing leaves this machine; names
that it does not know fail, as some do in every crawl.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from larbinpy.demo import serve
from larbinpy.loop.poller import Poller
from tests.support.browser import Browser
from tests.support.crawling import free_port

#: Picture, address, width and height (pixels).
PICTURES = (
    ("overview", "/?span=minute", 1280, 800),
    ("sites", "/urls.html", 1280, 800),
    ("phone", "/?span=minute", 390, 800),
)

#: The plots of a minute are full then (s).
LONG = 75
DOCS = "/usr/share/doc/python3-doc/html"
HOSTS = [f"127.1.0.{n}" for n in range(1, 21)]
NGINX = """\
daemon off;
master_process off;
pid nginx.pid;
error_log stderr crit;
events {{ worker_connections 1000; }}
http {{
  include /etc/nginx/mime.types;
  access_log off;
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
            print(f"a crawl of {LONG} s begins", file=sys.stderr, flush=True)
            time.sleep(LONG)
            _take(folder, port, options.folder)
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="screenshots/make",
        description=f"Pictures of the status page, {LONG} seconds into a crawl.",
    )
    docs = Path(__file__).parents[2] / "docs" / "pictures"
    parser.add_argument("folder", nargs="?", type=Path, default=docs, help="where they go")
    return parser.parse_args()


@contextmanager
def _docs(folder: Path) -> Iterator[int]:
    """The documentation under all of `HOSTS`; their port."""
    port = free_port()
    listen = "".join(f"listen {host}:{port};" for host in HOSTS)
    conf = folder / "nginx.conf"
    conf.write_text(NGINX.format(listen=listen, root=DOCS))
    program = shutil.which("nginx", path=f"{os.environ['PATH']}:/usr/sbin")
    assert program is not None
    with subprocess.Popen([program, "-e", "stderr", "-p", folder, "-c", conf]) as nginx:
        try:
            yield port
        finally:
            nginx.terminate()


@contextmanager
def _crawl(folder: Path, web: int) -> Iterator[int]:
    """A crawl for as long as the block lasts, and the port of its status page."""
    port = free_port()
    conf = folder / "larbin.conf"
    seeds = "\n".join(f"startUrl http://{host}:{web}/" for host in HOSTS)
    with serve(flaky=0.05, seed=1) as demo:
        extra = CONF.format(port=port, seeds=seeds)
        text = demo.conf(folder / "mirror", folder / "state", wait=0.5, extra=extra)
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
