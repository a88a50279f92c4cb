"""The address of a crawl on a server of the tests, and what the server has of it."""

from tests.support.redisserver import RedisServer


def address(server: RedisServer, name: str = "news") -> str:
    """The value of `join` for the crawl `name`."""
    return f"redis://127.0.0.1:{server.port}/{name}"


def settings_of(server: RedisServer, name: str = "news") -> dict[str, str]:
    """The fields of the crawl in Redis; empty if there is none."""
    flat = server("HGETALL", f"lb:{{{name}}}:crawl")
    return {key.decode(): value.decode() for key, value in zip(flat[::2], flat[1::2], strict=True)}
