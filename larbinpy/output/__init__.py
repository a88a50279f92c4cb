"""What a crawl leaves behind: pages on disk, the crawl log, the report.

``plug``    the four-function plug, and several of them as one
``save``    pages in numbered files, 2000 a folder, with an index
``mirror``  pages under their host and path; ``paths`` decides the names, without a disk
``warc``    all that was asked and answered, as WARC files: ``records`` makes them of pages,
            ``series`` has the files, ``cdxj`` the index of each
``stats``   counts only
``log``     ``crawl.jsonl``, a line for each URL whose fate is decided
``report``  the JSON object of ``--report``

A full or read-only disk is an `OSError` that nobody here swallows. Whatever is on disk
under its final name is complete, then and after a kill. Pages are not synced one by one but
at each checkpoint (`larbinpy.syncing`), so a power cut may leave those incomplete that came
since the last; a crawl that goes on gets them again.
"""

from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from functools import partial

from larbinpy.output.mirror import MirrorOutput
from larbinpy.output.plug import (
    Durable,
    NullOutput,
    Output,
    Outputs,
    SeveralOutputs,
    Witness,
)
from larbinpy.output.save import SaveOutput
from larbinpy.output.stats import StatsOutput

__all__ = [
    "Durable",
    "MirrorOutput",
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
    archive: Callable[[str], Output] | None = None,
) -> Outputs:
    """The plug for the output modes of larbin.conf ("save", "mirror", "stats"), and `more`.

    That of "warc" is made by `archive`. Its `stats` has one entry a plug. Raises `OSError`
    where `directory` cannot be used, `ValueError` for a mode that does not exist.
    """
    plugs: dict[str, Output] = {}
    with ExitStack() as undo:
        for mode in modes:
            make = archive if mode == "warc" and archive else partial(_open, mode)
            plugs[mode] = make(directory)
            undo.callback(plugs[mode].close)
        undo.pop_all()
    plugs.update(more or {})
    # Last, as it alone would keep two of a page that another plug refused before a stop.
    if "save" in plugs:
        plugs["save"] = plugs.pop("save")
    return SeveralOutputs(plugs) if plugs else NullOutput()


def _open(mode: str, directory: str) -> Output:
    match mode:
        case "save":
            return SaveOutput(directory)
        case "mirror":
            return MirrorOutput(directory)
        case "stats":
            return StatsOutput()
    raise ValueError(f"no output mode {mode!r}")
