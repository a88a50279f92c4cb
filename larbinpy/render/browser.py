"""The browser: a child process without a network, which is started again when it ends.

Nothing that it does itself reaches a server. Where the system allows it, it has a network namespace
of its own with nothing in it; in any case each name is unknown to it, and its proxy is a closed
port. As root it runs as another user, since its sandbox is never switched off.
"""

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

from larbinpy.config import ConfigError
from larbinpy.context import Context
from larbinpy.loop.child import Piped, environment
from larbinpy.loop.clock import Backoff
from larbinpy.loop.poller import Poller
from larbinpy.render.pipe import DevTools, Happened, PipeError

#: Names of browsers that speak the protocol, and Debian's package of the first.
_NAMES = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome", "chrome")
_PACKAGE = "chromium"
#: A browser of snap sees neither our folders nor our pipes.
_NO_SNAP = (
    "a browser of snap cannot be used; install Google Chrome's package (renderBrowser names one)"
)
#: Bytes of a script that are looked at.
_SCRIPT = 4096
#: What a browser without a sandbox says, and our words for it.
_NO_SANDBOX = "No usable sandbox"
_WANTS_SANDBOX = (
    "its sandbox needs user namespaces, which are forbidden here (in Docker, --security-opt"
    " seccomp=unconfined permits them; on Ubuntu, sysctl"
    " kernel.apparmor_restrict_unprivileged_userns=0; docs/rendering.md has more)"
)
#: Seconds for the first start.
_STARTING = 60.0
#: Seconds for its shell to end after it.
_ENDING = 5.0
#: Bytes of memory of its own that one process of the browser may take, and all together.
MOST_OF_ONE, MOST_OF_ALL = 768 << 20, 3 << 30
#: Seconds between two looks at its memory.
_LOOK = 1.0
#: Bytes of its messages that are read after its end.
_MOST_MESSAGES = 1 << 20
#: Megabytes of the objects of a page's scripts.
_HEAP = 512
#: The user that a browser runs as that root starts.
_USER = "nobody"

_FLAGS = (
    "--headless=new",
    "--remote-debugging-pipe",
    "--no-startup-window",
    "--no-first-run",
    "--no-default-browser-check",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--mute-audio",
    "--hide-scrollbars",
    # No way out: names, proxies, and what would pass by both.
    "--host-resolver-rules=MAP * ~NOTFOUND",
    "--proxy-server=127.0.0.1:9",
    "--proxy-bypass-list=<-loopback>",
    "--disable-quic",
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--dns-prefetch-disable",
    "--no-pings",
    # Nothing that a browser does for its user.
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-component-extensions-with-background-pages",
    "--disable-client-side-phishing-detection",
    "--disable-default-apps",
    "--disable-domain-reliability",
    "--disable-extensions",
    "--disable-sync",
    "--disable-breakpad",
    "--disable-crash-reporter",
    "--metrics-recording-only",
    "--no-service-autorun",
    "--password-store=basic",
    "--use-mock-keychain",
    # A page and its frames share a process, and pages in the background do not wait.
    "--disable-site-isolation-trials",
    "--disable-background-timer-throttling",
    "--disable-backgrounding-occluded-windows",
    "--disable-renderer-backgrounding",
    "--disable-hang-monitor",
    "--disable-prompt-on-repost",
    "--disable-back-forward-cache",
    "--disable-features=IsolateOrigins,site-per-process,HttpsUpgrades,HttpsFirstBalancedMode"
    ",Translate,MediaRouter,DialMediaRouteProvider,OptimizationHints,WebRtcHideLocalIpsWithMdns"
    ",AcceptCHFrame,InterestFeedContentSuggestions,CertificateTransparencyComponentUpdater"
    ",AutofillServerCommunication,PrivacySandboxSettings4,LocalNetworkAccessChecks"
    ",BlockInsecurePrivateNetworkRequests,SpareRendererForSitePerProcess,Prerender2",
    f"--js-flags=--max-old-space-size={_HEAP}",
)


