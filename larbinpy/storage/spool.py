"""The spool: pages as they came, in files between the crawl and the indexer of its database."""

from typing import NamedTuple

from larbinpy.page import Page


class Spooled(NamedTuple):
    """A page of the spool, and the Unix time of its fetch.

    A page with another outcome than success says that its URL no longer has a page.
    """

    at: float
    page: Page
