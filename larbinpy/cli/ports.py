"""Which crawl `seed`, `console` and `status` talk to."""

from collections.abc import Iterator
from contextlib import contextmanager

import click

from larbinpy.cli.common import load_config
from larbinpy.config import SETTINGS
from larbinpy.console.terminal import client

#: Larbin's own ports, where nothing says another one.
_USUAL = {"input": 1976, "http": 8081}
_LOOPBACK = "127.0.0.1"
#: Where this machine reaches what listens on all of its addresses.
_NEAR = {"0.0.0.0": _LOOPBACK, "::": "::1"}

host_option = click.option("--host", help="Where the crawl runs [inputHost, 127.0.0.1].")
port_option = click.option("--port", type=int, help="The crawl's inputPort [that of FILE, 1976].")


@contextmanager
def port_of(
    kind: str, config_file: str | None, host: str | None = None, port: int | None = None
) -> Iterator[tuple[str, int]]:
    """Host and port of a crawl: as given, else as its configuration has them, else the usual."""
    if port is not None:
        yield host or _LOOPBACK, port
        return
    config = load_config(config_file, ())
    there = getattr(config, f"{kind}_host")
    port = getattr(config, f"{kind}_port")
    try:
        yield host or _NEAR.get(there, there), port or _USUAL[kind]
    except client.NoAnswer as error:
        if port:
            raise
        keyword = SETTINGS[f"{kind}port"].keyword
        raise client.NoAnswer(f"{error} No {keyword} was given, nor -c FILE with one") from None
