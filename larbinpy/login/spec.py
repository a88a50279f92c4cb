"""A login as loginFile has it, and its secrets: where they are, and that nobody else can read them.

Errors are ValueErrors of one line, without the secret.
"""

import getpass
import netrc
import os
import re
import resource
import stat
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum, Flag, auto
from functools import cache
from io import StringIO
from pathlib import Path

from larbinpy.config.kinds import decoded
from larbinpy.url import has_control

#: Values that name a place where the secret is.
ASK, NETRC = "ask", "netrc"
_VARIABLE, _FILE = "env:", "file:"
#: Bytes read of a file with one secret, and of a netrc.
_MOST = 1 << 16

#: Asks the user for a secret; the argument is the prompt.
Prompt = Callable[[str], str]


def is_plain(text: str) -> bool:
    """Whether `text` is a secret itself, and not the place of one."""
    return text not in (ASK, NETRC) and not is_named(text)


def is_named(text: str) -> bool:
    """Whether `text` names an environment variable or a file."""
    return text.startswith((_VARIABLE, _FILE))


def described(text: str) -> str:
    """The place of a secret, for messages."""
    if is_plain(text):
        return "in the file"
    return "asked at the start" if text == ASK else f"from {text}"


def named(text: str, folder: Path, environ: Mapping[str, str]) -> str:
    """The secret in the variable or the file that `text` names, or `text` itself.

    Paths are relative to `folder`.
    """
    if text.startswith(_VARIABLE):
        name = text.removeprefix(_VARIABLE)
        value = environ.get(name, "")
        if not value:
            why = "is empty" if name in environ else "is not set"
            raise ValueError(f"the environment variable {name[:60]!r} {why}")
        return checked(value)
    if text.startswith(_FILE):
        path = located(text.removeprefix(_FILE), folder)
        value = private_text(path)
        value = value.removesuffix("\n").removesuffix("\r")
        if not value:
            raise ValueError(f"{path} is empty")
        return checked(value)
    return checked(text)


def located(text: str, folder: Path) -> Path:
    """The path that `text` is in a file of `folder`; ``~`` is the home."""
    if not text or has_control(text):
        raise ValueError("it must be a path")
    return folder / os.path.expanduser(text)


def checked(secret: str) -> str:
    """`secret`, unless it has a character that no request can carry."""
    if has_control(secret):
        raise ValueError("it has a control character or a line end")
    return secret


def private_text(path: Path) -> str:
    """The text of a file that only its owner may read."""
    try:
        with path.open("rb") as file:
            data = file.read(_MOST + 1)
            check_private(path, os.fstat(file.fileno()))
    except OSError as error:
        raise ValueError(f"{path} cannot be read: {error.strerror}") from None
    if len(data) > _MOST:
        raise ValueError(f"{path} is larger than {_MOST} bytes")
    return text_of(data, path)


def text_of(data: bytes, path: Path | str) -> str:
    try:
        return decoded(data)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        # The error itself has the data.
        reason = f"{path}:{line}: not text in UTF-8"
    raise ValueError(reason)


def check_private(path: Path | str, status: os.stat_result) -> None:
    """Raise ValueError unless only its owner may read, or write, a file.

    As ssh, it minds only files of this user: the secrets of a container may be root's. Nor can
    anybody change those of a read-only mount.
    """
    mode = stat.S_IMODE(status.st_mode)
    if mode & 0o077 and status.st_uid == os.geteuid() and not _is_read_only(path):
        raise ValueError(
            f"{path} has secrets, and others may open it (mode {mode:04o}); chmod 600 {path}"
        )


def _is_read_only(path: Path | str) -> bool:
    """Whether the file system of `path` is mounted so."""
    try:
        return bool(os.statvfs(path).f_flag & os.ST_RDONLY)
    except OSError:
        return False


#: A backslash begins an escape in a netrc, or stands for itself, as for curl: `CORP\me`.
_BACKSLASH = re.compile(r"""\\([\\"\s])|\\""")


class _Netrc(netrc.netrc):
    """The netrc in a text; the library reads files only, and stumbles over a byte order mark."""

    def __init__(self, text: str) -> None:
        self.hosts, self.macros = {}, {}
        # An empty line ends a macro, also the last one of a file.
        end = "\n\n" if "macdef" in text else ""
        text = _BACKSLASH.sub(lambda found: found[0] if found[1] else r"\\", text)
        self._parse("", StringIO(text + end), False)  # type: ignore[attr-defined]


