"""A system that refuses to let files grow: as good as a full disk, and no root is needed."""

import resource
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def small_files(size: int) -> Iterator[None]:
    """No file grows past `size` bytes here.

    As short as can be: the limit binds the whole process, and with it the file that the
    test runner's own output may go to.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
