"""Robots directives of single pages: `<meta name=robots>` and X-Robots-Tag.

There is no standard. The sources are Google's "Robots meta tag" page, which other search engines
follow, and RFC 9309 for product tokens. Directives for all agents and those for this agent are
all obeyed.
"""

from larbinpy.parse.link import Collector

#: Directives that contain a colon, which otherwise follows the name of an agent.
_WITH_VALUE = frozenset(
    {"unavailable_after", "max-snippet", "max-image-preview", "max-video-preview"}
)


def from_meta(name: str, content: str, out: Collector) -> None:
    """Obey a `<meta>` whose name is "robots" or that of this agent."""
    name = name.strip().lower()
    if name == "robots" or (name and name == out.agent):
        for directive in content.replace(",", " ").split():
            _obey(directive, out)


def from_header(value: str, out: Collector) -> None:
    """Obey one X-Robots-Tag line; "agent: directives" holds for that agent only."""
    concerned = True
    for part in value.split(","):
        name, colon, rest = part.partition(":")
        name = name.strip().lower()
        if colon and name not in _WITH_VALUE:
            concerned = name in ("*", out.agent)
            name = rest.strip()
        if concerned:
            _obey(name, out)


def _obey(directive: str, out: Collector) -> None:
    directive = directive.lower()
    if directive in ("noindex", "none"):
        out.noindex = True
    if directive in ("nofollow", "none"):
        out.nofollow = True
