"""Tells links that end a session by their words, in the languages of most web pages.

A part of the address (a folder, a file, a value of the query) or the text of the link must consist
of such words and of fillers: ``/user/logout.php`` and "Log me out" end a session,
``/logout-bug-report`` and "How to log out" do not.
"""

import re
import unicodedata
from functools import lru_cache
from itertools import pairwise
from urllib.parse import unquote_plus

from larbinpy.login.logout_words import AMBIGUOUS, FILLERS, NOT_ASKED, PHRASES

#: Words written together, without capitals that would part them.
_TOGETHER = re.compile(
    "(?:user|member|admin|customer|client|account|auth|sso|cas|saml|oidc|ajax|do|force|my)?"
    "(?:logout|logoff|signout|signoff)"
    "(?:user|action|page|now|me|all|url|servlet|handler|confirm)?"
)
#: Neighbouring parts of an address.
_FOLDERS = frozenset(
    (first, second)
    for first in ("session", "sessions", "sitzung")
    for second in ("destroy", "end", "delete", "close", "logout", "beenden")
) | {("sign", "out"), ("sign", "off"), ("log", "out"), ("log", "off")}
#: Parts that end a session if another one has "saml".
_SINGLE = frozenset({"slo", "sls"})

_BESIDE = frozenset(FILLERS.split())
_QUIET = frozenset(NOT_ASKED.split())
_FALSE = frozenset({"0", "false", "no", "off", "never"})

#: Longer parts and texts (characters) are no names of an action.
_LONGEST = 80
_CAPITAL = re.compile("(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_WORD = re.compile(r"[^\W_]+")
_ASIDE = re.compile(r"[(\[{\uff08\u3010].*?[)\]}\uff09\u3011]")
_PARTS = re.compile("[/;:!]")

Words = tuple[str, ...]


def ends_session(href: str) -> bool:
    """Whether a link to the canonical URL `href` ends a session, by the words of the URL."""
    path, _, query = href.partition("?")
    # Without scheme, host and port.
    parts = path.split("/")[3:]
    folders = [words for each in parts for part in _PARTS.split(each) if (words := _words(part))]
    if any(map(_is_phrase, folders)):
        return True
    singles = [words[0] if len(words) == 1 else "" for words in folders]
    if any(pair in _FOLDERS for pair in pairwise(singles)):
        return True
    if _SINGLE & set(singles) and any("saml" in word for words in folders for word in words):
        return True
    return any(_is_parameter(each) for each in query.split("&")) if query else False


def _is_parameter(pair: str) -> bool:
    name, has_value, value = pair.partition("=")
    if name.lower() in _QUIET:
        return False
    if value.lower() not in _FALSE and _is_phrase(_words(name)):
        return True
    if not has_value:
        return False
    return any(_is_phrase(_words(part)) for part in _PARTS.split(unquote_plus(value)[:400]))


@lru_cache(1 << 12)
def says_logout(text: str) -> bool:
    """Whether the text of a link or a button says that it ends a session."""
    if not text or len(text) > 4 * _LONGEST:
        return False
    # "Log out (mary)"; not "(Log out)".
    text = " ".join(text.split())
    return _says(_ASIDE.sub(" ", text)) or _says(text)


def _says(text: str) -> bool:
    words = _words(text)
    return words in _WHOLE or _is_phrase(words)


@lru_cache(1 << 12)
def _words(part: str) -> Words:
    """The words of a part of an address, or of a text; none if it is too long."""
    text = unquote_plus(part) if "%" in part or "+" in part else part
    if len(text) > _LONGEST:
        return ()
    return tuple(_WORD.findall(_plain(_CAPITAL.sub(" ", text))))


def _plain(text: str) -> str:
    """`text` in lower case and without marks above and below letters, which people leave out."""
    if text.isascii():
        return text.lower()
    apart = unicodedata.normalize("NFKD", text.casefold())
    return "".join(char for char in apart if not unicodedata.category(char).startswith("M"))


def _listed(lines: str) -> frozenset[Words]:
    phrases = lines.strip().replace("\n", ",").split(",")
    return frozenset(tuple(_WORD.findall(_plain(each))) for each in phrases)


_KNOWN = _listed(PHRASES)
_WHOLE = _listed(AMBIGUOUS)
_WHOLE_ADDRESS = frozenset(words for words in _WHOLE if "".join(words).isascii())
_MOST_WORDS = max(map(len, _KNOWN))


@lru_cache(1 << 12)
def _is_phrase(words: Words) -> bool:
    """Whether `words` are a phrase and fillers."""
    if not words or len(words) > _MOST_WORDS + 6:
        return False
    bare = tuple(word for word in words if word not in _BESIDE)
    found = bare or words
    if found in _KNOWN or words in _KNOWN:
        return True
    if len(found) == 1:
        return found[0] in _ASCII_WORDS or _TOGETHER.fullmatch(found[0]) is not None
    return False


_ASCII_WORDS = frozenset(words[0] for words in _WHOLE_ADDRESS if len(words) == 1)
