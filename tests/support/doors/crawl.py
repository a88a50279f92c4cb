"""A whole crawl of a site behind a door, with all outputs, ports and messages that there are.

While it runs, its ports are asked again and again; all that they say is kept, to be searched.
"""

import json
import os
import re
import socket
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from pathlib import Path
from urllib.error import HTTPError, URLError
from urllib.request import urlopen

from tests.support.checkout import ROOT
from tests.support.crawling import LARBINPY, Fate, read_log
from tests.support.doors.door import SHUT, Door
from tests.support.doors.leaks import command_lines, content, secrets_in
from tests.support.doors.stored import archived, faults, mirrored, saved
from tests.support.ports import free_port

#: Seconds between two requests to one address.
WAIT = 0.05
#: Time limit of a crawl (s).
_PATIENCE = 60.0
_PAGES = ["/", "/all.html", "/urls.html", "/stats.html", "/output.html", "/system.html"]
_PAGES += ["/status.json", "/metrics"]


def login_table(door: Door, **changed: str) -> str:
    """The table of `door` in loginFile; an empty value removes its key."""
    keys = {"site": door.site, **door.keys(), **changed}
    # A text of JSON is one of TOML, too.
    lines = [f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in keys.items()]
    return "\n".join(["[[login]]", *(line for line in lines if not line.endswith(' ""'))]) + "\n"


