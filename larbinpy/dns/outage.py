"""Does any name server answer? What people are told when none does, and when one does again."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

# A burst of loss is over by then (s), and a person who waits begins to wonder.
_PATIENCE = 5.0

# Questions lost before any answer came, from where on it is not the names that are dead: the
# server is not the right one, or the network is down. Later the servers' rests tell.
_FEW = 3


class Outage:
    """Looks at the name servers now and then, and says what has changed.

    What it says is by turns that none answers and that one answers again.
    """

    def __init__(self) -> None:
        self._answered = 0
        #: When they seemed silent first, and how many questions were lost by then.
        self._silent: tuple[float, int] | None = None
        self._told = False

    def __repr__(self) -> str:
        return f"<Outage {'told' if self._told else self._silent or 'none'}>"

    def look(self, servers: Sequence[Mapping[str, Any]], now: float) -> Iterator[str]:
        """The lines there are to say about `servers`, which are as `Servers.stats` has them."""
        answered, lost = (sum(each[count] for each in servers) for count in ("answered", "lost"))
        if answered > self._answered:
            if self._told:
                yield "name servers answer again"
            self._answered, self._silent, self._told = answered, None, False
        elif self._silent is None:
            hopeless = not answered and lost >= _FEW
            if hopeless or all(each["resting"] for each in servers):
                self._silent = now, lost
        elif not self._told and now - self._silent[0] >= _PATIENCE and lost > self._silent[1]:
            self._told = True
            addresses = ", ".join(each["address"] for each in servers)
            yield f"no name server answers ({addresses}); look at dnsServer, or at the network"
