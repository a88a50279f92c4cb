"""The output modes of larbin.conf, opened as one plug."""

import errno
import os
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from functools import partial

from larbinpy.output.counts import StatsOutput
from larbinpy.output.mirror import catalog
from larbinpy.output.mirror.browsable import BrowsableMirror, MirrorSettings
from larbinpy.output.mirror.mirror import MirrorOutput
from larbinpy.output.plug import NullOutput, Output, Outputs, SeveralOutputs
from larbinpy.output.save import SaveOutput


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
