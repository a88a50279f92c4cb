"""The runs of the servers: one that was started anew may have forgotten what it acknowledged."""

from collections.abc import Mapping
from math import inf

from larbinpy.fleet.redis.wire import Server


class Runs:
    """The run of each server that was connected last, by our clock."""

    def __init__(self) -> None:
        self._ids: dict[Server, str] = {}
        # Since when each remembers all turns; never earlier than in truth.
        self._since: dict[Server, float] = {}

    def __repr__(self) -> str:
        return f"<Runs {self._ids}>"

    def connected(self, server: Server, info: Mapping[str, str], now: float) -> bool:
        """Note a server that is connected now; whether it was started anew since the last time."""
        before, run = self._ids.get(server), info["run_id"]
        if before == run:
            return False
        self._ids[server] = run
        # Nothing says when a replica took over: it may have been just now.
        uptime = 0.0 if has_taken_over(info) else float(info.get("uptime_in_seconds", "0"))
        # It is measured by the time of day, which may have been put back.
        self._since[server] = now - max(0.0, uptime)
        return before is not None

    def took_over(self, server: Server, now: float) -> None:
        """Note a server that has become a master."""
        self._since[server] = now

    def since(self, server: Server) -> float:
        """When a server started or took over; inf if it was never connected."""
        return self._since.get(server, inf)


def has_taken_over(info: Mapping[str, str]) -> bool:
    """Whether a master was a replica since it was started."""
    return info.get("second_repl_offset", "-1") != "-1"
