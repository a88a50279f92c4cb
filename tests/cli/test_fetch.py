"""`larbinpy fetch`: what it refuses to fetch, and the hint it gives."""

import json

import pytest
from click.testing import CliRunner

from larbinpy.cli import main


@pytest.mark.parametrize(
    ("url", "hint"),
    [
        ("http://127.0.0.1:81/", "its address is not a public one: 127.0.0.1; --allow-private"),
        ("http://127.0.0.1:25/", "not a URL that can be crawled (port 25 is that of"),
        ("ftp://a.test/", "not a URL that can be crawled (http or https)"),
    ],
)
def test_a_refused_url_gets_a_hint(url: str, hint: str) -> None:
    result = CliRunner().invoke(main, ["fetch", url, "--server", "127.0.0.1", "--json"])
    assert result.exit_code == 4
    assert result.stderr.startswith(f"larbinpy: {url}: {hint}")
    assert result.stderr.count("\n") == result.stdout.count("\n") == 1
    assert json.loads(result.stdout)["detail"] == ("127.0.0.1" if "81" in url else None)


@pytest.mark.parametrize(
    ("size", "reason"),
    [
        ("0", "0 is not between 1 and 1G"),
        ("2G", "2G is not between 1 and 1G"),
        ("-1", "'-1' is not a size"),
        ("", "'' is not a size"),
    ],
)
def test_a_size_out_of_bounds_is_reported_as_that_of_the_option(size: str, reason: str) -> None:
    shown = CliRunner().invoke(main, ["fetch", "http://127.0.0.1/", "--max-size", size])
    assert shown.exit_code == 2
    assert shown.stderr.startswith(f"larbinpy: command line, --max-size: {reason}")
    assert shown.stderr.count("\n") == 1
