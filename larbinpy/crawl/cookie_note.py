"""The line about a file of cookies that no seed gets: they are of other hosts, or have expired."""

from collections.abc import Iterable, Iterator

from larbinpy.console.text import counted
from larbinpy.fetch.cookies import HTTP_ONLY, cookie_lines


def useless(path: str, hosts: Iterable[str], wall: float) -> str | None:
    """A line about a cookies.txt of which none of these `hosts` gets a cookie; None if one does.

    `wall` is the Unix time.
    """
    cookies = [line.removeprefix(HTTP_ONLY).split(b"\t") for line in cookie_lines(path)]
    domains, expired = set(), 0
    for host, with_subdomains, _, _, expires, *_ in cookies:
        if 0 < _number(expires) <= wall:
            expired += 1
            continue
        domain = host.decode("latin-1").lower()
        domains.add(domain.lstrip("."))
        if domain.startswith(".") or with_subdomains.upper() == b"TRUE":
            domains.add("." + domain.lstrip("."))
    hosts = list(hosts)
    if not hosts or any(not domains.isdisjoint(_domains(host)) for host in hosts):
        return None
    more = f" and {len(hosts) - 1} more" if len(hosts) > 1 else ""
    of_them = [f"{expired} expired"] if expired else []
    return ", ".join(
        [f"{path}: {counted(len(cookies), 'cookie')}", *of_them, f"none for {hosts[0]}{more}"]
    )


def _domains(host: str) -> Iterator[str]:
    """The domains whose cookies `host` gets; those that also include subdomains begin with "."."""
    yield host
    yield "." + host
    for at, character in enumerate(host):
        if character == ".":
            yield host[at:]


def _number(text: bytes) -> int:
    return int(text) if text.isdigit() and len(text) < 20 else 0
