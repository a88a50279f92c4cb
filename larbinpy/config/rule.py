"""Rules (`accept`, `reject`): their conditions, parsed and checked when they are read."""

import os
import re
from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from functools import cached_property, partial
from typing import Any

from larbinpy.config.kinds import COMMENT, UTF_16, ValueKind, decoded, plain, quote, show_size, size
from larbinpy.config.patterns import HostPattern, canonical, host_name, is_suffix, registered_domain
from larbinpy.url import hash64, resolve

#: Memory for one regular expression, compiled (bytes). RE2 refuses a larger one.
REGEX_MEMORY = 1 << 20

_NAMED = re.compile(r"([A-Za-z_-]+):(?!//)(.*)", re.DOTALL)
#: A regular expression that is more likely meant as a path.
_PATH = re.compile(r"[A-Za-z0-9._/-]+")
#: A comparison without its colon.
_NO_COLON = re.compile(r"(depth|hops|size)([<>=].*)", re.IGNORECASE | re.DOTALL)
_COMPARED = re.compile(r"(>=|<=|>|<|=?)(.+)")
_TYPE = re.compile(r"[a-z0-9!#$&^_.+*?/-]+")
_SIZE = size(0, 1 << 50)


@dataclass(frozen=True, slots=True)
class Glob:
    """A glob on the whole URL (see `url_glob`)."""

    text: str

    def show(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True)
class Regex:
    """A regular expression of RE2, searched anywhere in the URL."""

    text: str

    def show(self) -> str:
        return f"/{self.text}/"


@dataclass(frozen=True, slots=True)
class Host:
    pattern: HostPattern

    def show(self) -> str:
        return f"host:{self.pattern.show()}"


@dataclass(frozen=True, slots=True)
class Domain:
    """A registered domain: all hosts in it."""

    name: str

    def show(self) -> str:
        return f"domain:{self.name}"


@dataclass(frozen=True, slots=True)
class Number:
    """A comparison of a number."""

    #: depth, hops or size (bytes).
    name: str
    #: One of > >= < <= and =.
    comparison: str
    value: int

    def show(self) -> str:
        value = show_size(self.value) if self.name == "size" else str(self.value)
        return f"{self.name}:{self.comparison.removeprefix('=')}{value}"

    def holds(self, value: int) -> bool:
        match self.comparison:
            case ">":
                return value > self.value
            case ">=":
                return value >= self.value
            case "<":
                return value < self.value
            case "<=":
                return value <= self.value
            case _:
                return value == self.value


@dataclass(frozen=True, slots=True)
class Type:
    """A media type, as a glob: `*` stands for any characters, `?` for one."""

    text: str

    def show(self) -> str:
        return f"type:{self.text}"


@dataclass(frozen=True, slots=True)
class Listed:
    """The patterns in a file, one a line: one of them has to match. Made by `read`.

    A file may have a hundred thousand. Most are hosts, or globs whose only wildcard is `**` at the
    end; these are beginnings of the `address_key` of each URL that they match.
    """

    path: str
    #: Of the patterns. Rules with the same file, as it was at the same time, are equal.
    digest: int
    #: Sorted; none begins with another one.
    keys: tuple[bytes, ...] = field(compare=False, repr=False)
    #: All other patterns.
    others: tuple["Condition", ...] = field(compare=False, repr=False)

    @classmethod
    def read(cls, path: str) -> "Listed":
        """The patterns of a file. Raises ValueError with the line of one that is none."""
        keys: list[bytes] = []
        others: dict[Condition, None] = {}
        for number, line in enumerate(_lines_of(path), 1):
            word = COMMENT.sub("", line).strip()
            if word:
                try:
                    _sort_in(word, keys, others)
                except ValueError as error:
                    raise ValueError(f"{path}:{number}: {error}") from None
        if not (keys or others):
            raise ValueError(f"{path} has no pattern")
        shown = "\n".join(each.show() for each in others).encode()
        packed = _NEXT.join(_prefix_free(keys))
        # Made anew, side by side: those before lie between what was read and is free by now.
        keys.clear()
        sorted_keys = tuple(packed.split(_NEXT)) if packed else ()
        return cls(path, hash64(shown + _NEXT + packed), sorted_keys, tuple(others))

    def show(self) -> str:
        return f"@{self.path}"

    def covers(self, key: bytes) -> bool:
        """Whether a host or the beginning of an address in it is that of a URL, by its key."""
        place = bisect_right(self.keys, key)
        return place > 0 and key.startswith(self.keys[place - 1])


Condition = Glob | Regex | Host | Domain | Number | Type | Listed

