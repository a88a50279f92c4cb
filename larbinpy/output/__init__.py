"""What a crawl leaves behind: pages on disk, the crawl log, the report.

``plug``    the four-function plug, and several of them as one
``save``    pages in numbered files, 2000 a folder, with an index
``mirror``  pages under their host and path; ``paths`` decides the names, without a disk
``warc``    all that was asked and answered, as WARC files: ``records`` makes them of pages,
            ``series`` has the files, ``cdxj`` the index of each
``browsable``  the same for reading offline: its ``catalog`` knows which URL has which file,
            which ``naming`` decides; ``tree`` are its files, ``originals`` those as they came;
            ``relinking`` rewrites them in the end, ``links`` leads from one to another
``stats``   counts only
``log``     ``crawl.jsonl``, a line for each URL whose fate is decided
``report``  the JSON object of ``--report``

A full or read-only disk is an `OSError` that nobody here swallows. Whatever is on disk
under its final name is complete, then and after a kill. Pages are not synced one by one but
at each checkpoint (`larbinpy.syncing`), so a power cut may leave those incomplete that came
since the last; a crawl that goes on gets them again.
"""

import errno
import os
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from functools import partial

from larbinpy.output import catalog
from larbinpy.output.browsable import BrowsableMirror, MirrorSettings
from larbinpy.output.mirror import MirrorOutput
from larbinpy.output.plug import (
    Durable,
    Keeper,
    NullOutput,
    Output,
    Outputs,
    SeveralOutputs,
    Witness,
)
from larbinpy.output.save import SaveOutput
from larbinpy.output.stats import StatsOutput

__all__ = [
    "BrowsableMirror",
    "Durable",
    "Keeper",
    "MirrorOutput",
    "MirrorSettings",
    "NullOutput",
    "Output",
    "Outputs",
    "SaveOutput",
    "SeveralOutputs",
    "StatsOutput",
    "Witness",
    "open_output",
]


def open_output(
    modes: Iterable[str],
    directory: str,
    more: Mapping[str, Output] | None = None,
    *,
    archive: Callable[[str], Output] | None = None,
    browsable: MirrorSettings | None = None,
) -> Outputs:
    """The plug for the output modes of larbin.conf ("save", "mirror", "stats"), and `more`.

    That of "warc" is made by `archive`; with `browsable`, the mirror browses offline. The
    plug's `stats` has one entry a plug. Raises `OSError` where `directory` cannot be used,
    `ValueError` for a mode that does not exist.
    """
    plugs: dict[str, Output] = {}
    with ExitStack() as undo:
        for mode in modes:
            make = archive if mode == "warc" and archive else partial(_open, mode, browsable)
            plugs[mode] = make(directory)
            undo.callback(plugs[mode].close)
        undo.pop_all()
    plugs.update(more or {})
    # Last, as it alone would keep two of a page that another plug refused before a stop.
    if "save" in plugs:
        plugs["save"] = plugs.pop("save")
    return SeveralOutputs(plugs) if plugs else NullOutput()


def _open(mode: str, browsable: MirrorSettings | None, directory: str) -> Output:
    match mode:
        case "save":
            return SaveOutput(directory)
        case "mirror" if browsable is not None:
            return BrowsableMirror(directory, browsable)
        case "mirror":
            if os.path.lexists(os.path.join(directory, catalog.NAME)):
                raise FileExistsError(
                    errno.EEXIST, "a mirror with rewriteLinks is there; set that, too", directory
                )
            return MirrorOutput(directory)
        case "stats":
            return StatsOutput()
    raise ValueError(f"no output mode {mode!r}")
