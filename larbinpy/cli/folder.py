"""A folder as the site of a link check: a process of its own serves it on a loopback address.

Nothing else is there, and only this machine can reach it.

The process is ``python -m larbinpy.cli.folder FOLDER ADDRESS PORT``. It prints a line when it
listens, and ends when its standard input closes, so that it never outlives the check.
"""

import os
import select
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http import HTTPStatus
from typing import Any
from urllib.parse import quote, unquote, urlsplit

from larbinpy.config import Config, ConfigError
from larbinpy.loop.child import collect, command, environment

#: The names of the page of a folder.
_FIRST_PAGES = ("index.html", "index.htm")
#: Seconds for the process to begin, or to end.
_PATIENCE = 10.0
#: Seconds for a connection to send its request.
_TIMEOUT = 10.0


def folder_of(urls: Sequence[str]) -> tuple[str, str] | None:
    """The folder that arguments name, itself or by one of its pages, and the path of that page.

    None if they are URLs of the Web. Raises ConfigError for a path that does not exist.
    """
    paths = [path for path in map(_path, urls) if path]
    if not paths:
        return None
    if len(urls) > 1:
        raise ConfigError("a folder is checked alone; give one folder, or URLs")
    path = os.path.expanduser(paths[0])
    if os.path.isdir(path):
        if not any(os.path.exists(os.path.join(path, page)) for page in _FIRST_PAGES):
            raise ConfigError(f"{urls[0]}: has no index.html; give the page to begin with")
        return path, ""
    if not os.path.isfile(path):
        raise ConfigError(f"{urls[0]}: no such file or folder")
    folder, name = os.path.split(path)
    return folder or ".", quote(name)


def _path(text: str) -> str:
    """The path that an argument is; empty for a URL of the Web."""
    if text[:5].lower() == "file:":
        return unquote(urlsplit(text).path) or "/"
    return text if text.startswith((".", "/", "~")) or os.path.exists(text) else ""


def url_of(config: Config, page: str = "") -> str:
    """The URL of a page in checkFolder."""
    host, port = config.check_place
    return f"http://{host}:{port}/{page}"


def settings_of(config: Config) -> tuple[str, str]:
    """The keyword and the value that let pages of checkFolder be asked for without waiting."""
    host, port = config.check_place
    return "site", (
        f"{host}:{port} waitDuration 0 ignoreRobots on guessSitemap off noProxy {host} end end"
    )


@contextmanager
def served(config: Config) -> Iterator[None]:
    """Serve checkFolder, if there is one. Raises ConfigError."""
    host, port = config.check_place
    if not host:
        yield
        return
    arguments = command("larbinpy.cli.folder", config.check_folder, host, str(port))
    pipe = subprocess.PIPE
    process = subprocess.Popen(arguments, stdin=pipe, stdout=pipe, env=environment())
    assert process.stdin is not None and process.stdout is not None
    try:
        said = process.stdout.readline().decode().strip()
        if said:
            raise ConfigError(f"{config.check_folder}: cannot be served at {host}:{port}: {said}")
        yield
    finally:
        process.stdin.close()
        process.stdout.close()
        collect(process, _PATIENCE)


def _serve(folder: str, host: str, port: str) -> None:
    # Here, since the check itself does not need it.
    from http.server import HTTPServer, SimpleHTTPRequestHandler

    class _Files(SimpleHTTPRequestHandler):
        """Serves files; a folder without index.html is not there, as on most servers.

        ``/about`` is ``about.html``, as hosts of static sites have it.
        """

        timeout = _TIMEOUT

        def translate_path(self, path: str) -> str:
            name = super().translate_path(path)
            page = f"{name}.html"
            is_page = not name.endswith("/") and not os.path.exists(name) and os.path.isfile(page)
            return page if is_page else name

        def list_directory(self, path: Any) -> None:
            self.send_error(HTTPStatus.NOT_FOUND)

        def log_message(self, *_: Any) -> None:
            pass

    class _FileServer(HTTPServer):
        request_queue_size = 128

        def handle_error(self, *_: Any) -> None:
            """A connection that the crawl has closed is no error."""

    # The crawl ends first when the terminal interrupts both.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        os.chdir(folder)
        server = _FileServer((host, int(port)), _Files)
    except OSError as error:
        print(error.strerror or error, flush=True)
        return
    print(flush=True)
    with server:
        while sys.stdin not in select.select([server, sys.stdin], [], [])[0]:
            server.handle_request()


if __name__ == "__main__":
    _serve(*sys.argv[1:])