def find_browser(named: str | None) -> str:
    """The path of the browser (renderBrowser, or one of those known). Raises ConfigError."""
    if named:
        if not (os.access(named, os.X_OK) and os.path.isfile(named)):
            raise ConfigError(f"renderBrowser {named}: no program that can be run")
        if _is_snap(named):
            raise ConfigError(f"renderBrowser {named}: {_NO_SNAP}")
        return named
    found = list(filter(None, map(shutil.which, _NAMES)))
    for program in found:
        if not _is_snap(program):
            return program
    if found:
        raise ConfigError(f"render: {found[0]}: {_NO_SNAP}")
    raise ConfigError(
        f"render: no browser is found; on Debian: apt-get install {_PACKAGE}"
        " (or name one with renderBrowser)"
    )


def _is_snap(program: str) -> bool:
    """Whether a program is one of snap's, or Ubuntu's script that starts it."""
    path = os.path.realpath(program)
    if path.startswith("/snap/") or path.endswith("/bin/snap"):
        return True
    with open(path, "rb") as file:
        start = file.read(_SCRIPT)
    return start.startswith(b"#!") and b"/snap/bin/" in start


def _runs(command: list[str]) -> bool:
    """Whether a command works here, which does nothing."""
    with suppress(OSError, subprocess.TimeoutExpired):
        ended = subprocess.run(
            [*command, "true"],
            capture_output=True,
            timeout=10,
            check=False,
            env=environment(),
        )
        return ended.returncode == 0
    return False


