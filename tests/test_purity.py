"""Modules that decide load neither libcurl nor socket code."""

import subprocess
import sys
from pathlib import Path

import pytest

import larbinpy

ROOT = Path(larbinpy.__file__).parent
FRONTIER = sorted(
    ".".join(path.relative_to(ROOT.parent).with_suffix("").parts)
    for path in (ROOT / "frontier").rglob("[!_]*.py")
)
DECIDERS = ["larbinpy.parse", "larbinpy.fetch.robots", "larbinpy.url", "larbinpy.dns.wire"]

SOCKETS = {"pycurl", "socket", "_socket", "select", "selectors", "ssl"}
SOCKETS |= {f"larbinpy.dns.{name}" for name in ("questions", "resolver")}
SOCKETS |= {"larbinpy.loop.poller", "larbinpy.fetch.fetcher", "larbinpy.console.ports"}


def loaded(*modules: str) -> set[str]:
    """The modules that a fresh interpreter has after it imported `modules`."""
    program = f"import sys, {', '.join(modules)}\nprint(*sys.modules)"
    output = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True
    ).stdout
    return set(output.split())


@pytest.mark.parametrize("modules", [[each] for each in DECIDERS] + [FRONTIER], ids=" ".join)
def test_deciders_load_no_socket_code(modules: list[str]) -> None:
    found = loaded(*modules)
    assert set(modules) <= found
    assert found & SOCKETS == set()


def test_a_crawl_loads_nothing_of_the_browser() -> None:
    found = loaded("larbinpy.cli.crawl", "larbinpy.crawl.crawl", "larbinpy.crawl.assembly")
    ours = ("larbinpy.render", "larbinpy.crawl.rendering")
    assert {name for name in found if name.startswith(ours)} == set()


def test_a_node_loads_neither_search_nor_the_console() -> None:
    found = loaded("larbinpy.crawl.crawl", "larbinpy.crawl.fleet.membership")
    others = ("larbinpy.database", "larbinpy.console.terminal.prompt", "opencc", "http.client")
    assert {name for name in found if name.startswith(others)} == set()


def test_the_names_of_the_dns_package_load_their_module_on_first_use() -> None:
    found = loaded("larbinpy.dns")
    assert {name for name in found if name.startswith("larbinpy.dns.")} == set()
    import larbinpy.dns

    for name in larbinpy.dns.__all__:
        assert getattr(larbinpy.dns, name).__name__ == name
    with pytest.raises(AttributeError):
        larbinpy.dns.Anything  # noqa: B018
