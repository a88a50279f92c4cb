"""What a crawl leaves behind: pages on disk, the crawl log, the report.

``plug``    the four-function plug, and several of them as one
``save``    pages in numbered files, 2000 a folder, with an index
``mirror``  pages under their host and path; ``paths`` decides the names, without a disk
``stats``   counts only
``log``     ``crawl.jsonl``, a line for each URL whose fate is decided
``report``  the JSON object of ``--report``

A full or read-only disk is an `OSError` that nobody here swallows. Whatever is on disk
under its final name is complete, then and after a kill. Pages are not synced one by one but
at each checkpoint (`larbinpy.syncing`), so a power cut may leave those incomplete that came
since the last; a crawl that goes on gets them again.
"""

from collections.abc import Iterable, Mapping
from contextlib import ExitStack

from larbinpy.output.mirror import MirrorOutput
from larbinpy.output.plug import Durable, NullOutput, Output, SeveralOutputs
from larbinpy.output.save import SaveOutput
from larbinpy.output.stats import StatsOutput

__all__ = [
    "Durable",
    "MirrorOutput",
    "NullOutput",
    "Output",
    "SaveOutput",
    "SeveralOutputs",
    "StatsOutput",
    "open_output",
]


def open_output(
    modes: Iterable[str], directory: str, more: Mapping[str, Output] | None = None
) -> Durable:
    """The plug for the output modes of larbin.conf ("save", "mirror", "stats"), and `more`.

    Its `stats` has one entry a plug. Raises `OSError` where `directory` cannot be used,
    `ValueError` for a mode that does not exist.
    """
    plugs: dict[str, Output] = {}
    with ExitStack() as undo:
        for mode in modes:
            plugs[mode] = _open(mode, directory)
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
