"""Pages that are due, on their way from the database to the crawl."""

import pytest

from larbinpy.database.revisit.round import host_name


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("http://a.test/x//y", "a.test"),
        ("https://a.test:8443/", "a.test:8443"),
        ("http://a.test", "a.test"),
        # A file of somebody else may have any text there.
        ("nonsense", ""),
        ("", ""),
    ],
)
def test_the_host_of_a_page(url: str, host: str) -> None:
    assert host_name(url) == host