#: Bytes read of a file of patterns: room for a million.
_MOST_LISTED = 64 << 20
#: Between the keys of two patterns, which have none.
_NEXT = b"\n"
#: A host in canonical spelling that is a name, and the address below one.
_PLAIN_HOST = re.compile(r"(?:host:)?((?:[a-z0-9_-]+\.)+[a-z][a-z0-9_-]*)", re.ASCII).fullmatch
_PLAIN_PREFIX = re.compile(
    r"(https?://[a-z0-9._-]+(?::\d+)?/[\w./~,;=&+!$()@:-]*)\*\*", re.ASCII
).fullmatch


def _lines_of(path: str) -> Iterator[str]:
    left = _MOST_LISTED
    try:
        with open(os.path.expanduser(path), "rb") as file:
            is_wide = file.peek(2)[:2] in UTF_16
            for data in iter(partial(file.read if is_wide else file.readline, left + 1), b""):
                left -= len(data)
                if left < 0:
                    raise ValueError(f"{path!r} is larger than 64 MB")
                yield from decoded(data, "replace").splitlines()
    except OSError as error:
        raise ValueError(f"{path!r} cannot be read: {error.strerror}") from None


def _sort_in(word: str, keys: list[bytes], others: dict[Condition, None]) -> None:
    """File one pattern of a list. Raises ValueError."""
    host, prefix = _PLAIN_HOST(word), _PLAIN_PREFIX(word)
    if host is not None:
        keys.append(host_key(host[1]))
    elif prefix is not None and resolve(prefix[1]) == prefix[1]:
        keys.append(address_key(prefix[1]))
    else:
        others[_only(word)] = None


def _only(word: str) -> Condition:
    """The condition that is a line of a list."""
    if len(word.split()) > 1 or word.startswith("@"):
        raise ValueError(f"{word[:80]!r} is not one pattern")
    condition = _condition(word)
    if isinstance(condition, Number | Type):
        raise ValueError(f"{word[:80]!r}: a list has patterns of URLs and hosts only")
    return condition


def host_key(host: str) -> bytes:
    """The beginning of the keys of all URLs of a host and its subdomains."""
    labels = host.split(".")
    labels.reverse()
    return f"{','.join(labels)},".encode()


def address_key(url: str) -> bytes:
    """A canonical URL with the labels of its host in reverse order: `test,docs,)http/path`.

    Those with the same beginning are of one host and its subdomains, or of one folder.
    """
    end = url.index("/", 8)
    scheme, _, authority = url[:end].partition("://")
    host, _, port = authority.partition(":")
    labels = host.split(".")
    labels.reverse()
    return f"{','.join(labels)},){port}{scheme}{url[end:]}".encode()


def _prefix_free(keys: list[bytes]) -> list[bytes]:
    """The sorted `keys` without those that begin with another one."""
    kept: list[bytes] = []
    for key in sorted(keys):
        if not (kept and key.startswith(kept[-1])):
            kept.append(key)
    return kept


@dataclass(frozen=True)
class Rule:
    """One line: URLs for which all `conditions` hold are accepted or rejected."""

    accept: bool
    conditions: tuple[Condition, ...]
    #: The place that it comes from: "larbin.conf:12", "command line".
    source: str = field(default="", compare=False)

    @property
    def keyword(self) -> str:
        return "accept" if self.accept else "reject"

    @property
    def pattern(self) -> str:
        """The conditions as one word of a file."""
        return quote(" ".join(condition.show() for condition in self.conditions))

    @cached_property
    def text(self) -> str:
        """The rule as a line of a file."""
        return f"{self.keyword} {self.pattern}"

    @property
    def described(self) -> str:
        """The rule and its place."""
        return f"{self.text} ({self.source})" if self.source else self.text

    @property
    def beyond_url(self) -> list[str]:
        """The names of conditions that need more than the URL: depth, hops, type, size."""
        names = [
            "type" if isinstance(each, Type) else each.name
            for each in self.conditions
            if isinstance(each, Type | Number)
        ]
        return list(dict.fromkeys(names))

    @property
    def has_type(self) -> bool:
        """Whether it tests the media type."""
        return any(isinstance(each, Type) for each in self.conditions)

    @property
    def content(self) -> str:
        """Identifies the contents of the lists of a rule; empty without one."""
        lists = (each.digest for each in self.conditions if isinstance(each, Listed))
        return "".join(f" #{digest:016x}" for digest in lists)

    def at(self, source: str) -> "Rule":
        """The same rule from `source`."""
        return replace(self, source=source)


def parse_rule(accept: bool, text: str) -> Rule:
    """The rule with the pattern `text`. Raises ValueError with a reason."""
    words = plain(text).split()
    if not words:
        raise ValueError("its pattern is empty; expected one such as **/old/**")
    return Rule(accept, tuple(map(_condition, words)))


