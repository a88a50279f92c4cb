"""A limit on the size of files, which acts like a full disk and needs no root."""

import resource
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def small_files(size: int) -> Iterator[None]:
    """No file grows beyond `size` bytes in the block.

    Keep the block short: the limit holds for the whole process, including the file to which the
    test runner may write its output.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
