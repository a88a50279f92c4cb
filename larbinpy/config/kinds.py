"""The kinds of values of settings: how they are parsed and written.

A `ValueKind` turns the words of one item into a value, or raises ValueError with a reason
that reads well after "keyword: ". It parses the text that it writes as the same value.
"""

import os
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from ipaddress import ip_address
from typing import Any, Generic, TypeVar

from larbinpy.config.host_pattern import host_name
from larbinpy.config.hours import Hours
from larbinpy.url import fault, masked_typed, typed

T = TypeVar("T")

#: The longest duration: beyond it, sums with the clock lose their precision.
LONGEST = 1000 * 86400.0

_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
# Powers of two, as in Larbin's own limits (8 * 1024 * 1024 for a page).
_BYTES = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
# Few enough digits that no number overflows a float or takes long to read.
_AMOUNT = re.compile(r"(\d{1,15}(?:\.\d{1,9})?)([a-z]?)", re.IGNORECASE | re.ASCII)
#: Names of query parameters as they stand in canonical URLs, with "*" and "?" as wildcards.
_PARAMETER = re.compile(r"[^\s\"#&;=/<>]{1,100}").fullmatch
#: The part of a server's database behind "mysql://".
_SERVER_DATABASE = re.compile(
    r"(?:(?P<user>[^@/]*)@)?(?:[\w.-]+|\[[0-9a-f:.]+\])(?::(?P<port>\d+))?/[\w$-]+", re.ASCII
).fullmatch
_ON = frozenset({"on", "yes", "true", "1"})
_OFF = frozenset({"off", "no", "false", "0"})
#: Stands for an empty list of names.
NONE = "none"
#: Words that may follow a switch in a file; none of them is a keyword.
SWITCH_WORDS = _ON | _OFF


@dataclass(frozen=True, slots=True)
class ValueKind(Generic[T]):
    """How values of one kind are parsed and written."""

    #: The value in usage messages.
    usage: str
    parse: Callable[..., T]
    show: Callable[[T], str]
    #: Words in one item; 0 for a switch.
    words: int = 1
    #: Whether it is a list, closed by as many "end" as an item has words.
    closed: bool = False
    #: Whether an item may have blanks: a value without quotes on the command line is one item.
    spaced: bool = False
    #: As `show`, but with the credentials that `show` masks; None if it masks none.
    spell: Callable[[T], str] | None = None


@dataclass(frozen=True, slots=True)
class Setting:
    """A row of the table: one keyword."""

    keyword: str
    attribute: str
    kind: ValueKind[Any]
    default: Any
    help: str
    #: Repeatable: the value is a tuple of items.
    many: bool = False
    #: May be changed while a crawl runs.
    live: bool = False
    #: May be set for some sites, in a site block.
    by_site: bool = False
    #: The keyword of an item, if several keywords add to one list.
    keyword_of: Callable[[Any], str] | None = None

    def own(self, value: Any) -> Any:
        """`value`; of a list to which several keywords add, the items of this one."""
        if self.keyword_of is None:
            return value
        return tuple(item for item in value if self.keyword_of(item) == self.keyword)

    def lines(self, value: Any) -> list[str]:
        """`value` as lines of a file; a comment with the usage if there is no value.

        A list of several keywords is shown whole, in its order, by the keyword that is first.
        """
        if self.many and self.default and not value:
            return [f"{self.keyword} {NONE} end"]
        if value is None or (self.many and not self.own(value)):
            return [f"#{self.keyword} {self.kind.usage}"]
        if self.keyword_of is not None:
            first = self.keyword_of(value[0]) == self.keyword
            return [f"{self.keyword_of(item)} {self.kind.show(item)}" for item in value if first]
        if self.many and not self.kind.closed:
            return [f"{self.keyword} {self.kind.show(item)}" for item in value]
        return [f"{self.keyword} {self.text(value)}"]

    def text(self, value: Any) -> str:
        """`value` in one line; empty for no value."""
        if not self.many:
            return "" if value is None else self.kind.show(value)
        items = [self.kind.show(item) for item in self.own(value)]
        if self.kind.spaced:
            items = [item if item.startswith('"') else f'"{item}"' for item in items]
        return " ".join(items + ["end"] * (self.kind.words if self.kind.closed and items else 0))


