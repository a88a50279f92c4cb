"""The sources in the files and folders that the user names."""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from larbinpy.database.sources.browsable import Browsable
from larbinpy.database.sources.mirror import NAMES, Mirror
from larbinpy.database.sources.payloads import Payloads
from larbinpy.database.sources.saved import SavedFiles, indexes
from larbinpy.database.sources.source import Source
from larbinpy.database.sources.warc import WarcFile
from larbinpy.errors import UserError
from larbinpy.output.mirror.paths import CATALOG

_ARCHIVES = (".warc", ".warc.gz")
_KINDS = "WARC files (.warc, .warc.gz), and folders with those, with a mirror or saved pages"


def find(paths: Sequence[str], payloads: Payloads, most: int) -> list[Source]:
    """The sources in `paths`; of a page at most `most` bytes are read.

    Raises UserError for a path that has none, and `OSError`.
    """
    archives: list[Path] = []
    folders: list[Source] = []
    for name in paths:
        path = Path(name)
        if path.is_dir():
            inside = _archives(path)
            found = [*_in_folder(path, most)]
            if not inside and not found:
                raise UserError(f"{name}: no pages in this folder; expected {_KINDS}")
            archives += inside
            folders += found
        elif path.name.endswith(_ARCHIVES) and path.is_file():
            archives.append(path)
        else:
            wrong = "no such file" if not os.path.lexists(path) else "not a file of pages"
            raise UserError(f"{name}: {wrong}; expected {_KINDS}")
    # A file that is named twice is read once.
    files = [*dict.fromkeys(archives)]
    numbered = range(len(files))
    return [*(WarcFile(files, number, payloads, most) for number in numbered), *folders]


def _archives(folder: Path) -> list[Path]:
    """WARC files in `folder`, the oldest first, as far as their names say so."""
    named = (path for path in folder.iterdir() if path.name.endswith(_ARCHIVES))
    return sorted(path for path in named if path.is_file())


def _in_folder(folder: Path, most: int) -> Iterator[Source]:
    """The sources that the outputs of a crawl left in `folder`."""
    if (folder / CATALOG).is_file():
        yield Browsable(folder, most)
    elif (folder / NAMES).is_file():
        yield Mirror(folder, most)
    if indexes(folder):
        yield SavedFiles(folder, most)
