"""Versions of the parsing libraries."""

from importlib.metadata import version

from lxml import etree

from larbinpy.native import native


def versions() -> str:
    """Return the versions; that of libxml2 is the one lxml runs with.

    They say, too, whether links are found by the compiled module.
    """
    libxml2 = ".".join(map(str, etree.LIBXML_VERSION))
    scan = "compiled" if native else "not compiled, so reading pages is slow"
    return (
        f"turbohtml {version('turbohtml')}, lxml {etree.__version__} with libxml2 {libxml2}, "
        f"link scan {scan}"
    )
