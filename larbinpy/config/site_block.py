"""Site blocks: settings for the sites that a pattern matches."""

from dataclasses import dataclass, field
from typing import Any

from larbinpy.config.host_pattern import HostPattern
from larbinpy.config.kinds import Setting, ValueKind


@dataclass(frozen=True, slots=True)
class SiteValue:
    """A setting within a site block."""

    row: Setting
    value: Any
    #: The place where it was set: "larbin.conf:12" or "command line".
    source: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class SiteBlock:
    """``site PATTERN KEYWORD VALUE... end``: settings of the sites that the pattern matches."""

    pattern: HostPattern
    values: tuple[SiteValue, ...]
    #: The place where it begins: "larbin.conf:12" or "command line".
    source: str = field(default="", compare=False)

    def get(self, attribute: str) -> SiteValue | None:
        """The value of the setting that is `attribute` of a Config; None if it has none."""
        return next((each for each in self.values if each.row.attribute == attribute), None)

    def lines(self) -> list[str]:
        """The block as lines of a file."""
        inner = [line for each in self.values for line in each.row.lines(each.value)]
        return [f"site {self.pattern.show()}", *(f"    {line}" for line in inner), "end"]

    def show(self) -> str:
        """The block in one line, without the keyword."""
        inner = [line for each in self.values for line in each.row.lines(each.value)]
        return " ".join([self.pattern.show(), *inner, "end"])


def _made_by_the_grammar(*_words: str) -> SiteBlock:
    raise AssertionError("a block has more than the words of one item")


SITE: ValueKind[SiteBlock] = ValueKind(
    "PATTERN KEYWORD VALUE... end", _made_by_the_grammar, SiteBlock.show
)