def wrapping() -> tuple[list[str], int | None]:
    """The command before that of the browser, and the user who runs it; None for our own.

    Raises ConfigError as root if there is no other user.
    """
    if os.geteuid():
        alone = ["unshare", "--user", "--net", "--map-current-user"]
        return (alone if _runs(alone) else []), None
    try:
        user = pwd.getpwnam(_USER)
    except KeyError:
        raise ConfigError(f"render: as root, a browser needs the user {_USER}") from None
    drop = ["setpriv", f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups"]
    if not _runs(drop):
        raise ConfigError("render: start the crawl as another user than root, for the browser")
    alone = ["unshare", "--net"]
    return ([*alone, *drop] if _runs([*alone, *drop]) else drop), user.pw_uid


#: Its two pipes become those that Chromium expects, and its profile is removed after its end, also
#: if the crawl was killed.
_SHELL = """
profile=$1; shift; "$@" 3<&0 4>&1 0</dev/null 1>&2
rm -rf "$profile" || { sleep 1; rm -rf "$profile"; }
"""


class Browser:
    """The browser of a crawl. `gone` is called with the reason when it has ended."""

    def __init__(
        self, context: Context, named: str | None, happened: Happened, gone: Callable[[str], None]
    ) -> None:
        """Raises ConfigError if it cannot be run on this system."""
        self._poller = context.poller
        self._clock = context.clock
        self._gone = gone
        self._program = find_browser(named)
        self._wrapping, self._user = wrapping()
        self.devtools = DevTools(happened)
        self._child: Piped | None = None
        self._profile: Path | None = None
        self._backoff = Backoff()
        self._look_at = 0.0
        # What it says on its standard error; no file has it after the end of the crawl.
        self._messages = tempfile.TemporaryFile()  # noqa: SIM115
        #: Whether it takes commands.
        self.ready = False
        #: Starts so far, and bytes of memory of its own at the last look.
        self.starts = self.memory = 0
        #: Ends in a row without a start that worked.
        self.failures = 0
        #: Why it ended last; empty if it never did.
        self.why = ""

    @property
    def is_alone(self) -> bool:
        """Whether it has a network namespace of its own."""
        return "--net" in self._wrapping

    def open(self) -> None:
        """Start it, and wait until it takes commands. Raises ConfigError if it does not."""
        self.start()
        poller, until = Poller(), self._clock() + _STARTING
        if self._child is not None:
            self._child.listen(poller)
        while not self.ready and self._child is not None and self._clock() < until:
            poller.wait(until - self._clock())
        poller.close()
        if not self.ready:
            self.close()
            raise ConfigError(f"render: {self._program} does not start: {self.why or 'no answer'}")

    def start(self) -> None:
        """Start it, without waiting."""
        self._profile = Path(tempfile.mkdtemp(prefix="larbinpy-render-"))
        if self._user is not None:
            os.chown(self._profile, self._user, -1)
        profile = str(self._profile)
        command = [*self._wrapping, "/bin/sh", "-c", _SHELL, "sh", profile]
        command += [self._program, *_FLAGS, f"--user-data-dir={profile}"]
        self.starts += 1
        self._messages.seek(0)
        self._messages.truncate()
        self._child = Piped(
            self._poller,
            command,
            self._heard,
            stderr=self._messages.fileno(),
            start_new_session=True,
            variables={"HOME": profile},
        )
        self.devtools.attach(self._child)
        attach = {"autoAttach": True, "waitForDebuggerOnStart": True, "flatten": True}
        self.devtools.send("Target.setAutoAttach", attach, replied=self._started)

    def _started(self, result: object) -> None:
        self.ready = result is not None
        if self.ready:
            self._backoff.succeeded()
            self.failures = 0

    def _heard(self, data: bytes) -> None:
        if not data:
            self._end(self._last_words() or "it ended")
            return
        try:
            self.devtools.heard(data)
        except PipeError as error:
            self._end(str(error))

    def _last_words(self) -> str:
        """The last message of a browser that has ended which tells why."""
        self._messages.seek(0)
        lines = self._messages.read(_MOST_MESSAGES).decode(errors="replace").splitlines()
        if any(_NO_SANDBOX in line for line in lines):
            return _WANTS_SANDBOX
        fatal = [line for line in lines if ":FATAL:" in line]
        found = fatal or lines[-1:]
        return found[-1].rpartition("] ")[2][:200] if found else ""

    def kill(self, why: str) -> None:
        """End it at once."""
        if self._child is not None:
            self._end(why)

    def _end(self, why: str) -> None:
        self.why = why
        self.failures += 1
        self._stop()
        self._backoff.failed(self._clock())
        self._gone(why)

    def _stop(self) -> None:
        self.ready = False
        child, self._child = self._child, None
        if child is not None:
            # All but the shell, which removes the profile then.
            leader = child.process.pid
            for pid in self._processes(leader):
                with suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, signal.SIGKILL if pid != leader else 0)
            child.close(_ENDING)
        self.devtools.drop()
        if self._profile is not None:
            shutil.rmtree(self._profile, ignore_errors=True)
            self._profile = None

    def step(self, now: float) -> None:
        """Start it again, or look at its memory, if that is due."""
        self.devtools.tend()
        if self._child is None:
            if now >= self._backoff.due:
                self.start()
        elif now >= self._look_at:
            self._look_at = now + _LOOK
            self._look()

    @property
    def deadline(self) -> float:
        """When to call `step` again."""
        return self._backoff.due if self._child is None else self._look_at

    def _look(self) -> None:
        """Kill a process that is too large, or all of them if they are together."""
        assert self._child is not None
        sizes = {pid: _own_memory(pid) for pid in self._processes(self._child.process.pid)}
        self.memory = sum(sizes.values())
        if self.memory > MOST_OF_ALL:
            self.kill(f"it took more than {MOST_OF_ALL >> 20} MB")
            return
        for pid, size in sizes.items():
            if size > MOST_OF_ONE and pid != self._child.process.pid:
                with suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, signal.SIGKILL)

    @staticmethod
    def _processes(session: int) -> Iterator[int]:
        """The processes of the session that the browser leads."""
        for name in os.listdir("/proc"):
            if name.isdecimal():
                with suppress(OSError):
                    if os.getsid(int(name)) == session:
                        yield int(name)

    def close(self) -> None:
        """End it, and remove all that it has stored."""
        self._stop()
        self._messages.close()


def _own_memory(pid: int) -> int:
    """Bytes of memory that a process shares with no other."""
    with suppress(OSError, ValueError, IndexError):
        fields = Path(f"/proc/{pid}/statm").read_text().split()
        return (int(fields[1]) - int(fields[2])) * os.sysconf("SC_PAGE_SIZE")
    return 0
