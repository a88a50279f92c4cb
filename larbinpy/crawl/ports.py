"""Opens the ports of a crawl, as configured."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

from larbinpy.config import ConfigError
from larbinpy.console.ports import reply
from larbinpy.console.ports.finder_process import FinderProcess, finder_command
from larbinpy.console.ports.http import Posting, StatusServer
from larbinpy.console.ports.input_port import InputPort
from larbinpy.context import Context
from larbinpy.crawl.control import Control
from larbinpy.crawl.engine import Listener


class Ports:
    """The input port and the status server; each is None if it is not configured."""

    def __init__(self, context: Context, control: Control) -> None:
        config, poller, closing = context.config, context.poller, context.closing
        #: Searches the content database, if there is one.
        self.finder: FinderProcess | None = None
        if config.fills_database:
            self.finder = FinderProcess(poller, finder_command(config.content_database))
            closing.callback(self.finder.close)
        self.input: InputPort | None = None
        self.status: StatusServer | None = None
        if config.input_port:
            with _naming("inputPort", config.input_port):
                self.input = InputPort(poller, control, config.input_host, config.input_port)
            closing.callback(self.input.close)
        if config.http_port:
            self.status = _open_status_server(context, control, self.finder)

    @property
    def listeners(self) -> list[Listener]:
        return [port for port in (self.input, self.status) if port is not None]


def _open_status_server(
    context: Context, control: Control, finder: FinderProcess | None
) -> StatusServer:
    config, folder, closing = context.config, context.folder, context.closing
    posting = Posting(control, reply.issue(folder))
    closing.callback(reply.withdraw, folder)
    where = config.http_host, config.http_port
    with _naming("httpPort", config.http_port):
        server = StatusServer(
            context.poller, control.status, *where, config.histograms, posting, finder
        )
    closing.callback(server.close)
    return server


@contextmanager
def _naming(keyword: str, port: int) -> Iterator[None]:
    """Turn the error of a port that cannot be opened into one that names the setting."""
    try:
        yield
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else str(error)
        raise ConfigError(f"{keyword} {port}: {reason}; set another port") from error
