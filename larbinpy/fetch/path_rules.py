"""Allow and Disallow patterns matched against the path of a URL (RFC 9309, 2.2.2 and 2.2.3).

A pattern is a prefix of the path and query, in which "*" stands for any octets and a final "$"
for their end. The longest pattern that matches decides, and Allow wins a tie. Both sides are
compared octet by octet in one percent-encoded spelling.
"""

import re
from operator import attrgetter
from typing import NamedTuple

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
_INDEX = "/index.html"


class Rule(NamedTuple):
    """One pattern."""

    #: Twice its length, and one more for Allow: the greatest of those that match decides.
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

    def __repr__(self) -> str:
        return f"<PathRules {len(self._rules)}>"

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
    also allows its folder.
    """
    rules = [_rule(value.replace("$", "%24"), line, allows)] if "$" in value else []
    rules.append(_rule(value, line, allows))
    if allows and not rules[-1].to_end and value.endswith(_INDEX):
        rules.append(_rule(value.removesuffix(_INDEX[1:]) + "$", line, allows))
    return rules


def _rule(value: str, line: str, allows: bool) -> Rule:
    if value.startswith(("http://", "https://")):
        value = f"/{value}"  # rules are compared with paths, so an absolute URL is taken as one
    text = value.removesuffix("$")
    to_end = text != value
    pattern = _OTHER_IN_PATTERN(_spelling, text)
    parts = tuple(_WILDCARDS.split(pattern))
    return Rule(2 * (len(pattern) + to_end) + allows, parts, to_end, line)


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
