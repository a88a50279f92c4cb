"""robots.txt as a value: who may fetch what (RFC 9309), and how often.

Protego matches paths and counts the longest rule. What it leaves open is settled before it
reads: bytes become ASCII, lines are cut where a robots.txt has lines, unknown ones are
dropped, and of all groups only those are handed on that speak to the agent in question.
The last also bounds the work: a file of n agents over m rules is n + m lines, not n * m.
"""

from __future__ import annotations

import re
import weakref
from collections.abc import Iterable, Iterator

from protego import Protego

from larbinpy.agent import product_token

#: RFC 9309, 2.5 asks for at least 500 KiB.
MAX_SIZE = 512 * 1024

#: Google's parser cuts lines there, eight times the longest URL of old browsers.
_MAX_LINE = 2083 * 8 - 1

#: How many "*" are matched as such; the largest honest files have some hundreds.
_MAX_WILDCARDS = 1000

_MARKS = (b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff")

# Control characters among them, as str.splitlines would break a line at some of those.
_ENCODED = {code: f"%{code:02X}" for code in (*range(9), *range(10, 32), *range(127, 256))}

# Unknown lines must not end a group (RFC 9309, 2.2.4), so they are dropped here. What has
# no colon may still be meant as a rule. The misspellings are those that Protego knows.
_KNOWN = re.compile(
    r"(?:(?P<agent>user[- ]?agent)|(?P<sitemap>site-?maps?)|allow"
    r"|dissallow|dissalow|disallow|disalow|diasllow|disallaw"
    r"|crawl[- ]delay|request[- ]rate|visit[- ]time)(?:\s*:|\s)\s*(?P<value>.*)",
    re.IGNORECASE,
)

# A product token (RFC 9309, 2.2.1) with what a robots.txt may add to it.
_TOKEN = re.compile(r"[A-Za-z_-]*")

#: Rules that are tried one by one, 20 us each, where the one is wanted that forbids.
_MAX_LOOKS = 500

#: A rule's beginning that has one spelling alone.
_PLAIN = re.compile(r"[A-Za-z0-9/._~-]*")

_EVERYONE = "*"
_SELF = "self"


class Rules:
    """The rules of one robots.txt."""

    __slots__ = ("_lines", "_matchers", "sitemaps")

    def __init__(self, lines: list[tuple[str | None, str]], sitemaps: list[str]) -> None:
        # An agent's token and "" for a line that names one, else None and the line.
        self._lines = lines
        self._matchers: dict[str, Protego] = {}
        #: Values of the Sitemap lines, as they are written but for percent-encoding.
        self.sitemaps = sitemaps

    def __repr__(self) -> str:
        return f"<Rules {len(self._lines)} lines, {len(self.sitemaps)} sitemaps>"

    @classmethod
    def parse(cls, body: bytes) -> Rules:
        """Read a robots.txt; whatever is not one has no rules. Never raises."""
        lines: list[tuple[str | None, str]] = []
        sitemaps = []
        for line in _split(body):
            match = _KNOWN.match(line)
            if match is None:
                continue
            if match["agent"]:
                lines.append((_group(match["value"]), ""))
            elif match["sitemap"]:
                sitemaps.append(match["value"].partition("#")[0].strip())
            else:
                lines.append((None, line))
        return cls(lines, [sitemap for sitemap in sitemaps if sitemap])

    def allowed(self, agent: str, url: str) -> bool:
        """Whether `agent` (a product token or a whole User-Agent) may fetch `url`.

        `url` is in canonical spelling; /robots.txt itself is always allowed.
        """
        return self._matcher(agent).can_fetch(url, _SELF)

    def delay(self, agent: str) -> float | None:
        """Crawl-delay for `agent` in seconds, where one is given."""
        return self._matcher(agent).crawl_delay(_SELF)

    def forbidding(self, agent: str, url: str) -> str | None:
        """The line by which `agent` may not fetch `url`, for people; None where it may.

        As it is written but for percent-encoding. None too where it is not among those that
        are looked at.
        """
        if self.allowed(agent, url):
            return None
        path = "/" + url.split("/", 3)[3]
        lines = [line for line in self._own(product_token(agent)) if _may_forbid(line, path)]
        lines.sort(key=len, reverse=True)  # the longest rule counts
        for line in lines[:_MAX_LOOKS]:
            if not Protego.parse(f"User-agent: {_SELF}\n{line}").can_fetch(url, _SELF):
                return line
        return None

    def _own(self, token: str) -> Iterator[str]:
        """The lines of the groups that count for `token`."""
        names = {name for name, _ in self._lines if name}
        wanted = token if token in names else _EVERYONE
        group: set[str] = set()
        is_open = False
        for name, text in self._lines:
            if name is None:
                is_open = False
                if wanted in group:
                    yield text
            else:
                if not is_open:
                    group = set()
                group.add(name)
                is_open = True

    def _matcher(self, agent: str) -> Protego:
        token = product_token(agent)
        matcher = self._matchers.get(token)
        if matcher is None:
            lines = (_line(name, text, token) for name, text in self._lines)
            matcher = self._matchers[token] = _let_go_at_once(
                Protego.parse("\n".join(_bounded(lines)))
            )
        return matcher


def _let_go_at_once(matcher: Protego) -> Protego:
    """A matcher that is gone with its last user, without the help of the garbage collector.

    Its rule sets point back at it; a crawl of many sites makes and drops so many of these
    circles that the collector, which stops everything, would be at work all the time.
    """
    for rule_set in getattr(matcher, "_user_agents", {}).values():
        rule_set._parser_instance = weakref.proxy(matcher)
    return matcher


def _may_forbid(line: str, path: str) -> bool:
    """Whether a Disallow line may match `path`, as far as that is plain to see."""
    value = match["value"] if (match := _KNOWN.match(line)) else ""
    if line.lower().startswith("allow"):
        return False
    plain = _PLAIN.match(value)
    return not value.startswith("/") or plain is None or path.startswith(plain[0])


def _split(body: bytes) -> list[str]:
    """The lines of `body` in ASCII, other octets percent-encoded (RFC 9309, 2.2.2)."""
    if len(body) > MAX_SIZE:
        # Half a rule would forbid more than the whole.
        end = max(body.rfind(b"\n", 0, MAX_SIZE), body.rfind(b"\r", 0, MAX_SIZE))
        body = body[: max(end, 0)]
    for mark in _MARKS:
        body = body.removeprefix(mark)
    body = body.replace(b"\0", b"")  # what is left of UTF-16 is ASCII
    return [_ascii(line[:_MAX_LINE]) for line in body.splitlines()]


def _ascii(line: bytes) -> str:
    return line.strip().decode("latin-1").translate(_ENCODED)


def _group(value: str) -> str:
    """Whom a user-agent line names: "*", a token in lower case, or "" for nobody."""
    if value[:1] == _EVERYONE and (len(value) == 1 or value[1].isspace() or value[1] == "#"):
        return _EVERYONE
    match = _TOKEN.match(value)
    return match[0].rstrip("_-").lower() if match else ""


def _line(name: str | None, text: str, token: str) -> str:
    """The line for a matcher that knows one agent, _SELF, and everyone.

    A line without a name still begins a group, one that is about others.
    """
    if name is None:
        return text
    if name == _EVERYONE:
        return "User-agent: *"
    return f"User-agent: {_SELF}" if name and name == token else "User-agent:"


def _bounded(lines: Iterable[str]) -> Iterator[str]:
    """`lines`, of which rules are shortened once there were `_MAX_WILDCARDS`.

    Each "*" costs a search of its own for every URL. What stands before the first one
    forbids more than was meant; an Allow of that kind goes.
    """
    wildcards = 0
    for line in lines:
        is_rule = "*" in line and not line.startswith("User-agent")
        wildcards += line.count("*") if is_rule else 0
        if not is_rule or wildcards <= _MAX_WILDCARDS:
            yield line
        elif not line.lower().startswith("allow"):
            yield line.partition("*")[0]
