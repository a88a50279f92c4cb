"""``larbinpy crawl --nodes``: the command line of each node, and the run of all."""

import socket
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, suppress
from itertools import chain
from pathlib import Path
from typing import Any

from larbinpy.config import Config, Given
from larbinpy.config.kinds import SEED
from larbinpy.console.terminal.progress import make_progress
from larbinpy.fleet import require
from larbinpy.loop.child import command
from larbinpy.loop.clock import clock, wall
from larbinpy.storage.state import Start
from larbinpy.url import login_of


def run_nodes(
    number: int,
    given: Given,
    config: Config,
    start: Start,
    arguments: Sequence[str],
    begin: Sequence[str],
    seeds: Iterable[str],
    progress: str,
) -> Mapping[str, Any]:
    """Run so many nodes of the crawl of `config` to their end; return the report of all.

    `config` is `given`, with what is assumed. Each node gets the `arguments`, and the first one
    those to `begin`, which name the `seeds`. Raises UserError, OSError.
    """
    require()
    # Here, since only nodes need these modules.
    from larbinpy.fleet.identity import refuse, shared
    from larbinpy.nodes.node import NodeStart
    from larbinpy.nodes.supervisor import NodesPlan, Supervisor

    refuse(config)
    prefix = config.node if config.node != Config().node else ""
    names = [f"{prefix}{place}" for place in range(1, number + 1)]
    settings = dict(zip(names, _own_settings(config, number), strict=True))

    def command_of(run: NodeStart) -> list[str]:
        own = [word for pair in settings[run.name] for word in ("--set", "=".join(pair))]
        own += ["--node", run.name, "--report", str(run.report), "--progress", "none"]
        if run.is_first and start is Start.SCRATCH:
            own.append("--scratch")
        seeded = begin if run.has_seeds else ("--set", "startUrl=")
        return command("larbinpy", "crawl", *arguments, *own, *seeded)

    logins = list(_with_logins(chain(seeds, config.start_url)))
    notes = [] if progress == "none" else _about_ports(config, settings)
    folder = Path(config.state_dir)
    plan = NodesPlan(
        names, folder, config.join, start, shared(config), given, logins, notes, command_of
    )
    terminal = make_progress(progress, sys.stderr, config.limit_page)
    with closing(terminal):
        return Supervisor(plan, terminal, clock, wall).run()


def _about_ports(config: Config, settings: Mapping[str, Sequence[tuple[str, str]]]) -> list[str]:
    """Lines about the ports of the nodes, which have these `settings` of their own."""
    notes = []
    if config.http_port:
        page = f"http://{config.http_host}:{config.http_port}/fleet.html"
        notes.append(f"status page of all nodes: {page}")
    for name, own in settings.items():
        if ports := [f"{keyword} {value}" for keyword, value in own if "Port" in keyword]:
            notes.append(f"{name}: {', '.join(ports)}")
    return notes


def _with_logins(seeds: Iterable[str]) -> Iterator[str]:
    """Those of `seeds` that have a login. One that is no URL is left to the node that reads it."""
    for seed in seeds:
        with suppress(ValueError):
            if "@" in seed and login_of(url := SEED.parse(seed.strip())):
                yield url


def _own_settings(config: Config, number: int) -> list[list[tuple[str, str]]]:
    """The settings in which the nodes differ: other ports, and shares of the bandwidth."""
    settings: list[list[tuple[str, str]]] = [[] for _ in range(number)]
    if config.bond_width:
        for each in settings:
            each.append(("bondWidth", str(max(1, config.bond_width // number))))
    with ExitStack() as bound:
        for keyword, host, port in (
            ("httpPort", config.http_host, config.http_port),
            ("inputPort", config.input_host, config.input_port),
        ):
            for each in settings[1:] if port else ():
                each.append((keyword, str(_free_port(host, bound))))
    return settings


def _free_port(host: str, bound: ExitStack) -> int:
    """A free port, which stays bound for a while so that it is found once only."""
    family, *_, place = socket.getaddrinfo(host, 0, type=socket.SOCK_STREAM)[0]
    sock = bound.enter_context(socket.socket(family, socket.SOCK_STREAM))
    sock.bind(place)
    return int(sock.getsockname()[1])