class DoorCrawl:
    """A crawl of `door` in `folder`; `changed` are keys of its login, `lines` of larbin.conf."""

    def __init__(self, folder: Path, door: Door, *lines: str, **changed: str) -> None:
        self.folder = folder
        self.door = door
        self.state, self.out = folder / "state", folder / "save"
        self.report = folder / "report.json"
        #: Files of the user, which have secrets.
        self.own = folder / "own"
        self.own.mkdir()
        self.table(**changed)
        self._http, self._input = free_port(), free_port()
        self.lines = [
            "From t@example.com UserAgent larbinpy allowPrivate getCGI",
            f"waitDuration {WAIT} maxWait 2 retryWait 0.1 depthInSite 70 limitTime 1",
            "outputMode save,mirror,warc,database keepBodies canReload",
            "fetchInfo printStats debug histograms",
            f"httpPort {self._http} inputPort {self._input}",
            f"startUrl {door.url()}",
            f"loginFile {self.own / 'logins.toml'}" if door.keys() else "",
            *lines,
        ]
        (folder / "larbin.conf").write_text("\n".join(self.lines) + "\n")
        self.environment: dict[str, str] = {}
        #: All that the ports said, and all command lines that were seen.
        self.heard = bytearray()
        self.command_lines: set[bytes] = set()
        self.limits = ""
        self._export = ""
        self.process: subprocess.Popen[bytes] | None = None

    def table(self, **changed: str) -> None:
        """Write loginFile, with these keys."""
        path = self.own / "logins.toml"
        path.touch(0o600)
        path.write_text(login_table(self.door, **changed))

    # The process.

    def start(self, *arguments: str, command: Sequence[str] = LARBINPY) -> None:
        options = ["-c", "larbin.conf", "--progress", "none", "--report", str(self.report)]
        whole = [*command, *(["crawl", *options, *arguments] if command is LARBINPY else [])]
        path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
        environment = {**os.environ, "PYTHONPATH": path, "PYTHONWARNINGS": "error"}
        with (self.folder / "printed").open("ab") as printed:
            self.process = subprocess.Popen(
                whole,
                cwd=self.folder,
                env=environment | {"PYTHONUNBUFFERED": "1"} | self.environment,
                stdin=subprocess.DEVNULL,
                stdout=printed,
                stderr=printed,
            )

    def until(self, condition: Callable[[], bool]) -> None:
        """Ask the ports until `condition` holds, which is checked often."""
        assert self.process
        late = time.monotonic() + _PATIENCE
        next_look = time.monotonic() + 0.5
        while not condition():
            assert time.monotonic() < late, self.printed[-3000:]
            if time.monotonic() > next_look:
                self._look()
                next_look = time.monotonic() + 0.5
            time.sleep(0.02)

    def finish(self) -> int:
        """Wait for the end; returns the exit status."""
        assert self.process
        process = self.process
        self.until(lambda: process.poll() is not None)
        return process.wait()

    def kill(self) -> None:
        if self.process and self.process.poll() is None:
            self.process.kill()
            self.process.wait()

    def run(self, *arguments: str, command: Sequence[str] = LARBINPY) -> int:
        """Crawl to the end; returns the exit status."""
        self.start(*arguments, command=command)
        return self.finish()

    def _look(self) -> None:
        """Ask all ports, and read the command lines of all processes."""
        assert self.process
        self.command_lines.add(command_lines())
        with suppress(OSError):
            self.limits = Path(f"/proc/{self.process.pid}/limits").read_text()
        for page in _PAGES:
            with suppress(URLError, OSError):
                try:
                    with urlopen(f"http://127.0.0.1:{self._http}{page}", timeout=5) as reply:
                        self.heard += reply.read()
                except HTTPError as error:
                    with error:
                        self.heard += error.read()
        with suppress(OSError), socket.create_connection(("127.0.0.1", self._input), 5) as port:
            commands = ["console", "status", f"explain {self.door.url('/p/3')}", "help", "quit"]
            port.sendall("\n".join([*commands, ""]).encode())
            while data := port.recv(1 << 16):
                self.heard += data

    # The results.

    @property
    def printed(self) -> str:
        return (self.folder / "printed").read_text()

    @property
    def fates(self) -> list[Fate]:
        return read_log(self.state / "crawl.jsonl")

    def outcomes(self) -> Counter[str]:
        return Counter(fate["outcome"] for fate in self.fates)

    def larbinpy(self, *arguments: str) -> str:
        """The output of another command."""
        done = subprocess.run(
            [*LARBINPY, *arguments], cwd=self.folder, env={**os.environ, **self.environment},
            capture_output=True, text=True, timeout=_PATIENCE,
        )  # fmt: skip
        return done.stdout + done.stderr

    def faults(self, also: Collection[str] = ()) -> list[str]:
        """All that is wrong with the outputs; `also` are further paths that may be there."""
        fetched = [(fate["url"], "") for fate in self.fates if fate["outcome"] == "success"]
        pages = {
            "crawl.jsonl": fetched,
            "mirror": mirrored(self.out, self.door),
            "save": saved(self.out),
            "warc": archived(self.out, self.door),
            "database": [(row["url"], row["text"]) for row in map(json.loads, self._exported())],
        }
        found = [fault for name in pages for fault in faults(name, pages[name], self.door, also)]
        files = (path for path in self.folder.rglob("*") if path.is_file())
        return found + [f"{path}: logged out" for path in files if SHUT.encode() in content(path)]

    def _exported(self) -> list[str]:
        """The pages of the database, as `export` writes them."""
        if not self._export:
            self._export = self.larbinpy("export", "-d", str(self.out / "larbinpy.db"))
        return self._export.splitlines()

    def leaks(self) -> list[str]:
        """Where a secret of the site is that nobody should see there."""
        self._look()
        places: list[tuple[str, bytes]] = [
            ("ports", bytes(self.heard)),
            ("/proc/*/cmdline", b"".join(self.command_lines)),
            ("export", "\n".join(self._exported()).encode()),
        ]
        files = (path for path in self.folder.rglob("*") if path.is_file())
        places += [
            (str(path.relative_to(self.folder)), content(path))
            for path in files
            if self.own not in path.parents and not self.may_have(path)
        ]
        return [
            f"{name}: {secret}"
            for name, data in places
            for secret in secrets_in(data, self.door.secrets)
        ]

    def may_have(self, path: Path) -> bool:
        """Whether `path` is the part of the state that has the logins, for its owner alone."""
        return re.match(r"logins?\b", path.name) is not None and path.stat().st_mode & 0o077 == 0