def setting(
    keyword: str,
    kind: ValueKind[T],
    default: T,
    help: str,
    *,
    live: bool = False,
    by_site: bool = False,
) -> T:
    """A dataclass field that is a setting of one value."""
    row = {"keyword": keyword, "kind": kind, "help": help, "live": live, "by_site": by_site}
    return field(default=default, metadata=row)


def settings(
    keyword: str,
    kind: ValueKind[T],
    help: str,
    *,
    default: tuple[T, ...] = (),
    live: bool = False,
    by_site: bool = False,
) -> tuple[T, ...]:
    """A dataclass field that is a setting of any number of values."""
    row = {"keyword": keyword, "kind": kind, "help": help, "many": True, "live": live}
    return field(default=default, metadata=row | {"by_site": by_site})


def ordered(keyword_of: Callable[[T], str], *rows: tuple[str, ValueKind[T], str]) -> tuple[T, ...]:
    """A dataclass field to which several keywords add, in the order of the file.

    Each row has a keyword, its kind and its help; `keyword_of` says which keyword an item has.
    """
    rest = {"many": True, "keyword_of": keyword_of}
    metadata = {
        "rows": [{"keyword": name, "kind": kind, "help": help} | rest for name, kind, help in rows]
    }
    empty: tuple[T, ...] = ()
    return field(default=empty, metadata=metadata)


def quote(text: str) -> str:
    """`text` as one word of a file."""
    return f'"{text}"' if not text or set(text) & set(" \t#") else text


def _number(text: str, units: dict[str, int], bare: int, wanted: str) -> float:
    match = _AMOUNT.fullmatch(text)
    folded = {name.lower(): factor for name, factor in units.items()}
    if match is None or (match[2] and match[2].lower() not in folded):
        raise ValueError(f"{text[:40]!r} is not {wanted}")
    return float(match[1]) * (folded[match[2].lower()] if match[2] else bare)


def _between(value: float, low: float, high: float, show: Callable[[Any], str]) -> None:
    if not low <= value <= high:
        raise ValueError(f"{show(value)} is not between {show(low)} and {show(high)}")


def _integer(text: str) -> int:
    if not re.fullmatch(r"\d{1,15}", text, re.ASCII):
        raise ValueError(f"{text[:40]!r} is not a whole number of 0 or more")
    return int(text)


def count(low: int = 0, high: int = 10**12) -> ValueKind[int]:
    """A whole number."""

    def parse(text: str) -> int:
        value = _integer(text)
        _between(value, low, high, str)
        return value

    return ValueKind("NUMBER", parse, str)


def port_number(text: str, low: int = 0) -> int:
    value = _integer(text)
    _between(value, low, 65535, str)
    return value


def show_duration(seconds: float) -> str:
    """In the largest unit without a fraction, else in seconds to the microsecond."""
    if not seconds:
        return "0"
    for unit in "dhm":
        if seconds % _SECONDS[unit] == 0:
            return f"{seconds / _SECONDS[unit]:.0f}{unit}"
    return f"{seconds:.6f}".rstrip("0").rstrip(".") + "s"


def duration(low: float = 0, *, bare: int = 1) -> ValueKind[float]:
    """Seconds, to the microsecond; the unit of a number without one is `bare` seconds."""
    wanted = "a duration such as 30, 0.5s, 10m, 2h or 1d"

    def parse(text: str) -> float:
        seconds = round(_number(text, _SECONDS, bare, wanted), 6)
        _between(seconds, low, LONGEST, show_duration)
        return seconds

    return ValueKind("MINUTES" if bare == 60 else "SECONDS", parse, show_duration)


def show_size(size: int) -> str:
    for unit in "GMK":
        if size and size % _BYTES[unit] == 0:
            return f"{size // _BYTES[unit]}{unit}"
    return str(size)


