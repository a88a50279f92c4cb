"""The options of reading pages for a database, as a value and as arguments of a process."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self


@dataclass(slots=True, frozen=True)
class ReadOptions:
    """A crawl decides itself which pages may be indexed; elsewhere readers `obey_noindex`."""

    #: The bodies of pages are stored, too.
    keep_bodies: bool = False
    #: A page that asks not to be indexed is taken for one that is gone.
    obey_noindex: bool = False

    @classmethod
    def of(cls, arguments: Sequence[str]) -> Self:
        """The options among the arguments of a process."""
        return cls("--keep-bodies" in arguments, "--obey-noindex" in arguments)

    def arguments(self) -> list[str]:
        """The arguments of a process with these options."""
        return ["--keep-bodies"] * self.keep_bodies + ["--obey-noindex"] * self.obey_noindex
