"""The compiled module, which does some work of the Python code in a tenth of the time.

It is written in C for the stable interface of CPython 3.11 and later, and it is optional: `native`
is None if it was not compiled, or if the environment variable LARBINPY_NO_SCAN is set. Each
caller has Python code for that case, which is the definition of the result.

    module.c      the functions as Python sees them
    tokens.c      the tags of a page
    links.c       which of their attributes are links; which pages are left to the tree
    resolve.c     references to canonical URLs
    distinct.h    each text once, by its hash
    siphash.h     the hash
    memo.h        answers of the Python code that pages need again
    packed.c      links in flat buffers: the choice of some of them
    recent.c      a cache of the URLs that pages link to most; fingerprints of the others
    blake2b.c     fingerprints
    link_hashes.c   keyed hashes of the links of a page
    table.c       lookups and insertions in a FingerprintTable
    registers.c   vector registers that a library left in a slow state
    words.c       the tokens of words, most of which a cache has
"""

import os
from importlib import import_module
from types import ModuleType

#: Set to anything, it keeps the compiled module from being used.
NO_SCAN = "LARBINPY_NO_SCAN"


def _load() -> ModuleType | None:
    if os.environ.get(NO_SCAN):
        return None
    try:
        return import_module("larbinpy.native._native")
    except ImportError:
        return None


native = _load()
