"""Which servers can hold a crawl, by their INFO."""

from collections.abc import Mapping

_OLDEST = (6, 2)


def refusal(info: Mapping[str, str]) -> str:
    """Why a server cannot hold a crawl, to be read after its name; "" if it can."""
    version = info["redis_version"]
    if tuple(int(part) for part in version.split(".")[:2]) < _OLDEST:
        return f"has version {version}; 6.2 or newer is needed"
    policy = info.get("maxmemory_policy", "noeviction")
    if policy != "noeviction" and info.get("role") == "master":
        return (
            "would forget parts of the crawl when it is full: "
            f"set its maxmemory-policy to noeviction (it is {policy})"
        )
    return ""


def risk(info: Mapping[str, str]) -> str:
    """How a server may lose a crawl, to be read after its name; "" if nothing is known."""
    if info.get("aof_enabled") == "0":
        return "has no append-only file (appendonly no): if it is restarted, the crawl may be lost"
    return ""
