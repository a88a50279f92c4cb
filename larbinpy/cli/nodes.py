"""``larbinpy crawl --nodes``: the command line of each node, and the run of all."""

import socket
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from larbinpy.cli.common import complain
from larbinpy.config import Config
from larbinpy.fleet import require
from larbinpy.loop.child import command
from larbinpy.loop.clock import clock, wall
from larbinpy.storage.state import Start


def run_nodes(
    number: int,
    config: Config,
    start: Start,
    arguments: Sequence[str],
    seeds: Sequence[str],
    *,
    renews: bool,
    progress: str,
) -> Mapping[str, Any]:
    """Run so many nodes of the crawl of `config` to their end; return the report of all.

    Each gets the `arguments`, and the first one the `seeds`. `renews`: the crawl may have other
    settings since the last run. Raises UserError, OSError.
    """
    require()
    # Here, since only nodes need these modules.
    from larbinpy.fleet.settings import refuse, shared
    from larbinpy.nodes.node import Run
    from larbinpy.nodes.supervisor import Plan, Supervisor

    refuse(config)
    prefix = config.node if config.node != Config().node else ""
    names = [f"{prefix}{place}" for place in range(1, number + 1)]
    settings = dict(zip(names, _own_settings(config, number), strict=True))
    shown = "none" if progress == "none" else "log"
    for name in names[1:]:
        ports = [f"{keyword} {value}" for keyword, value in settings[name] if "Port" in keyword]
        if ports and progress != "none":
            complain(f"{name}: {', '.join(ports)}")

    def command_of(run: Run) -> list[str]:
        own = [word for pair in settings[run.name] for word in ("--set", "=".join(pair))]
        own += ["--node", run.name, "--report", str(run.report), "--progress", shown]
        if run.is_first and start is Start.SCRATCH:
            own.append("--scratch")
        given = seeds if run.has_seeds else ("--set", "startUrl=")
        return command("larbinpy", "crawl", *arguments, *own, *given)

    common = shared(config) if renews else None
    plan = Plan(names, Path(config.state_dir), config.join, start, common, command_of)
    return Supervisor(plan, complain, clock, wall).run()


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