def _condition(word: str) -> Condition:
    if word.startswith("!"):
        raise ValueError(
            f"{word[:80]!r}: a pattern cannot be negated; put a rule with the other keyword "
            "before this one"
        )
    if word.startswith("/") and word.endswith("/") and len(word) > 1:
        return _regex(word[1:-1])
    if word.startswith("@"):
        return Listed.read(word[1:])
    named = _NAMED.fullmatch(word)
    if named is None:
        bare = _NO_COLON.fullmatch(word)
        if bare is not None:
            raise ValueError(f"{word[:80]!r} has no colon; write {bare[1].lower()}:{bare[2][:80]}")
        return Glob(canonical(word))
    parse = _CONDITIONS.get(named[1].lower())
    if parse is None:
        close = get_close_matches(named[1].lower(), _CONDITIONS, 1, 0)
        raise ValueError(
            f"unknown condition {named[1][:40] + ':'!r}; the nearest known one is {close[0]}:"
        )
    if not named[2]:
        raise ValueError(f"{word} has no value")
    return parse(named[2])


def regex_options(memory: int) -> Any:
    """The options of all expressions; `memory` (bytes) of one, or of some together."""
    import re2

    options = re2.Options()
    options.max_mem = memory
    # URLs are ASCII, and a byte for each character makes smaller automata than UTF-8.
    options.encoding = re2.Options.Encoding.LATIN1
    options.log_errors = False
    options.never_capture = True
    return options


def _regex(text: str) -> Regex:
    import re2

    if not text:
        raise ValueError("the regular expression // is empty; ** matches every URL")
    if _PATH.fullmatch(text):
        shown = text[:80]
        name = shown.strip("/") or "old"
        raise ValueError(
            f"/{shown}/ is the regular expression {shown!r}, not a path; write **/{name}/** for "
            f"the folder, or /({shown})/ for URLs with these characters anywhere"
        )
    try:
        re2.compile(text.encode(), regex_options(REGEX_MEMORY))
    except re2.error as error:
        reason = error.args[0]
        reason = reason.decode(errors="replace") if isinstance(reason, bytes) else str(reason)
        hint = "; write a path as a glob: **" + f"/{text}/**"[:80] if "*" in text else ""
        raise ValueError(
            f"/{text[:80]}/ is not a regular expression (RE2): {reason}{hint}"
        ) from None
    return Regex(text)


def _host(text: str) -> Host:
    return Host(HostPattern.parse(text))


def _domain(text: str) -> Domain:
    name = host_name(text.strip("."))
    if name is None:
        raise ValueError(f"domain:{text[:80]} is not a domain such as domain:example.org")
    own = registered_domain(name)
    if "." in name and is_suffix(name):
        raise ValueError(
            f"{name[:80]!r} is a suffix under which domains are registered; write host:{name}"
        )
    if own != name:
        raise ValueError(
            f"domain:{name[:80]} is no registered domain; write domain:{own}, or host:{name} for "
            "the host and its subdomains"
        )
    return Domain(name)


def _number(name: str, text: str) -> Number:
    found = _COMPARED.fullmatch(text)
    wanted = f"{name}:>10M" if name == "size" else f"{name}:>3 or {name}:<=2"
    try:
        if found is None:
            raise ValueError
        value = _SIZE.parse(found[2]) if name == "size" else int(_DIGITS(found[2])[0])
    except (ValueError, TypeError):
        raise ValueError(f"{name}:{text[:40]} is not of the form {wanted}") from None
    return Number(name, found[1] or "=", value)


_DIGITS: Any = re.compile(r"\d{1,9}", re.ASCII).fullmatch


def _type(text: str) -> Type:
    name = text.lower()
    if not _TYPE.fullmatch(name):
        raise ValueError(f"type:{text[:80]} is not a media type such as type:image/*")
    if "/" not in name and "*" not in name:
        raise ValueError(f"type:{name[:80]} has no slash; perhaps type:*/{name[:80]}")
    return Type(name)


_CONDITIONS: dict[str, Callable[[str], Condition]] = {
    "host": _host,
    "domain": _domain,
    "depth": partial(_number, "depth"),
    "hops": partial(_number, "hops"),
    "type": _type,
    "size": partial(_number, "size"),
}


def _kind(accept: bool) -> ValueKind[Rule]:
    return ValueKind("PATTERN", partial(parse_rule, accept), lambda rule: rule.pattern, spaced=True)


ACCEPT = _kind(True)
REJECT = _kind(False)

#: Stands for the pages that are empty without scripts.
AUTO = "auto"


def _rendered(text: str) -> str:
    text = text.strip()
    if text.lower() == AUTO:
        return AUTO
    if parse_rule(True, text).beyond_url:
        raise ValueError("a pattern of URLs alone: no depth, hops, type or size")
    return text


#: Pages that a browser reads: a pattern, or `AUTO`.
RENDERED: ValueKind[str] = ValueKind("PATTERN", _rendered, quote, spaced=True)
