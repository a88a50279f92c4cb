"""Makes the tables of docs/configuration.md from the table of settings."""

from collections.abc import Iterator
from pathlib import Path

from larbinpy import __version__
from larbinpy.config import SETTINGS

FILE = Path(__file__).parents[1] / "docs" / "configuration.md"

#: Marks around the generated part of the file.
BEGIN = "<!-- made by scripts/configuration-docs: do not edit from here -->\n"
END = "<!-- to here -->\n"

#: First keyword of each group of settings -> heading of the group.
GROUPS = {
    "From": "Identity",
    "startUrl": "Seeds and output",
    "httpPort": "Ports and messages",
    "waitDuration": "Politeness and retries",
    "accept": "Scope",
    "limitTime": "Limits and network",
    "dnsConnexions": "Name resolution",
    "join": "Nodes of one crawl",
}


def tables() -> str:
    """All settings as Markdown, one table a group."""
    return "\n".join(_lines()) + "\n"


def _lines() -> Iterator[str]:
    for row in SETTINGS.values():
        if row.keyword in GROUPS:
            yield from ("", f"### {GROUPS[row.keyword]}", "")
            yield from ("| keyword and value | default | meaning |", "|---|---|---|")
        usage = f"{row.keyword} {row.kind.usage}".strip()
        # Keeps the page the same in all versions.
        default = row.text(row.default).replace(__version__, "VERSION")
        marks = [mark for mark, on in (("live", row.live), ("by site", row.by_site)) if on]
        marked = f" (*{', '.join(marks)}*)" if marks else ""
        shown = f"`{default}`" if default.strip('"') else "none"
        yield f"| `{_cell(usage)}` | {_cell(shown)} | {_cell(row.help)}{marked} |"
    yield ""


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def renewed(text: str) -> str:
    """`text`, a whole configuration.md, with current tables. ValueError if it has no marks."""
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        raise ValueError(f"the tables belong between {BEGIN!r} and {END!r}")
    return before + begin + tables() + end + after


if __name__ == "__main__":
    FILE.write_text(renewed(FILE.read_text()))
