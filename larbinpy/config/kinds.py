"""The kinds of values of settings: how they are parsed and written.

A `ValueKind` turns the words of one item into a value, or raises ValueError with a reason
that reads well after "keyword: ". It parses the text that it writes as the same value, except that
credentials (of headers, proxies, certificates and logins) are masked where values are written.

`Hours` are times of day when requests may be sent: ``22:00-06:00,12:30-13:00``, in local time.
"""

import os
import re
from codecs import BOM_UTF8, BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta
from enum import Enum, Flag, auto
from ipaddress import ip_address
from itertools import chain, pairwise
from typing import Any, Generic, NamedTuple, TypeVar
from urllib.parse import quote as escaped
from urllib.parse import unquote

from larbinpy.config.patterns import HostPattern, host_name
from larbinpy.url import (
    MASK,
    SECRET_HEADER,
    fault,
    has_control,
    login_of,
    masked,
    masked_typed,
    typed,
)

_DAY = 24 * 60
_RANGE = re.compile(r"(\d{1,2}):(\d\d)-(\d{1,2}):(\d\d)", re.ASCII)
#: Days that are searched for the next opening. One is enough, except where a change of the clock
#: leaves out the whole of a short range.
_DAYS = 3


@dataclass(frozen=True, slots=True)
class Hours:
    """Ranges of the day, each a pair of minutes since midnight; the end is not part of it.

    A range whose end is before its start goes beyond midnight. Moments are Unix times; the local
    time is that of the process, daylight saving included.
    """

    ranges: tuple[tuple[int, int], ...]

    @classmethod
    def parse(cls, text: str) -> "Hours":
        """The hours that `text` spells. Raises ValueError."""
        return cls(tuple(_range(part.strip()) for part in text.split(",")))

    def show(self) -> str:
        return ",".join(f"{_clock(start)}-{_clock(end)}" for start, end in self.ranges)

    def in_words(self) -> str:
        """The hours within a sentence."""
        ranges = (f"between {_clock(start)} and {_clock(end)}" for start, end in self.ranges)
        return " or ".join(ranges)

    def are_open(self, wall: float) -> bool:
        """Whether requests may be sent at the Unix time `wall`."""
        local = datetime.fromtimestamp(wall)
        minute = local.hour * 60 + local.minute
        return any(
            start <= minute < end if start < end else minute >= start or minute < end
            for start, end in self.ranges
        )

    def open_at(self, wall: float) -> float:
        """The first moment from `wall` on at which requests may be sent; `wall` if they may now."""
        if self.are_open(wall):
            return wall
        starts = {start for start, _ in self.ranges}
        moments = chain(_moments(wall, starts), _changes(wall))
        later = (moment for moment in moments if moment > wall)
        return min(filter(self.are_open, later), default=wall + 86400.0)

    def close_at(self, wall: float) -> float:
        """The first moment after `wall` at which requests may no longer be sent.

        It may come early: between ranges that touch, and where the clock changes. If it is to
        come within an hour that the clock leaves out, it is late, by at most that hour.
        """
        ends = {end % _DAY for _, end in self.ranges}
        changes = (moment for moment in _changes(wall) if not self.are_open(moment))
        return min(moment for moment in chain(_moments(wall, ends), changes) if moment > wall)


#: The whole day.
ALWAYS = Hours(((0, _DAY),))


