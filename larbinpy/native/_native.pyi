"""The functions of the compiled module."""

from collections.abc import Callable
from typing import Any

from typing_extensions import Buffer

def scan(
    body: bytes, agent: str, host: str, declared: bool, known: list[tuple[str, int]], reader: Any
) -> tuple[bytes, bytes, bytes] | None:
    """Return the links of an HTML page as the buffers of a `PackedLinks`.

    `body` has no zero bytes. `agent` is the crawler's name in directives, in lower case, `host`
    that of the page (`Collector.host`); `declared` is whether the encoding is known, `known` the
    URLs and flags of links found before. `reader` is asked about what is rare
    (`parse.scan._Answers`). None if the page is left to the tree.
    """

def absent(slots: Buffer, bases: Buffer, widths: Buffer, batch: list[int]) -> list[bool]:
    """For each of `batch`, in order: whether it is not in a table of fingerprints without strays.

    The three buffers are the memory of the table, its slots, and the first slot and the number of
    slots of each region, in unsigned numbers of 64 bits.
    """

def add(slots: Buffer, bases: Buffer, widths: Buffer, last: int, batch: list[int]) -> list[bool]:
    """Add `batch` to the table; for each, in order: whether it was new.

    Ends before the first fingerprint that has no slot: 0, or one that would lie in slot `last`.
    The result is shorter than `batch` then.
    """

def clear_registers() -> None:
    """Clear the upper halves of the vector registers of x86 processors: VZEROUPPER."""

def hash_links(key: Buffer, text: Buffer, ends: Buffer, flags: Buffer) -> bytes:
    """Return a hash of each link under `key`, 16 bytes: 8 bytes a link, in machine order."""

def learn_links(
    recent: Buffer, text: Buffer, ends: Buffer, flags: Buffer, unseen: list[bool]
) -> None:
    """Add the links that are not `unseen` to the cache `recent`.

    The links are in the buffers of a `PackedLinks`, and `unseen` has a value for each.
    """

def move(
    slots: Buffer, bases: Buffer, widths: Buffer, start: int, end: int, last: int
) -> list[int]:
    """Put the fingerprints of a region that has moved, once in the slots from `start` to `end`.

    They and those that ran over its end go to where `bases` and `widths` say now. Returns those
    without a slot: they would lie in slot `last`.
    """

def select_links(
    text: Buffer, ends: Buffer, flags: Buffer, wanted: bytes
) -> tuple[bytes, bytes, bytes]:
    """Return `text`, `ends` and `flags` of those links whose flags are among `wanted`."""

def unknown_links(
    recent: Buffer, text: Buffer, ends: Buffer, flags: Buffer
) -> tuple[tuple[bytes, bytes, bytes], list[int]]:
    """Return `text`, `ends` and `flags` of the links that are not in the cache, and fingerprints.

    The cache `recent` is a key of 16 random bytes and a power of two of sets, each of 32 bytes.
    """

def word_forms(cache: Buffer, text: bytes, ask: Callable[[bytes], bytes], odd: bool) -> bytes:
    """Return the forms of the words between the blanks of `text`, separated by one.

    `ask` has the form of a word; the words with an empty one are left out. With `odd`, words of
    ASCII letters have an empty one, with signs around them, if only the first may be a capital.
    The `cache` is a key of 16 random bytes and a power of two of slots, each of 64 bytes.
    """
