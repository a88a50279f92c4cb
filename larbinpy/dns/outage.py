"""Messages to the user when no name server answers, and when one answers again."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

# Seconds of silence before it is reported: longer than a burst of packet loss.
_PATIENCE = 5.0

# If this many questions are lost before the first reply, dead names are not the reason: the server
# is not a name server, or the network is down. After the first reply, an outage shows when all
# servers rest.
_HOPELESS_LOSSES = 3


class Outage:
    """Watches the name servers and reports when none answers, and when one answers again."""

    def __init__(self) -> None:
        self._answered = 0
        #: The time at which all servers first seemed silent, and the questions lost by then.
        self._silent: tuple[float, int] | None = None
        self._reported = False

    def __repr__(self) -> str:
        return f"<Outage {'reported' if self._reported else self._silent or 'none'}>"

    def look(self, servers: Sequence[Mapping[str, Any]], now: float) -> Iterator[str]:
        """The lines to print about `servers`, which are as in `Servers.stats`."""
        answered, lost = (sum(each[count] for each in servers) for count in ("answered", "lost"))
        if answered > self._answered:
            if self._reported:
                yield "name servers answer again"
            self._answered, self._silent, self._reported = answered, None, False
        elif self._silent is None:
            hopeless = not answered and lost >= _HOPELESS_LOSSES
            if hopeless or all(each["resting"] for each in servers):
                self._silent = now, lost
        elif not self._reported and now - self._silent[0] >= _PATIENCE and lost > self._silent[1]:
            self._reported = True
            addresses = ", ".join(each["address"] for each in servers)
            yield f"no name server answers ({addresses}); look at dnsServer, or at the network"