def netrc_login(host: str, path: str, folder: Path, environ: Mapping[str, str]) -> tuple[str, str]:
    """User and password of `host` in the netrc `path`; by default $NETRC, or ~/.netrc."""
    file = located(path or environ.get("NETRC") or "~/.netrc", folder)
    text = private_text(file)
    line = 0
    try:
        found = _Netrc(text).authenticators(host.strip("[]"))
    except netrc.NetrcParseError as error:
        # Its text may be part of a password.
        found, line = None, error.lineno or 1
    if line:
        raise ValueError(f"{file}:{line}: not in the format of a netrc")
    if found is None or not found[2]:
        raise ValueError(f"{file} has no password for the machine {host.strip('[]')}")
    return checked(found[0]), checked(found[2])


@cache
def terminal(prompt: str) -> str:
    """Ask on the terminal, once for each prompt; what is typed is not shown."""
    try:
        os.close(os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY))
    except OSError:
        raise ValueError(
            "there is no terminal to ask on; write env:NAME or file:PATH instead"
        ) from None
    try:
        return getpass.getpass(prompt)
    except EOFError:
        raise ValueError("nothing was typed") from None


def leave_no_core() -> None:
    """Turn core files off for this process: they would have its secrets."""
    _, hard = resource.getrlimit(resource.RLIMIT_CORE)
    resource.setrlimit(resource.RLIMIT_CORE, (0, hard))


class MethodTrait(Flag):
    """Properties of methods. Other modules test for a property, never for a method."""

    #: It fills in a form, so a page that asks for a password is none of the session.
    FORM = auto()
    #: `file` is a cookies.txt with the cookies of a session.
    COOKIES = auto()
    #: User and password are in a netrc.
    NETRC = auto()
    #: A program of the user logs in.
    PROGRAM = auto()


_NONE = MethodTrait(0)


class Method(Enum):
    """A way to log in. `larbinpy.login.methods` has the requests of those that make some.

    A row has the value of `method` in loginFile, the keys that a table needs besides those of all
    methods, those that it may have, and the traits. If libcurl sends user and password, its scheme
    is last; empty for Basic or Digest, as the site asks.
    """

    _value_: str
    needed: tuple[str, ...]
    allowed: tuple[str, ...]
    traits: MethodTrait
    auth: str | None

    FORM = "form", "page password", "also user fields", MethodTrait.FORM
    BASIC = "basic", "user password", "", _NONE, "basic"
    DIGEST = "digest", "user password", "", _NONE, "digest"
    NEGOTIATE = "negotiate", "", "", _NONE, "negotiate"
    BEARER = "bearer", "token"
    OAUTH2 = "oauth2", "grant clientId tokenUrl", "clientSecret refreshToken deviceUrl scope"
    OAUTH1 = "oauth1", "clientId clientSecret", "token tokenSecret"
    COOKIES = "cookies", "file", "page", MethodTrait.COOKIES
    NETRC = "netrc", "", "file", MethodTrait.NETRC, ""
    HOOK = "hook", "", "page user password fields token", MethodTrait.PROGRAM

    def __new__(
        cls,
        name: str,
        needed: str = "",
        allowed: str = "",
        traits: MethodTrait = _NONE,
        auth: str | None = None,
    ) -> "Method":
        method = object.__new__(cls)
        method._value_ = name
        method.needed = tuple(needed.split())
        method.allowed = tuple(allowed.split())
        method.traits = traits
        method.auth = auth
        return method

    def is_a(self, trait: MethodTrait) -> bool:
        return trait in self.traits


@dataclass(frozen=True)
class Login:
    """A table of loginFile, whose secrets are resolved. The repr has none."""

    #: The site key: scheme, host and port, as `larbinpy.url.site_of` writes it.
    site: str
    method: Method
    #: Absolute URL of the page with the form (form, hook); empty for none.
    page: str = ""
    user: str = ""
    #: Further fields of the form, by name.
    fields: Mapping[str, str] = field(default_factory=dict, repr=False)
    #: Texts, or regular expressions between slashes, that only logged-in pages, or only logged-out
    #: ones, have; empty for none.
    logged_in: str = ""
    logged_out: str = ""
    #: Absolute URL of a page that only those who are logged in get; empty for none.
    check: str = ""
    password: str = field(default="", repr=False)
    #: Bearer token (bearer), or that of OAuth 1 with its secret.
    token: str = field(default="", repr=False)
    token_secret: str = field(default="", repr=False)
    #: OAuth: the client, in OAuth 1 called consumer.
    client_id: str = ""
    client_secret: str = field(default="", repr=False)
    #: OAuth 2: "client_credentials", "refresh_token" or "device_code".
    grant: str = ""
    token_url: str = ""
    device_url: str = ""
    scope: str = ""
    refresh_token: str = field(default="", repr=False)
    #: A cookies.txt (cookies).
    file: str = ""
    #: Further origins, as site keys, to which a form may be sent (form).
    also: tuple[str, ...] = ()
