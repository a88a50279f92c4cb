"""A site of which all pages are behind a door: it shows them only to clients that have logged in.

The pages are the same each time. The site notes each request, with its kind, and knows which
sessions it has ended, so that a test can judge a crawler by what the site saw.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from random import Random
from typing import Any
from urllib.parse import quote

from tests.support.doors.server import Heard, Said, Server

#: A text of each page behind the door, and one of each reply to clients that have no session.
OPEN, SHUT = "Signed in as", "This-door-is-shut"
USER = "mé@example.org"
#: Characters that each encoding spells in another way.
PASSWORD = 'cörrect horse&"b%+=</b>7'
PAGES = 60


class Kind(StrEnum):
    """The kinds of requests."""

    ROBOTS = "robots"
    #: A page behind the door, to somebody who may see it.
    PAGE = "page"
    #: A page behind the door, or one that does not exist, to somebody else.
    REFUSED = "refused"
    #: The first request of a login, a further one, the one that succeeded, the one that failed.
    FIRST = "first"
    FURTHER = "further"
    GRANTED = "granted"
    DENIED = "denied"
    #: The end of a session, asked for by its owner.
    LOGOUT = "logout"
    MISSING = "missing"


LOGINS = {Kind.FIRST, Kind.FURTHER, Kind.GRANTED, Kind.DENIED}


@dataclass(frozen=True)
class Life:
    """The end of a session: after so many pages, or after so many seconds."""

    pages: float = float("inf")
    seconds: float = float("inf")


@dataclass
class Session:
    """One session; `began` is a time of time.monotonic (s)."""

    key: str
    began: float
    served: int = 0
    ended: bool = False
    #: Whether a client was refused since it ended.
    noticed: bool = False


@dataclass
class Link:
    """A further link of each page: path, text, and whether it ends the session."""

    path: str
    text: str
    ends: bool = False
    #: Whether the link replies with a page that looks as any other.
    quiet: bool = False


def to_login(door: "Door", heard: Heard) -> Said:
    """302 to the login page, which comes back to where the client was."""
    where = f"Location: /login?next={quote(heard.target, safe='')}"
    return Said(f"<p>{SHUT}", 302, (where,))


def asks_for_login(door: "Door", heard: Heard) -> Said:
    """A page with status 200 and without a form."""
    return Said(f"<!DOCTYPE html><title>Welcome</title><h1>{SHUT}</h1><p>Please sign in.")


def forbidden(door: "Door", heard: Heard) -> Said:
    return Said(f"<!DOCTYPE html><title>403</title><h1>{SHUT}</h1>", 403)


def unauthorized(door: "Door", heard: Heard) -> Said:
    return Said(f"<!DOCTYPE html><title>401</title><h1>{SHUT}</h1>", 401, door.challenges())


Refusal = Callable[["Door", Heard], Said]


@dataclass
class Door:
    """The base of all sites: pages, sessions and the log."""

    refusal: Refusal = to_login
    life: Life = field(default_factory=Life)
    links: tuple[Link, ...] = ()
    pages: int = PAGES
    password: str = PASSWORD
    address: str = "127.0.0.1"

    def __post_init__(self) -> None:
        self._random = Random(f"{type(self).__name__} {self.address}")
        self.server = Server(self._answer, self.address)
        self.servers = [self.server]
        self.sessions: dict[str, Session] = {}
        #: Strings that nobody but the site and the crawler may see.
        self.secrets: set[str] = {self.password}

    # Overridden by the sites.

    def login(self, heard: Heard) -> Said | None:
        """The reply to a request of a login; None for all other requests."""
        return None

    def key_of(self, heard: Heard) -> str | None:
        """The key of the session that a request names."""
        return heard.cookies.get("sid")

    def challenges(self) -> tuple[str, ...]:
        """Header lines of a 401."""
        return ()

    def keys(self) -> dict[str, Any]:
        """The keys of its login in loginFile, besides `site`."""
        return {}

    # For them.

    def token(self, name: str = "") -> str:
        """A new secret, which is easy to find."""
        value = f"{name}{self._random.getrandbits(96):024x}"
        self.secrets.add(value)
        return value

    def begin(self, key: str | None = None) -> Session:
        """A new session."""
        session = Session(key or self.token("s"), time.monotonic())
        self.sessions[session.key] = session
        return session

    def session_of(self, heard: Heard) -> Session | None:
        """The living session of a request."""
        session = self.sessions.get(self.key_of(heard) or "")
        if session is None:
            return None
        age = time.monotonic() - session.began
        if session.served >= self.life.pages or age > self.life.seconds:
            session.ended = True
        if session.ended:
            session.noticed = True
            return None
        return session

    # For the tests.

    @property
    def log(self) -> list[Heard]:
        return self.server.log

    def url(self, path: str = "/") -> str:
        return self.server.url(path)

    @property
    def site(self) -> str:
        """The origin, as loginFile has it."""
        return self.url("")

    @property
    def paths(self) -> list[str]:
        """The paths of all pages behind the door."""
        return ["/", *(f"/p/{number}" for number in range(self.pages))]

    def text(self, path: str) -> str:
        """A text that only this page has."""
        random = Random(path)
        return f"Record {path}: " + " ".join(f"w{random.randrange(10**6)}" for _ in range(30))

    @property
    def expiries(self) -> int:
        """The number of sessions of which a client has seen that they ended."""
        return sum(session.noticed for session in self.sessions.values())

    def close(self) -> None:
        for server in self.servers:
            server.close()

    # The replies.

    def _answer(self, heard: Heard) -> Said:
        if heard.path == "/robots.txt":
            return Said("User-agent: *\nDisallow: /never\n", type="text/plain", kind=Kind.ROBOTS)
        said = self.login(heard)
        if said is not None:
            return said
        session = self.session_of(heard)
        if session is None:
            said = self.refusal(self, heard)
            said.kind = Kind.REFUSED
            return said
        for link in self.links:
            if link.ends and heard.target == link.path:
                session.ended = True
                body = self._page(link.path) if link.quiet else f"<p>{SHUT}: goodbye"
                return Said(body, kind=Kind.LOGOUT)
        if heard.method != "GET" or heard.target not in self._known():
            return Said("<!DOCTYPE html><title>404</title>", 404, kind=Kind.MISSING)
        session.served += 1
        return Said(self._page(heard.target), kind=Kind.PAGE)

    def _known(self) -> set[str]:
        return {*self.paths, *(link.path for link in self.links)}

    def _page(self, path: str) -> str:
        number = int(path[3:]) if path.startswith("/p/") else -1
        # A tree, each page of which leads to its neighbours, too.
        beside = {2 * number + 2, 2 * number + 3, number - 1, number + 1, (number * 7) % self.pages}
        places = ["/", *(f"/p/{n}" for n in sorted(beside) if 0 <= n < self.pages)]
        links = [f'<li><a href="{place}">{place}</a>' for place in places]
        links += [f'<li><a href="{link.path}">{link.text}</a>' for link in self.links]
        return (
            f"<!DOCTYPE html><html lang=en><title>{path}</title>\n"
            f"<main><h1>{path}</h1><p>{OPEN} {USER}.</p><p>{self.text(path)}</p></main>\n<ul>\n"
            + "\n".join(links)
        )
