"""The options of reading pages for a database, as a value and as arguments of a process."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

_NEAR = "--near-duplicates"


@dataclass(slots=True, frozen=True)
class ReadOptions:
    """A crawl decides itself which pages may be indexed; elsewhere readers `obey_noindex`."""

    #: The bodies of pages are stored, too.
    keep_bodies: bool = False
    #: A page that asks not to be indexed is taken for one that is gone.
    obey_noindex: bool = False
    #: The keyword nearDuplicates.
    near_duplicates: str = "off"

    @property
    def skip_near(self) -> bool:
        """Whether near copies are not in the index."""
        return self.near_duplicates == "skip"

    @classmethod
    def of(cls, arguments: Sequence[str]) -> Self:
        """The options among the arguments of a process."""
        near = [each.partition("=")[2] for each in arguments if each.startswith(f"{_NEAR}=")]
        return cls("--keep-bodies" in arguments, "--obey-noindex" in arguments, *near[-1:])

    def arguments(self) -> list[str]:
        """The arguments of a process with these options."""
        switches = ["--keep-bodies"] * self.keep_bodies + ["--obey-noindex"] * self.obey_noindex
        return [*switches, f"{_NEAR}={self.near_duplicates}"]