def _moments(wall: float, minutes: set[int]) -> Iterator[float]:
    """The Unix times at which a local clock shows `minutes` on the days around `wall`."""
    today = datetime.fromtimestamp(wall).date()
    for days in range(_DAYS):
        day: date = today + timedelta(days=days)
        for minute in minutes:
            # When clocks are set back, an hour comes twice.
            for fold in (0, 1):
                shown = time(minute // 60, minute % 60, fold=fold)
                yield datetime.combine(day, shown).timestamp()


def _changes(wall: float) -> Iterator[float]:
    """The Unix times from `wall` on at which the local clock changes.

    Hours may begin or end there, within an hour that comes twice.
    """
    days = pairwise(wall + days * 86400 for days in range(_DAYS))
    return (_change(*day) for day in days if len(set(map(_offset, day))) > 1)


def _offset(wall: float) -> timedelta | None:
    return datetime.fromtimestamp(wall).astimezone().utcoffset()


def _change(before: float, after: float) -> float:
    """The second between the two at which the local clock changes."""
    while after - before > 1:
        middle = (before + after) // 2
        if _offset(middle) == _offset(before):
            before = middle
        else:
            after = middle
    return after


def _range(text: str) -> tuple[int, int]:
    match = _RANGE.fullmatch(text)
    start, end = (_minutes(*match.group(1, 2)), _minutes(*match.group(3, 4))) if match else (0, 0)
    if match is None or start >= _DAY or end > _DAY or max(int(match[2]), int(match[4])) > 59:
        raise ValueError(f"{text[:40]!r} is not a range of the day such as 22:00-06:00")
    if start == end % _DAY and end != _DAY:
        raise ValueError(f"{text[:40]!r} is empty; 00:00-24:00 is the whole day")
    return start, end


def _minutes(hour: str, minute: str) -> int:
    return int(hour) * 60 + int(minute)


def _clock(minute: int) -> str:
    return f"{minute // 60:02d}:{minute % 60:02d}"


T = TypeVar("T")

#: The longest duration: beyond it, sums with the clock lose their precision.
LONGEST = 1000 * 86400.0

_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
# Powers of two, as in Larbin's own limits (8 * 1024 * 1024 for a page).
_BYTES = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
# Few enough digits that no number overflows a float or takes long to read.
_AMOUNT = re.compile(r"(\d{1,15}(?:\.\d{1,9})?)([a-z]?)", re.IGNORECASE | re.ASCII)
#: WARC 1.1, Annex C. One that begins with a dot would be hidden.
_PREFIX = re.compile(r"\w[\w.-]{0,63}", re.ASCII).fullmatch
#: Names of query parameters as they stand in canonical URLs, with "*" and "?" as wildcards.
_PARAMETER = re.compile(r"[^\s\"#&;=/<>]{1,100}").fullmatch
#: The part of a server's database behind "mysql://".
_SERVER_DATABASE = re.compile(
    r"(?:(?P<user>[^@/]*)@)?(?:[\w.-]+|\[[0-9a-f:.]+\])(?::(?P<port>\d+))?/[\w$-]+", re.ASCII
).fullmatch
_STATUSES = re.compile(r"(?:[1-9](?:xx|\d\d(?:-[1-9]\d\d)?)(?:,(?!$)|$))+", re.ASCII).match
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
    #: Whether commas separate items, too.
    commas: bool = False
    #: The words of an item that other programs write as one; None if there is no such spelling.
    split: Callable[[str], list[str] | None] | None = None
    #: The words of which a value is one, or some; empty if it is anything else.
    names: tuple[str, ...] = ()


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
    return f'"{text}"' if text in ("", "=", ":") or set(text) & set(" \t#") else text


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


def _folder_of_pages(text: str) -> str:
    """A folder that is there, with a slash at its end; "" for none."""
    path = _folder(text) if text else ""
    if path and not os.path.isdir(path):
        raise ValueError(f"{path!r} is not a folder")
    return f"{path.rstrip('/')}/" if path else ""


#: A comment in a list: from "#" at the beginning of a line, or after a blank, to its end.
COMMENT = re.compile(r"(?:^|\s)#.*")
#: The byte order marks of UTF-16.
UTF_16 = (BOM_UTF16_LE, BOM_UTF16_BE)


def decoded(data: bytes, errors: str = "strict") -> str:
    """The text of a file of a user: in UTF-8, or in UTF-16 if its byte order mark says so."""
    return data.decode("utf-16" if data[:2] in UTF_16 else "utf-8-sig", errors)


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
        # A query may hold a password.
        shown = masked_typed(text.partition("?")[0])
        raise ValueError(f"{shown[:60]!r} is not mysql://[USER@]HOST[:PORT]/NAME")
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

    return ValueKind("|".join(names), parse, str, names=names)


def several(*names: str) -> ValueKind[tuple[str, ...]]:
    """Some of `names`, in the order given there; "none" for none of them."""

    def parse(text: str) -> tuple[str, ...]:
        words = text.lower().split(",")
        for word in words:
            if word not in (*names, NONE):
                raise ValueError(f"{word[:40]!r} is not one of {', '.join(names)}, {NONE}")
        return tuple(name for name in names if name in words)

    shown = (*names, NONE)
    return ValueKind("NAME[,NAME]", parse, lambda chosen: ",".join(chosen) or NONE, names=shown)


class ModeTrait(Flag):
    """Properties of output modes. Other modules test for a property, never for a mode."""

    #: Its pages are files in outputDir, which a checkpoint flushes to the disk. It wants them
    #: whole, also those that have not changed since an earlier crawl.
    FILES = auto()
    #: It keeps each page that it gets, also one that it gets again.
    EACH = auto()
    #: It keeps requests and replies as they were, so no page of an earlier crawl takes the place
    #: of a reply.
    EXCHANGES = auto()
    #: It fills the content database, by way of a spool in stateDir.
    DATABASE = auto()
    #: Its files become one when the crawl has ended.
    PACKED = auto()


_PLAIN = ModeTrait(0)


class OutputMode(Enum):
    """An output mode, which `larbinpy.output.modes` opens; those of Larbin come first.

    A row has its name, and its traits.
    """

    _value_: str
    traits: ModeTrait

    SAVE = "save", ModeTrait.FILES | ModeTrait.EACH
    MIRROR = "mirror", ModeTrait.FILES
    STATS = "stats"
    WARC = "warc", ModeTrait.FILES | ModeTrait.EXCHANGES
    WACZ = "wacz", ModeTrait.FILES | ModeTrait.EXCHANGES | ModeTrait.PACKED
    DATABASE = "database", ModeTrait.DATABASE

    def __new__(cls, name: str, traits: ModeTrait = _PLAIN) -> "OutputMode":
        mode = object.__new__(cls)
        mode._value_ = name
        mode.traits = traits
        return mode


def _modes(text: str) -> tuple[str, ...]:
    """Larbin's numbers or their names, in the order given, each once."""
    names = ("none", *(mode.value for mode in OutputMode))
    chosen = []
    for word in text.lower().split(","):
        name = names[int(word)] if word in ("0", "1", "2", "3") else word
        if name not in names:
            raise ValueError(f"{word[:40]!r} is not 0 to 3 or one of {', '.join(names)}")
        chosen.append(name)
    # A WACZ file is made of the files of an archive.
    left = ("none", "warc") if OutputMode.WACZ.value in chosen else ("none",)
    return tuple(dict.fromkeys(name for name in chosen if name not in left))


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


def _prefix(text: str) -> str:
    """The beginning of file names."""
    if not _PREFIX(text):
        raise ValueError(f"{text[:60]!r} is no part of a file name: letters, digits, '.', '_', '-'")
    return text


def _lower(text: str) -> str:
    return plain(text).lower()


def _statuses(text: str) -> str:
    """HTTP statuses, ranges and classes of them."""
    if not _STATUSES(text.lower()):
        raise ValueError(f"{text[:40]!r} is not a status such as 403, 500-599 or 5xx")
    return text.lower()


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
PAGES: ValueKind[str] = ValueKind("PATH", _folder_of_pages, quote)
FILE: ValueKind[str | None] = ValueKind("PATH", readable_file, lambda path: quote(path or ""))
INDEX: ValueKind[str] = ValueKind("FILE.cdxj", readable_file, quote)
PREFIX: ValueKind[str] = ValueKind("NAME", _prefix, str)
MODES: ValueKind[tuple[str, ...]] = ValueKind(
    "MODE[,MODE]",
    _modes,
    lambda names: ",".join(names) or "none",
    names=(*(mode.value for mode in OutputMode), "none"),
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
STATUS: ValueKind[str] = ValueKind("STATUS... end", _statuses, quote, closed=True)
SPECIFIC: ValueKind[tuple[str, str]] = ValueKind(
    '"TYPE" .EXT... end end',
    lambda kind, extension: (_lower(kind), _lower(extension)),
    lambda pair: f'"{pair[0]}" {quote(pair[1])}',
    words=2,
    closed=True,
)


_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+", re.ASCII)
#: Headers that frame a message, belong to one connection, or that the crawler decides.
_OWN_HEADERS = {
    **dict.fromkeys(
        ("host", "content-length", "transfer-encoding", "te", "trailer", "connection"),
        "it frames the request",
    ),
    **dict.fromkeys(
        ("keep-alive", "proxy-connection", "upgrade", "expect", "http2-settings"),
        "it belongs to the connection",
    ),
    **dict.fromkeys(
        ("if-match", "if-none-match", "if-modified-since", "if-unmodified-since", "if-range"),
        "the crawler decides it for each page",
    ),
    "range": "the crawler reads whole pages",
    "accept-encoding": "the crawler offers what it can decode",
    "proxy-authorization": "write proxy http://USER:PASSWORD@HOST PORT instead",
    "user-agent": "write UserAgent instead",
    "from": "write From instead",
    "accept-language": "write acceptLanguage instead",
}
_SCHEMES = ("http", "https", "socks5", "socks5h")
_CERTIFICATE = b"-----BEGIN CERTIFICATE-----"
#: Bundles of authorities may have the forms of OpenSSL, too.
_ANY_CERTIFICATE = re.compile(b"-----BEGIN (?:X509 |TRUSTED )?CERTIFICATE-----")
_KEY = re.compile(rb"-----BEGIN (?:[A-Z]+ )?PRIVATE KEY-----")
_ENCRYPTED_KEY = re.compile(rb"-----BEGIN ENCRYPTED PRIVATE KEY-----|^Proc-Type:.*ENCRYPTED", re.M)
#: Bytes read of a file of cookies.
_MOST_COOKIES = 10 << 20
#: Bytes read of a PEM file; chains of certificates have some kilobytes.
_MOST_PEM = 1 << 20


class Proxy(NamedTuple):
    """A proxy: its name or address, and ``USER:PASSWORD`` or nothing."""

    host: str
    port: int
    #: http, https, socks5 or socks5h; the last two mean the same.
    scheme: str = "http"
    login: str = ""

    def __repr__(self) -> str:
        return f"<Proxy {show_proxy(self)}>"


def _header_line(text: str) -> str:
    """``Name: value``, in that spelling."""
    name, colon, value = text.partition(":")
    name = name.strip()
    if not colon or not _TOKEN.fullmatch(name):
        # It may hold a secret.
        raise ValueError(f'{MASK!r} is not of the form "Name: value"')
    try:
        value = header_text(value).strip()
    except ValueError as error:
        # The error quotes it.
        reason = str(error).replace(repr(value[:40]), "the value")
        raise ValueError(f"{name}: {reason}") from None
    if not value:
        raise ValueError(f"{name} has no value")
    why = _OWN_HEADERS.get(name.lower())
    if why is not None:
        raise ValueError(f"{name} cannot be set: {why}")
    return f"{name}: {value}"


def _show_header(line: str) -> str:
    name = line.partition(":")[0]
    return f"{name}: {MASK}" if SECRET_HEADER.search(name) else masked(line)


def _proxy(name: str, port: str) -> Proxy:
    scheme, separator, rest = name.partition("://")
    scheme, rest = (scheme.lower(), rest) if separator else ("http", name)
    if scheme not in _SCHEMES:
        shown = scheme[:20] if scheme.isalnum() else MASK
        raise ValueError(f"{shown!r} is not one of {', '.join(_SCHEMES)}")
    login, _, host = rest.rpartition("@")
    known = host_name(host.removesuffix("/"))
    if known is None:
        raise ValueError(f"{masked_typed(name)[:80]!r} is not a host name")
    login = unquote(login)
    if has_control(login):
        raise ValueError("the user name or password has a control character")
    return Proxy(known, port_number(port, 1), scheme, login)


_WHOLE_PROXY = re.compile(r"((?:\w+://)?(?:[^/]*@)?(?:\[[^/]*\]|[^/:]+)):(\d{1,5})/?", re.ASCII)


def _split_proxy(text: str) -> list[str] | None:
    """`http://HOST:PORT/`, as in http_proxy, in two words."""
    if text.lower().partition("?")[0].endswith((".pac", "wpad.dat")):
        raise ValueError("a script that chooses a proxy (PAC) is not run; write one that it names")
    found = _WHOLE_PROXY.fullmatch(text)
    return None if found is None else [found[1], found[2]]


def show_proxy(proxy: Proxy | None) -> str:
    """HOST PORT; the scheme unless it is http, and credentials masked."""
    if proxy is None:
        return ""
    host, port, scheme, login = proxy
    shown = f"{MASK}@" if login else ""
    return f"{scheme}://{shown}{host} {port}" if login or scheme != "http" else f"{host} {port}"


def _spell_proxy(given: Proxy | None) -> str:
    """The text that is parsed as a proxy, or as a tuple of its first values."""
    host, port, scheme, login = Proxy(*given) if given else Proxy("", 0)
    return (
        f"{scheme}://{escaped(login, safe=':')}@{host} {port}"
        if login
        else f"{scheme}://{host} {port}"
    )


def _seed(text: str) -> str:
    """A URL to start from; its user name, its password and the name of its view are kept."""
    url = typed(text, views=True)
    if url is None:
        raise ValueError(f"{masked_typed(text)[:80]!r} is {fault(text)}")
    login = login_of(text)
    return url.replace("://", f"://{login}@", 1) if login else url


def _pem(path: str) -> bytes:
    with open(path, "rb") as file:
        data = file.read(_MOST_PEM)
    if _ENCRYPTED_KEY.search(data):
        raise ValueError(
            f"the key in {path!r} is protected by a passphrase; write a copy without one: "
            f"openssl pkey -in {path} -out NEW"
        )
    return data


def _authorities(text: str) -> str:
    path = readable_file(text)
    with open(path, "rb") as file:
        if not _ANY_CERTIFICATE.search(file.read(_MOST_PEM)):
            raise ValueError(
                f"{path!r} has no certificate in PEM format; "
                f"openssl x509 -inform DER -in {path} -out ca.pem makes it of another one"
            )
    return path


def _client_cert(text: str) -> str:
    path = readable_file(text)
    if _CERTIFICATE not in _pem(path):
        raise ValueError(f"{path!r} has no certificate in PEM format")
    return path


def _client_key(text: str) -> str:
    path = readable_file(text)
    if not _KEY.search(_pem(path)):
        raise ValueError(f"{path!r} has no private key in PEM format")
    return path


def check_certificate(cert: str | None, key: str | None) -> None:
    """Raise ValueError unless there are both a certificate and its key, or neither."""
    if key and not cert:
        raise ValueError("clientKey without clientCert; set both")
    if cert and not key and not _KEY.search(_pem(cert)):
        raise ValueError(f"clientCert {cert}: the file has no private key; set clientKey")
    if cert:
        import ssl  # here, since modules that decide load the settings, and no socket code

        try:
            ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_cert_chain(cert, key)
        except (OSError, ssl.SSLError):
            raise ValueError(f"clientKey {key or cert}: not the key of clientCert {cert}") from None


def _cookie_file(text: str) -> str:
    path = readable_file(text)
    with open(path, "rb") as file:
        data = file.read(_MOST_COOKIES).removeprefix(BOM_UTF8)
    for number, line in enumerate(data.split(b"\n"), 1):
        cookie = line.strip(b"\r").removeprefix(b"#HttpOnly_")
        if cookie.strip() and cookie[:1] != b"#" and cookie.count(b"\t") < 5:
            raise ValueError(
                f"{path}:{number}: not a line of a cookies.txt: seven fields, separated by tabs; "
                "export the cookies in Netscape's format"
            )
    return path


def _told(text: str) -> str:
    """A command of the shell, or the URL of a web hook."""
    if "://" in text.split(" ", 1)[0] and not text.lower().startswith(("http://", "https://")):
        raise ValueError(f"{masked(text)[:80]!r} is no command, and no http:// or https:// URL")
    return plain(text).strip()


SEED: ValueKind[str] = ValueKind("URL", _seed, masked)
NOTIFY: ValueKind[str] = ValueKind(
    "COMMAND|URL", _told, lambda text: quote(masked(text)), spaced=True
)
HEADER_LINE: ValueKind[str] = ValueKind(
    '"NAME: VALUE"', _header_line, lambda line: quote(_show_header(line)), spaced=True
)
PROXY: ValueKind[Proxy | None] = ValueKind(
    "HOST PORT", _proxy, show_proxy, words=2, spell=_spell_proxy, split=_split_proxy
)
HOSTS: ValueKind[HostPattern] = ValueKind(
    "PATTERN... end", HostPattern.of_no_proxy, HostPattern.show, closed=True, commas=True
)


def _new_file(text: str) -> str:
    """The path of a file that can be written; it is replaced."""
    path = os.path.expanduser(plain(text))
    folder = os.path.dirname(path) or "."
    if not os.path.basename(path) or os.path.isdir(path) or not os.access(folder, os.W_OK):
        raise ValueError(f"{path!r} cannot be written")
    return path


def _items_file(text: str) -> str:
    if not text.lower().endswith((".jsonl", ".csv")):
        raise ValueError(f"{text[:80]!r} ends neither with .jsonl nor with .csv")
    return _new_file(text)


def _plug(text: str) -> str:
    """MODULE:CLASS; it is imported when the crawl is made."""
    module, colon, name = text.partition(":")
    if text and not (
        colon and name.isidentifier() and all(map(str.isidentifier, module.split(".")))
    ):
        raise ValueError(f"{text[:80]!r} is not MODULE:CLASS, such as my.spiders:Products")
    return text


PLUG: ValueKind[str] = ValueKind("MODULE:CLASS", _plug, quote)
ITEMS: ValueKind[str | None] = ValueKind("FILE", _items_file, lambda path: quote(path or ""))
NEW_FILE: ValueKind[str | None] = ValueKind("PATH", _new_file, lambda path: quote(path or ""))
COOKIES: ValueKind[str | None] = ValueKind("PATH", _cookie_file, lambda path: quote(path or ""))
AUTHORITIES: ValueKind[str | None] = ValueKind("PATH", _authorities, lambda path: quote(path or ""))
CLIENT_CERT: ValueKind[str | None] = ValueKind("PATH", _client_cert, lambda path: quote(path or ""))
CLIENT_KEY: ValueKind[str | None] = ValueKind("PATH", _client_key, lambda path: quote(path or ""))
SOURCE: ValueKind[str] = ValueKind("IP", ip, str)


_FLEET = re.compile(
    r"redis://(?:[^/?#\s]*@)?[^/?#@\s]+/[\w.-]{1,64}(?:\?passwordFile=.+)?"
    # A login before the path, as other programs have it, would be taken for a part of the path.
    r"|unix:(?!:|//[^?]*@|[^/?]*@)[^?]+\?crawl=[\w.-]{1,64}(?:&passwordFile=.+)?",
    re.ASCII,
).fullmatch
#: Other programs read the number as that of a data base.
_DATABASE_NUMBER = re.compile(
    r"redis://[^/?#]+/(?:\d+(?:[/?].*)?|[^?]*\?(?:.*&)?db=.*)|unix:[^?]+\?(?:.*&)?(?:crawl=\d+|db=).*",
    re.ASCII,
).fullmatch
#: No name of a folder above or beside.
_NODE = re.compile(r"\w[\w.-]{0,63}", re.ASCII).fullmatch


def _fleet(text: str) -> str:
    """The address of a fleet; hosts and ports are checked when it is joined."""
    if text and (not _FLEET(text) or _DATABASE_NUMBER(text)):
        shown = "the address" if "@" in text else repr(text[:80])
        usage = "redis://[USER@]HOST[:PORT]/NAME or unix:PATH?crawl=NAME"
        raise ValueError(f"{shown} is not {usage}{_why_no_fleet(text)}")
    return text


def _why_no_fleet(text: str) -> str:
    """The reason why an address for other programs does not work here, after a semicolon."""
    if text.startswith("rediss:"):
        return "; TLS to Redis is not supported, a tunnel such as stunnel does that"
    if _DATABASE_NUMBER(text):
        return "; a crawl has a name, and is in data base 0 of Redis, as in a cluster"
    if "@" in text:
        return "; in a login, write / as %2F, ? as %3F, # as %23 and @ as %40"
    return ""


def has_fleet_password(text: str) -> bool:
    """Whether the address of a fleet holds a password; that of a socket has no place for one."""
    if text.startswith("unix:"):
        return False
    login, at, _ = text.partition("?passwordFile=")[0].rpartition("@")
    return bool(at) and ":" in login.removeprefix("redis://")


def _node(text: str) -> str:
    if not _NODE(text):
        raise ValueError(f"{text[:80]!r} is no name of a node: letters, digits, '.', '_', '-'")
    return text


FLEET: ValueKind[str] = ValueKind(
    "redis://HOST[:PORT]/NAME", _fleet, lambda text: quote(masked(text)), spell=quote
)
NODE: ValueKind[str] = ValueKind("NAME", _node, quote)
