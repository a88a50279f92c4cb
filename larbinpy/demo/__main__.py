"""Serve the demo web: ``python -m larbinpy.demo``. Prints its addresses as one line of JSON.

It ends when its standard input closes, so that it never outlives the program that started it.
"""

import argparse
import asyncio
import json
import os
import signal
import sys
from contextlib import suppress

from larbinpy.demo.hosts import build
from larbinpy.demo.server import NameProtocol, NameServer, WebControl, WebServer, bind_all, listen


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m larbinpy.demo", description=__doc__)
    parser.add_argument("--drop", type=float, default=0.0, help="share of DNS replies to drop")
    parser.add_argument(
        "--flaky", type=float, default=0.0, help="share of pages that reply 503 at first"
    )
    parser.add_argument("--seed", type=int, default=0, help="seed of these choices")
    return parser.parse_args()


def _stop_with_stdin(stop: asyncio.Event) -> None:
    """Set `stop` at the end of standard input. If that cannot be watched, only signals do."""

    def readable() -> None:
        if not os.read(sys.stdin.fileno(), 4096):
            stop.set()

    if sys.stdin is not None:
        # epoll refuses files and /dev/null, which never close as a pipe does.
        with suppress(OSError):
            asyncio.get_running_loop().add_reader(sys.stdin.fileno(), readable)


async def _serve(options: argparse.Namespace) -> None:
    loop = asyncio.get_running_loop()
    plan = build(0)
    busy, silent = plan.listening(), plan.silent()
    # A bound socket that does not listen refuses connections, and keeps its port from others.
    port, sockets = bind_all(busy + silent)
    web = build(port)
    server = WebServer(web, options.flaky, options.seed)
    names = NameServer(web, options.drop, options.seed)
    for sock in sockets[: len(busy)]:
        await listen(server.answer, sock)
    control_port, control = bind_all(["127.0.0.1"])
    await listen(WebControl(server, names).answer, control[0])
    transport, _ = await loop.create_datagram_endpoint(
        lambda: NameProtocol(names), local_addr=("127.0.0.1", 0)
    )
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    _stop_with_stdin(stop)
    where = {
        "dns": transport.get_extra_info("sockname"),
        "web_port": port,
        "control": ["127.0.0.1", control_port],
        "seeds": [web.url(seed) for seed in web.seeds],
    }
    print(json.dumps(where), flush=True)
    await stop.wait()


def main() -> int:
    try:
        asyncio.run(_serve(_arguments()))
    except OSError as error:
        print(f"larbinpy demo: cannot serve on loopback: {error}", file=sys.stderr)
        return 3
    return 0


if __name__ == "__main__":
    sys.exit(main())
