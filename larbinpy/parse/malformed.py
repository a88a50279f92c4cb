"""References that are no URLs (``http://[bad``, ``htp://typo.example/``), and refused URLs.

Only a link check asks for them. A reference with another scheme than http and https may be a link
for some program, so it counts only if its scheme looks like a misspelt http or https.
"""

import re
from difflib import SequenceMatcher

from larbinpy.url import BAD_PORTS, canonical, masked, parse, split

#: Most references of a page that are named, and most characters of each.
MOST = 20
_LONGEST = 200

_SCHEME = re.compile(r"([a-z][a-z0-9+.-]*):", re.ASCII | re.IGNORECASE).match
_WEB = ("http", "https")
#: Schemes in use that are as near to http and https as misspellings are.
_IN_USE = frozenset({"tftp", "httpu", "httpx"})
#: Similarity of "htp", "ttp", "hhtp" and "htpp" to "http" is at least 0.75, that of "ftp" 0.57.
_NEAR = 0.7


def is_malformed(reference: str, base: str) -> bool:
    """Whether a reference in a page with the base URL `base` is no URL."""
    text = reference.strip(" \t\n\f\r")
    scheme = _SCHEME(text)
    if scheme and scheme[1].lower() not in _WEB:
        return _is_misspelt(scheme[1].lower())
    return parse(text, base) is None


def why_refused(reference: str, base: str) -> str:
    """Why a reference cannot be crawled, although it is a URL of the Web; empty if it is not one.

    The reason is a name for counts: "ports" or "length".
    """
    href = parse(reference, base)
    if href is None or not href.startswith(("http://", "https://")):
        return ""
    return "ports" if split(canonical(href)).port in BAD_PORTS else "length"


def _is_misspelt(scheme: str) -> bool:
    if scheme in _IN_USE or len(scheme) > len("https") + 2:
        return False
    return any(SequenceMatcher(None, scheme, each).ratio() >= _NEAR for each in _WEB)


def spelled(reference: str) -> str:
    """A reference as it is named: one word, without a login, not too long."""
    word = "".join("%20" if c.isspace() else c for c in reference.strip())
    return masked(word)[:_LONGEST]
