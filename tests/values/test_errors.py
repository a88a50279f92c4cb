import errno

import pytest

from larbinpy.errors import DamagedError, disk_error, what_failed

FOLDERS = "outputDir out or stateDir state"


@pytest.mark.parametrize(
    ("error", "saved", "said"),
    [
        (
            OSError(errno.ENOSPC, "No space left", "a"),
            True,
            f"a: No space left, below {FOLDERS}; make room and continue with --resume",
        ),
        (
            OSError(errno.EIO, "Input/output error"),
            True,
            f"Input/output error, below {FOLDERS}; repair the cause and continue with --resume",
        ),
        (
            OSError(errno.EDQUOT, "Quota exceeded", "a"),
            False,
            f"a: Quota exceeded, below {FOLDERS}; make room and continue with --resume from the "
            "last save, as the end of the crawl could not be saved",
        ),
        (DamagedError(errno.EIO, "damaged", "a"), True, "a: damaged; --scratch starts anew"),
    ],
)
def test_a_disk_error_says_what_where_and_what_to_do(
    error: OSError, saved: bool, said: str
) -> None:
    assert disk_error(error, FOLDERS, saved=saved) == said


@pytest.mark.parametrize("number", [errno.EMFILE, errno.ENFILE])
def test_a_lack_of_open_files_names_the_limit(number: int) -> None:
    assert "; ulimit -n 1024 raises the limit" in what_failed(OSError(number, "too many"))
