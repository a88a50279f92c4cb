"""robots.txt as a value: which agent may fetch which URL (RFC 9309), and how often.

Bytes become ASCII lines, unknown lines are dropped, and for one agent only the lines of its own
groups become `Rules`, which bounds the work: n agents over m rules cost n + m lines, not n * m.

A pattern of Allow or Disallow (sections 2.2.2 and 2.2.3) is a prefix of the path and query, in
which "*" stands for any octets and a final "$" for their end. Both sides are compared octet by
octet in one percent-encoded spelling. Of the patterns that match, the one decides that is longest
as it is written, and Allow wins a tie.

The library Protego does the same, but keeps the rules of all agents, in reference cycles with its
parser: in a crawl of many sites, this would keep the garbage collector busy. The tests use it as
the reference.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator
from operator import attrgetter
from typing import NamedTuple

from larbinpy.errors import product_token

_UNRESERVED = frozenset(
    b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~"  # RFC 3986, 2.3
)
# Also decoded, so that "=" and "%3D" are equal: both are common in queries.
_DECODED = _UNRESERVED | frozenset(b"=")
_SPELLING = [chr(code) if code in _DECODED else f"%{code:02X}" for code in range(256)]

# Escapes and characters to be respelled. "/", "%" and, in a pattern, "*" are not changed.
_OTHER_IN_PATH = re.compile(r"%[0-9A-Fa-f]{2}|[^A-Za-z0-9._~/=%-]").sub
_OTHER_IN_PATTERN = re.compile(r"%[0-9A-Fa-f]{2}|[^A-Za-z0-9._~/=%*-]").sub

# Most URLs: their path has the right spelling already.
_PLAIN_URL = re.compile(r"[a-z]+://[^/?#]*(/[A-Za-z0-9._~/=-]*)").fullmatch
_URL = re.compile(r"(?:[A-Za-z][A-Za-z0-9+.-]*://[^/?#]*)?([^#]*)")
_WILDCARDS = re.compile(r"\*+")
_INDEXES = ("/index.html", "/index.htm")


class Rule(NamedTuple):
    """One pattern."""

    #: Twice its length as written, octets that are not ASCII as three characters, and one more for
    #: Allow: the greatest of those that match decides.
    weight: int
    #: The octets before, between and after its wildcards.
    parts: tuple[str, ...]
    #: It ends with "$".
    to_end: bool
    #: The line of the robots.txt.
    line: str

    @property
    def allows(self) -> bool:
        return self.weight % 2 == 1

    def matches(self, path: str) -> bool:
        """Whether it matches `path`, in the spelling of `path_of`.

        Each wildcard takes one search: the first occurrence of a part leaves most room for the
        parts that follow.
        """
        parts = self.parts
        if not path.startswith(parts[0]):
            return False
        at = len(parts[0])
        if len(parts) == 1:
            return not self.to_end or len(path) == at
        last = parts[-1]
        for part in parts[1:-1]:
            at = path.find(part, at)
            if at < 0:
                return False
            at += len(part)
        if self.to_end:
            return len(path) - len(last) >= at and path.endswith(last)
        return path.find(last, at) >= 0


class PathRules:
    """The rules of one group."""

    def __init__(self, rules: list[Rule]) -> None:
        self._rules = sorted(rules, key=attrgetter("weight"), reverse=True)
        # Most patterns are a mere prefix; one call of startswith rules out all of them.
        plain = [rule for rule in self._rules if len(rule.parts) == 1 and not rule.to_end]
        self._prefixes = tuple(rule.parts[0] for rule in plain)
        self._others = [rule for rule in self._rules if len(rule.parts) > 1 or rule.to_end]

    def deciding(self, path: str) -> Rule | None:
        """The rule that decides about `path`, in the spelling of `path_of`; None if none does."""
        rules = self._rules if path.startswith(self._prefixes) else self._others
        for rule in rules:
            if rule.matches(path):
                return rule
        return None


def rules_of(value: str, line: str, *, allows: bool) -> list[Rule]:
    """The rules for `value`, in ASCII, of the Allow or Disallow line `line`.

    A value with two meanings gives two rules: a "$" may be an octet, and an allowed "/index.html"
    or "/index.htm" also allows its folder.
    """
    weight = 2 * len(value) + allows
    rules = [_rule(value.replace("$", "%24"), line, weight)] if "$" in value else []
    rules.append(_rule(value, line, weight))
    if allows and not rules[-1].to_end and value.endswith(_INDEXES):
        folder = value[: value.rindex("/") + 1] + "$"
        rules.append(_rule(folder, line, 2 * len(folder) + allows))
    return rules


def _rule(value: str, line: str, weight: int) -> Rule:
    if value.startswith(("http://", "https://")):
        value = f"/{value}"  # rules are compared with paths, so an absolute URL is taken as one
    text = value.removesuffix("$")
    to_end = text != value
    pattern = _OTHER_IN_PATTERN(_spelling, text)
    parts = tuple(_WILDCARDS.split(pattern))
    return Rule(weight, parts, to_end, line)


def path_of(url: str) -> str:
    """Path and query of `url`, in the spelling in which rules are compared."""
    plain = _PLAIN_URL(url)
    if plain is not None:
        return plain[1]
    match = _URL.match(url)
    path = _OTHER_IN_PATH(_spelling, match[1] if match else "")
    return path if path[:1] == "/" else f"/{path}"


def _spelling(match: re.Match[str]) -> str:
    text = match[0]
    if len(text) == 3:
        return _SPELLING[int(text[1:], 16)]
    return "".join([_SPELLING[octet] for octet in text.encode()])


#: Bytes of a robots.txt that count; RFC 9309, 2.5 asks for at least 500 KiB.
MAX_SIZE = 512 * 1024

#: Google's parser cuts lines at this length, eight times the longest URL of old browsers.
_MAX_LINE = 2083 * 8 - 1

#: Wildcards of one agent that are matched as such, as each takes a search for every URL. The
#: largest ordinary files have some hundreds.
_MAX_WILDCARDS = 1000

_MARKS = (b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff")

# Control characters and non-ASCII octets.
_ENCODED = {code: f"%{code:02X}" for code in (*range(9), *range(10, 32), *range(127, 256))}

# Unknown lines must not end a group (RFC 9309, 2.2.4), so they are dropped here. A line without
# a colon may still be meant as a rule. The misspellings are those that Protego knows.
_KNOWN = re.compile(
    r"(?P<field>(?P<agent>user[- ]?agent)|(?P<sitemap>site-?maps?)|allow"
    r"|dissallow|dissalow|disallow|disalow|diasllow|disallaw"
    r"|crawl[- ]delay|request[- ]rate|visit[- ]time)(?:(?P<colon>\s*:)|\s)\s*(?P<value>.*)",
    re.IGNORECASE,
)
_OTHER_FIELD = re.compile(r"[^:]*:(?:\s|$)")

# The product token (RFC 9309, 2.2.1) at the beginning of a user-agent line; the rest is ignored.
_TOKEN = re.compile(r"[A-Za-z_-]*")

_IS_WEB = re.compile(r"https?://", re.IGNORECASE).match

_EVERYONE = "*"
_ROBOTS_TXT = "/robots.txt"


class Rules:
    """The rules of one robots.txt."""

    __slots__ = ("_groups", "_lines", "sitemaps")

    def __init__(self, lines: list[tuple[str | None, str]], sitemaps: list[str]) -> None:
        # For a user-agent line, the token and ""; for any other line, None and the line.
        self._lines = lines
        self._groups: dict[str, _Group] = {}
        #: Values of the Sitemap lines, unchanged except for percent-encoding.
        self.sitemaps = sitemaps

    def __repr__(self) -> str:
        return f"<Rules {len(self._lines)} lines, {len(self.sitemaps)} sitemaps>"

    @classmethod
    def parse(cls, body: bytes) -> Rules:
        """Read the first `MAX_SIZE` bytes of a robots.txt; a body of another kind has no rules.

        Never raises. If the body was cut off already, pass its `whole_lines`.
        """
        lines: list[tuple[str | None, str]] = []
        sitemaps = []
        for line in _split(body):
            match = _KNOWN.match(line)
            if match is None:
                continue
            if match["agent"]:
                lines.append((_named(match["value"]), ""))
            elif match["sitemap"]:
                sitemaps += _sitemaps(match["value"].partition("#")[0])
            else:
                lines.append((None, line))
        return cls(lines, sitemaps)

    def allowed(self, agent: str, url: str) -> bool:
        """Whether `agent` (a product token or a whole User-Agent) may fetch `url`.

        `url` is in canonical spelling; /robots.txt itself is always allowed.
        """
        return self._forbidding(agent, url) is None

    def delay(self, agent: str) -> float | None:
        """Crawl-delay for `agent` in seconds, where one is given."""
        return self._group(product_token(agent)).delay

    def forbidding(self, agent: str, url: str) -> str | None:
        """The line that forbids `agent` to fetch `url`; None if it may fetch it.

        The line is unchanged except for percent-encoding.
        """
        rule = self._forbidding(agent, url)
        return None if rule is None else rule.line

    def _forbidding(self, agent: str, url: str) -> Rule | None:
        path = path_of(url)
        if path.startswith(_ROBOTS_TXT) and path.partition("%3F")[0] == _ROBOTS_TXT:
            return None
        token = product_token(agent)
        rule = (self._groups.get(token) or self._group(token)).paths.deciding(path)
        return None if rule is None or rule.allows else rule

    def _group(self, token: str) -> _Group:
        if token not in self._groups:
            self._groups[token] = _Group(self._own(token))
        return self._groups[token]

    def _own(self, token: str) -> Iterator[str]:
        """The lines of the groups that apply to `token`."""
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


class _Group:
    """The rules of one agent: those about paths, and its delay in seconds."""

    def __init__(self, lines: Iterable[str]) -> None:
        self.delay: float | None = None
        rules: list[Rule] = []
        wildcards = 0
        for line in lines:
            field, value = _field(line)
            if not value:
                continue
            if field.startswith("crawl"):
                self.delay = _delay(value, self.delay)
            elif field.startswith("d") or field == "allow":
                allows = field == "allow"
                wildcards += value.count("*")
                if "*" in value and wildcards > _MAX_WILDCARDS:
                    # A Disallow is cut at its first "*", and so forbids more than was meant. An
                    # Allow cut there would allow more, so it is dropped.
                    value = "" if allows else value.partition("*")[0]
                if value:
                    rules += rules_of(value, line, allows=allows)
        self.paths = PathRules(rules)


def _field(line: str) -> tuple[str, str]:
    """Name, in lower case, and value of a known line that is not about agents or sitemaps."""
    match = _KNOWN.match(line)
    if match is None:
        return "", ""
    value = match["value"].partition("#")[0].strip()
    if match["colon"] is None:
        # If a later word ends with a colon, that word is the name of a field, not a known one.
        if _OTHER_FIELD.match(value):
            return "", ""
        value = " ".join(value.split())
    return match["field"].lower(), value


def _sitemaps(value: str) -> list[str]:
    """The URLs in the value of a Sitemap line: the first word, and further URLs behind it."""
    words = value.split()
    return words[:1] + list(filter(_IS_WEB, words[1:]))


def _delay(value: str, otherwise: float | None) -> float | None:
    try:
        delay = float(value)
    except ValueError:
        return otherwise
    return delay if 0 <= delay < math.inf else otherwise


def whole_lines(body: bytes) -> bytes:
    """A `body` that was cut off, up to its last line end.

    Half a rule would forbid, or allow, more than the complete one.
    """
    return body[: max(body.rfind(b"\n"), body.rfind(b"\r"), 0)]


def _split(body: bytes) -> list[str]:
    """The lines of `body` in ASCII, other octets percent-encoded (RFC 9309, 2.2.2)."""
    if len(body) > MAX_SIZE:
        body = whole_lines(body[:MAX_SIZE])
    for mark in _MARKS:
        body = body.removeprefix(mark)
    body = body.replace(b"\0", b"")  # what is left of UTF-16 is ASCII
    return [_ascii(line[:_MAX_LINE]) for line in body.splitlines()]


def _ascii(line: bytes) -> str:
    return line.strip().decode("latin-1").translate(_ENCODED)


def _named(value: str) -> str:
    """The agent that a user-agent line names: "*", a token in lower case, or "" for none."""
    if value[:1] == _EVERYONE and (len(value) == 1 or value[1].isspace() or value[1] == "#"):
        return _EVERYONE
    match = _TOKEN.match(value)
    name = match[0].rstrip("_-").lower() if match else ""
    # Some sites write the whole User-Agent of a crawler.
    return product_token(value) if name == "mozilla" else name
