"""Opens the output modes of larbin.conf as one output."""

import errno
import os
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING

from larbinpy.output.plug import NullOutput, Output, Outputs, SeveralOutputs
from larbinpy.output.save import SaveOutput, StatsOutput

if TYPE_CHECKING:
    from larbinpy.output.database import DatabaseOutput
    from larbinpy.output.mirror.browsable import MirrorSettings


@dataclass(slots=True, frozen=True)
class ArchiveSettings:
    """How WARC files are written; see `larbinpy.output.warc.warc.WarcOutput`."""

    #: Fields of the first record of each file.
    about: Mapping[str, str]
    #: Returns the Unix time.
    wall: Callable[[], float]
    #: Bytes after which the next file is begun.
    file_size: int


def open_output(
    modes: Iterable[str],
    directory: str,
    more: Mapping[str, Output] | None = None,
    *,
    archive: ArchiveSettings | None = None,
    browsable: "MirrorSettings | None" = None,
    database: "Callable[[], DatabaseOutput] | None" = None,
) -> Outputs:
    """Open the output modes of larbin.conf ("save", "mirror", "stats" ...), and add `more`.

    "warc" needs `archive`, "database" what opens it; with `browsable`, the mirror browses offline.
    The `stats` of the result have one entry for each output. Raises `OSError` if `directory`
    cannot be used, `ValueError` for a mode that does not exist.
    """
    outputs: dict[str, Output] = {}
    with ExitStack() as undo:
        for mode in modes:
            outputs[mode] = _open(mode, directory, browsable, archive, database)
            undo.callback(outputs[mode].close)
        undo.pop_all()
    outputs.update(more or {})
    # Save mode comes last. If another output fails and the crawl stops, the page is fetched again
    # later, and only save mode would store it twice.
    if "save" in outputs:
        outputs["save"] = outputs.pop("save")
    return SeveralOutputs(outputs) if outputs else NullOutput()


def _open(
    mode: str,
    directory: str,
    browsable: "MirrorSettings | None",
    archive: ArchiveSettings | None,
    database: "Callable[[], DatabaseOutput] | None",
) -> Output:
    # The modules of a mirror are many, and the libraries of an archive large: each is loaded only
    # for its mode.
    match mode:
        case "save":
            return SaveOutput(directory)
        case "mirror" if browsable is not None:
            from larbinpy.output.mirror.browsable import BrowsableMirror

            return BrowsableMirror(directory, browsable)
        case "mirror":
            from larbinpy.output.mirror import catalog
            from larbinpy.output.mirror.mirror import MirrorOutput

            if os.path.lexists(os.path.join(directory, catalog.NAME)):
                raise FileExistsError(
                    errno.EEXIST, "a mirror with rewriteLinks is there; set that, too", directory
                )
            return MirrorOutput(directory)
        case "stats":
            return StatsOutput()
        case "database" if database is not None:
            return database()
        case "warc" if archive is not None:
            from larbinpy.output.warc.warc import WarcOutput

            return WarcOutput(directory, archive.about, archive.wall, file_size=archive.file_size)
    raise ValueError(f"no output mode {mode!r}")
