"""Versions of the parsing libraries."""

from importlib.metadata import version

from lxml import etree


def versions() -> str:
    """Return the versions; that of libxml2 is the one lxml runs with."""
    libxml2 = ".".join(map(str, etree.LIBXML_VERSION))
    return f"turbohtml {version('turbohtml')}, lxml {etree.__version__} with libxml2 {libxml2}"