def size(low: int, high: int) -> ValueKind[int]:
    """Bytes."""

    def parse(text: str) -> int:
        value = round(_number(text, _BYTES, 1, "a size such as 20000, 64K, 8M or 1G"))
        _between(value, low, high, show_size)
        return value

    return ValueKind("BYTES", parse, show_size)


def _switch(text: str) -> bool:
    if text.lower() not in SWITCH_WORDS:
        raise ValueError(f"{text[:40]!r} is neither on nor off")
    return text.lower() in _ON


def plain(text: str) -> str:
    """`text` if it fits in a file and a log, else ValueError."""
    if not text.isprintable() or '"' in text:
        raise ValueError(f"{text[:40]!r} contains a control character or a double quote")
    return text


def header_text(text: str) -> str:
    """`text` if it may stand in a header, else ValueError."""
    # Servers disagree about other characters in headers (RFC 9110 section 5.5).
    if not text.isascii():
        raise ValueError(f"{text[:40]!r} contains characters that are not ASCII")
    return plain(text)


def _name(text: str) -> str:
    if not text:
        raise ValueError("must not be empty")
    return header_text(text)


def _folder(text: str) -> str:
    if not text:
        raise ValueError("must be a path")
    return os.path.expanduser(plain(text))


def readable_file(text: str) -> str:
    """The path of a file that can be read, else ValueError."""
    path = _folder(text)
    if not os.access(path, os.R_OK) or os.path.isdir(path):
        looked_in = "" if os.path.isabs(path) else f" (looked in {os.getcwd()})"
        raise ValueError(f"{path!r} is not a file that can be read{looked_in}")
    return path


def _database(text: str) -> str:
    """The path of a file, or mysql://[USER@]HOST[:PORT]/NAME; a password is refused."""
    scheme, separator, rest = text.partition("://")
    is_server = text.partition(":")[0].lower() in ("mysql", "mariadb")
    if not separator and not is_server:
        return _folder(text) if text else text
    match = _SERVER_DATABASE(rest)
    if scheme not in ("mysql", "mariadb") or match is None:
        raise ValueError(f"{masked_typed(text)[:60]!r} is not mysql://[USER@]HOST[:PORT]/NAME")
    if ":" in (match["user"] or ""):
        raise ValueError("a password in the URL could be seen; put it into ~/.my.cnf")
    if match["port"]:
        port_number(match["port"], 1)
    return text


def choice(*names: str) -> ValueKind[str]:
    """One of `names`."""

    def parse(text: str) -> str:
        if text.lower() not in names:
            raise ValueError(f"{text[:40]!r} is not one of {', '.join(names)}")
        return text.lower()

    return ValueKind("|".join(names), parse, str)


def several(*names: str) -> ValueKind[tuple[str, ...]]:
    """Some of `names`, in the order given there; "none" for none of them."""

    def parse(text: str) -> tuple[str, ...]:
        words = text.lower().split(",")
        for word in words:
            if word not in (*names, NONE):
                raise ValueError(f"{word[:40]!r} is not one of {', '.join(names)}, {NONE}")
        return tuple(name for name in names if name in words)

    return ValueKind("NAME[,NAME]", parse, lambda chosen: ",".join(chosen) or NONE)


def _modes(text: str) -> tuple[str, ...]:
    """Larbin's numbers or their names, in the order given, each once."""
    names = ("none", "save", "mirror", "stats", "warc", "database")
    chosen = []
    for word in text.lower().split(","):
        name = names[int(word)] if word in ("0", "1", "2", "3") else word
        if name not in names:
            raise ValueError(f"{word[:40]!r} is not 0 to 3 or one of {', '.join(names)}")
        chosen.append(name)
    return tuple(dict.fromkeys(name for name in chosen if name != "none"))


def _url(text: str) -> str:
    url = typed(text)
    if url is None:
        raise ValueError(f"{masked_typed(text)[:80]!r} is {fault(text)}")
    return url


