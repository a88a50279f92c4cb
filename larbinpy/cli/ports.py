"""Finds the ports of the crawl that `seed`, `console` and `status` connect to."""

from collections.abc import Iterator
from contextlib import contextmanager

import click

from larbinpy.cli.common import load_config
from larbinpy.config import SETTINGS
from larbinpy.console.terminal import client

#: Larbin's own ports, used if no port is given.
_USUAL = {"input": 1976, "http": 8081}
_LOOPBACK = "127.0.0.1"
#: The loopback address for a server that listens on all addresses.
_LOCAL = {"0.0.0.0": _LOOPBACK, "::": "::1"}

host_option = click.option("--host", help="Host of the crawl [inputHost of FILE, 127.0.0.1].")
port_option = click.option("--port", type=int, help="Port of the crawl [inputPort of FILE, 1976].")


@contextmanager
def port_of(
    kind: str, config_file: str | None, host: str | None = None, port: int | None = None
) -> Iterator[tuple[str, int]]:
    """Host and port of a crawl: as given, else from its configuration, else the defaults.

    `kind` is "input" or "http". A NoAnswer in the body gets a hint if a default port was used.
    """
    if port is not None:
        yield host or _LOOPBACK, port
        return
    config = load_config(config_file, ())
    there = getattr(config, f"{kind}_host")
    port = getattr(config, f"{kind}_port")
    try:
        yield host or _LOCAL.get(there, there), port or _USUAL[kind]
    except client.NoAnswer as error:
        if port:
            raise
        keyword = SETTINGS[f"{kind}port"].keyword
        raise client.NoAnswer(f"{error} Give its {keyword}, or -c FILE with it") from None
