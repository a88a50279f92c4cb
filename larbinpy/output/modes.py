"""Opens the output modes of larbin.conf, of which `config.kinds` has the rows, as one output."""

import errno
import os
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING

from larbinpy._version import __version__
from larbinpy.config.kinds import ModeTrait, OutputMode
from larbinpy.context import Context
from larbinpy.output.plug import NullOutput, Output, Outputs, SeveralOutputs
from larbinpy.output.save import SaveOutput, StatsOutput
from larbinpy.storage.files import make_folder
from larbinpy.storage.spool import FOLDER

if TYPE_CHECKING:
    from larbinpy.database.revisit.round import Visits

#: The URL that a link counts as now: the console may set dropParameters.
Fold = Callable[[str], str]

# The modules of a mirror are many, and the libraries of an archive and of a database large: each
# is loaded only for its mode.


def _save(context: Context, fold: Fold, visits: "Visits | None") -> Output:
    return SaveOutput(context.config.output_dir)


def _mirror(context: Context, fold: Fold, visits: "Visits | None") -> Output:
    from larbinpy.output.mirror import catalog
    from larbinpy.output.mirror.mirror import MirrorOutput

    folder = context.config.output_dir
    if context.config.rewrite_links:
        from larbinpy.output.mirror.browsable import BrowsableMirror

        return BrowsableMirror(context, fold)
    if os.path.lexists(os.path.join(folder, catalog.NAME)):
        raise FileExistsError(
            errno.EEXIST, "a mirror with rewriteLinks is there; set that, too", folder
        )
    return MirrorOutput(folder)


def _stats(context: Context, fold: Fold, visits: "Visits | None") -> Output:
    return StatsOutput()


def _warc(context: Context, fold: Fold, visits: "Visits | None") -> Output:
    from larbinpy.output.warc.warc import FirstCaptures, WarcOutput

    config = context.config
    about = {
        "software": f"larbinpy/{__version__}",
        "robots": "ignore" if config.ignore_robots else "obey (RFC 9309)",
        "operator": config.sender,
        "http-header-from": config.sender,
        "http-header-user-agent": config.user_agent,
    }
    return WarcOutput(
        config.output_dir,
        about,
        context.wall,
        prefix=config.warc_prefix,
        file_size=config.warc_size,
        originals=FirstCaptures(files=config.warc_dedup, folder=config.output_dir),
    )


def _database(context: Context, fold: Fold, visits: "Visits | None") -> Output:
    from larbinpy.output.database import (
        DatabaseOutput,
        IndexerChild,
        VisitingOutput,
        indexer_command,
    )

    config, wall, folder = context.config, context.wall, context.folder / FOLDER
    if "://" not in config.content_database:
        make_folder(os.path.dirname(os.path.abspath(config.content_database)))
    child = partial(IndexerChild, indexer_command(context, folder), context.poller, context.clock)
    if visits is None:
        return DatabaseOutput(folder, child, wall, spool_max=config.spool_max)
    return VisitingOutput(
        folder,
        child,
        wall,
        visits,
        spool_max=config.spool_max,
        # Other outputs want whole pages.
        conditional=not config.keeps_files,
    )


#: With `revisit`, an output gets the visits. Each raises OSError or UserError.
_OPENERS: dict[OutputMode, Callable[[Context, Fold, "Visits | None"], Output]] = {
    OutputMode.SAVE: _save,
    OutputMode.MIRROR: _mirror,
    OutputMode.STATS: _stats,
    OutputMode.WARC: _warc,
    OutputMode.WACZ: _warc,
    OutputMode.DATABASE: _database,
}


def open_outputs(
    context: Context, own: Output | None = None, fold: Fold = str, visits: "Visits | None" = None
) -> Outputs:
    """The modes of outputMode and `own`, the plug of the calling program, as one output.

    It is closed with the crawl. Its `stats` have one entry for each output. Raises OSError if
    outputDir cannot be used, UserError if the database cannot be.
    """
    modes = [OutputMode(name) for name in context.config.output_mode]
    outputs: dict[str, Output] = {}
    with ExitStack() as undo:
        for mode in modes:
            outputs[mode.value] = _OPENERS[mode](context, fold, visits)
            undo.callback(outputs[mode.value].close)
        undo.pop_all()
    if own is not None:
        outputs["own"] = own
    for mode in modes:
        if ModeTrait.EACH in mode.traits:
            # Last: if another output fails and the crawl stops, the page is fetched again later,
            # and only such a mode would store it twice.
            outputs[mode.value] = outputs.pop(mode.value)
    opened: Outputs = SeveralOutputs(outputs) if outputs else NullOutput()
    context.closing.callback(opened.close)
    return opened


def folders_to_flush(context: Context) -> list[str]:
    """The folders of the output modes that write files."""
    folders = [context.config.output_dir] if context.config.keeps_files else []
    if context.config.fills_database:
        folders.append(str(context.folder / FOLDER))
    return folders