def _domain(text: str) -> str:
    """The end of a host name; a leading dot is kept."""
    host = host_name(text.removeprefix("."))
    if host is None:
        raise ValueError(f"{text[:80]!r} is not the end of a host name such as .org or example.org")
    return "." * text.startswith(".") + host


def _parameter(text: str) -> str:
    """A glob on the name of a parameter, in any case."""
    if not _PARAMETER(text):
        raise ValueError(f"{text[:80]!r} is not a name of a parameter such as utm_* or PHPSESSID")
    return text


def _lower(text: str) -> str:
    return plain(text).lower()


def _extension(text: str) -> str:
    """The end of a file name."""
    ending = _lower(text)
    if "/" in ending:
        path = ending.strip("/*")
        raise ValueError(
            f"{text[:60]!r} is a path, not an extension such as .zip; write reject **/{path}/**"
        )
    if "*" in ending or "?" in ending:
        pattern = f"**{ending.lstrip('*')}"
        raise ValueError(
            f"{text[:60]!r} is a pattern, not an extension such as .zip; write reject {pattern}"
        )
    return ending


def ip(text: str) -> str:
    """An IP address; no name is looked up, but localhost is understood."""
    if text.lower() == "localhost":
        return "127.0.0.1"
    try:
        return str(ip_address(text))
    except ValueError:
        raise ValueError(f"{text[:40]!r} is not an IP address such as 127.0.0.1 or ::1") from None


def _server(text: str) -> tuple[str, int]:
    """IP[:PORT]; an IPv6 address with a port is in brackets."""
    address, port = text, "53"
    if text.startswith("["):
        address, _, rest = text[1:].partition("]")
        if rest and not rest.startswith(":"):
            raise ValueError(f"{text[:60]!r} is not of the form [ADDRESS]:PORT")
        port = rest[1:] or port
    elif text.count(":") == 1:
        address, _, port = text.partition(":")
    return ip(address), port_number(port, 1)


def _show_server(server: tuple[str, int]) -> str:
    address, port = server
    host = f"[{address}]" if ":" in address else address
    return address if port == 53 else f"{host}:{port}"


SWITCH: ValueKind[bool] = ValueKind("", _switch, lambda on: "on" if on else "off", words=0)
PORT: ValueKind[int] = ValueKind("PORT", port_number, str)
HEADER: ValueKind[str] = ValueKind("TEXT", header_text, quote)
NAME: ValueKind[str] = ValueKind("TEXT", _name, quote)
FOLDER: ValueKind[str] = ValueKind("PATH", _folder, quote)
FILE: ValueKind[str | None] = ValueKind("PATH", readable_file, lambda path: quote(path or ""))
MODES: ValueKind[tuple[str, ...]] = ValueKind(
    "MODE[,MODE]", _modes, lambda names: ",".join(names) or "none"
)
DATABASE: ValueKind[str] = ValueKind("FILE|mysql://[USER@]HOST[:PORT]/NAME", _database, quote)
HOURS: ValueKind[tuple[tuple[int, int], ...]] = ValueKind(
    "HH:MM-HH:MM[,...]", lambda text: Hours.parse(text).ranges, lambda ranges: Hours(ranges).show()
)
URL: ValueKind[str] = ValueKind("URL", _url, str)
ADDRESS: ValueKind[str] = ValueKind("IP", ip, str)
SERVER: ValueKind[tuple[str, int]] = ValueKind("IP[:PORT]", _server, _show_server)
DOMAIN: ValueKind[str] = ValueKind("DOMAIN... end", _domain, str, closed=True)
PARAMETER: ValueKind[str] = ValueKind("NAME... end", _parameter, quote, closed=True)
EXTENSION: ValueKind[str] = ValueKind(".EXT... end", _extension, quote, closed=True)
SPECIFIC: ValueKind[tuple[str, str]] = ValueKind(
    '"TYPE" .EXT... end end',
    lambda kind, extension: (_lower(kind), _lower(extension)),
    lambda pair: f'"{pair[0]}" {quote(pair[1])}',
    words=2,
    closed=True,
)
