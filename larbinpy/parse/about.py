"""What parsing stands on."""

from importlib.metadata import version

from lxml import etree


def versions() -> str:
    """The parsers; libxml2 is that which lxml runs with."""
    libxml2 = ".".join(map(str, etree.LIBXML_VERSION))
    return f"turbohtml {version('turbohtml')}, lxml {etree.__version__} with libxml2 {libxml2}"
