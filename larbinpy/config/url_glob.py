r"""Globs on whole URLs: their spelling, their regular expression, and whether one can match.

*    any characters but "/"
**   any characters
?    one character but "/"
\x   the character x: "\?" is the beginning of a query
"""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple
from urllib.parse import quote

from larbinpy.config.host_pattern import host_name

_PIECE = re.compile(r"(?P<all>\*\*+)|(?P<some>\*)|(?P<one>\?)|\\(?P<quoted>.)|(?P<plain>[^\\])")
#: Wildcards as regular expressions of RE2.
_WILD = {"all": ".*", "some": "[^/]*", "one": "[^/]"}
_ESCAPE = re.compile(r"%[0-9A-Fa-f]{2}")
#: A literal scheme, then the host and perhaps a port.
_ORIGIN = re.compile(r"([a-z*?]*://)([^/]*)", re.IGNORECASE)
_DEFAULT_PORT = re.compile(r"http://[^/]*:80(/|$)|https://[^/]*:443(/|$)")
#: One character for each step of the automaton below.
_ANY = "htps:/a"
_PATH_STATE = 10


class Piece(NamedTuple):
    """A wildcard ("all", "some" or "one"), or a character."""

    wildcard: str
    character: str


def pieces(glob: str) -> list[Piece]:
    """The parts of a glob. Raises ValueError if it ends with a backslash."""
    found = [
        Piece("", match[0][-1]) if match.lastgroup in ("quoted", "plain") else
        Piece(match.lastgroup or "", "")
        for match in _PIECE.finditer(glob)
    ]  # fmt: skip
    if glob.endswith("\\") and (len(glob) - len(glob.rstrip("\\"))) % 2:
        raise ValueError(f"{glob[:80]!r} ends with a backslash, and no character follows")
    return found


def regex(glob: str) -> str:
    """The regular expression (RE2) of a glob; it is to match the whole URL."""
    return "".join(
        _WILD[piece.wildcard] if piece.wildcard else re.escape(piece.character)
        for piece in pieces(glob)
    )


def literals(glob: str) -> list[str]:
    """The text between the wildcards of a glob, so that each gap is a wildcard."""
    texts = [""]
    for piece in pieces(glob):
        if piece.wildcard:
            texts.append("")
        else:
            texts[-1] += piece.character
    return texts


def canonical(glob: str) -> str:
    """`glob` in the spelling of canonical URLs.

    Scheme and host are lower case, other names in punycode, characters outside ASCII escaped.
    Raises ValueError with a reason and a suggestion if it can match no URL.
    """
    origin = _ORIGIN.match(glob)
    head, path = "", glob
    if origin is not None:
        head, path = origin[1].lower() + _host(origin[2]), glob[origin.end() :]
    path = _ESCAPE.sub(
        lambda match: match[0].upper(), quote(path, safe="".join(map(chr, range(128))))
    )
    glob = head + path
    if _DEFAULT_PORT.match(glob):
        raise ValueError(f"{glob[:80]!r}: URLs do not show the default port; leave it out")
    if "#" in glob:
        raise ValueError(
            f"{glob[:80]!r}: URLs are compared without their fragment; end it before #"
        )
    if not matches_some_url(glob):
        nearest = next(filter(matches_some_url, _repaired(glob)), None)
        hint = f"; perhaps {nearest}" if nearest else ""
        raise ValueError(
            f"{glob[:80]!r} matches no URL, because it is compared with whole URLs{hint}"
        )
    return glob


def _host(host: str) -> str:
    """The part of a glob that is host and port, each label that is no glob in punycode."""
    labels = host.lower().split(".")
    return ".".join(label if label.isascii() else host_name(label) or label for label in labels)


def _repaired(glob: str) -> Iterator[str]:
    """Globs that were perhaps meant, the likeliest first."""
    if glob.startswith(("http://", "https://")):
        yield glob.rstrip("/") + "/**"
    elif glob.startswith("*"):
        yield "*" + glob
    elif "." in glob.partition("/")[0].rstrip("."):
        yield f"*://{glob}"
        yield f"*://{glob}/**"
    if "://" not in glob:
        yield f"**{glob}" if glob.startswith(("/", ".", "*")) else f"**{glob}**"


def matches_some_url(glob: str) -> bool:
    """Whether there is a canonical URL that the glob matches."""
    states = {0}
    for piece in pieces(glob):
        if not piece.wildcard:
            states = _after(states, piece.character)
        elif piece.wildcard == "one":
            states = _after(states, _ANY.replace("/", ""))
        else:
            through = _ANY if piece.wildcard == "all" else _ANY.replace("/", "")
            reached = states
            while not (reached := _after(reached, through)) <= states:
                states |= reached
    return _PATH_STATE in states


def _after(states: set[int], characters: Sequence[str]) -> set[int]:
    return {after for state in states for each in characters for after in _step(state, each)}


def _step(state: int, character: str) -> Iterator[int]:
    """A step of the automaton of canonical URLs; from the last state on it accepts."""
    if state < 4:  # "http"
        if character == "http"[state]:
            yield state + 1
    elif state < 6:  # "s" or not, ":"
        if character == "s" and state == 4:
            yield 5
        elif character == ":":
            yield 6
    elif state < 8:  # "//"
        if character == "/":
            yield state + 1
    elif state < _PATH_STATE:  # a host of at least one character
        if character == "/":
            if state == 9:
                yield _PATH_STATE
        elif character.isascii() and character not in "#?\\@" and character.isprintable():
            yield 9
    elif character.isascii() and character.isprintable() and character != " ":
        yield _PATH_STATE
